package io.hudioperator.search;

/** What a search has seen of one file, part by part. */
public final class KeySearch {
    private static final int MOST_IN_MEMORY = 1 << 30;

    public final KeyTexts texts;
    /** Whether a text of digits is none where JSON has a number. */
    public final boolean skipsNumbers;
    public long bytes;
    public long decoded;
    public boolean hit;
    public boolean unread;

    public KeySearch(KeyTexts texts, boolean skipsNumbers) {
        this.texts = texts;
        this.skipsNumbers = skipsNumbers;
    }

    /** Looks into what was decompressed. */
    public void decoded(byte[] content, int kind) {
        decoded += content.length;
        hit |= areIn(content, kind);
    }

    /** Whether a text is in a part of the file, of a kind as {@link KeyTexts} has it. */
    public boolean areIn(byte[] content, int kind) {
        return texts.areIn(content, kind, skipsNumbers);
    }

    public static int bounded(long size) {
        if (size < 0 || size > MOST_IN_MEMORY) {
            throw new IllegalStateException("a part of the file has " + size + " bytes");
        }
        return (int) size;
    }

    public static boolean starts(byte[] content, byte[] beginning) {
        if (content.length < beginning.length) {
            return false;
        }
        for (int place = 0; place < beginning.length; place++) {
            if (content[place] != beginning[place]) {
                return false;
            }
        }
        return true;
    }

    public static byte[] ascii(String text) {
        return text.getBytes(java.nio.charset.StandardCharsets.US_ASCII);
    }
}
