package io.hudioperator.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.hudioperator.text.TextNumbers;
import io.hudioperator.text.TextTimes;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.text.DecimalFormatSymbols;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads JSON into the values of declared columns, each exactly, or says why a text has none: (row, fault) of a text, or
 * an array of (row, fault, text) of a whole file. Spark's JacksonParser rounds, and guesses, without a word.
 */
public class JsonRows implements Function<Object, Object> {

    private static final int MOST_NAMES = 10000, MOST_CHARACTERS = 200, UNDECLARED = -1;
    private static final String BASE64 = "base64:", QUOTES_TEXT = "Unrecognized token";

    private final String schema;
    private final HashMap<String, String> options;
    private transient Node root;
    private transient JsonFactory factory;
    private transient TextTimes times;
    private transient JsonTypes types;
    private transient boolean isInferred, isWhole;
    private transient String text, column, cause;
    private transient boolean hasEscapes;
    private transient char point;
    private transient Charset charset;

    /** A declared type: what stands for it, the path of its column, and its parts by their names. */
    static class Node {
        DataType type;
        String path;
        Node[] parts = new Node[0];
        HashMap<String, Integer> places = new HashMap<>();
        HashMap<String, Node> inSmallLetters = new HashMap<>();

        Node(DataType type, String path) {
            this.type = type;
            this.path = path;
            if (type instanceof ArrayType) {
                parts = new Node[] {new Node(((ArrayType) type).elementType(), path)};
            } else if (type instanceof MapType) {
                parts = new Node[] {new Node(((MapType) type).valueType(), path)};
            } else if (type instanceof StructType) {
                StructField[] fields = ((StructType) type).fields();
                parts = new Node[fields.length];
                for (int i = 0; i < fields.length; i++) {
                    String name = fields[i].name();
                    parts[i] = new Node(fields[i].dataType(), path == null ? name : path + "." + name);
                    places.put(name, Integer.valueOf(i));
                    inSmallLetters.put(name.toLowerCase(Locale.ROOT), parts[i]);
                }
            }
        }
    }

    public JsonRows(String schema, Map<String, String> options) {
        this.schema = schema;
        this.options = new HashMap<>(options);
    }

    public synchronized Object call(Object bytes) {
        if (root == null) {
            open();
        }
        column = null;
        cause = null;
        text = decoded((byte[]) bytes);
        if (isWhole) {
            return rows((byte[]) bytes);
        }
        Object row = text == null ? null : row();
        return new GenericInternalRow(new Object[] {cause == null ? row : null, fault()});
    }

