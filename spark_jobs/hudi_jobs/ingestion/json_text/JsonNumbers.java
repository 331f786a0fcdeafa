import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.*;

/** Numbers of JSON as values of a type; null where the type has no value that is this number. */
class JsonNumbers {

    private static final int EXACT_DIGITS = 15;
    private static final Pattern PLAIN = Pattern.compile("[+-]?(?=[.]?[0-9])[0-9]*+([.][0-9]*+)?([eE][+-]?[0-9]{1,3})?");

    static Object of(JsonParser parser, JsonToken token, DataType type, boolean isInferred) throws IOException {
        if (type instanceof DecimalType) {
            return decimal(parser.getText(), (DecimalType) type);
        } else if (type instanceof DoubleType || type instanceof FloatType) {
            String text = parser.getText();
            Object found = nearest(text, type);
            boolean mayBeAnother = isInferred && token == JsonToken.VALUE_NUMBER_INT && text.length() > EXACT_DIGITS;
            return mayBeAnother && found != null && !isExact(text, (Number) found) ? null : found;
        } else if (token == JsonToken.VALUE_NUMBER_INT && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
            return whole(parser.getLongValue(), type);
        }
        return null;
    }

    private static Object whole(long number, DataType type) {
        if (type instanceof LongType) {
            return Long.valueOf(number);
        } else if (type instanceof IntegerType && number == (int) number) {
            return Integer.valueOf((int) number);
        } else if (type instanceof ShortType && number == (short) number) {
            return Short.valueOf((short) number);
        } else if (type instanceof ByteType && number == (byte) number) {
            return Byte.valueOf((byte) number);
        }
        return null;
    }

    /** The binary value that is nearest; beyond the largest there is none, nor between zero and the smallest. */
    private static Object nearest(String text, DataType type) {
        char last = text.charAt(text.length() - 1);
        if (last < '0' || last > '9') {
            return notFinite(text, type);
        }
        if (type instanceof FloatType) {
            float found = Float.parseFloat(text);
            return Float.isInfinite(found) || found == 0 && !isZero(text) ? null : Float.valueOf(found);
        }
        double found = Double.parseDouble(text);
        return Double.isInfinite(found) || found == 0 && !isZero(text) ? null : Double.valueOf(found);
    }

    private static boolean isZero(String text) {
        for (int i = 0; i < text.length() && text.charAt(i) != 'e' && text.charAt(i) != 'E'; i++) {
            if (text.charAt(i) >= '1' && text.charAt(i) <= '9') {
                return false;
            }
        }
        return true;
    }

    private static boolean isExact(String text, Number found) {
        return new BigDecimal(found.doubleValue()).compareTo(new BigDecimal(text)) == 0;
    }

    /** What Spark writes for values that are no numbers. */
    static Object notFinite(String text, DataType type) {
        double found;
        if (text.equals("NaN")) {
            found = Double.NaN;
        } else if (text.matches("[+]?(INF|Infinity)")) {
            found = Double.POSITIVE_INFINITY;
        } else if (text.matches("-(INF|Infinity)")) {
            found = Double.NEGATIVE_INFINITY;
        } else {
            return null;
        }
        return type instanceof FloatType ? (Object) Float.valueOf((float) found) : (Object) Double.valueOf(found);
    }

    /** The decimal that a text writes with this point; what could separate thousands or a fraction is no part of one. */
    static Object ofText(String text, DecimalType type, char point) {
        boolean mayBe = point == '.' || text.indexOf('.') < 0;
        String plain = text.replace(point, '.');
        return mayBe && PLAIN.matcher(plain).matches() ? decimal(plain, type) : null;
    }

    static Object decimal(String text, DecimalType type) {
        BigDecimal found;
        try {
            found = new BigDecimal(text);
        } catch (NumberFormatException e) {
            return null;
        }
        found = found.signum() == 0 ? BigDecimal.ZERO : found.scale() > type.scale() ? found.stripTrailingZeros() : found;
        // A number may have billions of zeros before its point, so its size is known before they are written out.
        long digits = (long) found.precision() - found.scale();
        if (found.scale() > type.scale() || digits > type.precision() - type.scale()) {
            return null;
        }
        return Decimal.apply(found.setScale(type.scale()), type.precision(), type.scale());
    }
}
