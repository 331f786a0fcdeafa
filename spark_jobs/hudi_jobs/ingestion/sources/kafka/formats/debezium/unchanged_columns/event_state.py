"""The state of change events in the checkpoint: logs, deletes, record keys and tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from hudi_jobs.ingestion.checkpoint import understood
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import MYSQL, Database
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.deleted import (
    Deleted,
    Place,
    Split,
    after,
    deletes_in,
    last_of_each,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.holders import Holder, encoded
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.holders import after as holders_after
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.origins import (
    File,
    continued,
    followed_logs,
    logs_of,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.spilled import Spilled


@dataclass(frozen=True)
class Kept:
    """The state known from a database's events.

    Per server, the name shapes of its binary logs and the greatest name; deleted rows' positions and record keys'
    holders, by key hash; and the tables. `spilled` locates further deletes.
    """

    logs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, File] = field(default_factory=dict)
    deleted: Deleted = field(default_factory=dict)
    spilled: Spilled = field(default_factory=Spilled)
    holders: Mapping[str, Holder] = field(default_factory=dict)
    tables: tuple[str, ...] = ()

    @classmethod
    def of(cls, events: Mapping[str, Any]) -> "Kept":
        """Parse a checkpoint's state; raise `TaskFailed` for a state that this release has not written."""
        with understood():
            logs = {str(server): str(shape) for server, shape in events.get("logs", {}).items()}
            files = {str(server): (str(name), int(at)) for server, (name, at) in events.get("files", {}).items()}
            deleted = {str(hashed): _place(place) for hashed, place in events.get("deleted", {}).items()}
            spilled = Spilled.of(events.get("spilled", {}), _place)
            holders = {str(hashed): _holder(*one) for hashed, one in events.get("holders", {}).items()}
            tables = tuple(map(str, events.get("tables", ())))
        return cls(logs, files, deleted, spilled, holders, tables)

    def deletes(self, spark: SparkSession, database: Database) -> DataFrame | None:
        """Return the checkpoint's deletes, or None without any."""
        return sf.broadcast(deletes_in(spark, self.deleted, database)) if self.deleted else None

    def every_delete(self, spark: SparkSession, base_path: str, database: Database) -> DataFrame:
        """Return the deletes of the checkpoint and its files, or raise `TaskFailed`."""
        spilled = self.spilled.read(spark, base_path, database)
        return last_of_each(spilled.unionByName(deletes_in(spark, self.deleted, database)))

    def after(
        self, rows: DataFrame, base_path: str, keys: Sequence[str], database: Database, changed: "Changed"
    ) -> tuple[Mapping[str, Any], Callable[[], None]]:
        """Return the next checkpoint's state after a batch, and a function that writes the file it refers to."""
        logs, files = self.logs, self.files
        if database is MYSQL:
            found = logs_of(rows)
            logs = followed_logs(logs, {server: log.shapes for server, log in found.items()})
            files = continued(files, found)
        split = after(self.deleted, rows, keys, database) if changed.has_deletes else Split(self.deleted)
        spilled, write = self.spilled.after(split, rows.sparkSession, base_path, database)
        holders = holders_after(self.holders, rows, keys, database) if changed.has_moved else self.holders
        kept = {
            "logs": dict(logs),
            "files": {server: list(file) for server, file in files.items()},
            "deleted": {hashed: list(place) for hashed, place in split.newest.items()},
            "spilled": spilled.state(),
            "holders": encoded(holders),
            "tables": list(changed.tables),
        }
        return {name: value for name, value in kept.items() if value}, write


@dataclass(frozen=True)
class Changed:
    """A batch's deletes, its rows with a moved or a held record key, and its tables."""

    has_deletes: bool
    has_moved: bool
    tables: Sequence[str]


def _holder(row: object, has_left: object, *place: object) -> Holder:
    return Holder(str(row), bool(has_left), _place(place))


def _place(parts: Iterable[object]) -> Place:
    return tuple(map(_part, parts))


def _part(found: object) -> int | str:
    if isinstance(found, int | str):
        return found
    raise TypeError(type(found))
