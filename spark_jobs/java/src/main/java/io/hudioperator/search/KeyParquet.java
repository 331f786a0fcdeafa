package io.hudioperator.search;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.GroupValueSource;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.internal.hadoop.metadata.IndexReference;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;

/**
 * Looks into a Parquet file: its pages as they are decompressed, and the bytes between them.
 *
 * A text that is known as a whole is judged as one, also where the footer repeats it: there a character before a part
 * of it may look like the length of that part. What is found must be what the check of rows finds, because an erasure
 * that finds more only afterwards has failed for good.
 */
public final class KeyParquet {
    private final Configuration configuration;
    private final Path path;
    private final KeySearch found;
    /** Where parts begin and end that are no bytes between pages. */
    private final List<long[]> parts = new ArrayList<>();
    /** The columns whose texts are stored by their differences, which can only be seen as values. */
    private final Set<ColumnPath> deltas = new HashSet<>();
    /** The texts in the footer: statistics of texts, and what writers note there. */
    private final List<byte[]> noted = new ArrayList<>();

    public KeyParquet(Configuration configuration, Path path, KeySearch found) {
        this.configuration = configuration;
        this.path = path;
        this.found = found;
    }

    public void scan(long length) throws IOException {
        ParquetFileReader reader = ParquetFileReader.open(HadoopInputFile.fromPath(path, configuration));
        try {
            for (BlockMetaData block : reader.getFooter().getBlocks()) {
                for (ColumnChunkMetaData column : block.getColumns()) {
                    add(column);
                }
            }
            for (String note : reader.getFooter().getFileMetaData().getKeyValueMetaData().values()) {
                noted.add((note == null ? "" : note).getBytes("UTF-8"));
            }
            List<ColumnDescriptor> columns = reader.getFooter().getFileMetaData().getSchema().getColumns();
            for (PageReadStore group = reader.readNextRowGroup(); group != null; group = reader.readNextRowGroup()) {
                for (ColumnDescriptor column : columns) {
                    scanPages(group.getPageReader(column), column);
                }
            }
        } finally {
            reader.close();
        }
        if (!deltas.isEmpty()) {
            scanRecords();
        }
        scanBetween(length);
    }

    /** The index of a column repeats values of its pages, cut or with another last character. */
    private void add(ColumnChunkMetaData chunk) {
        parts.add(new long[] {chunk.getStartingPos(), chunk.getStartingPos() + chunk.getTotalSize()});
        IndexReference index = chunk.getColumnIndexReference();
        if (index != null) {
            parts.add(new long[] {index.getOffset(), index.getOffset() + index.getLength()});
        }
        if (chunk.getEncodings().contains(Encoding.DELTA_BYTE_ARRAY)
            || chunk.getEncodings().contains(Encoding.DELTA_LENGTH_BYTE_ARRAY)) {
            deltas.add(chunk.getPath());
        }
        Statistics<?> statistics = chunk.getStatistics();
        if (holdsTexts(chunk.getPrimitiveType()) && statistics != null && statistics.hasNonNullValue()) {
            noted.add(statistics.getMinBytes());
            noted.add(statistics.getMaxBytes());
        }
    }

    private void scanPages(PageReader pages, ColumnDescriptor column) throws IOException {
        int kind = holdsTexts(column.getPrimitiveType()) ? KeyTexts.PAGE : KeyTexts.ANY;
        DictionaryPage dictionary = pages.readDictionaryPage();
        if (dictionary != null) {
            found.decoded(dictionary.getBytes().toByteArray(), kind);
        }
        if (deltas.contains(ColumnPath.get(column.getPath()))) {
            return;
        }
        for (DataPage page = pages.readPage(); page != null; page = pages.readPage()) {
            if (page instanceof DataPageV1) {
                found.decoded(((DataPageV1) page).getBytes().toByteArray(), kind);
            } else if (page instanceof DataPageV2) {
                found.decoded(((DataPageV2) page).getData().toByteArray(), kind);
            } else {
                found.unread = true;
            }
        }
    }

