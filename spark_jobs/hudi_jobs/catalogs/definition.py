"""What a kind of catalog does: it writes the entries of one table, and drops them."""

from collections.abc import Sequence
from typing import Protocol

from hudi_jobs.contract import SyncTrouble
from hudi_jobs.contract.wording import redact_text
from hudi_jobs.spark.jvm import JavaObject
from hudi_jobs.table import HudiTable

Properties = JavaObject
"""A `java.util.Properties`."""


class SyncFailed(Exception):
    """The catalog does not show the table as it is; the message is a sentence with the remedy, and without secrets.

    A location of somebody else's entry can hold credentials.
    """

    def __init__(self, trouble: SyncTrouble, message: str) -> None:
        self.trouble = trouble
        self.message = redact_text(message)
        super().__init__(self.message)


class TableCatalog(Protocol):
    """The entries of one table in its catalog. Every call may be slow; each raises `SyncFailed`."""

    def sync(self, table: HudiTable, partitions: Sequence[str], *, dropped: bool) -> None:
        """Make the entries show the table, unless they belong to somebody else.

        `partitions`: the paths of all partitions. `dropped`: commits since the last sync dropped partitions that the
        store may still list.
        """

    def drop(self) -> tuple[str, ...]:
        """Drop the entries that are ours, and return their names."""
