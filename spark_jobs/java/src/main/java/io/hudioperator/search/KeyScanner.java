package io.hudioperator.search;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;

/**
 * Looks for any of many texts in every byte of a file, and in what its compressed parts hold.
 *
 * What a file is, its first bytes say. Of Parquet the pages are searched as they are decompressed, and as they lie
 * there the bytes between them; of HFile the entries of each block; of Hudi's logs each block, also the HFiles inside;
 * of Avro with a codec each record; of gzip what it holds.
 *
 * Answers with bytes read, bytes that were decompressed, whether a text was found, and whether a part could not be
 * read: four numbers. Of rows of texts and bytes in place of a file it answers in how many rows a text was found, and
 * in how many values of each column.
 */
public final class KeyScanner implements java.util.function.Function<Object, Object> {
    private static final int CHUNK = 1 << 20;
    private static final byte[] LOG = KeySearch.ascii("#HUDI#");
    private static final byte[] HFILE = KeySearch.ascii("DATABLK*");
    private static final byte[] PARQUET = KeySearch.ascii("PAR1");
    private static final byte[] AVRO = new byte[] {'O', 'b', 'j', 1};
    private static final byte[] GZIP = new byte[] {(byte) 0x1f, (byte) 0x8b};
    private static final byte[] BZIP = KeySearch.ascii("BZh");
    private static final byte[] BZIP_BLOCK = KeySearch.ascii("1AY&");
    private static final int ATTEMPTS = 6;
    private static final long PAUSE = 50;
    /** How files begin whose compressed or encrypted parts are not looked into: they cannot be read as a whole. */
    private static final byte[][] CLOSED = new byte[][] {
        KeySearch.ascii("PARE"),
        KeySearch.ascii("ORC"),
        KeySearch.ascii("Rar!"),
        new byte[] {'P', 'K', 3, 4},
        new byte[] {'7', 'z', (byte) 0xbc, (byte) 0xaf},
        new byte[] {(byte) 0x28, (byte) 0xb5, (byte) 0x2f, (byte) 0xfd},
        new byte[] {(byte) 0xfd, '7', 'z', 'X', 'Z', 0},
        new byte[] {4, (byte) 0x22, (byte) 0x4d, (byte) 0x18},
    };

    private final Configuration configuration;
    private final KeyTexts texts;
    private final KeyTexts textsInNames;

    /** With `joined` as {@link KeyTexts} takes it. */
    public KeyScanner(Configuration configuration, byte[] joined) throws IOException {
        this.configuration = configuration;
        texts = new KeyTexts(joined);
        textsInNames = texts.inNames();
    }

