import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;

/**
 * Looks for any of many texts in every byte of a file, and in what its compressed parts hold.
 *
 * What a file is, its first bytes say. Of Parquet the pages are searched as they are decompressed, and as they lie
 * there all bytes between them; of HFile each block; of Hudi's logs each block, also the HFiles inside; of Avro with a
 * codec each record; of gzip what it holds. A text counts where it stands as a whole: where a length before it says so,
 * or where no letter, digit, '_', '-' or '@' goes before or follows; an escape of JSON or a URL is none of these.
 *
 * Answers with bytes read, bytes that were decompressed, whether a text was found, and whether a part could not be
 * read: four numbers.
 */
public final class KeyScanner implements java.util.function.Function {
    private static final int WINDOW = 8;
    private static final int CHUNK = 1 << 20;
    private static final int MOST_IN_MEMORY = 1 << 30;
    private static final byte[] LOG = ascii("#HUDI#");
    private static final byte[] HFILE = ascii("DATABLK*");
    private static final byte[] HFILE_END = ascii("TRABLK\"$");
    private static final byte[] PARQUET = ascii("PAR1");
    private static final byte[] AVRO = new byte[] {'O', 'b', 'j', 1};
    private static final byte[] GZIP = new byte[] {(byte) 0x1f, (byte) 0x8b};
    private static final byte[] BZIP = ascii("BZh");
    private static final byte[] BZIP_BLOCK = ascii("1AY&");
    private static final int HFILE_HEADER = 33;
    private static final int ATTEMPTS = 6;
    private static final long PAUSE = 50;
    /** How files begin whose compressed or encrypted parts are not looked into: they cannot be read as a whole. */
    private static final byte[][] CLOSED = new byte[][] {
        ascii("PARE"),
        ascii("ORC"),
        ascii("Rar!"),
        new byte[] {'P', 'K', 3, 4},
        new byte[] {'7', 'z', (byte) 0xbc, (byte) 0xaf},
        new byte[] {(byte) 0x28, (byte) 0xb5, (byte) 0x2f, (byte) 0xfd},
        new byte[] {(byte) 0xfd, '7', 'z', 'X', 'Z', 0},
        new byte[] {4, (byte) 0x22, (byte) 0x4d, (byte) 0x18},
    };

    private final Configuration configuration;
    private final byte[][] texts;
    private final int[] next;
    private final long[] windows;
    private final int[] first;
    private int longest = WINDOW;

    public KeyScanner(Configuration configuration, byte[] joined) throws IOException {
        this.configuration = configuration;
        DataInputStream input = new DataInputStream(new ByteArrayInputStream(joined));
        List found = new ArrayList();
        while (input.available() > 0) {
            byte[] text = new byte[input.readInt()];
            input.readFully(text);
            found.add(text);
        }
        int size = Integer.highestOneBit(Math.max(16, found.size() * 4)) * 2;
        texts = new byte[found.size()][];
        next = new int[found.size()];
        windows = new long[size];
        first = new int[size];
        java.util.Arrays.fill(first, -1);
        for (int index = 0; index < texts.length; index++) {
            texts[index] = (byte[]) found.get(index);
            longest = Math.max(longest, texts[index].length);
            long window = 0;
            for (int place = texts[index].length - WINDOW; place < texts[index].length; place++) {
                window = window << 8 | texts[index][place] & 0xff;
            }
            int slot = slot(window);
            next[index] = first[slot];
            first[slot] = index;
            windows[slot] = window;
        }
    }

