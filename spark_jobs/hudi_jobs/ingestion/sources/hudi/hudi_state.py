"""The checkpoint's state of a Hudi source: the read commits, and the upstream erasures that are still unread."""

from collections.abc import Iterable
from dataclasses import dataclass

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import Checkpoint, FailureReason, HudiSource
from hudi_jobs.contract.wording import listed
from hudi_jobs.ingestion.checkpoint import newest_progress, understood
from hudi_jobs.ingestion.sources.hudi.commits import Erasure, unread
from hudi_jobs.ingestion.sources.hudi.upstream import Upstream, looking_at
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable

KIND = "hudi"
MOST_COMMITS = 5_000
"""The most instants that a checkpoint names, of 17 characters each."""


@dataclass(frozen=True)
class UpstreamProgress:
    """The reading position in an upstream table.

    `through` is the time of completion up to which every commit outside `read` had been archived or did not exist.
    `archive` names the archive's files at the time when all its later commits had been read; empty if some had not.
    `rescan` is the last served request to read everything again.
    """

    sequence: int = 0
    source: str | None = None
    table: str = ""
    through: str = ""
    read: tuple[str, ...] = ()
    archive: str = ""
    rescan: str | None = None

    @classmethod
    def of(cls, checkpoint: Checkpoint | None) -> "UpstreamProgress":
        """Read the state of a checkpoint; raise `TaskFailed` for a state that this release has not written."""
        if checkpoint is None:
            return cls()
        with understood():
            state = checkpoint.state
            read = tuple(str(one) for one in state["read"])
            rescan = state["rescan"]
            return cls(
                sequence=checkpoint.sequence,
                source=checkpoint.source,
                table=str(state["table"]),
                through=str(state["through"]),
                read=read,
                archive=str(state["archive"]),
                rescan=None if rescan is None else str(rescan),
            )

    def checkpoint(self) -> Checkpoint:
        """Return the checkpoint with this state; raise `TaskFailed` if it would be too large for a commit."""
        if len(self.read) > MOST_COMMITS:
            raise TaskFailed(
                FailureReason.UPSTREAM_UNSUPPORTED,
                f"The active timeline of the upstream table holds {len(self.read):,} commits, but a checkpoint can "
                f"name at most {MOST_COMMITS:,}. Let archival of that table move the older commits.",
            )
        display = f"{self.table}: commits that completed through {self.through or 'the first one'}"
        state = {
            "table": self.table,
            "through": self.through,
            "read": list(self.read),
            "archive": self.archive,
            "rescan": self.rescan,
        }
        return Checkpoint(KIND, self.sequence, self.source, display, state)


def named(instants: Iterable[str], most: int = 3) -> str:
    """Return some of the instants, for people."""
    return listed(sorted(instants), most)


def unread_erasures(context: TaskContext, table: HudiTable, path: str) -> list[Erasure]:
    """Return the erasures among the unread commits of the table at a path.

    None if nothing was read yet, because a first run reads the rows as they are then.
    """
    checkpoint = newest_progress(table)
    if checkpoint is None or checkpoint.kind != KIND:
        return []
    before, upstream = UpstreamProgress.of(checkpoint), Upstream.open(context.spark, HudiSource(path=path))
    with looking_at(path):
        look = upstream.look()
        archived = upstream.archived(before.through, ())
        removals = upstream.removals(unread(look, archived, before.read))
        return [one.erased for one in removals if one.erased is not None]
