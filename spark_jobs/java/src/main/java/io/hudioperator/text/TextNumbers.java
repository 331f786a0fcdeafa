package io.hudioperator.text;

import java.math.BigDecimal;
import org.apache.spark.sql.types.*;

/** Numbers as values of a type; null where the type has no value that is this number. */
public class TextNumbers {

    private static final int MOST_CHARACTERS = 800, MOST_OF_EXPONENT = 4;

    /** The number that a text writes with this point; what could separate thousands or a fraction is no part of it. */
    public static Object ofText(String text, DataType type, char point) {
        if (text.length() > MOST_CHARACTERS) {
            return null;
        } else if (type instanceof DecimalType) {
            boolean mayBe = point == '.' || text.indexOf('.') < 0;
            String plain = text.replace(point, '.');
            return mayBe && isNumber(plain) ? decimal(plain, (DecimalType) type) : null;
        } else if (type instanceof FloatType || type instanceof DoubleType) {
            return isNumber(text) ? nearest(text, type) : null;
        }
        return isWhole(text) ? whole(text, type) : null;
    }

    /** Tell whether a text has digits of ASCII with an optional sign, and nothing else. */
    private static boolean isWhole(String text) {
        int start = behindSign(text, 0);
        return start < text.length() && behindDigits(text, start) == text.length();
    }

    /** Tell whether a text has digits with an optional sign, point and exponent, and nothing else. */
    private static boolean isNumber(String text) {
        int start = behindSign(text, 0);
        int end = behindDigits(text, start);
        int digits = end - start;
        if (end < text.length() && text.charAt(end) == '.') {
            int fraction = end + 1;
            end = behindDigits(text, fraction);
            digits += end - fraction;
        }
        if (digits > 0 && end < text.length() && (text.charAt(end) == 'e' || text.charAt(end) == 'E')) {
            int exponent = behindSign(text, end + 1);
            end = behindDigits(text, exponent);
            return end == text.length() && end > exponent && end - exponent <= MOST_OF_EXPONENT;
        }
        return digits > 0 && end == text.length();
    }

    private static int behindSign(String text, int start) {
        boolean isSigned = start < text.length() && (text.charAt(start) == '-' || text.charAt(start) == '+');
        return isSigned ? start + 1 : start;
    }

    private static int behindDigits(String text, int start) {
        int end = start;
        while (end < text.length() && text.charAt(end) >= '0' && text.charAt(end) <= '9') {
            end++;
        }
        return end;
    }

    private static Object whole(String text, DataType type) {
        try {
            return whole(Long.parseLong(text), type);
        } catch (NumberFormatException e) {
            return null;
        }
    }

    public static Object whole(long number, DataType type) {
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
    public static Object nearest(String text, DataType type) {
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

    public static Object decimal(String text, DecimalType type) {
        BigDecimal found;
        try {
            found = new BigDecimal(text);
        } catch (NumberFormatException e) {
            return null;
        }
        if (found.signum() == 0) {
            return Decimal.apply(BigDecimal.ZERO.setScale(type.scale()), type.precision(), type.scale());
        }
        found = found.scale() > type.scale() ? found.stripTrailingZeros() : found;
        // A number may have billions of zeros before its point, so its size is known before they are written out.
        long digits = (long) found.precision() - found.scale();
        if (found.scale() > type.scale() || digits > type.precision() - type.scale()) {
            return null;
        }
        return Decimal.apply(found.setScale(type.scale()), type.precision(), type.scale());
    }
}
