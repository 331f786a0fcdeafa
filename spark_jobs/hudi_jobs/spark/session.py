"""Opens a run's Spark session with Hudi's requirements, and loads the operator's own Java classes into it.

The jar of these classes is on the class path of the driver and of the executors.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import JavaObject, classes, hadoop_configuration

PACKAGE = "io.hudioperator"


def java_class(spark: SparkSession, name: str) -> JavaObject:
    """Return the class of a name below `PACKAGE`, such as `csv.CsvFormat`; a call of it makes an object.

    Raises `TaskFailed` when the class path does not have it.
    """
    found = classes(spark)
    for part in f"{PACKAGE}.{name}".split("."):
        found = getattr(found, part)
    if not isinstance(found, JavaClass):
        raise TaskFailed(
            FailureReason.INTERNAL_ERROR,
            f"The class path of the driver does not have the Java class {PACKAGE}.{name}, because the image of the job "
            "has no hudi-operator.jar, or that of another release. Use the Spark image of the release of the operator.",
        )
    return found


_METADATA_PAYLOAD = "org.apache.hudi.metadata.HoodieMetadataPayload"
"""Must be initialised before any other code parses the metadata table's schema.

The class recognises that schema by the identity of the first interned instance. A JVM that first uses the metadata
table for its compaction, as in every tenth commit, interns another instance, and Hudi 1.2.0 then fails to write: "Index
9 out of bounds for length 7" (HoodieMetadataPayload.getInsertValue).
"""

_ANCIENT_DATES = "spark.sql.parquet.datetimeRebaseModeInRead"
ANCIENT_DATES_OF_SOURCES = "spark.hudi-operator.datetimeRebaseModeOfSources"
"""Spark's mode for dates before 1582 and times before 1900 in a source's Parquet files: `EXCEPTION` by default, because
Spark 2 and Hive used another calendar. Hudi never did, but its files do not tell Spark.
"""

_PLACEHOLDER = re.compile(r"\$\((POD_NAME|POD_IP|POD_NAMESPACE|JOB_NAME|JOB_UID)\)")

_DEFAULTS = {
    "spark.app.name": "hudi-operator",
    # Otherwise a single 0001-01-01 fails every read of a table, and so a clustering, which then blocks updates.
    _ANCIENT_DATES: "CORRECTED",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark keeps this many entries for a UI, even without a UI; a continuous run has thousands.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.log.level": "WARN",
    # Rows are cached only between the check and the write: compressing costs more than it saves.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # Gives up a dead store within about a minute instead of s3a's quarter of an hour.
    "spark.hadoop.fs.s3a.attempts.maximum": "3",
    "spark.hadoop.fs.s3a.retry.limit": "4",
    "spark.hadoop.fs.s3a.retry.interval": "500ms",
    "spark.hadoop.fs.s3a.retry.throttle.limit": "8",
    "spark.hadoop.fs.s3a.connection.establish.timeout": "5000",
    "spark.hadoop.fs.s3a.connection.timeout": "30000",
    # Hudi 1.2.0 hung on S3 servers with Hadoop's defaults for these.
    "spark.hadoop.fs.s3a.connection.maximum": "1000",
    "spark.hadoop.fs.s3a.directory.marker.retention": "keep",
    "spark.hadoop.fs.s3a.bucket.probe": "0",
}

_REQUIRED = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    # Kryo initialises registered classes, also in executors.
    "spark.kryo.classesToRegister": _METADATA_PAYLOAD,
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.speculation": "false",
    "spark.sql.session.timeZone": "UTC",
    # A CSV row with too few columns is only noticed when all columns are parsed.
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # The old lists of Parquet's Avro writer hold no nulls, and Hudi cannot read one whose elements have a single field
    # (apache/hudi#2265, apache/hudi#19782). Hudi takes this from Hadoop's settings alone.
    "spark.hadoop.parquet.avro.write-old-list-structure": "false",
    # The table owner's SQL sees the view `source`, but neither other files nor the environment.
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.variable.substitute": "false",
    # A log in a folder would replace the listed files with others.
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": "true",
}


def spark_settings(requested: Mapping[str, str]) -> dict[str, str]:
    """Return the whole Spark configuration: defaults, then the request's settings, then the required settings."""
    sources = {ANCIENT_DATES_OF_SOURCES: requested.get(_ANCIENT_DATES, "EXCEPTION")}
    return {**_DEFAULTS, **{key: _filled_in(value) for key, value in requested.items()}, **_REQUIRED, **sources}


def hadoop_setting(requested: Mapping[str, str], key: str) -> str | None:
    """Return a setting of Hadoop's file systems as a session would have it, without starting a session."""
    return spark_settings(requested).get(f"spark.hadoop.{key}")


def _filled_in(value: str) -> str:
    """Replace `$(POD_NAME)` and similar values that are known only inside the pod; no other environment variables."""
    return _PLACEHOLDER.sub(lambda found: os.environ.get(found[1], found[0]), value)


def open_session(requested: Mapping[str, str]) -> SparkSession:
    """Start the JVM and a session in it.

    All settings are passed before the JVM starts, so that memory and ports take effect.
    """
    builder = SparkSession.builder
    for key, value in spark_settings(requested).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    classes(session).java.lang.Class.forName(_METADATA_PAYLOAD)
    # The zone for times without a zone in partitions; Joda would take the zone of the first table written.
    zones = classes(session).org.joda.time.DateTimeZone
    zones.setDefault(zones.forID("UTC"))
    _forget_origins(session)
    return session


def _forget_origins(session: SparkSession) -> None:
    """Drop the origins of Hadoop's settings, which only help debugging.

    Spark sends the settings with every stage, and Hadoop compresses each origin separately (Configuration.write), which
    was a fifth of the cost of a small commit.
    """
    settings = hadoop_configuration(session)
    # The first use of a file system, and of S3's, reads all settings again. An image may lack the S3 client.
    with suppress(Py4JJavaError):
        classes(session).org.apache.hadoop.fs.FileSystem.getFileSystemClass("s3a", settings)
    settings.size()  # reads the settings
    configuration = classes(session).java.lang.Class.forName("org.apache.hadoop.conf.Configuration")
    origins = configuration.getDeclaredField("updatingResource")
    origins.setAccessible(True)
    origins.get(settings).clear()
