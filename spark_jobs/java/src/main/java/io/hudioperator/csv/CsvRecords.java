package io.hudioperator.csv;

import com.univocity.parsers.csv.CsvParser;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import org.apache.spark.sql.execution.datasources.CodecStreams;
import org.apache.spark.sql.execution.datasources.HadoopFileLinesReader;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The rows of a file, or of a part of it: its lines or, with multiLine, the records that Spark's parser finds.
 *
 * As in Spark a header and comments are left out, and so is a line of nothing but blanks (CSVExprUtils). The bytes of a
 * record are read as ISO-8859-1 by Spark's parser, which keeps each, so that they are known to be in their encoding or not;
 * with isDecoded the parser has decoded them.
 */
class CsvRecords implements Iterator<InternalRow>, TaskCompletionListener {

    private static final int LOST = 0xfffd, NO_COMMENT = 0;

    private final CsvRows rows;
    private final Charset charset;
    private final char comment;
    private final boolean isDecoded;
    private HadoopFileLinesReader lines;
    private CsvParser parser;
    private String record;
    private boolean isMalformed;

    CsvRecords(PartitionedFile file, CSVOptions settings, Map<String, String> options, CsvRows rows, Configuration configuration) {
        this.rows = rows;
        charset = Charset.forName(options.get("rows.encoding"));
        isDecoded = "true".equals(options.get("rows.isdecoded"));
        comment = settings.comment();
        if (settings.multiLine()) {
            parser = new CsvParser(settings.asParserSettings());
            parser.beginParsing(
                CodecStreams.createInputStreamWithCloseResource(configuration, file.toPath()), settings.charset());
            if (settings.headerFlag()) {
                parser.parseNext();
            }
        } else {
            lines = new HadoopFileLinesReader(file, settings.lineSeparatorInRead(), configuration);
            TaskContext.get().addTaskCompletionListener((TaskCompletionListener) this);
            if (settings.headerFlag() && file.start() == 0) {
                leaveOutHeader();
            }
        }
        advance();
    }

    public void onTaskCompletion(TaskContext context) {
        lines.close();
    }

    public boolean hasNext() {
        return record != null;
    }

    public InternalRow next() {
        InternalRow row = rows.of(record, isMalformed);
        advance();
        return row;
    }

    private void leaveOutHeader() {
        boolean isFound = false;
        while (!isFound && lines.hasNext()) {
            Text line = lines.next();
            int start = behindBlanks(line);
            isFound = start < line.getLength() && (comment == NO_COMMENT || line.getBytes()[start] != comment);
        }
    }

    private static int behindBlanks(Text line) {
        byte[] bytes = line.getBytes();
        int start = 0;
        while (start < line.getLength() && bytes[start] >= 0 && bytes[start] <= ' ') {
            start++;
        }
        return start;
    }

    private void advance() {
        record = null;
        if (parser != null) {
            nextRecord();
            return;
        }
        while (record == null && lines.hasNext()) {
            Text line = lines.next();
            boolean isComment = comment != NO_COMMENT && line.getLength() > 0 && line.getBytes()[0] == comment;
            if (!isComment && behindBlanks(line) < line.getLength()) {
                decode(line.getBytes(), line.getLength());
            }
        }
        if (record == null) {
            lines.close();
        }
    }

    private void nextRecord() {
        if (parser.parseNext() == null) {
            return;
        }
        String content = parser.getContext().currentParsedContent();
        int end = content.endsWith("\r\n") ? content.length() - 2 : content.endsWith("\n") || content.endsWith("\r")
            ? content.length() - 1 : content.length();
        String text = content.substring(0, end);
        if (isDecoded) {
            record = text;
            isMalformed = text.indexOf(LOST) >= 0;
        } else {
            byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
            decode(bytes, bytes.length);
        }
    }

    /** The text that bytes are; what stands for bytes that are no text would be a value of its own. */
    private void decode(byte[] bytes, int length) {
        record = new String(bytes, 0, length, charset);
        isMalformed = record.indexOf(LOST) >= 0 && !isText(bytes, length);
    }

    private boolean isText(byte[] bytes, int length) {
        try {
            charset.newDecoder().decode(ByteBuffer.wrap(bytes, 0, length));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }
}
