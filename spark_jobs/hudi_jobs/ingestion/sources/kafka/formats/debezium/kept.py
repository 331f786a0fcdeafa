"""What change events leave for the next batch, with the checkpoint: names of binary logs, and the newest deletes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from hudi_jobs.ingestion.checkpoint import understood
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import MYSQL, Database
from hudi_jobs.ingestion.sources.kafka.formats.debezium.deleted import Place, after
from hudi_jobs.ingestion.sources.kafka.formats.debezium.logs import followed, logs_of


@dataclass(frozen=True)
class Kept:
    """The shapes of names of binary logs by the server, and where rows were deleted by the hashes of their keys."""

    logs: Mapping[str, str] = field(default_factory=dict)
    deleted: Mapping[str, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Mapping[str, Any]) -> "Kept":
        """Read what a checkpoint holds; raise `TaskFailed` for what this release has not written."""
        with understood():
            logs = {str(server): str(shape) for server, shape in events.get("logs", {}).items()}
            deleted = {str(hashed): tuple(map(_part, place)) for hashed, place in events.get("deleted", {}).items()}
        return cls(logs, deleted)

    def after(
        self, rows: DataFrame, keys: Sequence[str], database: Database, *, has_deletes: bool
    ) -> Mapping[str, Any]:
        """Return what a checkpoint is to hold after the rows of a batch."""
        logs = followed(self.logs, logs_of(rows)) if database is MYSQL else self.logs
        deleted = after(self.deleted, rows, keys, database) if has_deletes else self.deleted
        kept = {"logs": dict(logs), "deleted": {hashed: list(place) for hashed, place in deleted.items()}}
        return {name: value for name, value in kept.items() if value}


def _part(found: object) -> int | str:
    if isinstance(found, int | str):
        return found
    raise TypeError(type(found))
