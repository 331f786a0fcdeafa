"""Reads a run's table, in the zone in which layout-1 times compare with its instants.

Opening the table inside the zone is enough. Its timeline is loaded then, and files listed later, when rows are
computed, are ordered by the loaded times.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.clock.guard import completions_in_order
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.failures import TaskFailed
from hudi_jobs.folder import Folder
from hudi_jobs.jvm import input_files
from hudi_jobs.table import HudiTable

_NAMED_LIMIT = 300


@contextmanager
def with_times(spark: SparkSession, table: HudiTable, options: Mapping[str, str]) -> Iterator[HudiTable]:
    """Yield a table with completion times that compare with instants; reopened in layout 1."""
    if table.version >= LAYOUT_2_FROM:  # the open table knows its version, so no file is read again
        yield table
        return
    with completions_in_order(spark, table.base_path, options) as are_of_files:
        yield HudiTable.existing(spark, table.base_path) if are_of_files else table


def read_rows(spark: SparkSession, base_path: str, options: Mapping[str, str], **how: str) -> DataFrame:
    """Return the rows of a table as a reader sees them, with Hudi's own columns.

    `options` are the task's, and `how` are options of the read.
    """
    with completions_in_order(spark, base_path, options):
        return snapshot(spark, base_path, how)


def snapshot(spark: SparkSession, base_path: str, options: Mapping[str, str]) -> DataFrame:
    """Return a table as Hudi reads it; raise `TaskFailed` if its metadata names a file outside its folder."""
    frame = spark.read.format("hudi").options(**options).load(base_path)
    folder = Folder(base_path)
    stranger = next((path for path in input_files(frame) if not folder.holds("", path)), None)
    if stranger is not None:
        raise TaskFailed(
            FailureReason.PATH_OUTSIDE_TABLE,
            f"The metadata of {base_path} puts the file {stranger[:_NAMED_LIMIT]!a} outside the table, so no row was "
            "read. Find out who wrote the metadata.",
        )
    return frame
