package io.hudioperator.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.hudioperator.text.TextNumbers;
import java.io.IOException;
import java.math.BigDecimal;
import org.apache.spark.sql.types.*;

/** Numbers of JSON as values of a type; null where the type has no value that is this number. */
class JsonNumbers {

    private static final int EXACT_DIGITS = 15;

    static Object of(JsonParser parser, JsonToken token, DataType type, boolean isInferred) throws IOException {
        if (type instanceof DecimalType) {
            return TextNumbers.decimal(parser.getText(), (DecimalType) type);
        } else if (type instanceof DoubleType || type instanceof FloatType) {
            String text = parser.getText();
            Object found = nearest(text, type);
            boolean mayBeAnother = isInferred && token == JsonToken.VALUE_NUMBER_INT && text.length() > EXACT_DIGITS;
            return mayBeAnother && found != null && !isExact(text, (Number) found) ? null : found;
        } else if (token == JsonToken.VALUE_NUMBER_INT && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
            return TextNumbers.whole(parser.getLongValue(), type);
        }
        return null;
    }

    private static Object nearest(String text, DataType type) {
        char last = text.charAt(text.length() - 1);
        return last < '0' || last > '9' ? notFinite(text, type) : TextNumbers.nearest(text, type);
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
}
