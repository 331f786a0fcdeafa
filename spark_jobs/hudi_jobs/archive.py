"""Finds our newest note in an archive of layout 2 without holding the archive in memory.

Hudi's own `loadCompletedInstantDetailsInMemory` holds the metadata of every archived commit in the driver's heap, which
is too small for an old table's archive. Here Spark reads the archive once, as a stream.
"""

import json
import re

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from hudi_jobs.contract import FailureReason
from hudi_jobs.frames import GivenFiles
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import JavaObject, classes

_ACTIONS = ("commit", "deltacommit", "replacecommit")
_COLUMNS = "instantTime STRING, completionTime STRING, action STRING, metadata BINARY"
_CONTAINER = b"Obj\x01"
_FILE = re.compile(r"[0-9A-Za-z_-]+\.parquet")


def newest_archived_note(spark: SparkSession, meta: JavaObject, key: str) -> str | None:
    """Return the value of the key in the archived commit that completed last, among those with the key.

    Spark reads each row of the Parquet files of layout 2 (`LSMTimeline`), and only a single row reaches the driver.
    """
    files = archive_files(spark, meta)
    if not files:
        return None
    candidates = _candidates(spark, files, key)
    while row := candidates.orderBy(sf.desc("completed"), sf.desc("instantTime")).first():
        value = _extra_metadata(spark, row).get(key)
        if value is not None:
            return str(value)
        time, earlier = sf.col("completed"), sf.col("instantTime") < row["instantTime"]
        candidates = candidates.where((time < row["completed"]) | ((time == row["completed"]) & earlier))
    return None


def archive_files(spark: SparkSession, meta: JavaObject) -> list[str]:
    """Return the archive's current Parquet files; each is written once, under its own name."""
    folder = meta.getArchivePath()
    manifest = classes(spark).org.apache.hudi.common.table.timeline.LSMTimeline.latestSnapshotManifest(meta, folder)
    names = list(map(str, manifest.getFileNames()))
    stranger = next((name for name in names if not _FILE.fullmatch(name)), None)
    if stranger is not None:
        raise TaskFailed(
            FailureReason.PATH_OUTSIDE_TABLE,
            f"The manifest of the archive {folder.toString()} names the file {stranger[:200]!a}, which is no file of "
            "an archive, so the archive was not read. Find out who wrote the manifest.",
        )
    return [f"{folder.toString()}/{name}" for name in names]


def archived_rows(spark: SparkSession, files: list[str]) -> DataFrame:
    """Return the archived commits in the form of `LSMTimeline`; Spark reads only the columns in use."""
    session = spark.newSession()
    # Batches of rows would hold the metadata of thousands of commits.
    session.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    rows = GivenFiles(session, files).frame("parquet", schema=_COLUMNS)
    return rows.where(sf.col("action").isin(*_ACTIONS))


def _candidates(spark: SparkSession, files: list[str], key: str) -> DataFrame:
    """Return the rows that may have the key in their metadata: rows with its text, and compressed rows."""
    rows = archived_rows(spark, files)
    text = [sf.contains(sf.col("metadata"), sf.lit(bytearray(each, "ascii"))) for each in (key, "avro.codec")]
    completed = sf.coalesce("completionTime", "instantTime").alias("completed")
    found = rows.where(text[0] | text[1])
    return found.select(completed, "instantTime", "action", "metadata")


def _extra_metadata(spark: SparkSession, row: Row) -> JavaObject:
    """Return the extra metadata of an archived commit; it is Avro, or JSON from before an upgrade of the table."""
    content = bytes(row["metadata"])
    if not content.startswith(_CONTAINER):
        return json.loads(content).get("extraMetadata") or {}
    return archived_metadata(spark, row).getExtraMetadata() or {}


def archived_metadata(spark: SparkSession, row: Row) -> JavaObject:
    """Return the metadata of an archived commit as Hudi's Avro model; it must be Avro."""
    content = bytes(row["metadata"])
    jvm = classes(spark)
    model = jvm.org.apache.hudi.avro.model
    kind = model.HoodieReplaceCommitMetadata if row["action"] == "replacecommit" else model.HoodieCommitMetadata
    read = jvm.org.apache.hudi.common.table.timeline.TimelineMetadataUtils.deserializeAvroMetadata
    stream = jvm.java.io.ByteArrayInputStream(bytearray(content))
    return read(stream, kind().getClass())
