package io.hudioperator.csv;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.collection.immutable.Map;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Files of CSV as Spark lists, divides and schedules them, whose rows are read strictly.
 *
 * Everything is in the options, so that Spark can compare plans by them.
 */
public class CsvFormat extends CSVFileFormat {

    public boolean supportDataType(DataType type) {
        return true;
    }

    @Override
    public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
        SparkSession spark, StructType data, StructType partition, StructType required, Seq<Filter> filters, Map<String, String> options,
        Configuration configuration
    ) {
        ClassTag<SerializableConfiguration> tag = ClassTag$.MODULE$.apply(SerializableConfiguration.class);
        Broadcast<SerializableConfiguration> shared =
            spark.sparkContext().broadcast(new SerializableConfiguration(configuration), tag);
        return new CsvReader(options, required, shared);
    }
}
