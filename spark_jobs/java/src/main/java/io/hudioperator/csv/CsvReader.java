package io.hudioperator.csv;

import java.io.Serializable;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.immutable.Map;
import scala.runtime.AbstractFunction1;

/** Reads the rows of a file, or of a part of it, on an executor. */
class CsvReader extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements Serializable {

    private static final boolean PRUNES = false;

    private final HashMap<String, String> options;
    private final Map<String, String> given;
    private final StructType required;
    private final Broadcast<SerializableConfiguration> configuration;
    private transient CSVOptions settings;
    private transient CsvRows rows;

    CsvReader(Map<String, String> given, StructType required, Broadcast<SerializableConfiguration> configuration) {
        this.given = given;
        options = new HashMap<>(JavaConverters.mapAsJavaMapConverter(given).asJava());
        this.required = required;
        this.configuration = configuration;
    }

    public Iterator<InternalRow> apply(PartitionedFile file) {
        if (rows == null) {
            settings = new CSVOptions(given, PRUNES, "UTC");
            rows = new CsvRows(options, required);
        }
        Configuration found = configuration.value().value();
        CsvRecords records = new CsvRecords(file, settings, options, rows, found);
        return JavaConverters.asScalaIteratorConverter(records).asScala();
    }
}
