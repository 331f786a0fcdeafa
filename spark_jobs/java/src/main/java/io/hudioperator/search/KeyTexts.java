package io.hudioperator.search;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

/**
 * Many texts that are looked for at once in bytes. What a byte takes is bounded by the longest text, not by how many.
 *
 * The last eight bytes of a text say which texts end like it. These are sorted by their bytes from the last to the
 * first, so the greatest that is not above what lies in the content is the longest one there, or ends with it: all
 * others there are ends of that one.
 *
 * A text counts where it stands as a whole: where nothing before it or behind it makes it longer, or in other content
 * than text where a length before it says so. What makes it longer, `letters.py` says; an escape of JSON or a URL does
 * not.
 */
public final class KeyTexts {
    /** Content without lengths: a line break, a space or a quote before a text is no length of it. */
    public static final int TEXT = 0;
    /** Pages of Parquet whose values are texts: the length before each has four bytes, the low one first. */
    public static final int PAGE = 1;
    /** What Thrift writes, as the footer of Parquet: a length is a variable number. */
    public static final int THRIFT = 2;
    /** Anything else: lengths of every kind, also doubled as Avro does. */
    public static final int ANY = 3;
    /** Content of which parts are still to be judged: a text counts wherever its bytes are. */
    public static final int UNJUDGED = 4;
    /** Bytes behind the end of a text that tell whether it goes on: a dot and a character, or a length. */
    public static final int AFTER = 5;
    /** Bytes before its start that tell whether it begins there: the longest escape. */
    private static final int BEFORE = 6;
    private static final int WINDOW = 8;
    private static final int BLOCK = 64;
    private static final int NONE = 0;
    private static final int ALWAYS = 1;

    private final int[] ranges;
    private final int[] scripts;
    private final Text[] texts;
    private final long[] windows;
    private final int[] first;
    private final int[] last;
    private final int shift;
    /** Odd and random, so that nobody can choose texts whose windows all have the same slot. */
    private final long factor;
    private final boolean areInNames;
    private int longest = WINDOW;

    /** Takes ranges of characters with their scripts, and texts with the scripts that make them longer. */
    public KeyTexts(byte[] joined) throws IOException {
        factor = new Random().nextLong() | 1;
        areInNames = false;
        DataInputStream input = new DataInputStream(new ByteArrayInputStream(joined));
        ranges = new int[input.readInt()];
        scripts = new int[ranges.length];
        for (int index = 0; index < ranges.length; index++) {
            ranges[index] = input.readInt();
            scripts[index] = input.readInt();
        }
        texts = new Text[input.readInt()];
        for (int index = 0; index < texts.length; index++) {
            texts[index] = new Text(input);
            longest = Math.max(longest, texts[index].bytes.length);
        }
        Arrays.sort(texts, (one, other) -> order(one.bytes, other.bytes, other.bytes.length, 0));
        int bits = 33 - Integer.numberOfLeadingZeros(Math.max(8, texts.length * 2));
        shift = 64 - bits;
        windows = new long[1 << bits];
        first = new int[1 << bits];
        last = new int[1 << bits];
        Arrays.fill(first, -1);
        for (int index = 0; index < texts.length; index++) {
            add(index);
        }
    }

    private KeyTexts(KeyTexts same) {
        ranges = same.ranges;
        scripts = same.scripts;
        texts = same.texts;
        windows = same.windows;
        first = same.first;
        last = same.last;
        shift = same.shift;
        factor = same.factor;
        longest = same.longest;
        areInNames = true;
    }

    /** The same texts in content that names files, whose endings make no text longer. */
    public KeyTexts inNames() {
        return new KeyTexts(this);
    }

    private void add(int index) {
        byte[] text = texts[index].bytes;
        long window = 0;
        for (int place = text.length - WINDOW; place < text.length; place++) {
            window = window << 8 | text[place] & 0xff;
        }
        int slot = slot(window);
        if (first[slot] < 0) {
            first[slot] = index;
            windows[slot] = window;
        }
        last[slot] = index;
        int within = index - 1;
        while (within >= first[slot] && !isAt(text, text.length, within)) {
            within = texts[within].within;
        }
        texts[index].within = within < first[slot] ? -1 : within;
    }

    private boolean isAt(byte[] content, int end, int index) {
        return shared(content, end, texts[index].bytes, 0) == texts[index].bytes.length;
    }

    /** A text; `within` is the longest other one that it ends with. */
    private static final class Text {
        final byte[] bytes;
        final int scriptBefore;
        final int scriptAfter;
        final boolean isNumber;
        final boolean isAddress;
        int within = -1;

