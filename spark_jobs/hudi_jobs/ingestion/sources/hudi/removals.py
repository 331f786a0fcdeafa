"""The rows that a commit has removed, by its metadata: an allowlist of operations that add and replace rows."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.operations.erase import UID
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.failures import TaskFailed

_BY_KEY = frozenset(
    {
        "INSERT",
        "INSERT_PREPPED",
        "UPSERT",
        "UPSERT_PREPPED",
        "BULK_INSERT",
        "BULK_INSERT_PREPPED",
        "DELETE",
        "DELETE_PREPPED",
    }
)
"""Operations that remove only the rows that their statistics count as deleted."""

_REWRITES = frozenset({"CLUSTER", "COMPACT", "LOG_COMPACT", "ALTER_SCHEMA", "INDEX"})
"""Operations that leave the rows as readers see them; the commit before a compaction has deleted what it drops."""

_NAMED = 3


@dataclass(frozen=True)
class Erasure:
    """The erasure that a commit reports: the digest of the keys, and the uid of the operation."""

    digest: str
    uid: str


@dataclass(frozen=True)
class Removal:
    """A commit that has removed rows; the number is unknown for a commit that replaces files or partitions.

    `erased` is the erasure, if the commit is part of an erasure.
    """

    instant: str
    operation: str
    rows: int | None
    erased: Erasure | None = None

    def __str__(self) -> str:
        rows = "an unknown number of rows" if self.rows is None else counted(self.rows, "row")
        return f"{self.instant} ({self.operation or 'no operation named'}: {rows})"


def removal_by(instant: str, operation: str, deleted: int, erased: Erasure | None = None) -> Removal | None:
    """Return the rows that a commit has removed, or None. An unknown operation counts as a removal."""
    if operation in _REWRITES:
        return None
    if operation in _BY_KEY:
        return Removal(instant, operation, deleted, erased) if deleted else None
    return Removal(instant, operation, None)


def refuse(removals: Iterable[Removal], table: str) -> None:
    """Raise `TaskFailed` if there are removals."""
    found = list(removals)
    if not found:
        return
    erased = [one for one in found if one.erased is not None]
    advice = [_advice_on_erasures(erased)] if erased else []
    if len(erased) < len(found):
        advice.append(
            "To continue and keep the rows that are removed upstream, set onRemovedRows to Ignore, or read the "
            "upstream table into a new table."
        )
    raise TaskFailed(
        FailureReason.UPSTREAM_ROWS_REMOVED,
        f"{len(found):,} unread commits of {table} removed rows {_named(found)}. The remaining rows do not show "
        f"which rows were removed, so those would stay in this table. Nothing was written. {' '.join(advice)}",
    )


def _advice_on_erasures(erased: Sequence[Removal]) -> str:
    """Return the advice on erasures: ignoring an erasure keeps the rows of people who asked to be forgotten."""
    uids = (one.erased.uid for one in erased if one.erased is not None and re.fullmatch(UID, one.erased.uid))
    operations = listed(list(dict.fromkeys(uids)), _NAMED)
    by = f" (uid of the operation: {operations})" if operations else ""
    was = "is an erasure" if len(erased) == 1 else "are erasures"
    return (
        f"{len(erased):,} of them {was}{by}. Erase exactly the same keys, with cascade: true on the upstream table or "
        "with a HudiOperation on this table that lists them, and this table continues. With onRemovedRows: Ignore "
        "the rows of these keys would stay here. Behind a transform, with another record key, or where the keys are "
        "not known, that is not recognized: first erase from this table all that comes of these records, then set "
        "onRemovedRows to Ignore until a run has read past these commits."
    )


def removed_since(removals: Sequence[Removal], table: str) -> str:
    """Return a sentence if rows that were read before may be gone by now, whatever the source does about it."""
    if not removals:
        return ""
    return (
        f"{counted(len(removals), 'commit')} of {table} removed rows since they were read {_named(removals)}. The "
        "remaining rows do not show which rows were removed, and those would not be read again."
    )


def _named(removals: Sequence[Removal]) -> str:
    known = sum(one.rows or 0 for one in removals)
    more = f", and {len(removals) - _NAMED:,} more" if len(removals) > _NAMED else ""
    return f"({known:,} of them counted): {', '.join(map(str, removals[:_NAMED]))}{more}"
