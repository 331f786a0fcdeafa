"""The Spark session of a run: what Hudi needs, sensible bounds for the object store, and the operator's settings."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.jvm import classes, hadoop_configuration

_METADATA_PAYLOAD = "org.apache.hudi.metadata.HoodieMetadataPayload"
"""Has to be initialised before anything else parses the metadata table's schema.

It tells that schema from others by identity, of the instance that was interned first. A JVM whose first use of the
metadata table is its compaction, as in every tenth commit, interns another one, and Hudi 1.2.0 then fails to write:
"Index 9 out of bounds for length 7" (HoodieMetadataPayload.getInsertValue).
"""

_ANCIENT_DATES = "spark.sql.parquet.datetimeRebaseModeInRead"
ANCIENT_DATES_OF_SOURCES = "spark.hudi-operator.datetimeRebaseModeOfSources"
"""What Spark does with dates before 1582, and times before 1900, in Parquet files of a source: `EXCEPTION` by default,
because Spark 2 and Hive counted them in another calendar. Hudi never did, and its files do not say so to Spark."""

_PLACEHOLDER = re.compile(r"\$\((POD_NAME|POD_IP|POD_NAMESPACE|JOB_NAME|JOB_UID)\)")

_DEFAULTS = {
    "spark.app.name": "hudi-operator",
    # A single 0001-01-01 fails every read of a table otherwise, and so a clustering, which then blocks its updates.
    _ANCIENT_DATES: "CORRECTED",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark keeps what a UI would show of so many, also where there is none; a continuous run has thousands.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.log.level": "WARN",
    # Rows are kept between the check and the write only: to compress them costs more than it saves.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # A dead store is given up within about a minute instead of s3a's quarter of an hour.
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
    # Kryo initialises what it registers, in executors too.
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
    # SQL that a table's owner writes sees the view `source`, and neither other files nor the environment.
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.variable.substitute": "false",
    # A log in a folder would name files to read in place of those that are there.
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": "true",
}


def spark_settings(requested: Mapping[str, str]) -> dict[str, str]:
    """Return the whole Spark configuration: defaults, then the request's, then what a correct run cannot do without."""
    sources = {ANCIENT_DATES_OF_SOURCES: requested.get(_ANCIENT_DATES, "EXCEPTION")}
    return {**_DEFAULTS, **{key: _filled_in(value) for key, value in requested.items()}, **_REQUIRED, **sources}


def hadoop_setting(requested: Mapping[str, str], key: str) -> str | None:
    """Return a setting of Hadoop's file systems as a session would have it, without one."""
    return spark_settings(requested).get(f"spark.hadoop.{key}")


def _filled_in(value: str) -> str:
    """Replace `$(POD_NAME)` and the like, which are only known inside the pod; nothing else of the environment."""
    return _PLACEHOLDER.sub(lambda found: os.environ.get(found[1], found[0]), value)


def open_session(requested: Mapping[str, str]) -> SparkSession:
    """Start the JVM and a session in it.

    All settings are given before the JVM starts, so that memory and ports take effect.
    """
    builder = SparkSession.builder
    for key, value in spark_settings(requested).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    classes(session).java.lang.Class.forName(_METADATA_PAYLOAD)
    # Times without a zone in partitions are in this one, which Joda would take from the first table that is written.
    zones = classes(session).org.joda.time.DateTimeZone
    zones.setDefault(zones.forID("UTC"))
    _forget_origins(session)
    return session


def _forget_origins(session: SparkSession) -> None:
    """Drop the names of the files that Hadoop's settings come from, which are of use only to somebody who debugs them.

    Spark sends the settings with every stage, and Hadoop compresses the origin of each one on its own
    (Configuration.write), which was a fifth of what a small commit cost.
    """
    settings = hadoop_configuration(session)
    # The first use of file systems and of S3's has all settings read again. An image may have no client of S3.
    with suppress(Py4JJavaError):
        classes(session).org.apache.hadoop.fs.FileSystem.getFileSystemClass("s3a", settings)
    settings.size()  # reads them
    configuration = classes(session).java.lang.Class.forName("org.apache.hadoop.conf.Configuration")
    origins = configuration.getDeclaredField("updatingResource")
    origins.setAccessible(True)
    origins.get(settings).clear()