    /** Understand the schema and the options, or throw what says why one of them cannot be used. */
    @SuppressWarnings("deprecation")
    public void open() {
        String name = options.get("encoding");
        charset = name == null ? StandardCharsets.UTF_8 : Charset.forName(name);
        factory = new JsonFactory();
        factory.disable(JsonFactory.Feature.INTERN_FIELD_NAMES);
        factory.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
        factory.configure(JsonParser.Feature.ALLOW_COMMENTS, isSet("allowcomments"));
        factory.configure(JsonParser.Feature.ALLOW_SINGLE_QUOTES, isSet("allowsinglequotes"));
        factory.configure(JsonParser.Feature.ALLOW_UNQUOTED_FIELD_NAMES, isSet("allowunquotedfieldnames"));
        factory.configure(JsonParser.Feature.ALLOW_UNQUOTED_CONTROL_CHARS, isSet("allowunquotedcontrolchars"));
        factory.configure(JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS, isSet("allownonnumericnumbers"));
        factory.configure(JsonParser.Feature.ALLOW_NUMERIC_LEADING_ZEROS, isSet("allownumericleadingzeros"));
        factory.configure(
            JsonParser.Feature.ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER, isSet("allowbackslashescapinganycharacter"));
        if (options.containsKey("maxnestingdepth")) {
            int levels = Integer.parseInt(options.get("maxnestingdepth"));
            factory.setStreamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(levels).build());
        }
        times = new TextTimes(options);
        types = new JsonTypes(options);
        isInferred = isSet("inferred");
        isWhole = isSet("multiline");
        String language = options.get("locale");
        Locale locale = language == null ? Locale.US : Locale.forLanguageTag(language);
        point = DecimalFormatSymbols.getInstance(locale).getDecimalSeparator();
        root = new Node(DataType.fromJson(schema), null);
    }

    private boolean isSet(String option) {
        return "true".equalsIgnoreCase(options.get(option));
    }

    private Object fault() {
        return cause == null ? null : new GenericInternalRow(new Object[] {string(column), string(cause)});
    }

    private static UTF8String string(String text) {
        return text == null ? null : UTF8String.fromString(text);
    }

    private Object wrong(String column, String cause) {
        if (this.cause == null) {
            this.column = column;
            this.cause = cause;
        }
        return null;
    }

    /** The text that bytes are, all of them: what stands for bytes that are no text would be a value of its own. */
    private String decoded(byte[] bytes) {
        String found = new String(bytes, charset);
        if (found.indexOf('\ufffd') >= 0 || charset != StandardCharsets.UTF_8) {
            try {
                found = charset.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            } catch (CharacterCodingException e) {
                wrong(null, "It is no text in " + charset.name() + "; set the option encoding to that of the source.");
                return null;
            }
        }
        hasEscapes = found.indexOf("\\u") >= 0;
        return found;
    }

    /** The rows of a whole file: its object, or the objects of its array; behind a broken one there are no more. */
    private Object rows(byte[] bytes) {
        ArrayList<Object> rows = new ArrayList<>();
        String file = text == null ? "" : text.startsWith("\ufeff") ? text.substring(1) : text;
        int end = text == null ? 0 : parts(file, rows);
        if (cause != null) {
            String rest = text == null ? BASE64 + Base64.getEncoder().encodeToString(bytes) : file.substring(end);
            rows.add(new GenericInternalRow(new Object[] {null, fault(), string(rest)}));
        }
        return new GenericArrayData(rows.toArray());
    }

    /** Add the rows of a file, and return where they end; there is a cause where something else stands behind it. */
    private int parts(String file, ArrayList<Object> rows) {
        int end = 0;
        try {
            JsonParser parser = factory.createParser(file);
            parser.disable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
            if (parser.nextToken() != JsonToken.START_ARRAY) {
                add(rows, file);
                return end;
            }
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                int start = (int) parser.getTokenLocation().getCharOffset();
                parser.skipChildren();
                parser.finishToken();
                end = (int) parser.getCurrentLocation().getCharOffset();
                add(rows, file.substring(start, end));
            }
            if (parser.nextToken() != null) {
                wrong(null, "The file is not one JSON array: something stands behind it.");
            }
        } catch (IOException e) {
            broken(e);
        }
        return end;
    }

    private void add(ArrayList<Object> rows, String part) {
        text = part;
        Object row = row();
        rows.add(new GenericInternalRow(new Object[] {cause == null ? row : null, fault(), string(part)}));
        column = null;
        cause = null;
    }

    private Object row() {
        try {
            JsonParser parser = factory.createParser(text);
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                return wrong(null, "It is not one JSON object.");
            }
            Object row = struct(parser, root);
            if (cause == null && parser.nextToken() != null) {
                return wrong(null, "It is not one JSON object: something stands behind it.");
            }
            parser.close();
            return row;
        } catch (IOException e) {
            return broken(e);
        }
    }

    private Object broken(IOException e) {
        String said = e instanceof JsonProcessingException ? ((JsonProcessingException) e).getOriginalMessage() : "";
        return wrong(null, "It is no JSON: " + shown(said.startsWith(QUOTES_TEXT) ? QUOTES_TEXT : said));
    }

    private static String shown(String said) {
        String bounded = said.length() > MOST_CHARACTERS ? said.substring(0, MOST_CHARACTERS) : said;
        return bounded.replaceAll("[^ -~]", "?");
    }

    private Object struct(JsonParser parser, Node node) throws IOException {
        Object[] values = new Object[node.parts.length];
        while (cause == null && parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.getCurrentName();
            Integer place = node.places.get(name);
            if (place == null) {
                place = undeclared(name, node);
            }
            parser.nextToken();
            if (place.intValue() == UNDECLARED) {
                parser.skipChildren();
            } else {
                values[place.intValue()] = value(parser, node.parts[place.intValue()]);
            }
        }
        return new GenericInternalRow(values);
    }

    private Integer undeclared(String name, Node node) {
        Node other = node.inSmallLetters.get(name.toLowerCase(Locale.ROOT));
        Integer place = Integer.valueOf(UNDECLARED);
        if (other != null) {
            wrong(other.path, "is spelled '" + shown(name) + "' in it, and JSON tells capital letters from small ones");
        } else if (node.places.size() < MOST_NAMES) {
            node.places.put(name, place);
        }
        return place;
    }

    private Object value(JsonParser parser, Node node) throws IOException {
        JsonToken token = parser.currentToken();
        DataType type = node.type;
        Object found = null;
        if (token == JsonToken.VALUE_NULL) {
            return null;
        } else if (type instanceof StringType) {
            return characters(textOf(parser, token), node);
        } else if (type instanceof StructType) {
            found = token == JsonToken.START_OBJECT ? struct(parser, node) : null;
        } else if (type instanceof ArrayType) {
            found = token == JsonToken.START_ARRAY ? array(parser, node.parts[0]) : null;
        } else if (type instanceof MapType) {
            found = token == JsonToken.START_OBJECT ? map(parser, node) : null;
        } else if (type instanceof BooleanType) {
            found = token == JsonToken.VALUE_TRUE ? Boolean.TRUE : token == JsonToken.VALUE_FALSE ? Boolean.FALSE : null;
        } else if (token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT) {
            found = JsonNumbers.of(parser, token, type, isInferred);
        } else if (token == JsonToken.VALUE_STRING) {
            found = ofText(parser.getText(), type);
        }
        String hint = isInferred ? ", as which Spark has inferred it; declare the columns" : "";
        return found == null ? wrong(node.path, "holds a value that is no " + types.described(type, token) + hint) : found;
    }

    private Object ofText(String value, DataType type) {
        if (type instanceof DecimalType) {
            return TextNumbers.ofText(value, type, point);
        } else if (type instanceof BinaryType) {
            return bytes(value);
        } else if (type instanceof FloatType || type instanceof DoubleType) {
            return isSet("allownonnumericnumbers") ? JsonNumbers.notFinite(value, type) : null;
        }
        return times.of(value, type);
    }

    private Object array(JsonParser parser, Node element) throws IOException {
        ArrayList<Object> found = new ArrayList<>();
        while (cause == null && parser.nextToken() != JsonToken.END_ARRAY) {
            found.add(value(parser, element));
        }
        return new GenericArrayData(found.toArray());
    }

    private Object map(JsonParser parser, Node node) throws IOException {
        ArrayList<Object> keys = new ArrayList<>();
        ArrayList<Object> values = new ArrayList<>();
        while (cause == null && parser.nextToken() == JsonToken.FIELD_NAME) {
            keys.add(characters(parser.getCurrentName(), node));
            parser.nextToken();
            values.add(value(parser, node.parts[0]));
        }
        return new ArrayBasedMapData(new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
    }

    /** A text as it is, a scalar as it is written, and anything else without the white space and as it is written. */
    private String textOf(JsonParser parser, JsonToken token) throws IOException {
        if (token.isNumeric()) {
            return asWritten(parser);
        } else if (!token.isStructStart()) {
            return parser.getText();
        }
        StringWriter writer = new StringWriter();
        JsonGenerator generator = factory.createGenerator(writer);
        int levels = 0;
        do {
            JsonToken each = parser.currentToken();
            levels += each.isStructStart() ? 1 : each.isStructEnd() ? -1 : 0;
            if (each.isNumeric()) {
                generator.writeNumber(asWritten(parser));
            } else {
                generator.copyCurrentEvent(parser);
            }
        } while (levels > 0 && parser.nextToken() != null);
        generator.close();
        return writer.toString();
    }

    /** The text of a number, of which Jackson leaves out zeros at the beginning where these are allowed. */
    private String asWritten(JsonParser parser) throws IOException {
        int start = (int) parser.getTokenLocation().getCharOffset();
        int end = start;
        while (end < text.length() && "+-.0123456789eEINFanfity".indexOf(text.charAt(end)) >= 0) {
            end++;
        }
        return text.substring(start, end);
    }

    private UTF8String characters(String value, Node node) {
        for (int i = 0; hasEscapes && i < value.length(); i++) {
            boolean isPair = i + 1 < value.length() && Character.isSurrogatePair(value.charAt(i), value.charAt(i + 1));
            if (isPair) {
                i++;
            } else if (Character.isSurrogate(value.charAt(i))) {
                wrong(node.path, "holds half of a surrogate pair, which is no character");
            }
        }
        return UTF8String.fromString(value);
    }

    private static Object bytes(String value) {
        try {
            byte[] found = Base64.getDecoder().decode(value);
            return Base64.getEncoder().encodeToString(found).equals(value) ? found : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }
}
