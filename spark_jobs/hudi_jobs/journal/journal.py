"""Stores which operations of a table have begun and how far each came."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location, OperationPhase, TableOperation
from hudi_jobs.contract.document import Document
from hudi_jobs.contract.operator_folder import write_document
from hudi_jobs.journal.history import Restore
from hudi_jobs.journal.records import (
    EraseRecord,
    OperationRecord,
    RepairRecord,
    RestoreRecord,
    ServiceRecord,
    VersionRecord,
)
from hudi_jobs.lease.stores import TableFiles
from hudi_jobs.spark.failures import TaskFailed, stage

RECORD_FILE = "operations.json"
RECORD_LIMIT = 8_000_000
"""Bytes; an operation may hold a checkpoint of 500,000 characters and 10,000 partitions in 1.5 MB."""

MOST_RECORDS = 20
"""Most operations to remember; the oldest completed operations are dropped first."""

MOST_FOLLOWED = 1_000
"""Most erasures of upstream tables to remember, as digests of 64 characters. Their records are dropped long before a
lagging ingestion has read past all of their commits.
"""

AnyRecord = RestoreRecord | ServiceRecord | RepairRecord | VersionRecord | EraseRecord
"""Records of all kinds, told apart by `kind`."""

R = TypeVar("R", bound=OperationRecord)
S = TypeVar("S", RestoreRecord, VersionRecord)


class _Records(Document):
    """The content of the file; `followed` are the digests of followed erasures, newest first; older files have none."""

    version: Literal[1] = 1
    records: tuple[AnyRecord, ...] = ()
    followed: tuple[str, ...] = ()

    @property
    def every_followed(self) -> tuple[str, ...]:
        """Return the followed digests, first those of records, where older drivers store them."""
        erasures = (each for each in self.records if isinstance(each, EraseRecord))
        told = (each.every_followed for each in erasures if each.phase is OperationPhase.DONE)
        return tuple(dict.fromkeys((*chain.from_iterable(told), *self.followed)))


class Journal:
    """The file of records; a write fails when another writer changed the file after it was read."""

    def __init__(self, files: TableFiles, base_path: str) -> None:
        self._files = files
        self._base_path = base_path

    def find(self, kind: type[R], uid: str) -> R | None:
        """Return the record of an operation; raise `TaskFailed` when the file is damaged or the kind differs."""
        found = next((record for record in self._read()[0].records if record.uid == uid), None)
        if found is None or isinstance(found, kind):
            return found
        raise TaskFailed(
            FailureReason.OPERATION_REFUSED, f"The operation with this uid is already recorded as a {found.kind}."
        )

    def unfinished(self) -> frozenset[str]:
        """Return the uids of begun operations that another run may continue."""
        return frozenset(record.uid for record in self._read()[0].records if record.is_open)

    def followed_erasures(self) -> frozenset[str]:
        """Return the digests of the upstream erasures that this table has followed."""
        return frozenset(self._read()[0].every_followed)

    def record_of(self, restore: Restore) -> RestoreRecord | None:
        """Return the record of the operation that began the pending restore, or None when no record matches."""
        running = (each for each in self._read()[0].records if each.phase is OperationPhase.RUNNING)
        restores = (each for each in running if isinstance(each, RestoreRecord))
        found = (each for each in restores if each.newest < restore.instant)
        return next((each for each in found if restore.target in {each.target, None}), None)

    def unfinished_change(self) -> VersionRecord | None:
        """Return the record of an unfinished change of the table version, of any operation.

        Until the change ends, the timeline may be in two layouts.
        """
        running = (each for each in self._read()[0].records if each.phase is OperationPhase.RUNNING)
        changes = (each for each in running if isinstance(each, VersionRecord))
        return next((each for each in changes if each.target is not None), None)

    def newest_change_of_version(self) -> str | None:
        """Return the newest commit before a recorded change of the table version, or None."""
        change = _newest_change(self._read()[0].records)
        return None if change is None else change.target

    def keep(self, record: AnyRecord, *, instead_of: str | None = None) -> None:
        """Write the record of an operation, replacing its former record.

        The operation `instead_of` is marked done, so that a late run of it does not begin again.
        """
        found, version = self._read()
        others = (each for each in found.records if each.uid != record.uid)
        over = (each.copy_with(phase=OperationPhase.DONE) if each.uid == instead_of else each for each in others)
        kept = [record, *over]
        content = _encoded(kept, found.followed)
        while len(content) > RECORD_LIMIT and (smaller := _smaller(kept)) is not None:
            kept = smaller
            content = _encoded(kept, found.followed)
        if len(content) > RECORD_LIMIT:
            raise TaskFailed(
                FailureReason.OPERATION_REFUSED,
                f"The record of the operation would have {len(content):,} bytes, but at most {RECORD_LIMIT:,} are "
                "allowed; nothing was changed. Finish the unfinished operations of this table.",
            )
        _require_readable(content)
        self._files.write(RECORD_FILE, content, expected=version)

    def take_over(self, former: S, operation: TableOperation) -> S:
        """Return another, vanished operation's record as this operation's own, and store it in place of the other."""
        kind: Any = operation.kind  # of an operation that continues records of this class
        record = former.copy_with(uid=operation.uid, resource=operation.resource, kind=kind)
        with stage("The record of the operation cannot be written", otherwise=FailureReason.HUDI_ERROR):
            self.keep(record, instead_of=former.uid)
        return record

    def forget(self, uid: str) -> None:
        """Remove the record of an operation that changed nothing."""
        found, version = self._read()
        kept = [each for each in found.records if each.uid != uid]
        self._files.write(RECORD_FILE, _encoded(kept, found.followed), expected=version)

    def put_beside(self, name: str, content: bytes) -> None:
        """Write another file of the folder, whatever it held; the caller holds the lease."""
        found = self._files.read(name)
        self._files.write(name, content, expected=None if found is None else found[1])

    def _read(self) -> tuple[_Records, str | None]:
        found = self._files.read(RECORD_FILE)
        if found is None:
            return _Records(), None
        try:
            return _Records.model_validate_json(found[0]), found[1]
        except (ValidationError, RecursionError) as error:
            file = Location.parse(self._base_path) / OPERATOR_FOLDER / RECORD_FILE
            raise TaskFailed(
                FailureReason.OPERATION_REFUSED,
                f"The record of operations in {file.url} is damaged, so it is not "
                "known what an earlier run has done. Check the timeline, and remove the file if no restore is "
                "pending.",
            ) from error


def _require_readable(content: bytes) -> None:
    """Refuse content that no run could read: `copy_with` does not validate values."""
    try:
        _Records.model_validate_json(content)
    except ValidationError as error:
        message = "No run could read the record of the operation, so it was not written."
        raise TaskFailed(FailureReason.INTERNAL_ERROR, message) from error


def _smaller(records: Sequence[AnyRecord]) -> list[AnyRecord] | None:
    """Return the records with an older record reduced; None when nothing more can be dropped.

    Partitions of operations in verification go first. Then records of repairs and services are dropped: their table is
    consistent at every moment, and a run without a record checks again. Last, all other records lose their partitions.
    """
    older = records[:0:-1]
    done = [each for each in older if each.phase is OperationPhase.VERIFYING]
    forgotten = ((each, ()) for each in older if isinstance(each, RepairRecord | ServiceRecord))
    for former, instead in chain(_by_sums(done), forgotten, _by_sums(older)):
        return [one for each in records for one in (instead if each.uid == former.uid else (each,))]
    return None


def _by_sums(records: Iterable[AnyRecord]) -> Iterator[tuple[AnyRecord, tuple[AnyRecord]]]:
    """Yield each record that has partitions, with a copy without them."""
    for each in records:
        smaller = each.without_partitions()
        if smaller != each:
            yield each, (smaller,)


def _newest_change(records: Sequence[AnyRecord]) -> VersionRecord | None:
    """Return the newest recorded change of the table version; a MergeOnRead table cannot be restored to before it."""
    changes = (each for each in records if isinstance(each, VersionRecord) and each.target is not None)
    return max(changes, key=lambda each: each.target or "", default=None)


def _encoded(records: Sequence[AnyRecord], followed: tuple[str, ...]) -> bytes:
    """Return the newest records as JSON; open operations are kept first.

    The newest change of the version is never dropped: a restore to before it may be requested years later.
    """
    done = [each.uid for each in records if not each.is_open]
    forgotten = set(done[max(MOST_RECORDS - (len(records) - len(done)), 1) :])
    change = _newest_change(records)
    kept = [
        each.without_what_is_done_with() if each.phase is OperationPhase.DONE else each
        for each in records
        if each.uid not in forgotten or each is change
    ]
    last = [each for each in kept[2 * MOST_RECORDS :] if change is not None and each.uid == change.uid]
    erasures = _Records(records=tuple(records), followed=followed).every_followed[:MOST_FOLLOWED]
    content = _Records(records=(*kept[: 2 * MOST_RECORDS], *last), followed=erasures)
    return write_document(content)
