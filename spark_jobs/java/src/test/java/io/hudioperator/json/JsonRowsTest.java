package io.hudioperator.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonRowsTest {

    private static final StructType COLUMNS = new StructType().add("id", "long").add("word", "string")
        .add("part", new StructType().add("on", "boolean"));

    private static Object call(String text, String... changes) {
        Map<String, String> options = new HashMap<>(Map.of("timezone", "UTC"));
        for (int i = 0; i < changes.length; i += 2) {
            options.put(changes[i], changes[i + 1]);
        }
        return new JsonRows(COLUMNS.json(), options).call(text.getBytes(StandardCharsets.UTF_8));
    }

    private static InternalRow row(String text, String... changes) {
        InternalRow found = (InternalRow) call(text, changes);
        assertTrue(found.isNullAt(1), () -> found.getStruct(1, 2).getString(1));
        return found.getStruct(0, 3);
    }

    private static String fault(Object found) {
        assertTrue(((InternalRow) found).isNullAt(0));
        InternalRow fault = ((InternalRow) found).getStruct(1, 2);
        return fault.getUTF8String(0) + ": " + fault.getUTF8String(1);
    }

    @Test
    void objectIsARowOfItsFields() {
        InternalRow row = row("{\"word\": \"a\", \"id\": 7, \"part\": {\"on\": true}, \"other\": [1]}");
        assertEquals(7, row.getLong(0));
        assertEquals("a", row.getString(1));
        assertTrue(row.getStruct(2, 1).getBoolean(0));
    }

    @Test
    void missingFieldAndNullHaveNoValue() {
        InternalRow row = row("{\"word\": null}");
        assertTrue(row.isNullAt(0) && row.isNullAt(1) && row.isNullAt(2));
    }

    @Test
    void textColumnKeepsAValueOfAnotherTypeAsItIsWritten() {
        assertEquals("1.50e1", row("{\"word\": 1.50e1}").getString(1));
        assertEquals("{\"b\":[1.0,2]}", row("{\"word\": {\"b\": [1.0, 2]}}").getString(1));
        assertEquals("007", row("{\"word\": 007}", "allownumericleadingzeros", "true").getString(1));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{\"id\": \"7\"} | id: holds a value that is no BIGINT",
        "{\"id\": 7.0} | id: holds a value that is no BIGINT",
        "{\"part\": {\"on\": 1}} | part.on: holds a value that is no BOOLEAN",
        "{\"part\": []} | part: holds a value that is no JSON object, as STRUCT needs",
        "{\"ID\": 7} | id: is spelled 'ID' in it, and JSON tells capital letters from small ones",
        "{\"word\": \"\\ud800\"} | word: holds half of a surrogate pair, which is no character",
        "{\"id\": 1} {} | null: It is not one JSON object: something stands behind it.",
        "[] | null: It is not one JSON object.",
    })
    void faultNamesTheColumnAndTheCause(String text, String expected) {
        assertEquals(expected, fault(call(text)));
    }

    @Test
    void fieldThatIsThereTwiceMakesTheTextNoJson() {
        assertTrue(fault(call("{\"id\": 1, \"id\": 2}")).contains("Duplicate field"));
    }

    @Test
    void faultOfAnUnknownWordDoesNotQuoteIt() {
        assertEquals("null: It is no JSON: Unrecognized token", fault(call("{\"id\": secret}")));
    }

    @Test
    void bytesThatAreNoTextAreAFault() {
        Object found = new JsonRows(COLUMNS.json(), Map.of("timezone", "UTC")).call(new byte[] {'{', (byte) 0xff, '}'});
        assertTrue(fault(found).startsWith("null: It is no text in UTF-8"));
    }

    @Test
    void wholeFileIsAnArrayWhoseRowsHaveTheirTexts() {
        ArrayData rows = (ArrayData) call("\ufeff[{\"id\": 1}, {\"id\": \"x\"}, {\"id\": 3}]", "multiline", "true");
        assertEquals(3, rows.numElements());
        assertEquals(1, rows.getStruct(0, 3).getStruct(0, 3).getLong(0));
        assertTrue(rows.getStruct(1, 3).isNullAt(0));
        assertEquals("{\"id\": \"x\"}", rows.getStruct(1, 3).getString(2));
        assertEquals(3, rows.getStruct(2, 3).getStruct(0, 3).getLong(0));
    }

    @Test
    void brokenWholeFileKeepsTheRowsBeforeAndTheRestAsABadOne() {
        ArrayData rows = (ArrayData) call("[{\"id\": 1}, {\"id\" 2}]", "multiline", "true");
        assertEquals(2, rows.numElements());
        assertEquals(", {\"id\" 2}]", rows.getStruct(1, 3).getString(2));
        assertNull(rows.getStruct(1, 3).get(0, COLUMNS));
    }
}
