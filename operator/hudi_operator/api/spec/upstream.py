"""Another Hudi table as a source."""

from typing import Any, ClassVar

from hudi_jobs.contract import RemovedRows, StartingCommit
from hudi_operator.api.spec.source_kind import SourceKind
from hudi_operator.api.values.base import Count
from hudi_operator.api.values.paths import UpstreamPath


class HudiSourceSpec(SourceKind):
    """A Hudi table that Spark's pods can reach; each run reads its newly completed commits."""

    how_it_is_read: ClassVar[dict[str, Any]] = {"on_removed_rows": True, "max_commits_per_run": True}

    path: UpstreamPath
    """Base path of the upstream table; the class has to allow it like a path of files."""

    starting_commit: StartingCommit = StartingCommit.EARLIEST
    """Earliest begins with all rows that the upstream table holds, Latest only with commits after the first run."""

    on_removed_rows: RemovedRows = RemovedRows.FAIL
    """Fail ends a run that finds commits that deleted or replaced rows; with Ignore the rows stay in this table."""

    max_commits_per_run: Count | None = None
    """Maximum commits per run, or batch; the first run reads the whole table."""
