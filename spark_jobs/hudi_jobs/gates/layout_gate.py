"""Checks that a timeline lies in one layout: an interrupted version change leaves parts in both.

Hudi moves the timeline's files one by one and writes the version last (`SevenToEightUpgradeHandler`,
`EightToSevenDowngradeHandler`). A process that opens the table in between sees part of its commits, and rolls back
instants that look unfinished: their rows would be lost.
"""

import re

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import children_of, located
from hudi_jobs.table import HudiTable

META_FOLDER = ".hoodie"
INSTANT_FILE = re.compile(r"(?P<time>[0-9]{14}(?:[0-9]{3})?)(?:_[0-9]+)?(?P<rest>\.[a-z.]+)")

_LAYOUT_2 = f"{META_FOLDER}/timeline"


def require_one_layout(spark: SparkSession, table: HudiTable) -> None:
    """Raise `TaskFailed` if part of the timeline lies in the folder of the other layout."""
    left = in_other_layout(spark, table)
    if left:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table has version {table.version}, and {left[0]} lies where tables of another version have it: a "
            "change of the version has not ended, and nothing is written meanwhile. If a HudiOperation that is gone "
            "began it, create another one to the same version, which finishes it; otherwise finish it with the tool "
            "that began it.",
        )


def in_other_layout(spark: SparkSession, table: HudiTable) -> list[str]:
    """Return the names of instant files in the folder of the other layout."""
    with stage("The table's timeline cannot be listed", otherwise=FailureReason.HUDI_ERROR):
        return instant_files(spark, table.base_path, timeline_folders(table.version)[1])


def timeline_folders(version: int) -> tuple[str, str]:
    """Return the folder of a version's active timeline, and the folder of the other layout."""
    return (META_FOLDER, _LAYOUT_2) if version < LAYOUT_2_FROM else (_LAYOUT_2, META_FOLDER)


def instant_files(spark: SparkSession, base_path: str, folder: str) -> list[str]:
    """Return the sorted names of the instant files in a folder."""
    filesystem, place = located(spark, base_path, folder)
    if not filesystem.exists(place):
        return []
    names = (str(each.getPath().getName()) for each in children_of(filesystem, place) if each.isFile())
    return sorted(name for name in names if INSTANT_FILE.fullmatch(name))
