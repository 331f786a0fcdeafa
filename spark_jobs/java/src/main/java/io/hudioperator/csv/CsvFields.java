package io.hudioperator.csv;

import java.util.ArrayList;
import java.util.Map;

/**
 * Fields of a record: the grammar of RFC 4180, and what the options of a source change in it.
 *
 * Spark's parser (CsvParser of univocity) drops what stands behind a closing quote, and closes an open quote at the end.
 */
class CsvFields {

    private final String separator, emptyValue, nullValue;
    private final char first, quote, escape;
    private final boolean trimsBefore, trimsBehind;
    private final ArrayList<String> texts = new ArrayList<>();
    private boolean hasQuotes;

    CsvFields(Map<String, String> options) {
        separator = options.get("rows.separator");
        first = separator.charAt(0);
        quote = character(options.get("rows.quote"));
        escape = character(options.get("rows.escape"));
        String empty = options.get("rows.emptyvalue");
        emptyValue = empty == null ? "" : empty;
        nullValue = options.get("rows.nullvalue");
        trimsBefore = "true".equalsIgnoreCase(options.get("ignoreleadingwhitespace"));
        trimsBehind = "true".equalsIgnoreCase(options.get("ignoretrailingwhitespace"));
    }

    private static char character(String text) {
        return text == null || text.isEmpty() ? (char) 0 : text.charAt(0);
    }

    /** Find the fields of a record; false where its quotes are broken. */
    boolean split(String record) {
        texts.clear();
        // Without a quote and the end of a line only separators count.
        hasQuotes = quote != 0 && (record.indexOf(quote) >= 0 || record.indexOf('\r') >= 0);
        String line = hasQuotes && record.endsWith("\r") ? record.substring(0, record.length() - 1) : record;
        int start = 0;
        while (start >= 0 && start <= line.length()) {
            int opening = hasQuotes ? opening(line, start) : -1;
            start = opening < 0 ? plain(line, start) : quoted(line, opening);
        }
        return start >= 0;
    }

    int count() {
        return texts.size();
    }

    /** The text of a field, null where it stands for no value. */
    String text(int place, boolean isText) {
        String text = texts.get(place);
        boolean isValue = text != null && (!text.isEmpty() || isText && hasQuotes && !"".equals(nullValue));
        return isValue && (text.isEmpty() || !text.equals(nullValue)) ? text : null;
    }

    /** Why a record has no fields. */
    String broken(String record) {
        int quotes = 0;
        for (int at = record.indexOf(quote); at >= 0; at = record.indexOf(quote, at + 1)) {
            quotes++;
        }
        if (quotes % 2 == 1) {
            return "a quote is not closed at the end of the row; the option multiLine reads values of several lines, and "
                + "the option escape says how quotes are written inside of values";
        }
        String written = (escape == quote ? "\\" : String.valueOf(quote)) + quote;
        return "text stands behind a closing quote; where quotes inside of values are written " + written
            + ", as Spark writes them, set the option escape of the source";
    }

    /** Where the quote of a field begins, or -1 for a field without quotes. */
    private int opening(String line, int start) {
        int at = trimsBefore ? behindBlanks(line, start) : start;
        return at < line.length() && line.charAt(at) == quote ? at : -1;
    }

    private int behindBlanks(String line, int start) {
        int at = start;
        while (at < line.length() && line.charAt(at) <= ' ' && !isEnd(line, at)) {
            at++;
        }
        return at;
    }

    private boolean isEnd(String line, int at) {
        return at == line.length() || line.charAt(at) == first && line.startsWith(separator, at);
    }

    /** Add a field without quotes; return where the next one begins, or -1 for a field that holds the end of a line. */
    private int plain(String line, int start) {
        int found = line.indexOf(separator, start);
        int end = found < 0 ? line.length() : found;
        for (int at = start; hasQuotes && at < end; at++) {
            if (line.charAt(at) == '\r' || line.charAt(at) == '\n') {
                return -1;
            }
        }
        int from = start, to = end;
        while (trimsBefore && from < to && isBlank(line.charAt(from))) {
            from++;
        }
        while (trimsBehind && from < to && isBlank(line.charAt(to - 1))) {
            to--;
        }
        texts.add(hasQuotes && from == to ? null : line.substring(from, to));
        return end + separator.length();
    }

    private boolean isBlank(char character) {
        return character <= ' ' && separator.indexOf(character) < 0;
    }

    /** Add a field in quotes; return where the next one begins, or -1 where the quote is not closed at its end. */
    private int quoted(String line, int opening) {
        int at = opening + 1;
        StringBuilder text = null;
        int copied = at;
        while (at < line.length()) {
            char one = line.charAt(at);
            char next = at + 1 < line.length() ? line.charAt(at + 1) : (char) 0;
            if (one == quote && next != quote) {
                return closed(line, at, text == null ? line.substring(copied, at) : text.append(line, copied, at).toString());
            } else if (one == quote || one == escape) {
                if (next == quote || next == escape && one == escape) {
                    text = text == null ? new StringBuilder() : text;
                    text.append(line, copied, at);
                    copied = at + 1;
                }
                at++;
            }
            at++;
        }
        return -1;
    }

    private int closed(String line, int closing, String text) {
        int end = trimsBehind ? behindBlanks(line, closing + 1) : closing + 1;
        texts.add(text.isEmpty() ? emptyValue : text);
        return isEnd(line, end) ? end + separator.length() : -1;
    }
}