    /** The operator's own files are written anew at any time, and go; no other does meanwhile. */
    public Object apply(Object path) {
        try {
            boolean isOwn = ((String) path).contains("/.hudi-operator/");
            Found found = scanOnce((String) path, isOwn);
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

    private Found scanOnce(String path, boolean isOwn) throws IOException {
        Found found = new Found();
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

    private static final class Found {
        long bytes;
        long decoded;
        boolean hit;
        boolean unread;
    }

    private void scan(Path path, Found found) throws IOException {
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
        if (starts(head, PARQUET)) {
            scanParquet(path, length, found);
            return;
        }
        input = files.open(path);
        try {
            if (starts(head, HFILE)) {
                scanHFile(input, length, found);
            } else {
                scanAll(input, found);
            }
        } finally {
            input.close();
        }
        found.unread |= isClosed(head);
        if (found.hit || !(starts(head, LOG) || starts(head, AVRO) || starts(head, GZIP))) {
            return;
        }
        input = files.open(path);
        try {
            if (starts(head, LOG)) {
                scanLog(new DataInputStream(input), length, found);
            } else if (starts(head, GZIP)) {
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
            if (starts(head, CLOSED[index]) && !isText(head)) {
                return true;
            }
        }
        return head.length == 8 && starts(head, BZIP) && starts(java.util.Arrays.copyOfRange(head, 4, 8), BZIP_BLOCK);
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

    private void scanParquet(Path path, long length, Found found) throws IOException {
        List chunks = new ArrayList();
        boolean hasDeltas = false;
        ParquetFileReader reader = ParquetFileReader.open(HadoopInputFile.fromPath(path, configuration));
        try {
            List blocks = reader.getFooter().getBlocks();
            for (int block = 0; block < blocks.size(); block++) {
                List columns = ((BlockMetaData) blocks.get(block)).getColumns();
                for (int column = 0; column < columns.size(); column++) {
                    ColumnChunkMetaData chunk = (ColumnChunkMetaData) columns.get(column);
                    chunks.add(new long[] {chunk.getStartingPos(), chunk.getStartingPos() + chunk.getTotalSize()});
                    hasDeltas |= chunk.getEncodings().contains(Encoding.DELTA_BYTE_ARRAY)
                        || chunk.getEncodings().contains(Encoding.DELTA_LENGTH_BYTE_ARRAY);
                }
            }
            List columns = reader.getFooter().getFileMetaData().getSchema().getColumns();
            for (PageReadStore group = reader.readNextRowGroup(); group != null; group = reader.readNextRowGroup()) {
                for (int column = 0; column < columns.size(); column++) {
                    scanPages(group.getPageReader((ColumnDescriptor) columns.get(column)), found);
                }
            }
        } finally {
            reader.close();
        }
        if (hasDeltas) {
            scanRecords(path, found);
        }
        scanBetween(path, length, chunks, found);
    }

    private void scanPages(PageReader pages, Found found) throws IOException {
        DictionaryPage dictionary = pages.readDictionaryPage();
        if (dictionary != null) {
            scanDecoded(dictionary.getBytes().toByteArray(), found);
        }
        for (DataPage page = pages.readPage(); page != null; page = pages.readPage()) {
            if (page instanceof DataPageV1) {
                scanDecoded(((DataPageV1) page).getBytes().toByteArray(), found);
            } else if (page instanceof DataPageV2) {
                scanDecoded(((DataPageV2) page).getData().toByteArray(), found);
            } else {
                found.unread = true;
            }
        }
    }

    /** Texts that are stored by their differences can only be seen as values. */
    private void scanRecords(Path path, Found found) throws IOException {
        ParquetReader reader = ParquetReader.builder(new GroupReadSupport(), path).withConf(configuration).build();
        try {
            for (Object record = reader.read(); record != null; record = reader.read()) {
                scanDecoded(record.toString().getBytes("UTF-8"), found);
            }
        } finally {
            reader.close();
        }
    }

    /** The bytes that are no pages: footer, statistics and indexes. */
    private void scanBetween(Path path, long length, List chunks, Found found) throws IOException {
        Collections.sort(chunks, new java.util.Comparator() {
            public int compare(Object one, Object other) {
                return Long.compare(((long[]) one)[0], ((long[]) other)[0]);
            }
        });
        chunks.add(new long[] {length, length});
        FSDataInputStream input = path.getFileSystem(configuration).open(path);
        try {
            long from = 0;
            for (int index = 0; index < chunks.size(); index++) {
                long[] chunk = (long[]) chunks.get(index);
                if (chunk[0] > from) {
                    byte[] between = new byte[bounded(chunk[0] - from)];
                    input.readFully(from, between);
                    found.hit |= holds(between, between.length, false);
                }
                from = Math.max(from, chunk[1]);
            }
        } finally {
            input.close();
        }
    }

    private void scanHFile(InputStream stream, long length, Found found) throws IOException {
        DataInputStream input = new DataInputStream(stream);
        long left = length;
        byte[] header = new byte[HFILE_HEADER];
        while (left > HFILE_HEADER) {
            input.readFully(header);
            left -= HFILE_HEADER;
            if (starts(header, HFILE_END)) {
                break;
            }
            int size = number(header, 8);
            int uncompressed = number(header, 12);
            int data = number(header, 29) - HFILE_HEADER;
            if (size < 0 || size > left || data < 0 || data > size || uncompressed < 0) {
                found.unread = true;
                break;
            }
            byte[] block = new byte[size];
            input.readFully(block);
            left -= size;
            byte[] content = java.util.Arrays.copyOf(block, data);
            if (starts(content, GZIP)) {
                content = unpacked(content, uncompressed);
            } else if (data != uncompressed) {
                found.unread = true;
            }
            scanDecoded(content, found);
        }
        byte[] rest = new byte[bounded(left)];
        input.readFully(rest);
        found.hit |= holds(rest, rest.length, false);
    }

    private static byte[] unpacked(byte[] content, int size) throws IOException {
        DataInputStream input = new DataInputStream(new GZIPInputStream(new ByteArrayInputStream(content)));
        byte[] result = new byte[size];
        input.readFully(result);
        return result;
    }

    /** Blocks as `HoodieLogFormatWriter` writes them. */
    private void scanLog(DataInputStream input, long length, Found found) throws IOException {
        byte[] magic = new byte[LOG.length];
        while (true) {
            int start = input.read();
            if (start < 0) {
                return;
            }
            magic[0] = (byte) start;
            input.readFully(magic, 1, magic.length - 1);
            if (!starts(magic, LOG)) {
                throw new EOFException();
            }
            long size = input.readLong();
            byte[] block = new byte[bounded(size)];
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
            byte[] content = new byte[bounded(inner.readLong())];
            inner.readFully(content);
            if (starts(content, HFILE)) {
                scanHFile(new ByteArrayInputStream(content), content.length, found);
            } else if (starts(content, PARQUET)) {
                found.unread = true;
            }
        }
    }

    private void scanAvro(InputStream input, Found found) throws IOException {
        DataFileStream records = new DataFileStream(input, new GenericDatumReader());
        String codec = records.getMetaString("avro.codec");
        if (codec == null || codec.equals("null")) {
            return;
        }
        while (records.hasNext()) {
            scanDecoded(records.next().toString().getBytes("UTF-8"), found);
        }
    }

    private void scanAll(InputStream input, Found found) throws IOException {
        int overlap = longest + 16;
        byte[] buffer = new byte[CHUNK + overlap];
        int filled = 0;
        while (true) {
            int read = input.read(buffer, filled, buffer.length - filled);
            if (read > 0) {
                filled += read;
            }
            if (read >= 0 && filled < buffer.length) {
                continue;
            }
            found.hit |= holds(buffer, filled, read >= 0);
            if (read < 0 || found.hit) {
                return;
            }
            System.arraycopy(buffer, filled - overlap, buffer, 0, overlap);
            filled = overlap;
        }
    }

    private void scanDecoded(byte[] content, Found found) {
        found.decoded += content.length;
        found.hit |= holds(content, content.length, false);
    }

    /** With `more` to come, a text at the very end is not judged yet. */
    private boolean holds(byte[] content, int length, boolean more) {
        if (texts.length == 0) {
            return false;
        }
        long window = 0;
        for (int place = 0; place < length; place++) {
            window = window << 8 | content[place] & 0xff;
            int slot = hash(window);
            while (first[slot] >= 0 && windows[slot] != window) {
                slot = slot + 1 & first.length - 1;
            }
            for (int index = first[slot]; index >= 0; index = next[index]) {
                if (stands(content, place + 1, length, more, texts[index])) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean stands(byte[] content, int end, int length, boolean more, byte[] text) {
        int start = end - text.length;
        if (start < 0 || more && end == length) {
            return false;
        }
        for (int place = 0; place < text.length - WINDOW; place++) {
            if (content[start + place] != text[place]) {
                return false;
            }
        }
        if (isPrefixed(content, start, text.length)) {
            return true;
        }
        boolean follows = end < length && isWord(content[end])
            || end + 1 < length && content[end] == '.' && isWord(content[end + 1]);
        return !follows && (start == 0 || !isWord(content[start - 1]) || isEscape(content, start));
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
    private static boolean isPrefixed(byte[] content, int start, int size) {
        if (start >= 4) {
            int big = number(content, start - 4);
            if (big == size || Integer.reverseBytes(big) == size) {
                return true;
            }
        }
        if (start >= 2 && content[start - 2] == (byte) (size >> 8) && content[start - 1] == (byte) size) {
            return true;
        }
        return isVariable(content, start, size) || isVariable(content, start, size * 2);
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

    private static boolean isWord(byte value) {
        return value < 0 || value == '_' || value == '-' || value == '@' || Character.isLetterOrDigit(value);
    }

    private int slot(long window) {
        int slot = hash(window);
        while (first[slot] >= 0 && windows[slot] != window) {
            slot = slot + 1 & first.length - 1;
        }
        return slot;
    }

    private int hash(long window) {
        long mixed = window * 0x9E3779B97F4A7C15L;
        return (int) (mixed >>> 32) & first.length - 1;
    }

    private static int bounded(long size) {
        if (size < 0 || size > MOST_IN_MEMORY) {
            throw new IllegalStateException("a part of the file has " + size + " bytes");
        }
        return (int) size;
    }

    private static int number(byte[] content, int place) {
        return (content[place] & 0xff) << 24 | (content[place + 1] & 0xff) << 16
            | (content[place + 2] & 0xff) << 8 | content[place + 3] & 0xff;
    }

    private static boolean starts(byte[] content, byte[] beginning) {
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

    private static byte[] ascii(String text) {
        return text.getBytes(java.nio.charset.StandardCharsets.US_ASCII);
    }
}
