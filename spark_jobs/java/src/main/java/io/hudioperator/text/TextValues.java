package io.hudioperator.text;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Texts as values of plain types, each exactly, or why a text has none.
 *
 * Spark's own casts and readers take what is near a value: they round decimals to the scale, drop a comma, and trim.
 * The options are `timezone`, `point`, the patterns of Spark's readers, and the words of `nanvalue`, `positiveinf` and
 * `negativeinf`.
 */
public class TextValues {

    private static final Pattern WHOLE = Pattern.compile("[+-]?(?=[0-9])0{0,99}+[0-9]{0,19}+");
    private static final Pattern NUMBER = Pattern.compile(
        "[+-]?(?=\\.?[0-9])[0-9]{0,400}+(?:\\.[0-9]{0,400}+)?(?:[eE][+-]?[0-9]{1,4}+)?");
    private static final Pattern SIGNIFICANT = Pattern.compile("[+-]?0*+([0-9]*+)");
    private static final Pattern SEPARATED = Pattern.compile("[+-]?[0-9.,]*[0-9]");

    private final TextTimes times;
    private final char point;
    private final HashMap<String, Double> words = new HashMap<>();

    public TextValues(Map<String, String> options) {
        times = new TextTimes(options);
        point = options.containsKey("point") ? (options.get("point")).charAt(0) : '.';
        words.put("NaN", Double.valueOf(Double.NaN));
        words.put("Inf", Double.valueOf(Double.POSITIVE_INFINITY));
        words.put("Infinity", Double.valueOf(Double.POSITIVE_INFINITY));
        words.put("-Inf", Double.valueOf(Double.NEGATIVE_INFINITY));
        words.put("-Infinity", Double.valueOf(Double.NEGATIVE_INFINITY));
        name(options.get("nanvalue"), Double.NaN);
        name(options.get("positiveinf"), Double.POSITIVE_INFINITY);
        name(options.get("negativeinf"), Double.NEGATIVE_INFINITY);
    }

    private void name(String word, double value) {
        if (word != null) {
            words.put(word, Double.valueOf(value));
        }
    }

    /** The value that a text writes, null where it writes none of this type. */
    public Object of(String text, DataType type) {
        if (type instanceof StringType) {
            return UTF8String.fromString(text);
        } else if (type instanceof BooleanType) {
            return isWord(text, "true") ? Boolean.TRUE : isWord(text, "false") ? Boolean.FALSE : null;
        } else if (isTime(type)) {
            return times.of(text, type);
        }
        Double word = isFloating(type) ? words.get(text) : null;
        if (word != null) {
            return type instanceof FloatType ? (Object) Float.valueOf(word.floatValue()) : (Object) word;
        }
        return TextNumbers.ofText(text, type, point);
    }

    /** Tell whether a text is a word of ASCII, whatever the case; equalsIgnoreCase takes U+017F for an s. */
    private static boolean isWord(String text, String word) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) > '~') {
                return false;
            }
        }
        return text.equalsIgnoreCase(word);
    }

    private static boolean isTime(DataType type) {
        return type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType;
    }

    private static boolean isFloating(DataType type) {
        return type instanceof FloatType || type instanceof DoubleType;
    }

    /** Why a text has no value of a type, as a clause behind the name of its column; the text is never quoted. */
    public String fault(String text, DataType type) {
        String name = type.sql();
        if (type instanceof BooleanType) {
            return "is neither true nor false (BOOLEAN)";
        } else if (isTime(type)) {
            return times.fault(text, type);
        } else if (type instanceof DecimalType) {
            return decimalFault(text, (DecimalType) type, name);
        } else if (isFloating(type)) {
            return NUMBER.matcher(text).matches() ? "is out of the range of " + name : "is not a number (" + name + ")";
        }
        boolean isWhole = WHOLE.matcher(text).matches();
        return isWhole ? "is out of the range of " + name : "is not a whole number (" + name + ")";
    }

    private String decimalFault(String text, DecimalType type, String name) {
        char other = point == '.' ? ',' : '.';
        String plain = point == '.' ? text : text.replace('.', '\0').replace(point, '.').replace('\0', point);
        if (NUMBER.matcher(plain).matches()) {
            Matcher whole = SIGNIFICANT.matcher(plain);
            boolean isLarge = whole.lookingAt() && whole.end(1) - whole.start(1) > type.precision() - type.scale();
            String range = "out of the range of " + name;
            return isLarge ? "is " + range
                : "has more than " + type.scale() + " digits behind the point, or is " + range;
        } else if (text.indexOf(other) >= 0 && SEPARATED.matcher(text).matches()) {
            return "has " + (other == ',' ? "a comma" : "a point") + ", which may separate thousands or a fraction ("
                + name + "); the option locale decides whether a comma or a point separates the fraction";
        }
        return "is not a number (" + name + ")";
    }
}
