"""Checks that the declared index finds the table's rows, before any write.

The newest commit with the operator's note names the index that the table was written with. Without such a commit
(tables of other tools) the data itself reveals a bucket index: the names of its file groups begin with the number of
their bucket in eight digits (`BucketIdentifier.newBucketFileIdPrefix`), and a key's hash tells its bucket for each
number of buckets. If the whole table does not have the same number of buckets, nothing is written.
"""

from collections.abc import Mapping
from itertools import islice

from pyspark.sql import SparkSession

from hudi_jobs.contract import (
    BUCKET,
    BUCKET_FILE,
    INDEX_KEY,
    VARYING_BUCKETS_FOLDER,
    FailureReason,
    TableDefinition,
    may_follow,
)
from hudi_jobs.contract.table.index import varying_buckets
from hudi_jobs.contract.table.properties import sentence_of
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import located, statuses_below
from hudi_jobs.spark.jvm import classes, iterated
from hudi_jobs.table import HudiTable, commit_metadata, read_rows

_MOST_FILES, _MOST_ROWS = 100_000, 1_000


def require_index(
    spark: SparkSession, table: HudiTable, definition: TableDefinition, options: Mapping[str, str]
) -> None:
    """Raise `TaskFailed` when the declared index cannot find keys placed by the table's index."""
    declared = options.get(INDEX_KEY)
    if declared is None:
        return
    with stage("The table's index cannot be read", otherwise=FailureReason.HUDI_ERROR):
        if _has_varying_buckets(spark, definition.base_path):
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"The table at {definition.base_path} is refused. {sentence_of(varying_buckets())}",
            )
        noted = next((commit.notes[INDEX_KEY] for commit in table.commits() if INDEX_KEY in commit.notes), None)
        found = noted or _seen_in_data(spark, table, definition, options)
    if not may_follow(found, declared):
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table at {definition.base_path} was written with the index {found}, but {declared} is declared, "
            "which would not find existing keys and would write them again. Declare the index that the table has, "
            "or use another base path.",
        )


def _has_varying_buckets(spark: SparkSession, base_path: str) -> bool:
    filesystem, folder = located(spark, base_path, VARYING_BUCKETS_FOLDER)
    return bool(filesystem.exists(folder)) and next(statuses_below(filesystem, folder), None) is not None


def _seen_in_data(
    spark: SparkSession, table: HudiTable, definition: TableDefinition, options: Mapping[str, str]
) -> str:
    """Return the declared index, or the different index that the data shows."""
    files, declared = _newest_files(table), options[INDEX_KEY]
    kind, _, number = declared.partition("/")
    numbered = [name for name in files if BUCKET_FILE.match(name)]
    if not files or (kind != BUCKET and len(numbered) < len(files)):
        return declared
    if len(numbered) < len(files):
        return "without buckets"
    highest = max(int(name[:8]) for name in numbered)
    if kind != BUCKET or highest >= int(number) or not _in_their_buckets(spark, definition, options, int(number)):
        return f"{BUCKET} with {highest + 1} buckets or more"
    return declared


def _newest_files(table: HudiTable) -> list[str]:
    """Return the file groups written by the newest commit that wrote any."""
    timeline = table.completed_commits()
    instants = timeline.getReverseOrderedInstantsByCompletionTime().iterator()
    for instant in iterated(instants):
        names = commit_metadata(timeline, instant).getFileIdAndRelativePaths().keySet().iterator()
        found = [str(name) for name in islice(iterated(names), _MOST_FILES)]
        if found:
            return found
    return []


def _in_their_buckets(
    spark: SparkSession, definition: TableDefinition, options: Mapping[str, str], number: int
) -> bool:
    """Tell whether sample rows lie in the buckets computed for this number."""
    identify = classes(spark).org.apache.hudi.index.bucket.BucketIdentifier.getBucketId
    columns = ",".join(definition.record_key)
    rows = read_rows(spark, definition.base_path, options).select("_hoodie_record_key", "_hoodie_file_name")
    return all(int(identify(key, columns, number)) == int(name[:8]) for key, name in rows.limit(_MOST_ROWS).collect())
