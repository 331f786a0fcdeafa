package io.hudioperator.json;

import com.fasterxml.jackson.core.JsonToken;
import java.util.Map;
import org.apache.spark.sql.types.*;

/** What a type needs of a value of JSON, in words. */
class JsonTypes {

    private static final String TO_MICROSECONDS = " written yyyy-MM-dd HH:mm:ss, to microseconds";

    private final Map<String, String> options;

    JsonTypes(Map<String, String> options) {
        this.options = options;
    }

    String described(DataType type, JsonToken token) {
        if (type instanceof BinaryType) {
            return "base64, as BINARY needs";
        } else if (type instanceof ArrayType) {
            return "JSON array, as ARRAY needs";
        } else if (type instanceof StructType || type instanceof MapType) {
            return "JSON object, as " + (type instanceof MapType ? "MAP" : "STRUCT") + " needs";
        } else if (type instanceof DecimalType) {
            return type.sql() + " without rounding";
        }
        return type.sql() + (token.isNumeric() ? ofNumber(type) : ofText(type));
    }

    private String ofText(DataType type) {
        if (type instanceof DateType) {
            return written("dateFormat", " written yyyy-MM-dd");
        } else if (type instanceof TimestampType) {
            return written("timestampFormat", TO_MICROSECONDS);
        } else if (type instanceof TimestampNTZType) {
            return written("timestampNTZFormat", TO_MICROSECONDS + ", without a zone");
        }
        return "";
    }

    private String written(String option, String otherwise) {
        return options.containsKey(option.toLowerCase()) ? " written as " + option + " says" : otherwise;
    }

    private static String ofNumber(DataType type) {
        boolean isTime = type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType;
        return isTime ? ": a number says no unit; declare BIGINT, and convert it in the transform" : "";
    }
}