    private void scanRecords() throws IOException {
        ParquetReader<Group> reader = ParquetReader.builder(new GroupReadSupport(), path).withConf(configuration).build();
        try {
            for (Group record = reader.read(); record != null; record = reader.read()) {
                scanValues(record);
            }
        } finally {
            reader.close();
        }
    }

    /** Numbers are not looked for, here as elsewhere. */
    private void scanValues(GroupValueSource record) throws IOException {
        for (int field = 0; field < record.getType().getFieldCount(); field++) {
            Type type = record.getType().getType(field);
            for (int index = 0; index < record.getFieldRepetitionCount(field); index++) {
                if (!type.isPrimitive()) {
                    scanValues(record.getGroup(field, index));
                } else if (isBytes(type.asPrimitiveType().getPrimitiveTypeName())) {
                    int kind = holdsTexts(type.asPrimitiveType()) ? KeyTexts.PAGE : KeyTexts.ANY;
                    found.decoded(record.getBinary(field, index).getBytes(), kind);
                }
            }
        }
    }

    private static boolean isBytes(PrimitiveType.PrimitiveTypeName name) {
        return name == PrimitiveType.PrimitiveTypeName.BINARY
            || name == PrimitiveType.PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
    }

    /** Whether values are texts by what the schema says of them: in bytes of other columns anything may be. */
    private static boolean holdsTexts(PrimitiveType type) {
        LogicalTypeAnnotation told = type.getLogicalTypeAnnotation();
        return told instanceof LogicalTypeAnnotation.StringLogicalTypeAnnotation
            || told instanceof LogicalTypeAnnotation.EnumLogicalTypeAnnotation
            || told instanceof LogicalTypeAnnotation.JsonLogicalTypeAnnotation;
    }

    /** The bytes that are no pages: the footer, indexes, and what no reader knows. */
    private void scanBetween(long length) throws IOException {
        parts.sort((one, other) -> Long.compare(one[0], other[0]));
        parts.add(new long[] {length, length});
        FSDataInputStream input = path.getFileSystem(configuration).open(path);
        try {
            long from = 0;
            for (long[] part : parts) {
                if (part[0] > from) {
                    byte[] between = new byte[KeySearch.bounded(part[0] - from)];
                    input.readFully(from, between);
                    found.hit |= areBetween(between);
                }
                from = Math.max(from, part[1]);
            }
        } finally {
            input.close();
        }
    }

    /** Whether a text is there, in another one as a whole or in what is left without those that are known as a whole. */
    private boolean areBetween(byte[] between) {
        if (!found.areIn(between, KeyTexts.UNJUDGED)) {
            return false;
        }
        for (byte[] text : noted) {
            if (found.areIn(text, KeyTexts.TEXT)) {
                return true;
            }
            byte[] written = written(text);
            if (found.areIn(written, KeyTexts.THRIFT)) {
                blank(between, written);
            }
        }
        return found.areIn(between, KeyTexts.THRIFT);
    }

    /** A text as Thrift writes it, behind its length. */
    private static byte[] written(byte[] text) {
        byte[] length = new byte[5];
        int width = 0;
        int rest = text.length;
        for (; rest > 127; rest >>>= 7) {
            length[width++] = (byte) (rest & 127 | 128);
        }
        length[width++] = (byte) rest;
        byte[] written = Arrays.copyOf(length, width + text.length);
        System.arraycopy(text, 0, written, width, text.length);
        return written;
    }

    private static void blank(byte[] content, byte[] text) {
        for (int place = 0; place + text.length <= content.length; place++) {
            if (Arrays.equals(content, place, place + text.length, text, 0, text.length)) {
                Arrays.fill(content, place, place + text.length, (byte) 0);
            }
        }
    }
}
