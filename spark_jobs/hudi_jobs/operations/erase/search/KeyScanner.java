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
import org.apache.parquet.example.data.GroupValueSource;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.Row;

/**
 * Looks for any of many texts in every byte of a file, and in what its compressed parts hold.
 *
 * What a file is, its first bytes say. Of Parquet the pages are searched as they are decompressed, and as they lie
 * there all bytes between them; of HFile each block; of Hudi's logs each block, also the HFiles inside; of Avro with a
 * codec each record; of gzip what it holds.
 *
 * Answers with bytes read, bytes that were decompressed, whether a text was found, and whether a part could not be
 * read: four numbers. Of rows of texts and bytes in place of a file it answers in how many rows a text was found, and
 * in how many values of each column.
 */
public final class KeyScanner implements java.util.function.Function {
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
    private final KeyTexts texts;

    /** With `joined` as {@link KeyTexts} takes it. */
    public KeyScanner(Configuration configuration, byte[] joined) throws IOException {
        this.configuration = configuration;
        texts = new KeyTexts(joined);
    }

    /** The operator's own files are written anew at any time, and go; no other does meanwhile. */
    public Object apply(Object path) {
        try {
            if (path instanceof java.util.Iterator) {
                return countRows((java.util.Iterator) path);
            }
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

    private String countRows(java.util.Iterator rows) throws IOException {
        long count = 0;
        long[] counts = new long[0];
        while (rows.hasNext()) {
            Row row = (Row) rows.next();
            counts = java.util.Arrays.copyOf(counts, row.length());
            boolean isFound = false;
            for (int column = 0; column < row.length(); column++) {
                boolean isText = row.get(column) instanceof String;
                byte[] content = isText ? row.getString(column).getBytes("UTF-8") : (byte[]) row.get(column);
                if (texts.areIn(content, isText ? KeyTexts.TEXT : KeyTexts.ANY, false)) {
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

    /** The timeline is full of offsets and sizes, which are no keys. */
    private Found scanOnce(String path, boolean isOwn) throws IOException {
        Found found = new Found();
        found.skipsNumbers = path.contains("/.hoodie/") && !path.contains("/.hoodie/metadata/");
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
        boolean skipsNumbers;
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
                    ColumnDescriptor read = (ColumnDescriptor) columns.get(column);
                    int kind = holdsTexts(read.getPrimitiveType()) ? KeyTexts.PAGE : KeyTexts.ANY;
                    scanPages(group.getPageReader(read), kind, found);
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

    private void scanPages(PageReader pages, int kind, Found found) throws IOException {
        DictionaryPage dictionary = pages.readDictionaryPage();
        if (dictionary != null) {
            scanDecoded(dictionary.getBytes().toByteArray(), kind, found);
        }
        for (DataPage page = pages.readPage(); page != null; page = pages.readPage()) {
            if (page instanceof DataPageV1) {
                scanDecoded(((DataPageV1) page).getBytes().toByteArray(), kind, found);
            } else if (page instanceof DataPageV2) {
                scanDecoded(((DataPageV2) page).getData().toByteArray(), kind, found);
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
                scanValues((GroupValueSource) record, found);
            }
        } finally {
            reader.close();
        }
    }

    private void scanValues(GroupValueSource record, Found found) throws IOException {
        for (int field = 0; field < record.getType().getFieldCount(); field++) {
            Type type = record.getType().getType(field);
            for (int index = 0; index < record.getFieldRepetitionCount(field); index++) {
                if (!type.isPrimitive()) {
                    scanValues(record.getGroup(field, index), found);
                } else if (type.asPrimitiveType().getPrimitiveTypeName() == PrimitiveType.PrimitiveTypeName.BINARY) {
                    int kind = holdsTexts(type.asPrimitiveType()) ? KeyTexts.TEXT : KeyTexts.ANY;
                    scanDecoded(record.getBinary(field, index).getBytes(), kind, found);
                } else {
                    scanDecoded(record.getValueToString(field, index).getBytes("UTF-8"), KeyTexts.TEXT, found);
                }
            }
        }
    }

    /** Whether values are texts by what the schema says of them: in bytes of other columns anything may be. */
    private static boolean holdsTexts(PrimitiveType type) {
        LogicalTypeAnnotation told = type.getLogicalTypeAnnotation();
        return told instanceof LogicalTypeAnnotation.StringLogicalTypeAnnotation
            || told instanceof LogicalTypeAnnotation.EnumLogicalTypeAnnotation
            || told instanceof LogicalTypeAnnotation.JsonLogicalTypeAnnotation;
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
                    found.hit |= texts.areIn(between, KeyTexts.THRIFT, found.skipsNumbers);
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
            int size = KeyTexts.number(header, 8);
            int uncompressed = KeyTexts.number(header, 12);
            int data = KeyTexts.number(header, 29) - HFILE_HEADER;
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
            scanDecoded(content, KeyTexts.ANY, found);
        }
        byte[] rest = new byte[bounded(left)];
        input.readFully(rest);
        found.hit |= texts.areIn(rest, KeyTexts.ANY, found.skipsNumbers);
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
            scanDecoded(records.next().toString().getBytes("UTF-8"), KeyTexts.ANY, found);
        }
    }

    /**
     * What of a chunk has been judged is not judged again in the next one, where less goes before it.
     *
     * Whether all of it is text, only its end tells. What a length alone makes whole counts where it is not.
     */
    private void scanAll(InputStream input, Found found) throws IOException {
        int overlap = texts.overlap();
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
            if (texts.endIn(buffer, judged, until, filled, KeyTexts.ANY, found.skipsNumbers)) {
                isBehindLength = true;
                found.hit |= isText && texts.endIn(buffer, judged, until, filled, KeyTexts.TEXT, found.skipsNumbers);
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

    private void scanDecoded(byte[] content, int kind, Found found) {
        found.decoded += content.length;
        found.hit |= texts.areIn(content, kind, found.skipsNumbers);
    }

    private static int bounded(long size) {
        if (size < 0 || size > MOST_IN_MEMORY) {
            throw new IllegalStateException("a part of the file has " + size + " bytes");
        }
        return (int) size;
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