        Text(DataInputStream input) throws IOException {
            bytes = new byte[input.readInt()];
            scriptBefore = input.readInt();
            scriptAfter = input.readInt();
            input.readFully(bytes);
            String text = new String(bytes, StandardCharsets.UTF_8);
            isNumber = text.matches("[0-9]+");
            isAddress = text.indexOf('@') >= 0;
        }
    }

    /** Whether a number of JSON stands there, which is no text: an offset or a size. */
    private static boolean isNumber(byte[] content, int end, int length, Text text) {
        int start = end - text.bytes.length;
        int before = start - (start > 1 && content[start - 1] == ' ' ? 2 : 1);
        int after = end + (end < length && content[end] == ' ' ? 1 : 0);
        return text.isNumber && before >= 0 && after < length && "[,:".indexOf(content[before]) >= 0
            && ",]}\r\n".indexOf(content[after]) >= 0;
    }

    /** How many bytes at the end of a part of some content are needed again, before the next part. */
    public int overlap() {
        return longest + AFTER + BEFORE;
    }

    /** Whether one of them is in some content; with `skipsNumbers`, one of digits is none where JSON has a number. */
    public boolean areIn(byte[] content, int kind, boolean skipsNumbers) {
        return endIn(content, 0, content.length, content.length, kind, skipsNumbers);
    }

    /** Whether one of them ends behind `from` and not behind `until`, in content of a length. */
    public boolean endIn(byte[] content, int from, int until, int length, int kind, boolean skipsNumbers) {
        if (texts.length == 0) {
            return false;
        }
        long window = 0;
        for (int place = Math.max(0, from - WINDOW + 1); place < until; place++) {
            window = window << 8 | content[place] & 0xff;
            int slot = slot(window);
            if (first[slot] >= 0 && place >= from && endAt(content, place + 1, length, slot, kind, skipsNumbers)) {
                return true;
            }
        }
        return false;
    }

    private boolean endAt(byte[] content, int end, int length, int slot, int kind, boolean skipsNumbers) {
        int index = greatest(content, end, slot);
        int same = shared(content, end, texts[index].bytes, 0);
        for (; index >= 0; index = texts[index].within) {
            Text text = texts[index];
            if (text.bytes.length > same || skipsNumbers && isNumber(content, end, length, text)) {
                continue;
            }
            if (stands(content, end, length, kind, text)) {
                return true;
            }
        }
        return false;
    }

    /** The greatest text that is not above what ends there; no text before the first is compared. */
    private int greatest(byte[] content, int end, int slot) {
        int low = first[slot];
        int high = last[slot] + 1;
        int sameLow = 0;
        int sameHigh = 0;
        while (high - low > 1) {
            int middle = low + high >>> 1;
            byte[] text = texts[middle].bytes;
            int same = shared(content, end, text, Math.min(sameLow, sameHigh));
            if (order(text, content, end, same) <= 0) {
                low = middle;
                sameLow = same;
            } else {
                high = middle;
                sameHigh = same;
            }
        }
        return low;
    }

    /** How many last bytes of a text are those before an end, where so many are known to be. */
    private static int shared(byte[] content, int end, byte[] text, int known) {
        int most = Math.min(text.length, end);
        int same = known;
        while (same + BLOCK <= most && Arrays.equals(content, end - same - BLOCK, end - same,
            text, text.length - same - BLOCK, text.length - same)) {
            same += BLOCK;
        }
        while (same < most && text[text.length - 1 - same] == content[end - 1 - same]) {
            same++;
        }
        return same;
    }

    /** Compares a text with what lies before an end, from the last byte on. */
    private static int order(byte[] text, byte[] content, int end, int known) {
        int same = shared(content, end, text, known);
        if (same == text.length || same == end) {
            return Integer.compare(text.length, end);
        }
        return (text[text.length - 1 - same] & 0xff) - (content[end - 1 - same] & 0xff);
    }

    private boolean stands(byte[] content, int end, int length, int kind, Text text) {
        int start = end - text.bytes.length;
        if (kind == UNJUDGED || isPrefixed(content, start, kind, text.bytes.length)) {
            return true;
        }
        boolean follows = isLonger(next(content, end, length), text.scriptAfter)
            || !areInNames && end < length && content[end] == '.'
            && isLonger(next(content, end + 1, length), text.scriptAfter);
        boolean ends = !follows || kind != TEXT && isLength(content, end, length);
        return ends && !isJoined(content, start, text)
            && (!isLonger(previous(content, start), text.scriptBefore) || isEscape(content, start));
    }

