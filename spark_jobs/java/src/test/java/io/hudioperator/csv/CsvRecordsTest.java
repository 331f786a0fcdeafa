package io.hudioperator.csv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.TaskContext$;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.collection.immutable.HashMap$;

class CsvRecordsTest {

    private static final StructType COLUMNS = new StructType().add("id", "int").add("word", "string");
    private static final StructType REQUIRED = new StructType().add("c0", "int").add("c1", "string")
        .add("record", "string").add("fault", new StructType().add("column", "string").add("cause", "string"));

    @TempDir
    private Path folder;

    @BeforeEach
    void beInATask() {
        TaskContext$.MODULE$.setTaskContext(TaskContext$.MODULE$.empty());
    }

    @AfterEach
    void leaveTheTask() {
        TaskContext$.MODULE$.unset();
    }

    private List<String> read(byte[] content, long start, long length, String... changes) throws IOException {
        Map<String, String> options = new HashMap<>(Map.of(
            "timezone", "UTC", "rows.separator", ",", "rows.quote", "\"", "rows.escape", "\"", "rows.encoding", "UTF-8",
            "rows.count", "2", "rows.longest", "-1", "rows.notinencoding", "no UTF-8"));
        options.putAll(Map.of(
            "rows.columns", COLUMNS.json(), "rows.places", "0,1", "rows.record", "record", "rows.fault", "fault"));
        for (int i = 0; i < changes.length; i += 2) {
            options.put(changes[i], changes[i + 1]);
        }
        scala.collection.immutable.Map<String, String> given = HashMap$.MODULE$.empty();
        for (Map.Entry<String, String> option : options.entrySet()) {
            given = given.updated(option.getKey(), option.getValue());
        }
        Path path = Files.write(folder.resolve("rows.csv"), content);
        PartitionedFile file = new PartitionedFile(
            InternalRow.empty(), SparkPath.fromPathString(path.toString()), start, length, new String[0], 0,
            content.length, HashMap$.MODULE$.empty());
        CsvRecords records = new CsvRecords(
            file, new CSVOptions(given, false, "UTC"), options, new CsvRows(options, REQUIRED), new Configuration());
        List<String> found = new ArrayList<>();
        while (records.hasNext()) {
            InternalRow row = records.next();
            InternalRow fault = row.isNullAt(3) ? null : row.getStruct(3, 2);
            found.add(fault == null
                ? row.getInt(0) + "|" + row.getUTF8String(1)
                : row.getUTF8String(2) + "|" + fault.getUTF8String(0) + "|" + fault.getUTF8String(1));
        }
        return found;
    }

    private List<String> read(String content, String... changes) throws IOException {
        byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
        return read(bytes, 0, bytes.length, changes);
    }

    @Test
    void headerCommentsAndBlankLinesAreNoRecords() throws IOException {
        String content = " \n# made by hand\nid,word\n1,a\n\n# 2,b\n3,c\n";
        assertEquals(List.of("1|a", "3|c"), read(content, "header", "true", "comment", "#"));
    }

    @Test
    void recordWithoutALineBreakAtTheEndIsRead() throws IOException {
        assertEquals(List.of("1|a", "2|ü"), read("1,a\r\n2,ü"));
    }

    @Test
    void eachLineBelongsToOnePartOfTheFile() throws IOException {
        byte[] content = "id,word\n1,one\n2,two\n3,three\n".getBytes(StandardCharsets.UTF_8);
        for (int cut = 1; cut < content.length; cut++) {
            List<String> found = new ArrayList<>(read(content, 0, cut, "header", "true"));
            found.addAll(read(content, cut, content.length - cut, "header", "true"));
            assertEquals(List.of("1|one", "2|two", "3|three"), found, "cut at " + cut);
        }
    }

    @Test
    void recordThatHasNoValueIsABadRowWithItsColumn() throws IOException {
        assertEquals(List.of("x,a|id|is not a whole number (INT)", "2|b"), read("x,a\n2,b\n"));
        assertEquals(List.of("1,a,b|null|the row has 3 fields instead of 2"), read("1,a,b\n"));
        assertTrue(read(" 1,a\n").get(0).startsWith(" 1,a|id|has blanks around its value"));
        assertTrue(read("1,abc\n", "rows.longest", "2").get(0).endsWith("(option maxCharsPerColumn)"));
    }

    @Test
    void bytesThatAreNoTextMakeABadRow() throws IOException {
        byte[] content = {'1', ',', (byte) 0xff, '\n', '2', ',', (byte) 0xef, (byte) 0xbf, (byte) 0xbd, '\n'};
        assertEquals(List.of("1,\ufffd|null|no UTF-8", "2|\ufffd"), read(content, 0, content.length));
    }

    @Test
    void multiLineRecordKeepsLineBreaksInsideOfQuotes() throws IOException {
        String content = "id,word\n1,\"a\nü\"\n2,b\n";
        List<String> found = read(content, "header", "true", "multiline", "true", "encoding", "ISO-8859-1");
        assertEquals(List.of("1|a\nü", "2|b"), found);
    }
}
