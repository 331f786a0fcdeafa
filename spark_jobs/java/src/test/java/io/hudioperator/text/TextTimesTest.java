package io.hudioperator.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.time.Instant;
import java.time.LocalDate;
import java.util.Map;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TextTimesTest {

    private static final TextTimes UTC = new TextTimes(Map.of("timezone", "UTC"));
    private static final TextTimes BERLIN = new TextTimes(Map.of("timezone", "Europe/Berlin"));

    private static long micros(String instant) {
        Instant found = Instant.parse(instant);
        return found.getEpochSecond() * 1000000 + found.getNano() / 1000;
    }

    @ParameterizedTest
    @ValueSource(strings = {"2026-03-01", "2026-3-1"})
    void dateHasAYearAMonthAndADay(String text) {
        assertEquals((int) LocalDate.of(2026, 3, 1).toEpochDay(), UTC.of(text, DataTypes.DateType));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "2026", "2026-03", "2026-02-30", "0000-01-01", "20260301", "2026-03-01 x", "2026-03-01T00:00:00"})
    void textWithLessOrMoreThanADayIsNoDate(String text) {
        assertNull(UTC.of(text, DataTypes.DateType));
    }

    @ParameterizedTest
    @CsvSource({
        "2026-03-01,2026-03-01T00:00:00Z",
        "2026-03-01 10:20,2026-03-01T10:20:00Z",
        "2026-03-01T10:20:30.123456000Z,2026-03-01T10:20:30.123456Z",
        "2026-03-01 10:20:30 +01:30,2026-03-01T08:50:30Z",
        "2026-03-01 10:20:30-0130,2026-03-01T11:50:30Z",
        "2026-07-01 10:20:30 Europe/Berlin,2026-07-01T08:20:30Z",
    })
    void timeIsTheInstantOfItsZone(String text, String expected) {
        assertEquals(micros(expected), UTC.of(text, DataTypes.TimestampType));
    }

    @ParameterizedTest
    @ValueSource(strings = {"10:20", "2026", "now", "1732400000", "2026-03-01 25:00:00", "2026-03-01 10:20:30 CST", "epoch"})
    void textThatSparkWouldGuessATimeFromIsNone(String text) {
        assertNull(UTC.of(text, DataTypes.TimestampType));
    }

    @Test
    void timeWithoutAZoneIsInTheZoneOfTheOptions() {
        assertEquals(micros("2026-01-01T11:00:00Z"), BERLIN.of("2026-01-01 12:00:00", DataTypes.TimestampType));
        assertEquals(micros("2026-01-01T12:00:00Z"), BERLIN.of("2026-01-01 12:00:00Z", DataTypes.TimestampType));
    }

    @Test
    void timeInAnHourThatTheClocksSkipHasNoValue() {
        assertNull(BERLIN.of("2026-03-29 02:30:00", DataTypes.TimestampType));
        assertNull(UTC.of("2026-03-29 02:30:00 Europe/Berlin", DataTypes.TimestampType));
        assertEquals(micros("2026-03-29T02:30:00Z"), UTC.of("2026-03-29 02:30:00", DataTypes.TimestampType));
        assertEquals(
            "is in an hour that the clocks of its zone skip (TIMESTAMP)",
            BERLIN.fault("2026-03-29 02:30:00", DataTypes.TimestampType));
    }

    @Test
    void timeFinerThanAMicrosecondHasNoValue() {
        assertNull(UTC.of("2026-03-01 10:20:30.1234567", DataTypes.TimestampType));
        assertEquals(
            "has more than six digits of a second, which TIMESTAMP cannot hold",
            UTC.fault("2026-03-01 10:20:30.1234567", DataTypes.TimestampType));
    }

    @Test
    void timeBeyondTheYears1To9999InUtcHasNoValue() {
        assertNull(UTC.of("9999-12-31 23:59:59 -01:00", DataTypes.TimestampType));
        assertNull(UTC.of("0001-01-01 00:00:00 +01:00", DataTypes.TimestampType));
        assertEquals(micros("9999-12-31T23:59:59Z"), UTC.of("9999-12-31 23:59:59", DataTypes.TimestampType));
    }

    @Test
    void timeWithAZoneIsNoLocalTime() {
        assertNull(UTC.of("2026-03-01 10:20:30Z", DataTypes.TimestampNTZType));
        assertEquals(micros("2026-03-01T10:20:30.5Z"), BERLIN.of("2026-03-01 10:20:30.5", DataTypes.TimestampNTZType));
    }

    @Test
    void patternOfTheUserIsReadStrictly() {
        TextTimes times = new TextTimes(Map.of(
            "timezone", "UTC", "dateformat", "dd/MM/yyyy", "timestampformat", "dd/MM/yyyy HH:mm", "locale", "en-US"));
        assertEquals((int) LocalDate.of(2026, 3, 31).toEpochDay(), times.of("31/03/2026", DataTypes.DateType));
        assertNull(times.of("31/02/2026", DataTypes.DateType));
        assertNull(times.of("2026-03-31", DataTypes.DateType));
        assertNull(times.of("31/03/2026 10:20", DataTypes.DateType));
        assertEquals(micros("2026-03-31T10:20:00Z"), times.of("31/03/2026 10:20", DataTypes.TimestampType));
        assertEquals("is not a date written dd/MM/yyyy (DATE)", times.fault("x", DataTypes.DateType));
    }
}
