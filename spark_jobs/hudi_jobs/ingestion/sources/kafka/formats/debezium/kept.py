"""What change events leave for the next batch, with the checkpoint: of logs, deletes, record keys and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from hudi_jobs.ingestion.checkpoint import understood
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import MYSQL, Database
from hudi_jobs.ingestion.sources.kafka.formats.debezium.deleted import Place, after
from hudi_jobs.ingestion.sources.kafka.formats.debezium.holders import Holder, encoded
from hudi_jobs.ingestion.sources.kafka.formats.debezium.holders import after as holders_after
from hudi_jobs.ingestion.sources.kafka.formats.debezium.logs import File, continued, followed, logs_of


@dataclass(frozen=True)
class Kept:
    """What is known of the database by its events.

    That is the shapes of names of binary logs, and the greatest name, by the server; where rows were deleted, and who
    has a record key, by the hashes of keys; and the tables.
    """

    logs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, File] = field(default_factory=dict)
    deleted: Mapping[str, Place] = field(default_factory=dict)
    holders: Mapping[str, Holder] = field(default_factory=dict)
    tables: tuple[str, ...] = ()

    @classmethod
    def of(cls, events: Mapping[str, Any]) -> "Kept":
        """Read what a checkpoint holds; raise `TaskFailed` for what this release has not written."""
        with understood():
            logs = {str(server): str(shape) for server, shape in events.get("logs", {}).items()}
            files = {str(server): (str(name), int(at)) for server, (name, at) in events.get("files", {}).items()}
            deleted = {str(hashed): tuple(map(_part, place)) for hashed, place in events.get("deleted", {}).items()}
            holders = {str(hashed): _holder(*one) for hashed, one in events.get("holders", {}).items()}
            tables = tuple(map(str, events.get("tables", ())))
        return cls(logs, files, deleted, holders, tables)

    def after(
        self, rows: DataFrame, keys: Sequence[str], database: Database, tables: Sequence[str], changed: "Changed"
    ) -> Mapping[str, Any]:
        """Return what a checkpoint is to hold after the rows of a batch."""
        logs, files = self.logs, self.files
        if database is MYSQL:
            found = logs_of(rows)
            logs = followed(logs, {server: log.shapes for server, log in found.items()})
            files = continued(files, found)
        deleted = after(self.deleted, rows, keys, database) if changed.has_deletes else self.deleted
        holders = holders_after(self.holders, rows, keys, database) if changed.has_moved else self.holders
        kept = {
            "logs": dict(logs),
            "files": {server: list(file) for server, file in files.items()},
            "deleted": {hashed: list(place) for hashed, place in deleted.items()},
            "holders": encoded(holders),
            "tables": list(tables),
        }
        return {name: value for name, value in kept.items() if value}


@dataclass(frozen=True)
class Changed:
    """What a batch has: deletes, and rows that moved to another record key or have one that is held."""

    has_deletes: bool
    has_moved: bool


def _holder(row: object, has_left: object, *place: object) -> Holder:
    return Holder(str(row), bool(has_left), tuple(map(_part, place)))


def _part(found: object) -> int | str:
    if isinstance(found, int | str):
        return found
    raise TypeError(type(found))
