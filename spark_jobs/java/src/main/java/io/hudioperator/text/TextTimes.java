package io.hudioperator.text;

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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.Iso8601TimestampFormatter;
import org.apache.spark.sql.catalyst.util.LegacyDateFormats;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Texts as dates and times; null where a text is none, or has more than the type keeps.
 *
 * A text has to match a grammar before Spark converts it, or the user's own pattern, which Spark reads strictly: Spark's
 * own casts cut a date off behind its day, and take 10:20 for a time of today (SparkDateTimeUtils.stringToTimestamp).
 */
public class TextTimes {

    private static final long LAST_SECOND = 253402300799L, FIRST_SECOND = -62135596800L, MILLION = 1000000L;
    private static final String DAY = "(?!0000)[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}";
    private static final String CLOCK = "[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\\.[0-9]{1,6}+0{0,99}+)?)?";
    private static final String REGION = "[A-Z][A-Za-z]+(?:/[A-Za-z_]+){1,2}";
    private static final String ZONE = " ?(?:Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?|(" + REGION + "))";
    private static final Pattern DATE = Pattern.compile(DAY);
    private static final Pattern LOCAL = Pattern.compile(DAY + "(?:[ T]" + CLOCK + ")?");
    private static final Pattern INSTANT = Pattern.compile("(" + DAY + "(?:[ T]" + CLOCK + ")?)(" + ZONE + ")?");
    private static final Pattern TOO_FINE = Pattern.compile("^" + DAY + "[ T][0-9:]+\\.[0-9]{6}0*+[1-9]");

    private final ZoneId zone;
    private final Iso8601TimestampFormatter reader;
    private final String dayPattern, instantPattern, localPattern;
    private final DateTimeFormatter day, instant, local;

    public TextTimes(Map<String, String> options) {
        String language = options.get("locale");
        Locale locale = language == null ? Locale.US : Locale.forLanguageTag(language);
        zone = DateTimeUtils.getZoneId(options.get("timezone"));
        reader = new Iso8601TimestampFormatter("yyyy", zone, locale, LegacyDateFormats.FAST_DATE_FORMAT(), true);
        dayPattern = options.get("dateformat");
        instantPattern = options.get("timestampformat");
        localPattern = options.get("timestampntzformat");
        day = formatter(dayPattern, locale);
        instant = formatter(instantPattern, locale);
        local = formatter(localPattern, locale);
    }

    private DateTimeFormatter formatter(String pattern, Locale locale) {
        return pattern == null ? null : reader.getOrCreateFormatter(pattern, locale, true);
    }

    public Object of(String text, DataType type) {
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

    /** Why a text has no value of a type, as a clause behind the name of its column. */
    public String fault(String text, DataType type) {
        String name = type.sql();
        if (type instanceof DateType) {
            return "is not a date written " + (day == null ? "yyyy-MM-dd" : dayPattern) + " (DATE)";
        }
        String pattern = type instanceof TimestampType ? instantPattern : localPattern;
        if (pattern != null) {
            return "is not a time written " + pattern + " (" + name + ")";
        } else if (TOO_FINE.matcher(text).find()) {
            return "has more than six digits of a second, which " + name + " cannot hold";
        } else if (type instanceof TimestampType && isMoment(text)) {
            return isSkipped(text) ? "is in an hour that the clocks of its zone skip (" + name + ")"
                : "is before the year 1 or behind the year 9999 in UTC (" + name + ")";
        }
        String ending = type instanceof TimestampType ? ", with or without a zone" : ", without a zone";
        return "is not a time written yyyy-MM-dd HH:mm:ss" + ending + " (" + name + ")";
    }

    private Object date(String text) {
        return DATE.matcher(text).matches() ? value(DateTimeUtils.stringToDate(UTF8String.fromString(text))) : null;
    }

    private Object time(String text) {
        Long found = moment(text);
        return found == null || isSkipped(text) ? null : bounded(found);
    }

    private boolean isMoment(String text) {
        try {
            return moment(text) != null;
        } catch (DateTimeException e) {
            return false;
        }
    }

    private Long moment(String text) {
        boolean isTime = INSTANT.matcher(text).matches();
        return isTime ? (Long) value(DateTimeUtils.stringToTimestamp(UTF8String.fromString(text), zone)) : null;
    }

    /** Clocks skip an hour where a zone goes forward; Spark takes a time in it for another one. */
    private boolean isSkipped(String text) {
        Matcher parts = INSTANT.matcher(text);
        if (!parts.matches() || parts.group(2) != null && parts.group(3) == null) {
            return false;
        }
        ZoneId own = parts.group(3) == null ? zone : DateTimeUtils.getZoneId(parts.group(3));
        Long clocks = own.getRules().isFixedOffset() ? null : localTime(parts.group(1));
        return clocks != null && own.getRules().getValidOffsets(
            LocalDateTime.ofEpochSecond(Math.floorDiv(clocks.longValue(), MILLION), 0, ZoneOffset.UTC)).isEmpty();
    }

    private Long localTime(String text) {
        boolean isTime = LOCAL.matcher(text).matches();
        UTF8String value = UTF8String.fromString(text);
        return isTime ? bounded((Long) value(DateTimeUtils.stringToTimestampWithoutTimeZone(value))) : null;
    }

    private static Object value(scala.Option<?> option) {
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
