"""Handles keys with several rows: whether deletes remove them all, and how many deletes are needed.

Seen with Hudi 1.2.0: of several rows in one file a delete removes the first, so it is repeated. The record index of a
metadata table knows one place for each key, and cannot be rebuilt beside rows with the same key
(`HoodieDuplicateKeyException`). With a bucket index Hudi refuses to write to a partition with two files of one bucket.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.existing_table.metadata import has_record_index
from hudi_jobs.operations.buckets import is_in_buckets
from hudi_jobs.operations.erase.keys import PARTITION, RECORD_KEY, Keys, file_group, with_key
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.rows import are_doubled, indexed_by

MOST_COPIES = 20
"""Most rows of a key in a file: each needs a commit of its own."""

_GROUP = "_hoodie_file_group"
_BUCKET = 8
"""Length of the bucket number at the start of a file group's id (`BucketIdentifier`)."""

_ADVICE = "Remove all but the newest row of each key first (repair.deduplicate)."


def require_deletable(work: OperationRun, rows: DataFrame, keys: Keys) -> None:
    """Refuse keys with rows that deletes would leave, or that would keep the metadata table from being rebuilt."""
    found = with_key(rows, keys).withColumn(_GROUP, file_group())
    most = found.groupBy(PARTITION, _GROUP, RECORD_KEY).count().agg(sf.max("count")).first()
    if most is not None and (most[0] or 0) > MOST_COPIES:
        raise refused(f"A key has {most[0]:,} rows in one file; at most {MOST_COPIES} are supported. {_ADVICE}")
    is_indexed = has_record_index(work.table.properties)
    if is_indexed and are_doubled(with_key(rows, keys, without=True), indexed_by(work.table)):
        raise refused(
            "The table has an index of record keys, and other rows share a key, so Hudi could not rebuild that "
            f"index. {_ADVICE} Where a key may be in several partitions, drop that index."
        )
    if is_in_buckets(work.context.task.hudi_options):
        _require_one_file_of_a_bucket(rows, found)


def lie_apart(rows: DataFrame) -> bool:
    """Tell whether rows of the same key are in several file groups."""
    places = rows.withColumn(_GROUP, file_group()).select(PARTITION, _GROUP, RECORD_KEY).distinct()
    return are_doubled(places, (RECORD_KEY,))


def _require_one_file_of_a_bucket(rows: DataFrame, found: DataFrame) -> None:
    places = sf.broadcast(found.select(PARTITION).distinct())
    groups = rows.join(places, PARTITION, "left_semi").select(PARTITION, file_group().alias(_GROUP)).distinct()
    if are_doubled(groups, (PARTITION, sf.substring(_GROUP, 1, _BUCKET))):
        raise refused(
            "A partition of these records has two files of one bucket, as bulk inserts make them, so Hudi "
            f"cannot delete its rows. {_ADVICE}"
        )
