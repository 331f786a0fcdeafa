package io.hudioperator.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TextNumbersTest {

    private static Object value(String text, DataType type) {
        return TextNumbers.ofText(text, type, '.');
    }

    @Test
    void wholeNumberIsReadUpToTheLimitsOfItsType() {
        assertEquals(Byte.MIN_VALUE, value("-128", DataTypes.ByteType));
        assertNull(value("128", DataTypes.ByteType));
        assertEquals(Short.MAX_VALUE, value("32767", DataTypes.ShortType));
        assertNull(value("32768", DataTypes.ShortType));
        assertEquals(Integer.MIN_VALUE, value("-2147483648", DataTypes.IntegerType));
        assertNull(value("2147483648", DataTypes.IntegerType));
        assertEquals(Long.MAX_VALUE, value("+9223372036854775807", DataTypes.LongType));
        assertNull(value("9223372036854775808", DataTypes.LongType));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "+", "1.0", "1e3", " 1", "1 ", "1,000", "1_000", "0x1", "\u0663", "--1"})
    void textOfAnythingButDigitsIsNoWholeNumber(String text) {
        assertNull(value(text, DataTypes.LongType));
    }

    @ParameterizedTest
    @CsvSource({"1,1", "1.,1", ".5,0.5", "-.5e1,-5", "+1E-2,0.01", "0e-400,0", "4.9e-324,4.9e-324"})
    void floatingNumberIsTheNearestValue(String text, double expected) {
        assertEquals(expected, value(text, DataTypes.DoubleType));
    }

    @ParameterizedTest
    @ValueSource(strings = {".", "e5", "1d", "1f", "0x1p3", "NaN", "Infinity", "1e", "1e+", "0e12345", "1.2.3", "1,5"})
    void textThatJavaWouldTakeForANumberIsNone(String text) {
        assertNull(value(text, DataTypes.DoubleType));
    }

    @Test
    void numberBeyondTheRangeOfAFloatingTypeHasNoValue() {
        assertNull(value("1e400", DataTypes.DoubleType));
        assertNull(value("1e-400", DataTypes.DoubleType));
        assertNull(value("1e39", DataTypes.FloatType));
        assertNull(value("1e-60", DataTypes.FloatType));
        assertEquals(Float.MAX_VALUE, value("3.4028235e38", DataTypes.FloatType));
    }

    @ParameterizedTest
    @CsvSource({"1.230,1.23", "1E+3,1000.00", "0E-10,0.00", ".5,0.50", "+1,1.00", "0e9999,0.00"})
    void decimalIsExact(String text, String expected) {
        assertEquals(expected, value(text, DataTypes.createDecimalType(10, 2)).toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.239", "1e-3", "123456789", "1e8", "12,50", "", "1e99999"})
    void decimalIsNeverRoundedOrCut(String text) {
        assertNull(value(text, DataTypes.createDecimalType(10, 2)));
    }

    @Test
    void decimalWithACommaIsReadWhereTheLocaleWritesOne() {
        DataType type = DataTypes.createDecimalType(10, 2);
        assertEquals("12.50", TextNumbers.ofText("12,50", type, ',').toString());
        assertNull(TextNumbers.ofText("1.234,50", type, ','));
    }

    @Test
    void decimalWithAHugeExponentIsRefusedWithoutWritingItsZerosOut() {
        DataType type = DataTypes.createDecimalType(38, 0);
        assertTimeoutPreemptively(Duration.ofSeconds(5), () -> assertNull(value("1e9999", type)));
        assertTimeoutPreemptively(
            Duration.ofSeconds(5), () -> assertNull(TextNumbers.decimal("1e999999999", DataTypes.createDecimalType(38, 0))));
    }

    @Test
    void textOfMoreThanEightHundredCharactersIsNoNumber() {
        assertEquals(1L, value("0".repeat(799) + "1", DataTypes.LongType));
        assertNull(value("0".repeat(800) + "1", DataTypes.LongType));
    }
}
