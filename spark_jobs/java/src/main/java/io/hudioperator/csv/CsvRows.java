package io.hudioperator.csv;

import io.hudioperator.text.TextValues;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Rows of records: the values of the declared columns, or the record and its fault.
 *
 * A required column of the rows is named by its place among the declared ones; the others are those of bad rows.
 */
class CsvRows {

    private static final String BLANKS =
        "has blanks around its value; the options ignoreLeadingWhiteSpace and ignoreTrailingWhiteSpace trim it";

    private final CsvFields fields;
    private final TextValues values;
    private final StructField[] columns;
    private final int[] places, slots;
    private final int count, longest, width;
    private final String notInEncoding;
    private int recordSlot = -1, faultSlot = -1;
    private String column, cause;

    CsvRows(Map<String, String> options, StructType required) {
        fields = new CsvFields(options);
        values = new TextValues(options);
        columns = ((StructType) DataType.fromJson(options.get("rows.columns"))).fields();
        String listed = options.get("rows.places");
        String[] given = listed.isEmpty() ? new String[0] : listed.split(",");
        places = new int[columns.length];
        slots = new int[columns.length];
        for (int i = 0; i < places.length; i++) {
            places[i] = Integer.parseInt(given[i]);
            slots[i] = -1;
        }
        String[] names = required.fieldNames();
        width = names.length;
        for (int slot = 0; slot < width; slot++) {
            if (names[slot].equals(options.get("rows.record"))) {
                recordSlot = slot;
            } else if (names[slot].equals(options.get("rows.fault"))) {
                faultSlot = slot;
            } else {
                slots[Integer.parseInt(names[slot].substring(1))] = slot;
            }
        }
        count = Integer.parseInt(options.get("rows.count"));
        longest = Integer.parseInt(options.get("rows.longest"));
        notInEncoding = options.get("rows.notinencoding");
    }

    InternalRow of(String record, boolean isMalformed) {
        column = null;
        cause = null;
        Object[] row = new Object[width];
        if (isMalformed) {
            cause = notInEncoding;
        } else if (!fields.split(record)) {
            cause = fields.broken(record);
        } else if (fields.count() != count) {
            cause = "the row has " + fields.count() + " fields instead of " + count;
        }
        for (int i = 0; cause == null && i < columns.length; i++) {
            Object value = value(columns[i], places[i]);
            if (slots[i] >= 0) {
                row[slots[i]] = value;
            }
        }
        return new GenericInternalRow(cause == null ? row : bad(record));
    }

    private Object value(StructField field, int place) {
        DataType type = field.dataType();
        boolean isText = type instanceof StringType;
        String text = fields.text(place, isText);
        if (text == null) {
            return null;
        }
        boolean isLong = isText && longest >= 0 && text.codePointCount(0, text.length()) > longest;
        Object value = isLong ? null : values.of(text, type);
        if (value == null) {
            column = field.name();
            cause = isLong ? "has more than " + longest + " characters (option maxCharsPerColumn)"
                : isBlank(text.charAt(0)) || isBlank(text.charAt(text.length() - 1)) ? BLANKS : values.fault(text, type);
        }
        return value;
    }

    private static boolean isBlank(char character) {
        return character <= ' ';
    }

    private Object[] bad(String record) {
        Object[] row = new Object[width];
        if (recordSlot >= 0) {
            row[recordSlot] = UTF8String.fromString(record);
        }
        if (faultSlot >= 0) {
            UTF8String name = column == null ? null : UTF8String.fromString(column);
            row[faultSlot] = new GenericInternalRow(new Object[] {name, UTF8String.fromString(cause)});
        }
        return row;
    }
}
