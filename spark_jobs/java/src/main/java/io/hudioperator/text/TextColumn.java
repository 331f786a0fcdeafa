package io.hudioperator.text;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts the texts of a column: (value, fault) of a text, one of which is null. */
public class TextColumn implements Function<Object, Object> {

    private final String type;
    private final HashMap<String, String> options;
    private transient DataType kind;
    private transient TextValues values;

    public TextColumn(String type, Map<String, String> options) {
        this.type = type;
        this.options = new HashMap<>(options);
    }

    public synchronized Object call(Object column) {
        if (values == null) {
            kind = DataType.fromJson(type);
            values = new TextValues(options);
        }
        String text = column.toString();
        Object value = values.of(text, kind);
        Object fault = value == null ? UTF8String.fromString(values.fault(text, kind)) : null;
        return new GenericInternalRow(new Object[] {value, fault});
    }
}
