"""Another Hudi table as a source."""

from typing import Any, ClassVar

from hudi_jobs.contract import RemovedRows, StartingCommit
from hudi_operator.api.spec.source_kind import IS_UPSERT, Rules, SourceKind
from hudi_operator.api.values.base import Count
from hudi_operator.api.values.names import UpstreamPath, apart


class HudiSourceSpec(SourceKind):
    """A Hudi table that Spark's pods can reach; each run reads its newly completed commits."""

    how_it_is_read: ClassVar[dict[str, Any]] = {"on_removed_rows": True, "max_commits_per_run": True}

    ingestion_rules: ClassVar[Rules] = (
        (
            f"!has(self.source.hudi) || {IS_UPSERT}",
            "source.hudi needs operation Upsert: a row of the upstream table may come more than once",
        ),
        (
            "!has(self.source.hudi) || !has(self.badRecords) || !has(self.badRecords.quarantinePath) || ("
            + apart("self.badRecords.quarantinePath", "self.source.hudi.path")
            + ")",
            "quarantinePath and source.hudi.path must not lie inside one another: bad rows would lie in the upstream "
            "table",
        ),
    )

    table_rules: ClassVar[Rules] = (
        (
            "!has(self.ingestion) || !has(self.ingestion.source.hudi) || ("
            + apart("self.basePath", "self.ingestion.source.hudi.path")
            + ")",
            "basePath and ingestion.source.hudi.path must not lie inside one another: the table would read itself",
        ),
    )

    path: UpstreamPath
    """Base path of the upstream table; the class has to allow it like a path of files."""

    starting_commit: StartingCommit = StartingCommit.EARLIEST
    """Earliest begins with all rows that the upstream table holds, Latest only with commits after the first run."""

    on_removed_rows: RemovedRows = RemovedRows.FAIL
    """Fail ends a run that finds commits that deleted or replaced rows; with Ignore the rows stay in this table."""

    max_commits_per_run: Count | None = None
    """Maximum commits per run, or batch; the first run reads the whole table."""
