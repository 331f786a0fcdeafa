"""Another Hudi table as a source: its path, and the commit at which reading begins."""

from enum import StrEnum
from typing import Literal

from hudi_jobs.contract.document import Document


class StartingCommit(StrEnum):
    """Where reading begins in an upstream table that has not been read."""

    EARLIEST = "Earliest"
    """With all rows of the upstream table."""
    LATEST = "Latest"
    """After its newest commit."""


class RemovedRows(StrEnum):
    """What happens when commits of the upstream table have removed rows: the remaining rows do not show it."""

    FAIL = "Fail"
    IGNORE = "Ignore"
    """The rows stay in the downstream table."""


class HudiSource(Document):
    """A Hudi table at a path; each run reads its newly completed commits."""

    kind: Literal["hudi"] = "hudi"
    path: str
    starting_commit: StartingCommit = StartingCommit.EARLIEST
    on_removed_rows: RemovedRows = RemovedRows.FAIL
