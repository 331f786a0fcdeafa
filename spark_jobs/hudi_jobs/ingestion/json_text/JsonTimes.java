import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.Iso8601TimestampFormatter;
import org.apache.spark.sql.catalyst.util.LegacyDateFormats;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Texts as dates and times; null where a text is none, or has more than the type keeps.
 *
 * A text has to match a grammar before Spark converts it, or the user's own pattern, which Spark reads strictly.
 */
class JsonTimes {

    private static final long LAST_SECOND = 253402300799L, FIRST_SECOND = -62135596800L, MILLION = 1000000L;

    private final ZoneId zone;
    private final Iso8601TimestampFormatter reader;
    private final DateTimeFormatter day, instant, local;
    private final Pattern dayGrammar, instantGrammar, localGrammar;

    JsonTimes(Map options) {
        String language = (String) options.get("locale");
        Locale locale = language == null ? Locale.US : Locale.forLanguageTag(language);
        zone = DateTimeUtils.getZoneId((String) options.get("timezone"));
        reader = new Iso8601TimestampFormatter("yyyy", zone, locale, LegacyDateFormats.FAST_DATE_FORMAT(), true);
        day = formatter((String) options.get("dateformat"), locale);
        instant = formatter((String) options.get("timestampformat"), locale);
        local = formatter((String) options.get("timestampntzformat"), locale);
        dayGrammar = Pattern.compile((String) options.get("grammar.date"));
        instantGrammar = Pattern.compile((String) options.get("grammar.timestamp"));
        localGrammar = Pattern.compile((String) options.get("grammar.local"));
    }

    private DateTimeFormatter formatter(String pattern, Locale locale) {
        return pattern == null ? null : reader.getOrCreateFormatter(pattern, locale, true);
    }

    String described(DataType type) {
        if (type instanceof DateType) {
            return day == null ? " written yyyy-MM-dd" : " written as dateFormat says";
        } else if (type instanceof TimestampType) {
            return instant == null ? " written yyyy-MM-dd HH:mm:ss, to microseconds" : " written as timestampFormat says";
        } else if (type instanceof TimestampNTZType) {
            return local == null ? " written yyyy-MM-dd HH:mm:ss, to microseconds, without a zone"
                : " written as timestampNTZFormat says";
        }
        return "";
    }

    String ofNumber(DataType type) {
        boolean isTime = type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType;
        return isTime ? ": a number says no unit; declare BIGINT, and convert it in the transform" : "";
    }

    Object of(String text, DataType type) {
        try {
            if (type instanceof DateType) {
                return day == null ? date(text) : formattedDate(text);
            } else if (type instanceof TimestampType) {
                return instant == null ? time(text) : formattedInstant(text);
            } else if (type instanceof TimestampNTZType) {
                return local == null ? localTime(text) : formattedLocal(text);
            }
            return null;
        } catch (DateTimeException e) {
            return null;
        }
    }

    private Object date(String text) {
        return dayGrammar.matcher(text).find() ? value(DateTimeUtils.stringToDate(UTF8String.fromString(text))) : null;
    }

    private Object time(String text) {
        if (!instantGrammar.matcher(text).find()) {
            return null;
        }
        Long found = (Long) value(DateTimeUtils.stringToTimestamp(UTF8String.fromString(text), zone));
        // Clocks skip an hour where a zone goes forward; Spark takes a time in it for another one.
        Long local = found == null || zone.getRules().isFixedOffset() ? null : localTime(text);
        boolean isSkipped = local != null && zone.getRules().getValidOffsets(
            LocalDateTime.ofEpochSecond(Math.floorDiv(local.longValue(), MILLION), 0, ZoneOffset.UTC)).isEmpty();
        return isSkipped ? null : bounded(found);
    }

    private Long localTime(String text) {
        boolean isTime = localGrammar.matcher(text).find();
        UTF8String value = UTF8String.fromString(text);
        return isTime ? bounded((Long) value(DateTimeUtils.stringToTimestampWithoutTimeZone(value))) : null;
    }

    private static Object value(scala.Option option) {
        return option.isDefined() ? option.get() : null;
    }

    private Object formattedDate(String text) {
        TemporalAccessor found = day.parse(text);
        boolean isDay = LocalTime.MIDNIGHT.equals(reader.toLocalTime(found));
        return isDay ? Integer.valueOf((int) reader.toLocalDate(found).toEpochDay()) : null;
    }

    private Object formattedInstant(String text) {
        TemporalAccessor found = instant.parse(text);
        ZonedDateTime time = reader.toZonedDateTime(found, zone);
        boolean isShown = time.toLocalTime().equals(reader.toLocalTime(found));
        return isShown ? micros(time.toEpochSecond(), time.getNano()) : null;
    }

    private Object formattedLocal(String text) {
        TemporalAccessor found = local.parse(text);
        LocalDateTime time = LocalDateTime.of(reader.toLocalDate(found), reader.toLocalTime(found));
        boolean isLocal = found.query(TemporalQueries.zone()) == null;
        return isLocal ? micros(time.toEpochSecond(ZoneOffset.UTC), time.getNano()) : null;
    }

    private static Long micros(long seconds, int nanos) {
        return nanos % 1000 == 0 ? bounded(Long.valueOf(seconds * MILLION + nanos / 1000)) : null;
    }

    private static Long bounded(Long micros) {
        long seconds = micros == null ? Long.MAX_VALUE : Math.floorDiv(micros.longValue(), MILLION);
        return seconds < FIRST_SECOND || seconds > LAST_SECOND ? null : micros;
    }
}
