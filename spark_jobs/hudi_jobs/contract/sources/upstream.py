"""Another Hudi table as a source, as the request says it: where it is, and from where on it is read."""

from enum import StrEnum
from typing import Literal

from hudi_jobs.contract.document import Document


class StartingCommit(StrEnum):
    """Where a table of which nothing has been read begins."""

    EARLIEST = "Earliest"
    """With all rows that it holds."""
    LATEST = "Latest"
    """Behind its newest commit."""


class RemovedRows(StrEnum):
    """What happens when commits of the upstream table have removed rows: the rows that are left do not show it."""

    FAIL = "Fail"
    IGNORE = "Ignore"
    """The rows stay in the table that reads."""


class HudiSource(Document):
    """A Hudi table at a path, of which each run reads the commits that have completed."""

    kind: Literal["hudi"] = "hudi"
    path: str
    starting_commit: StartingCommit = StartingCommit.EARLIEST
    on_removed_rows: RemovedRows = RemovedRows.FAIL
