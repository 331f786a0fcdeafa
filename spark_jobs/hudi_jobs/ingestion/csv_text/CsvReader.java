import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.collection.JavaConverters;
import scala.runtime.AbstractFunction1;

/** Reads the rows of a file, or of a part of it, on an executor. */
class CsvReader extends AbstractFunction1 implements Serializable {

    private static final boolean PRUNES = false;

    private final HashMap options;
    private final scala.collection.immutable.Map given;
    private final StructType required;
    private final Broadcast configuration;
    private transient CSVOptions settings;
    private transient CsvRows rows;

    CsvReader(scala.collection.immutable.Map given, StructType required, Broadcast configuration) {
        this.given = given;
        options = new HashMap((Map) JavaConverters.mapAsJavaMapConverter(given).asJava());
        this.required = required;
        this.configuration = configuration;
    }

    public Object apply(Object file) {
        if (rows == null) {
            settings = new CSVOptions(given, PRUNES, "UTC");
            rows = new CsvRows(options, required);
        }
        Configuration found = ((SerializableConfiguration) configuration.value()).value();
        CsvRecords records = new CsvRecords((PartitionedFile) file, settings, options, rows, found);
        return JavaConverters.asScalaIteratorConverter(records).asScala();
    }
}
