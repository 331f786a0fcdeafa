package io.hudioperator.search;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyTextsTest {

    private static final String KEY = "customer-4711";
    private static final int NONE = 0, ALWAYS = 1, LATIN = 2, CJK = 3;
    /** Where a run of characters with one script begins, and the script. */
    private static final int[][] SCRIPTS = {
        {0, NONE}, {'-', ALWAYS}, {'.', NONE}, {'0', ALWAYS}, {':', NONE}, {'@', ALWAYS}, {'A', LATIN}, {'[', NONE},
        {'_', ALWAYS}, {'`', NONE}, {'a', LATIN}, {'{', NONE}, {0x4e00, CJK}, {0xa000, NONE},
    };

    private static KeyTexts texts(String... keys) throws IOException {
        ByteArrayOutputStream joined = new ByteArrayOutputStream();
        DataOutputStream output = new DataOutputStream(joined);
        output.writeInt(SCRIPTS.length);
        for (int[] each : SCRIPTS) {
            output.writeInt(each[0]);
            output.writeInt(each[1]);
        }
        output.writeInt(keys.length);
        for (String key : keys) {
            byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
            output.writeInt(bytes.length);
            output.writeInt(LATIN);
            output.writeInt(LATIN);
            output.write(bytes);
        }
        return new KeyTexts(joined.toByteArray());
    }

    private static boolean isIn(KeyTexts texts, String content) {
        return texts.areIn(content.getBytes(StandardCharsets.UTF_8), KeyTexts.TEXT, false);
    }

    private static byte[] bytes(int... values) {
        byte[] found = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            found[i] = (byte) values[i];
        }
        return found;
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            found.writeBytes(part);
        }
        return found.toByteArray();
    }

    private static byte[] key() {
        return KEY.getBytes(StandardCharsets.US_ASCII);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        KEY, "of " + KEY + ", who", "\"" + KEY + "\"", "(" + KEY + ").", KEY + ".\n", "id=" + KEY + "&x", "\u9867" + KEY + "\u5ba2",
        "a\\n" + KEY, "a\\u0041" + KEY, "id%3D" + KEY, KEY + "2 or " + KEY,
    })
    void textThatStandsAsAWholeIsFound(String content) throws IOException {
        assertTrue(isIn(texts(KEY), content));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        KEY + "2", KEY + "-b", KEY + "b", "a" + KEY, "1" + KEY, "_" + KEY, "@" + KEY, KEY + ".csv", "an" + KEY, "customer-471",
        "ustomer-4711",
    })
    void partOfALongerTextIsNotFound(String content) throws IOException {
        assertFalse(isIn(texts(KEY), content));
    }

    @Test
    void endingOfAFileMakesNoTextLongerWhereFilesAreNamed() throws IOException {
        KeyTexts inNames = texts(KEY).inNames();
        assertTrue(isIn(inNames, "/landing/" + KEY + ".csv"));
        assertFalse(isIn(inNames, "/landing/" + KEY + "-b.csv"));
    }

    @Test
    void nameOfAnAddressGoesOnBeforeADot() throws IOException {
        KeyTexts texts = texts("b@example.com");
        assertFalse(isIn(texts, "a.b@example.com"));
        assertFalse(isIn(texts, "a+b@example.com"));
        assertTrue(isIn(texts, "<b@example.com>"));
        assertTrue(isIn(texts, "see .b@example.com"));
    }

    @Test
    void lengthBeforeATextMakesItWholeInAPage() throws IOException {
        KeyTexts texts = texts(KEY);
        byte[] content = joined(bytes('x', KEY.length(), 0, 0, 0), key(), bytes('y'));
        assertTrue(texts.areIn(content, KeyTexts.PAGE, false));
        assertTrue(texts.areIn(content, KeyTexts.ANY, false));
        assertFalse(texts.areIn(content, KeyTexts.TEXT, false));
        byte[] longer = joined(bytes(KEY.length() + 1, 0, 0, 0), key(), bytes('y'));
        assertFalse(texts.areIn(longer, KeyTexts.PAGE, false));
    }

    @Test
    void variableLengthMakesATextWholeInThriftAndDoubledInAvro() throws IOException {
        KeyTexts texts = texts(KEY);
        byte[] thrift = joined(bytes('x', KEY.length()), key(), bytes('y'));
        assertTrue(texts.areIn(thrift, KeyTexts.THRIFT, false));
        assertFalse(texts.areIn(thrift, KeyTexts.PAGE, false));
        byte[] avro = joined(bytes('x', KEY.length() * 2), key(), bytes('y'));
        assertTrue(texts.areIn(avro, KeyTexts.ANY, false));
        assertFalse(texts.areIn(avro, KeyTexts.THRIFT, false));
    }

    @Test
    void unjudgedTextIsFoundWhereverItsBytesAre() throws IOException {
        assertTrue(texts(KEY).areIn(("a" + KEY + "b").getBytes(StandardCharsets.US_ASCII), KeyTexts.UNJUDGED, false));
    }

    @Test
    void numberOfJsonIsNoTextWhereNumbersAreSkipped() throws IOException {
        KeyTexts texts = texts("20260301");
        byte[] content = "{\"size\": 20260301, \"x\": 1}".getBytes(StandardCharsets.US_ASCII);
        assertTrue(texts.areIn(content, KeyTexts.TEXT, false));
        assertFalse(texts.areIn(content, KeyTexts.TEXT, true));
        assertTrue(texts.areIn("{\"id\": \"20260301\"}".getBytes(StandardCharsets.US_ASCII), KeyTexts.TEXT, true));
    }

    @Test
    void eachOfManyTextsIsFoundAlsoWhereOneEndsLikeAnother() throws IOException {
        KeyTexts texts = texts("customer-1", "my customer-1", "r customer-1", "customer-2", "supplier-1");
        for (String key : new String[] {"customer-1", "my customer-1", "customer-2", "supplier-1"}) {
            assertTrue(isIn(texts, "<" + key + ">"), key);
        }
        assertTrue(isIn(texts, "our customer-1"), "the longer text does not stand as a whole, and its end does");
        assertFalse(isIn(texts, "customer-3 supplier-2"));
    }

    @Test
    void textIsFoundInTheRangeInWhichItEnds() throws IOException {
        KeyTexts texts = texts(KEY);
        byte[] content = ("... " + KEY + " ...").getBytes(StandardCharsets.US_ASCII);
        int end = 4 + KEY.length();
        assertTrue(texts.endIn(content, end - 1, end, content.length, KeyTexts.TEXT, false));
        assertFalse(texts.endIn(content, end, content.length, content.length, KeyTexts.TEXT, false));
        assertFalse(texts.endIn(content, 0, end - 1, content.length, KeyTexts.TEXT, false));
    }

    @Test
    void noTextsAreNowhere() throws IOException {
        assertFalse(isIn(texts(), KEY));
    }

    @Test
    void overlapHoldsTheLongestTextAndWhatIsJudgedAroundIt() throws IOException {
        assertEquals(texts(KEY).overlap() + 10, texts(KEY, KEY + "0123456789").overlap());
    }
}
