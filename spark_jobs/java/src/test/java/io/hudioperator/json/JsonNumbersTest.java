package io.hudioperator.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonNumbersTest {

    private static Object number(String text, DataType type, boolean isInferred) throws IOException {
        JsonParser parser = new JsonFactory().createParser(text);
        return JsonNumbers.of(parser, parser.nextToken(), type, isInferred);
    }

    private static Object declared(String text, DataType type) throws IOException {
        return number(text, type, false);
    }

    @Test
    void wholeNumberIsReadUpToTheLimitsOfItsType() throws IOException {
        assertEquals(Long.MAX_VALUE, declared("9223372036854775807", DataTypes.LongType));
        assertNull(declared("9223372036854775808", DataTypes.LongType));
        assertEquals(Byte.MIN_VALUE, declared("-128", DataTypes.ByteType));
        assertNull(declared("128", DataTypes.ByteType));
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.0", "1e3", "0.5"})
    void numberWithAFractionOrAnExponentIsNoWholeNumber(String text) throws IOException {
        assertNull(declared(text, DataTypes.LongType));
    }

    @ParameterizedTest
    @CsvSource({"1.5,1.50", "1e3,1000.00", "100,100.00", "-0,0.00"})
    void decimalIsExact(String text, String expected) throws IOException {
        assertEquals(expected, declared(text, DataTypes.createDecimalType(10, 2)).toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.234", "123456789", "1e-3"})
    void decimalIsNeverRoundedOrCut(String text) throws IOException {
        assertNull(declared(text, DataTypes.createDecimalType(10, 2)));
    }

    @Test
    void declaredFloatingColumnHasTheNearestValue() throws IOException {
        assertEquals(0.1, declared("0.1", DataTypes.DoubleType));
        assertEquals(9007199254740992.0, declared("9007199254740993", DataTypes.DoubleType));
        assertNull(declared("1e400", DataTypes.DoubleType));
        assertNull(declared("1e39", DataTypes.FloatType));
    }

    @Test
    void inferredFloatingColumnHasNoValueForAWholeNumberThatItWouldChange() throws IOException {
        assertNull(number("9007199254740993", DataTypes.DoubleType, true));
        assertEquals(9007199254740992.0, number("9007199254740992", DataTypes.DoubleType, true));
        assertEquals(0.1, number("0.1", DataTypes.DoubleType, true));
    }

    @ParameterizedTest
    @CsvSource({"NaN,NaN", "INF,Infinity", "+INF,Infinity", "Infinity,Infinity", "-INF,-Infinity", "-Infinity,-Infinity"})
    void wordsOfSparkStandForValuesThatAreNoNumbers(String text, double expected) {
        assertEquals(expected, JsonNumbers.notFinite(text, DataTypes.DoubleType));
        assertEquals((float) expected, JsonNumbers.notFinite(text, DataTypes.FloatType));
    }

    @ParameterizedTest
    @ValueSource(strings = {"nan", "inf", "--INF", "1", ""})
    void otherWordsStandForNone(String text) {
        assertNull(JsonNumbers.notFinite(text, DataTypes.DoubleType));
    }
}
