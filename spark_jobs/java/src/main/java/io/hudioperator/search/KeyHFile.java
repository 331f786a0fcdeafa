package io.hudioperator.search;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hudi.io.ByteArraySeekableDataInputStream;
import org.apache.hudi.io.ByteBufferBackedInputStream;
import org.apache.hudi.io.SeekableDataInputStream;
import org.apache.hudi.io.hadoop.HadoopSeekableDataInputStream;
import org.apache.hudi.io.hfile.HFileReaderImpl;
import org.apache.hudi.io.hfile.UTF8StringKey;

/**
 * Looks into an HFile of Hudi's metadata table, block by block as each is decompressed.
 *
 * Its entries are a key and a record of Avro, in which each text is judged as a whole: in its bytes a character before a
 * part of it may look like the length of that part. A block of anything else is judged by its bytes. Blocks of indexes
 * repeat keys of entries.
 */
public final class KeyHFile {
    private static final byte[] DATA = KeySearch.ascii("DATABLK*");
    private static final byte[] INDEX = KeySearch.ascii("IDX");
    private static final byte[] INFO = KeySearch.ascii("FILEINF2");
    private static final byte[] END = KeySearch.ascii("TRABLK\"$");
    private static final byte[] GZIP = new byte[] {(byte) 0x1f, (byte) 0x8b};
    private static final int HEADER = 33;
    private static final UTF8StringKey SCHEMA = new UTF8StringKey("schema");

    private final KeySearch found;
    private final GenericDatumReader<Object> records;
    private BinaryDecoder decoder;

    private KeyHFile(Schema schema, KeySearch found) {
        this.found = found;
        records = schema == null ? null : new GenericDatumReader<>(schema);
    }

    public static Schema schemaOf(byte[] content) {
        return schemaOf(new ByteArraySeekableDataInputStream(new ByteBufferBackedInputStream(content)), content.length);
    }

    public static Schema schemaOf(FSDataInputStream input, long length) {
        return schemaOf(new HadoopSeekableDataInputStream(input), length);
    }

    /** The schema of its records; null where it names none. */
    private static Schema schemaOf(SeekableDataInputStream input, long length) {
        HFileReaderImpl reader = new HFileReaderImpl(input, length);
        try {
            return new Schema.Parser().parse(new String(reader.getMetaInfo(SCHEMA).get(), "UTF-8"));
        } catch (IOException error) {
            return null;
        } catch (RuntimeException error) {
            return null;
        } finally {
            close(input);
        }
    }

    private static void close(SeekableDataInputStream input) {
        try {
            input.close();
        } catch (IOException error) {
            return;
        }
    }

    public static void scan(InputStream input, long length, Schema schema, KeySearch found) throws IOException {
        new KeyHFile(schema, found).scan(new DataInputStream(input), length);
    }

    private void scan(DataInputStream input, long length) throws IOException {
        long left = length;
        byte[] header = new byte[HEADER];
        while (left > HEADER) {
            input.readFully(header);
            left -= HEADER;
            if (KeySearch.starts(header, END)) {
                break;
            }
            int size = KeyTexts.number(header, 8);
            int uncompressed = KeyTexts.number(header, 12);
            int data = KeyTexts.number(header, 29) - HEADER;
            if (size < 0 || size > left || data < 0 || data > size || uncompressed < 0) {
                found.unread = true;
                break;
            }
            byte[] block = new byte[size];
            input.readFully(block);
            left -= size;
            byte[] content = Arrays.copyOf(block, data);
            if (KeySearch.starts(content, GZIP)) {
                content = unpacked(content, uncompressed);
            } else if (data != uncompressed) {
                found.unread = true;
            }
            scanBlock(header, content);
        }
        byte[] rest = new byte[KeySearch.bounded(left)];
        input.readFully(rest);
        found.hit |= found.areIn(rest, KeyTexts.ANY);
    }

    private static byte[] unpacked(byte[] content, int size) throws IOException {
        DataInputStream input = new DataInputStream(new GZIPInputStream(new ByteArrayInputStream(content)));
        byte[] result = new byte[size];
        input.readFully(result);
        return result;
    }

    private void scanBlock(byte[] header, byte[] content) {
        if (records == null) {
            found.decoded(content, KeyTexts.ANY);
        } else if (KeySearch.starts(header, DATA)) {
            found.decoded += content.length;
            found.hit |= areInEntries(content);
        } else if (KeySearch.starts(header, INFO)) {
            found.decoded(content, KeyTexts.TEXT);
        } else if (!KeySearch.starts(header, INDEX)) {
            found.decoded(content, KeyTexts.ANY);
        }
    }

    private boolean areInEntries(byte[] content) {
        if (!found.areIn(content, KeyTexts.UNJUDGED)) {
            return false;
        }
        try {
            boolean isHit = false;
            for (int place = 0; place < content.length && !isHit;) {
                int key = place + 8;
                int value = key + KeyTexts.number(content, place);
                int end = value + KeyTexts.number(content, place + 4);
                int row = (content[key] & 0xff) << 8 | content[key + 1] & 0xff;
                if (key + 2 + row > value || value > end || end >= content.length) {
                    return true;
                }
                isHit = found.areIn(Arrays.copyOfRange(content, key + 2, key + 2 + row), KeyTexts.TEXT)
                    || value < end && areInRecord(content, value, end);
                place = end + 1;
            }
            return isHit;
        } catch (IOException error) {
            return true;
        } catch (RuntimeException error) {
            return true;
        }
    }

    private boolean areInRecord(byte[] content, int from, int until) throws IOException {
        decoder = DecoderFactory.get().binaryDecoder(content, from, until - from, decoder);
        return areInValue(records.read(null, decoder)) || !decoder.isEnd();
    }

    private boolean areInValue(Object value) throws IOException {
        if (value instanceof CharSequence) {
            return found.areIn(value.toString().getBytes("UTF-8"), KeyTexts.TEXT);
        }
        if (value instanceof ByteBuffer) {
            ByteBuffer buffer = (ByteBuffer) value;
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return found.areIn(bytes, KeyTexts.ANY);
        }
        if (value instanceof GenericFixed) {
            return found.areIn(((GenericFixed) value).bytes(), KeyTexts.ANY);
        }
        if (value instanceof IndexedRecord) {
            IndexedRecord record = (IndexedRecord) value;
            boolean isHit = false;
            for (int field = 0; field < record.getSchema().getFields().size() && !isHit; field++) {
                isHit = areInValue(record.get(field));
            }
            return isHit;
        }
        if (value instanceof Map) {
            return areInAny(((Map<?, ?>) value).keySet()) || areInAny(((Map<?, ?>) value).values());
        }
        return value instanceof Collection && areInAny((Collection<?>) value);
    }

    private boolean areInAny(Collection<?> values) throws IOException {
        boolean isHit = false;
        for (Iterator<?> each = values.iterator(); each.hasNext() && !isHit;) {
            isHit = areInValue(each.next());
        }
        return isHit;
    }
}
