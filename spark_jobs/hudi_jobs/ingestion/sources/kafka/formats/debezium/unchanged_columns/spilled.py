"""Deletes that do not fit into a checkpoint, in files beside the table.

A checkpoint names its files, and a file without a checkpoint is ignored: a run wrote it and died before its commit.
Files are immutable, and stay as long as a commit that the table may be restored to names them. Only a batch with an
event before the last of these deletes reads them. A file is a folder, as Spark writes it.
"""

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location
from hudi_jobs.frames import GivenFiles
from hudi_jobs.ingestion.checkpoint import expired
from hudi_jobs.ingestion.rows import nothing
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import Database
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.deleted import (
    HASH,
    PLACE,
    Place,
    Split,
    last_of_each,
    schema_of,
)
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import children_of, delete_whole, located, statuses_below

FOLDER = f"{OPERATOR_FOLDER}/deletes"

MOST_FILES = 16
"""The most files in a checkpoint; beyond that the smaller half is merged, so that each delete is written only a few
times.
"""

_NAME = re.compile(r"[0-9a-f]{32}")
_PART = re.compile(r"[^_.].*\.parquet")


@dataclass(frozen=True)
class Spilled:
    """The files with a table's deletes, by name with their counts; no delete lies beyond `below`."""

    below: Place | None = None
    files: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, state: Mapping[str, Any], place: Callable[[Iterable[object]], Place]) -> "Spilled":
        """Parse a checkpoint's state, with `place` for log positions; raises `ValueError` and similar."""
        if not state:
            return cls()
        files = {uuid.UUID(name).hex: int(count) for name, count in state["files"].items()}
        return cls(place(state["below"]), files)

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {} if self.below is None else {"below": list(self.below), "files": dict(self.files)}

    def read(self, spark: SparkSession, base_path: str, database: Database) -> DataFrame:
        """Return the deletes of all files; raise `TaskFailed` if a file is missing or incomplete."""
        return self._read(spark, base_path, database, sorted(self.files))

    def after(
        self, split: Split, spark: SparkSession, base_path: str, database: Database
    ) -> tuple["Spilled", Callable[[], None]]:
        """Return the files after a batch's surplus deletes move into a file, and a function that writes that file."""
        if split.others is None or split.below is None:
            return self, nothing
        merged = sorted(self.files, key=lambda name: (self.files[name], name))[: MOST_FILES // 2]
        merged = merged if len(self.files) >= MOST_FILES else []
        deletes = split.others
        if merged:
            deletes = last_of_each(deletes.unionByName(self._read(spark, base_path, database, merged)))
        deletes = deletes.persist(StorageLevel.MEMORY_AND_DISK)
        name = uuid.uuid4().hex
        files = {one: count for one, count in self.files.items() if one not in merged} | {name: deletes.count()}
        below = split.below if self.below is None else max(self.below, split.below)
        return Spilled(below, files), partial(_write, deletes, _path(base_path, name))

    def _read(self, spark: SparkSession, base_path: str, database: Database, names: Iterable[str]) -> DataFrame:
        names = list(names)
        try:
            with stage("The deletes of earlier batches cannot be read", otherwise=FailureReason.CHECKPOINT_DAMAGED):
                deletes = GivenFiles(spark, _parts(spark, base_path, names)).frame(
                    "parquet", schema=schema_of(database)
                )
                found = deletes.where(sf.col(HASH).isNotNull() & sf.col(PLACE).isNotNull()).count()
        except TaskFailed as error:
            if error.reason is not FailureReason.CHECKPOINT_DAMAGED:
                raise
            raise _damaged(base_path, str(error)) from error
        wanted = sum(self.files[name] for name in names)
        if found != wanted:
            raise _damaged(base_path, f"There are {found:,} deletes instead of {wanted:,}.")
        return last_of_each(deletes)


def remove_unnamed(context: TaskContext, events: Sequence[Mapping[str, Any]]) -> int:
    """Remove files that no state names and that are a day older than the newest; return their number.

    The states are those of all checkpoints that the table may be restored to; if none names a file, nothing is removed.
    """
    spark, base_path = context.spark, context.task.table.base_path
    named = {name for each in events for name in each.get("spilled", {}).get("files", {})}
    filesystem, folder = located(spark, base_path, FOLDER)
    if not named or not filesystem.exists(folder):
        return 0
    written = dict[str, int]()
    for status in statuses_below(filesystem, folder):
        name = str(status.getPath().toString()).partition(f"/{FOLDER}/")[2].partition("/")[0]
        written[name] = max(int(status.getModificationTime()), written.get(name, 0))
    old = expired(written, named, lambda name: _NAME.fullmatch(name) is not None)
    return sum(delete_whole(spark, filesystem, located(spark, base_path, f"{FOLDER}/{one}")[1]) for one in old)


def _parts(spark: SparkSession, base_path: str, names: Iterable[str]) -> list[str]:
    """Return the Parquet files directly in the named folders."""
    folders = (located(spark, _path(base_path, name)) for name in names)
    found = (str(each.getPath().toString()) for folder in folders for each in children_of(*folder) if each.isFile())
    return sorted(path for path in found if _PART.fullmatch(path.rpartition("/")[2]))


def _write(deletes: DataFrame, path: str) -> None:
    with stage("The deletes of earlier batches cannot be written", otherwise=FailureReason.HUDI_ERROR):
        deletes.write.parquet(path)


def _path(base_path: str, name: str) -> str:
    return (Location.parse(base_path) / FOLDER / name).url


def _damaged(base_path: str, how: str) -> TaskFailed:
    folder = Location.parse(base_path) / FOLDER
    return TaskFailed(
        FailureReason.CHECKPOINT_DAMAGED,
        f"The files in {folder.url}, which record deleted rows, are not what was written, and an "
        f"event is older than the last of these. {how} Restore them from a copy or an older version of the objects, "
        "or make a new table from a new snapshot of the connector.",
    )
