package io.hudioperator.csv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CsvFieldsTest {

    private static CsvFields fields(String... changes) {
        Map<String, String> options =
            new HashMap<>(Map.of("rows.separator", ",", "rows.quote", "\"", "rows.escape", "\""));
        for (int i = 0; i < changes.length; i += 2) {
            options.put(changes[i], changes[i + 1]);
        }
        return new CsvFields(options);
    }

    private static List<String> split(CsvFields fields, String record) {
        assertTrue(fields.split(record), record);
        List<String> found = new ArrayList<>();
        for (int place = 0; place < fields.count(); place++) {
            found.add(fields.text(place, true));
        }
        return found;
    }

    @Test
    void recordWithoutQuotesIsDividedBySeparatorsOnly() {
        assertEquals(List.of("a", " b ", "c'd"), split(fields(), "a, b ,c'd"));
    }

    @Test
    void separatorAtTheEndBeginsOneMoreField() {
        CsvFields fields = fields();
        assertEquals(Arrays.asList("a", null), split(fields, "a,"));
        assertEquals(Arrays.asList(null, null, null), split(fields, ",,"));
    }

    @Test
    void quotedFieldKeepsSeparatorsLineBreaksAndDoubledQuotes() {
        assertEquals(List.of("a,b", "c\nd", "say \"hi\""), split(fields(), "\"a,b\",\"c\nd\",\"say \"\"hi\"\"\""));
    }

    @Test
    void emptyTextInQuotesIsATextAndWithoutQuotesNone() {
        assertEquals(Arrays.asList("", null, "x"), split(fields(), "\"\",,x"));
        assertEquals(Arrays.asList("-", null), split(fields("rows.emptyvalue", "-"), "\"\","));
    }

    @Test
    void wordForNullStandsForNoValue() {
        assertEquals(Arrays.asList(null, "n"), split(fields("rows.nullvalue", "NULL"), "NULL,n"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"a\"b,c", "\"a,b", "a,\"b\" ,c", "\"a\"\"", "\"a\nb,c"})
    void textBehindAClosingQuoteOrAnOpenQuoteBreaksTheRecord(String record) {
        assertFalse(fields().split(record));
    }

    @Test
    void causeOfABrokenRecordSaysWhichOptionHelps() {
        CsvFields fields = fields();
        assertTrue(fields.broken("\"a,b").contains("option multiLine"));
        assertTrue(fields.broken("\"a\\\"b\",\"").contains("written \\\""), fields.broken("\"a\\\"b\",\""));
    }

    @Test
    void lineBreakInAFieldWithoutQuotesBreaksTheRecord() {
        assertFalse(fields().split("a\rb,\"c\""));
        assertEquals(List.of("a", "c"), split(fields(), "a,\"c\"\r"));
    }

    @Test
    void quoteInsideOfAFieldWithoutQuotesIsPartOfIt() {
        assertEquals(List.of("5\" pipe", "b"), split(fields(), "5\" pipe,b"));
    }

    @Test
    void escapeCharacterStandsBeforeQuotesAndItself() {
        CsvFields fields = fields("rows.escape", "\\");
        assertEquals(List.of("a\"b", "c\\d", "e\\n"), split(fields, "\"a\\\"b\",\"c\\\\d\",\"e\\n\""));
    }

    @Test
    void blanksAreTrimmedOnlyWhereTheOptionsSayIt() {
        CsvFields trimming = fields("ignoreleadingwhitespace", "true", "ignoretrailingwhitespace", "true");
        assertEquals(List.of("a", "b", " c "), split(trimming, " a , b,  \" c \" "));
        assertEquals(List.of("a", "b "), split(fields("ignoreleadingwhitespace", "true"), " a, b "));
    }

    @Test
    void separatorMayHaveSeveralCharactersOrBeABlank() {
        assertEquals(List.of("a", "b|c", "d"), split(fields("rows.separator", "||"), "a||\"b|c\"||d"));
        CsvFields tabs = fields("rows.separator", "\t", "ignoreleadingwhitespace", "true", "ignoretrailingwhitespace", "true");
        assertEquals(Arrays.asList("a", null, "c"), split(tabs, " a\t\tc "));
    }

    @Test
    void quoteIsAnOrdinaryCharacterWhereTheOptionsNameNone() {
        assertEquals(List.of("\"a", "b\""), split(fields("rows.quote", "", "rows.escape", ""), "\"a,b\""));
    }
}
