"""Tables in whose log files changes come late: what happens to each key, and how a release is made to write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit.writers import COMPACTED_ELSEWHERE, Writer

MODEL = "org.apache.hudi.common.model."
OVERWRITES = "OverwriteWithLatestAvroPayload"
BY_EVENT_TIME = "DefaultHoodieRecordPayload"
FILLS_DEFAULTS = "OverwriteNonDefaultsWithLatestAvroPayload"
FILLS_NULLS = "PartialUpdateAvroPayload"
FLINKS = "EventTimeAvroPayload"


@dataclass(frozen=True)
class Change:
    """What one commit does to a key: a row with an ordering value, or a delete with or without one."""

    ts: int
    deletes: bool = False
    is_statement: bool = False
    is_partial: bool = False
    is_lost: bool = False


def row(ts: int) -> Change:
    """Write a row."""
    return Change(ts)


def partly(ts: int) -> Change:
    """Write a row without a value in one of its columns."""
    return Change(ts, is_partial=True)


def deleted(ts: int) -> Change:
    """Delete by a row that is marked as deleted."""
    return Change(ts, deletes=True)


def removed() -> Change:
    """Delete by the delete operation, which has no ordering value."""
    return Change(0, deletes=True, is_statement=True)


def lost(ts: int) -> Change:
    """Write a row by a commit that fails and is rolled back."""
    return Change(ts, is_lost=True)


HISTORIES: Mapping[str, tuple[Change | None, ...]] = {
    "late": (row(1), row(5), row(2)),  # apache/hudi#2756
    "late-delete": (row(1), row(5), deleted(2)),  # apache/hudi#4880 (HUDI-2752)
    "in-order": (row(1), row(2), row(5)),
    "late-over-base": (row(9), row(2)),  # apache/hudi#9635, its first query
    "late-over-log": (row(9), row(4), row(3)),  # apache/hudi#9635, its second query
    "equal": (row(1), row(5), row(5)),
    "after-delete": (row(1), deleted(5), row(2)),  # apache/hudi#12122 (HUDI-7610)
    "removed": (row(1), row(5), removed()),  # apache/hudi#12122
    "after-removed": (row(9), removed(), row(2)),  # apache/hudi#19979
    "overtaken": (row(1), row(5), row(2), row(7)),
    "equal-delete": (row(1), row(5), deleted(5)),
    "delete-overtaken": (row(1), row(7), deleted(5), row(6)),
    "late-delete-over-base": (row(9), deleted(5)),  # apache/hudi#4880
    "late-twice": (row(2), row(5), row(1), row(3)),  # apache/hudi#5934
    "once": (row(1),),
    "deleted-in-order": (row(1), row(2), deleted(5)),
    "rolled-back": (row(1), row(5), None, None, lost(2)),
    "partly": (row(1), partly(2), row(3), partly(4)),
    "partly-late": (row(1), row(5), partly(3)),
    "partly-after-delete": (row(1), deleted(2), partly(3)),
    "partly-over-base": (row(9), partly(2)),
}
"""Changes of a key in the order of their commits; the first is in a base file, all others are in log files."""

_VALUES: Mapping[str, Callable[[int], Any]] = {
    "string": str,
    "date": lambda ts: f"2026-01-{ts + 1:02}",
    "timestamp": lambda ts: f"2026-01-01 00:00:{ts:02}",
    "decimal(10,2)": lambda ts: f"{ts}.50",
    "double": float,
}


@dataclass
class LateTable:
    """A MergeOnRead table of one release with all the histories."""

    writer: Writer
    path: Path
    payload: str
    kind: str = "long"
    more: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> str:
        """The columns of the table."""
        return f"id string, part string, word string, other string, ts {self.kind}, _hoodie_is_deleted boolean"

    @property
    def options(self) -> dict[str, str]:
        """What the tool tells Hudi with each write."""
        return {
            **COMPACTED_ELSEWHERE,
            "hoodie.table.name": "flights",
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.datasource.write.payload.class": f"{MODEL}{self.payload}",
            "hoodie.compaction.payload.class": f"{MODEL}{self.payload}",
            "hoodie.metadata.enable": "false",
            **self.more,
        }

    def make(self, histories: Mapping[str, tuple[Change | None, ...]] = HISTORIES) -> None:
        """Write the histories, commit by commit."""
        for number in range(max(map(len, histories.values()))):
            changes = {key: each[number] for key, each in histories.items() if number < len(each)}
            done = [(key, change) for key, change in changes.items() if change is not None]
            if lost := [self._row(key, change, number) for key, change in done if change.is_lost]:
                self._lose(lost, number)
            rows = [self._row(key, each, number) for key, each in done if not (each.is_lost or each.is_statement)]
            if rows:
                self.writer.upsert(self.path, rows, columns=self.columns, options=self.options)
            if gone := [self._row(key, change, number) for key, change in done if change.is_statement]:
                self.writer.delete(self.path, gone, columns=self.columns, options=self.options)

    def _lose(self, rows: list[tuple[Any, ...]], number: int) -> None:
        """Fail in a commit, and have the next one roll it back."""
        # What validates a commit, and waits there, wants a base file in it.
        new = self._row("never", row(1), number)
        gate = self.writer.begin(self.path, [*rows, new], columns=self.columns, options=self.options)
        self.writer.fail(gate)
        again = [self._row("once", row(1), number)]
        self.writer.upsert(self.path, again, columns=self.columns, options=self.options)

    def _row(self, key: str, change: Change, number: int) -> tuple[Any, ...]:
        value: Any = _VALUES.get(self.kind, int)(change.ts)
        other = None if change.is_partial else f"{key} {number}"
        return key, "b" if key in {"once", "in-order"} else "a", f"{key} {number}", other, value, change.deletes

    def read(self) -> dict[str, tuple[Any, ...]]:
        """Return the rows by their keys, as the tool reads them."""
        return {str(each[0]): each[1:] for each in self.writer.rows(self.path, "id", "word", "other")}
