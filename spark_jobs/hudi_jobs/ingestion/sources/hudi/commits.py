"""The commits of an upstream table as values: read, unread, and those that have removed rows.

Also the pure rules that tell upstream tables whose rows show every change.

The rules for written tables hold for an upstream table too, because its properties are somebody else's and name classes
that Hudi loads. The key lookup of a table concerns only its writers, unless Hudi's reader takes the value of a
partition column from the name of its folder.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.operations.erase import UID
from hudi_jobs.contract.table.merging import payload_of, version_of
from hudi_jobs.contract.table.properties import printable
from hudi_jobs.contract.table.support import (
    COMPLEX,
    NON_PARTITIONED,
    SIMPLE,
    SLASHED,
    TABLE_VERSION,
    key_generator_of,
    unsupported,
)
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.spark.failures import TaskFailed


@dataclass(frozen=True, order=True)
class UpstreamCommit:
    """A completed commit. Commits are in the order of their completion; rows carry `instant`."""

    completed: str
    instant: str
    action: str
    archived: bool = False


@dataclass(frozen=True)
class Look:
    """A timeline at a moment.

    `commits` are the completed instants of the active timeline, of any action. `first_pending` is the earliest pending
    instant. `cleaned` are the completed cleans, which had deleted their files before the look. `archive` names the
    files of the archive as they were after the active timeline was read, so that they hold every instant that had left
    it.
    """

    commits: tuple[UpstreamCommit, ...]
    first_pending: str | None
    cleaned: frozenset[str]
    archive: str

    @property
    def instants(self) -> frozenset[str]:
        """The completed instants of the active timeline."""
        return frozenset(one.instant for one in self.commits)

    def keeps(self, retained_from: str) -> bool:
        """Tell whether a clean that keeps the slices needed from this instant on takes no file of this look.

        Hudi keeps of each file group all slices from that instant on, and the newest slice before it. A pending commit
        may become that newest slice, so it must not lie before the instant either.
        """
        newest = max((one.instant for one in self.commits), default="")
        bound = newest if self.first_pending is None else min(newest, self.first_pending)
        return bool(retained_from) and retained_from <= bound


def unread(look: Look, archived: Iterable[UpstreamCommit], read: Collection[str]) -> tuple[UpstreamCommit, ...]:
    """Return the unread commits in the order of completion, in the active timeline or the archive."""
    active = look.instants
    found = [one for one in look.commits if one.instant not in read]
    found += [one for one in archived if one.instant not in read and one.instant not in active]
    return tuple(sorted(found))


def kept_in_mind(look: Look, archived: Iterable[UpstreamCommit], read: Iterable[str], through: str) -> tuple[str, ...]:
    """Return the instants of read commits that the checkpoint names.

    For archived commits the time of completion suffices, except if it is the last.
    """
    named = look.instants | {one.instant for one in archived if one.completed == through}
    return tuple(sorted(named.intersection(read)))


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


FIRST_VERSION = 8
"""The first version with completion times in commits; without them archived commits cannot be told from read commits.
"""

_WRITERS_BUSINESS = frozenset({"hoodie.table.recordkey.fields"})
_META_FIELDS = "hoodie.populate.meta.fields"
_SELF_DELETING = ("AWSDmsAvroPayload", "MySqlDebeziumAvroPayload", "PostgresDebeziumAvroPayload")
_LEGACY_PAYLOAD = "hoodie.table.legacy.payload.class"
_MERGE_PROPERTY = "hoodie.record.merge.property."


def obstacles(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the obstacles to following a table, as parts of a sentence."""
    version = version_of(properties)
    if version is not None and version < FIRST_VERSION:
        yield f"it has {TABLE_VERSION} {version}, which does not record when commits completed; upgrade it to 8 or 9"
    for one in unsupported(properties, declared_index=None, ingests=False):
        if one.key not in _WRITERS_BUSINESS:
            yield f"it has {one.key} {printable(one.found) or '(empty)'}, and must have {one.possible}"
    if properties.get(_META_FIELDS, "true").lower() != "true":
        yield f"it has {_META_FIELDS} false, so no row says which commit wrote it"
    yield from _deletes_unseen(properties)
    yield from _partitions_by_name(properties)


def _deletes_unseen(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the properties that delete rows when they are merged, which no commit counts."""
    if properties.get("hoodie.record.merge.mode", "").upper() == "CUSTOM":
        yield "it has hoodie.record.merge.mode CUSTOM, which may drop rows that no commit counts as deleted"
    for payload in (payload_of(properties), properties.get(_LEGACY_PAYLOAD)):
        if payload is not None and payload.endswith(_SELF_DELETING):
            yield f"it has the payload class {printable(payload)}, which drops rows that no commit counts as deleted"
    for key in sorted(properties):
        if key.startswith(_MERGE_PROPERTY) and "delete" in key:
            yield f"it has {printable(key)}, which drops rows that no commit counts as deleted"


def _partitions_by_name(properties: Mapping[str, str]) -> Iterator[str]:
    kind = key_generator_of(properties)
    if kind not in {SIMPLE, COMPLEX, NON_PARTITIONED, None}:
        yield f"it has the key generator {kind}, whose partition columns Hudi may read from the names of folders"
    if properties.get(SLASHED, "false").lower() == "true":
        yield f"it has {SLASHED}, whose partition columns Hudi may read from the names of folders"
