"""Checks that a timeline lies in one layout: an interrupted version change leaves parts in both."""

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.layout import half_moved, instant_names, timeline_folders
from hudi_jobs.contract.table.properties import sentence_of
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import children_of, located
from hudi_jobs.table import HudiTable


def require_one_layout(spark: SparkSession, table: HudiTable) -> None:
    """Raise `TaskFailed` if part of the timeline lies in the folder of the other layout."""
    left = in_other_layout(spark, table)
    if left:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH, f"The table has version {table.version}. {sentence_of(half_moved(left[0]))}"
        )


def in_other_layout(spark: SparkSession, table: HudiTable) -> list[str]:
    """Return the names of instant files in the folder of the other layout."""
    with stage("The table's timeline cannot be listed", otherwise=FailureReason.HUDI_ERROR):
        return instant_files(spark, table.base_path, timeline_folders(table.version)[1])


def instant_files(spark: SparkSession, base_path: str, folder: str) -> list[str]:
    """Return the sorted names of the instant files in a folder."""
    filesystem, place = located(spark, base_path, folder)
    if not filesystem.exists(place):
        return []
    return instant_names(str(each.getPath().getName()) for each in children_of(filesystem, place) if each.isFile())