    /** The operator's own files are written anew at any time, and go; no other does meanwhile. */
    public Object apply(Object path) {
        try {
            if (path instanceof java.util.Iterator) {
                return countRows((java.util.Iterator<?>) path);
            }
            boolean isOwn = ((String) path).contains("/.hudi-operator/");
            KeySearch found = scanOnce((String) path, isOwn);
            for (int again = 1; found.unread && isOwn && again < ATTEMPTS; again++) {
                Thread.sleep(PAUSE * again);
                found = scanOnce((String) path, isOwn);
            }
            return found.bytes + " " + found.decoded + " " + (found.hit ? 1 : 0) + " " + (found.unread ? 1 : 0);
        } catch (IOException error) {
            throw new java.io.UncheckedIOException(error);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private String countRows(java.util.Iterator<?> rows) throws IOException {
        long count = 0;
        long[] counts = new long[0];
        while (rows.hasNext()) {
            Row row = (Row) rows.next();
            counts = java.util.Arrays.copyOf(counts, row.length());
            boolean isFound = false;
            for (int column = 0; column < row.length(); column++) {
                boolean isText = row.get(column) instanceof String;
                byte[] content = isText ? row.getString(column).getBytes("UTF-8") : (byte[]) row.get(column);
                // As in a page, where a text with zeros in it has what looks like lengths.
                if (texts.areIn(content, isText ? KeyTexts.PAGE : KeyTexts.ANY, false)) {
                    counts[column]++;
                    isFound = true;
                }
            }
            count += isFound ? 1 : 0;
        }
        StringBuilder answer = new StringBuilder().append(count);
        for (int column = 0; column < counts.length; column++) {
            answer.append(' ').append(counts[column]);
        }
        return answer.toString();
    }

    /** The timeline is full of offsets and sizes, which are no keys, and names files, as the operator's folder does. */
    private KeySearch scanOnce(String path, boolean isOwn) throws IOException {
        boolean isTimeline = path.contains("/.hoodie/") && !path.contains("/.hoodie/metadata/");
        boolean namesFiles = isOwn || isTimeline && !path.contains("/.hoodie/hoodie.properties");
        KeySearch found = new KeySearch(namesFiles ? textsInNames : texts, isTimeline);
        try {
            scan(new Path(path), found);
        } catch (FileNotFoundException error) {
            found.unread = !isOwn;
        } catch (EOFException error) {
            found.unread = true;
        } catch (java.util.zip.ZipException error) {
            found.unread = true;
        } catch (RuntimeException error) {
            // What a file is not that it begins as; a store that fails is an IOException, and no answer.
            found.unread = true;
        } catch (IOException error) {
            if (!isOwn) {
                throw error;
            }
            found.unread = true;
        }
        return found;
    }

    private void scan(Path path, KeySearch found) throws IOException {
        FileSystem files = path.getFileSystem(configuration);
        long length = files.getFileStatus(path).getLen();
        byte[] head = new byte[(int) Math.min(8, length)];
        FSDataInputStream input = files.open(path);
        try {
            input.readFully(0, head);
        } finally {
            input.close();
        }
        found.bytes += length;
        if (KeySearch.starts(head, PARQUET)) {
            new KeyParquet(configuration, path, found).scan(length);
            return;
        }
        input = files.open(path);
        try {
            if (KeySearch.starts(head, HFILE)) {
                KeyHFile.scan(input, length, KeyHFile.schemaOf(files.open(path), length), found);
            } else {
                scanAll(input, found);
            }
        } finally {
            input.close();
        }
        found.unread |= isClosed(head);
        if (found.hit || !(KeySearch.starts(head, LOG) || KeySearch.starts(head, AVRO) || KeySearch.starts(head, GZIP))) {
            return;
        }
        input = files.open(path);
        try {
            if (KeySearch.starts(head, LOG)) {
                scanLog(new DataInputStream(input), length, found);
            } else if (KeySearch.starts(head, GZIP)) {
                scanAll(new GZIPInputStream(input), found);
            } else {
                scanAvro(input, found);
            }
        } finally {
            input.close();
        }
    }

    private static boolean isClosed(byte[] head) {
        for (int index = 0; index < CLOSED.length; index++) {
            if (KeySearch.starts(head, CLOSED[index]) && !isText(head)) {
                return true;
            }
        }
        return head.length == 8 && KeySearch.starts(head, BZIP) && KeySearch.starts(java.util.Arrays.copyOfRange(head, 4, 8), BZIP_BLOCK);
    }

    /** Whether what follows a beginning of letters is text as well: a list that begins with such a word is none. */
    private static boolean isText(byte[] head) {
        for (int place = 0; place < head.length; place++) {
            boolean isLetter = head[place] >= ' ' && head[place] < 127;
            if (!isLetter && head[place] != '\n' && head[place] != '\r' && head[place] != '\t') {
                return false;
            }
        }
        return true;
    }

    /** Blocks as `HoodieLogFormatWriter` writes them. */
    private void scanLog(DataInputStream input, long length, KeySearch found) throws IOException {
        byte[] magic = new byte[LOG.length];
        while (true) {
            int start = input.read();
            if (start < 0) {
                return;
            }
            magic[0] = (byte) start;
            input.readFully(magic, 1, magic.length - 1);
            if (!KeySearch.starts(magic, LOG)) {
                throw new EOFException();
            }
            long size = input.readLong();
            byte[] block = new byte[KeySearch.bounded(size)];
            input.readFully(block);
            DataInputStream inner = new DataInputStream(new ByteArrayInputStream(block));
            inner.readInt();
            inner.readInt();
            for (int entries = inner.readInt(); entries > 0; entries--) {
                inner.readInt();
                int skipped = inner.readInt();
                if (inner.skipBytes(skipped) != skipped) {
                    throw new EOFException();
                }
            }
            byte[] content = new byte[KeySearch.bounded(inner.readLong())];
            inner.readFully(content);
            if (KeySearch.starts(content, HFILE)) {
                KeyHFile.scan(new ByteArrayInputStream(content), content.length, KeyHFile.schemaOf(content), found);
            } else if (KeySearch.starts(content, PARQUET)) {
                found.unread = true;
            }
        }
    }

    private void scanAvro(InputStream input, KeySearch found) throws IOException {
        DataFileStream<Object> records = new DataFileStream<>(input, new GenericDatumReader<>());
        String codec = records.getMetaString("avro.codec");
        if (codec == null || codec.equals("null")) {
            return;
        }
        while (records.hasNext()) {
            found.decoded(records.next().toString().getBytes("UTF-8"), KeyTexts.ANY);
        }
    }

    /**
     * What of a chunk has been judged is not judged again in the next one, where less goes before it.
     *
     * Whether all of it is text, only its end tells. What a length alone makes whole counts where it is not.
     */
    private void scanAll(InputStream input, KeySearch found) throws IOException {
        int overlap = found.texts.overlap();
        boolean skipsNumbers = found.skipsNumbers;
        byte[] buffer = new byte[CHUNK + overlap];
        int filled = 0;
        int judged = 0;
        boolean isText = true;
        boolean isBehindLength = false;
        while (true) {
            int read = input.read(buffer, filled, buffer.length - filled);
            if (read > 0) {
                filled += read;
            }
            if (read >= 0 && filled < buffer.length) {
                continue;
            }
            int until = read < 0 ? filled : filled - KeyTexts.AFTER;
            isText = isText && hasNoControls(buffer, filled);
            if (found.texts.endIn(buffer, judged, until, filled, KeyTexts.ANY, skipsNumbers)) {
                isBehindLength = true;
                found.hit |= isText && found.texts.endIn(buffer, judged, until, filled, KeyTexts.TEXT, skipsNumbers);
            }
            found.hit |= isBehindLength && !isText;
            if (read < 0 || found.hit) {
                return;
            }
            System.arraycopy(buffer, filled - overlap, buffer, 0, overlap);
            filled = overlap;
            judged = overlap - KeyTexts.AFTER;
        }
    }

    private static boolean hasNoControls(byte[] content, int length) {
        for (int place = 0; place < length; place++) {
            if (content[place] >= 0 && content[place] < ' ' && "\t\n\r".indexOf(content[place]) < 0) {
                return false;
            }
        }
        return true;
    }
}
