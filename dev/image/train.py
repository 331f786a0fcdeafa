"""Makes the class-data-sharing archive of the Spark image: `train.py ARCHIVE` runs a driver's work once, and dumps.

The JVM then maps the classes of Spark and Hudi instead of loading and verifying them one by one, which takes seconds of
every run. Run it where the drivers run: the archive is bound to the JVM, the jars and their order.
"""

import os
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.avro.functions import from_avro, to_avro

SETTINGS = {
    "spark.master": "local[1]",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.sql.session.timeZone": "UTC",
    # A store that is not there: its client is loaded, tries once, and gives up.
    "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9",
    "spark.hadoop.fs.s3a.access.key": "none",
    "spark.hadoop.fs.s3a.secret.key": "none",
    "spark.hadoop.fs.s3a.attempts.maximum": "1",
    "spark.hadoop.fs.s3a.retry.limit": "0",
    "spark.hadoop.fs.s3a.bucket.probe": "0",
}

NO_BROKER = {
    "kafka.bootstrap.servers": "127.0.0.1:9",
    "subscribe": "none",
    "kafka.request.timeout.ms": "500",
    "kafka.default.api.timeout.ms": "500",
    "fetchOffset.numRetries": "1",
}

OPTIONS = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.table.ordering.fields": "id",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.compact.inline.max.delta.commits": "1",
}


def main(archive: str) -> None:
    """Run the services of one table of each type, then end the JVM, which writes the archive."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # where images are built, the machine's own name may lead nowhere
    # Each class that cannot be archived would be a line of the log.
    quiet = "-Xlog:cds=off -Xlog:cds+dynamic=off -Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true"
    java = f"-XX:ArchiveClassesAtExit={archive} -XX:TieredStopAtLevel=1 {quiet}"
    builder = SparkSession.builder.config("spark.driver.extraJavaOptions", java)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    process: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001 - PySpark keeps the JVM here
    with tempfile.TemporaryDirectory() as folder:
        for table_type in ("COPY_ON_WRITE", "MERGE_ON_READ"):
            live(spark, f"{folder}/{table_type}", table_type)
        reach_for_sources(spark)
        load_our_classes(spark)
        spark.stop()
        process.stdin.close()  # PySpark's JVM ends when its standard input does
        process.wait()
    size = Path(archive).stat().st_size
    if size < 10_000_000:
        sys.exit(f"{archive} has only {size} bytes: the JVM has not archived the classes that it loaded")
    os.chmod(archive, 0o644)  # noqa: PTH101 - one call says it


def reach_for_sources(spark: SparkSession) -> None:
    """Read from a store and a broker that are not there, which loads their clients, and decode what a broker holds."""
    with suppress(Py4JJavaError):
        spark.read.text("s3a://bucket/key").count()
    with suppress(Py4JJavaError):
        spark.read.format("kafka").options(**NO_BROKER).load().count()
    schema = '{"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}]}'
    encoded = spark.range(2).select(to_avro(sf.struct("id"), schema).alias("value"))
    encoded.select(from_avro("value", schema)).collect()


def load_our_classes(spark: SparkSession) -> None:
    """Load the Java classes of the jobs."""
    jvm: Any = spark._jvm  # noqa: SLF001 - the way into the JVM
    with zipfile.ZipFile(Path(os.environ["SPARK_HOME"]) / "lib" / "hudi-operator.jar") as jar:
        for name in jar.namelist():
            jvm.java.lang.Class.forName(name.removesuffix(".class").replace("/", "."))


def live(spark: SparkSession, table: str, table_type: str) -> None:
    """Write to a table a few times as ingestion does, then run every table service."""
    source = f"{table}-source"
    spark.range(200).selectExpr("id", "id % 2 AS part", "cast(id AS STRING) AS value").write.csv(source, header=True)
    for _ in range(2):
        rows = spark.read.schema("id BIGINT, part INT, value STRING, _corrupt_record STRING").csv(
            source, header=True, columnNameOfCorruptRecord="_corrupt_record"
        )
        rows = rows.where(sf.col("_corrupt_record").isNull()).drop("_corrupt_record").persist()
        rows.agg(sf.count(sf.when(sf.col("id").isNull(), 1))).collect()
        options = {**OPTIONS, "hoodie.table.name": "trained", "hoodie.datasource.write.table.type": table_type}
        rows.write.format("hudi").options(**options).mode("append").save(table)
    run_services(spark, table)
    spark.read.format("hudi").load(table).count()


def run_services(spark: SparkSession, table: str) -> None:
    """Plan and execute compaction and clustering, clean and archive."""
    jvm: Any = spark._jvm  # noqa: SLF001 - the way into the JVM
    options = jvm.java.util.HashMap()
    for key, value in OPTIONS.items():
        options.put(key, value)
    client = jvm.org.apache.hudi.HoodieCLIUtils.createHoodieWriteClient(
        spark._jsparkSession,  # noqa: SLF001
        table,
        jvm.PythonUtils.toScalaMap(options),
        jvm.scala.Option.apply(None),
    )
    none = jvm.org.apache.hudi.common.util.Option.empty()
    try:
        if "MERGE" in table:
            planned = client.scheduleCompaction(none)
            if planned.isPresent():
                client.commitCompaction(planned.get(), client.compact(planned.get()), none)
        planned = client.scheduleClustering(none)
        if planned.isPresent():
            client.cluster(planned.get(), True)  # noqa: FBT003 - Java has no keywords
        client.clean()
        client.archive()
    finally:
        client.close()


if __name__ == "__main__":
    main(sys.argv[1])