    /** Whether the name of an address goes on before it: `b@example.com` is no part of `a.b@example.com`. */
    private boolean isJoined(byte[] content, int start, Text text) {
        return text.isAddress && start > 1 && ".+'".indexOf(content[start - 1]) >= 0
            && isLonger(previous(content, start - 1), text.scriptBefore);
    }

    /**
     * Whether the length of a next text may begin there, as in plain pages of Parquet: four bytes, the low one first.
     * If the text went on for one more character, the length would end one byte later, with a zero.
     */
    private static boolean isLength(byte[] content, int place, int length) {
        return place + 5 <= length && content[place + 2] == 0 && content[place + 3] == 0 && content[place + 4] != 0;
    }

    private boolean isLonger(int character, int script) {
        int place = Arrays.binarySearch(ranges, character);
        int found = scripts[place < 0 ? -place - 2 : place];
        return found == ALWAYS || found != NONE && found == script;
    }

    /** The character that begins there, or the one that stands for bytes that are none. */
    private static int next(byte[] content, int place, int length) {
        int size = place < length ? size(content[place]) : 0;
        return size == 0 || place + size > length ? 0xfffd : character(content, place, size);
    }

    private static int previous(byte[] content, int end) {
        for (int size = 1; size <= 4 && size <= end; size++) {
            if (size(content[end - size]) == size) {
                return character(content, end - size, size);
            }
        }
        return 0xfffd;
    }

    /** How many bytes of UTF-8 a character has that begins with this one; none begins with some. */
    private static int size(byte begin) {
        int ones = Integer.numberOfLeadingZeros(~(begin << 24));
        return ones == 0 ? 1 : ones == 1 || ones > 4 ? 0 : ones;
    }

    private static int character(byte[] content, int place, int size) {
        return new String(content, place, size, StandardCharsets.UTF_8).codePointAt(0);
    }

    /** Whether what goes before is no letter of a text, but how JSON or a URL spell some other character. */
    private static boolean isEscape(byte[] content, int start) {
        if (start >= 2 && content[start - 2] == '\\' && "bfnrt".indexOf(content[start - 1]) >= 0) {
            return true;
        }
        if (start >= 3 && content[start - 3] == '%' && isHex(content, start - 2, start)) {
            return true;
        }
        return start >= 6 && content[start - 6] == '\\' && content[start - 5] == 'u' && isHex(content, start - 4, start);
    }

    private static boolean isHex(byte[] content, int from, int to) {
        for (int place = from; place < to; place++) {
            if (Character.digit((char) (content[place] & 0xff), 16) < 0) {
                return false;
            }
        }
        return true;
    }

    /** Whether a length stands before it: four or two bytes, or a variable number, plain or doubled. */
    private static boolean isPrefixed(byte[] content, int start, int kind, int size) {
        if ((kind == PAGE || kind == ANY) && start >= 4) {
            int big = number(content, start - 4);
            // In a page, three zeros of a text's own length and the character behind it are no length of what follows.
            if (Integer.reverseBytes(big) == size || kind == ANY && big == size) {
                return true;
            }
        }
        if (kind == THRIFT) {
            return isVariable(content, start, size);
        }
        return kind == ANY && (isVariable(content, start, size) || isVariable(content, start, size * 2)
            || start >= 2 && content[start - 2] == (byte) (size >> 8) && content[start - 1] == (byte) size);
    }

    private static boolean isVariable(byte[] content, int start, int number) {
        int width = number < 1 << 7 ? 1 : number < 1 << 14 ? 2 : 3;
        if (start < width) {
            return false;
        }
        for (int place = start - width; place < start; place++) {
            int expected = number & 0x7f | (place < start - 1 ? 0x80 : 0);
            if ((content[place] & 0xff) != expected) {
                return false;
            }
            number >>= 7;
        }
        return true;
    }

    private int slot(long window) {
        int slot = (int) (window * factor >>> shift);
        while (first[slot] >= 0 && windows[slot] != window) {
            slot = slot + 1 & first.length - 1;
        }
        return slot;
    }

    /** Four bytes as a number. */
    public static int number(byte[] content, int place) {
        return (content[place] & 0xff) << 24 | (content[place + 1] & 0xff) << 16
            | (content[place + 2] & 0xff) << 8 | content[place + 3] & 0xff;
    }
}
