"""The record of an operation: what it is to do and how far it came, in the operator's folder of the table.

It is written before anything is changed. A run that finds it goes on from there, so a run may be killed at any moment
and be repeated as often as it takes. One file holds the records of the newest operations.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, ValidationError

from hudi_jobs.contract import MOST_LISTED, FailureReason, OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.document import Document
from hudi_jobs.contract.operation import Instant
from hudi_jobs.failures import TaskFailed
from hudi_jobs.lease.stores import TableFiles
from hudi_jobs.operations.history import Restore

RECORD_FILE = "operations.json"
RECORD_LIMIT = 4_000_000
"""Bytes; one operation keeps a checkpoint, which may have 500,000 characters."""

MOST_RECORDS = 20
"""Operations that are remembered; the oldest ones that are done are forgotten first."""


class Part(Document):
    """The rows of one partition."""

    path: str
    rows: int
    checksum: int


class Rows(Document):
    """How many rows there are, and a checksum over them that does not depend on their order.

    `parts` are the partitions, none where there are more than a record keeps: then the sums stand for them.
    """

    rows: int
    checksum: int
    partitions: int
    parts: tuple[Part, ...] = ()


class OperationRecord(Document):
    """One operation; `newest` is the newest instant of the table when it was checked: the restore has a later one.

    `removed` are completed instants, the newest first. `checkpoint` is the one from before, where it is to be carried
    on, and `metadata_options` are those that make the metadata table again.
    """

    uid: str
    resource: str
    kind: OperationKind
    phase: OperationPhase
    target: Instant
    newest: str
    removed: tuple[Instant, ...] = ()
    savepoints: tuple[Instant, ...] = ()
    rows_before: int
    expected: Rows
    rows_after: int | None = None
    checkpoint: str | None = None
    metadata_options: dict[str, str] = Field(default_factory=dict)
    restore: Instant | None = None
    checkpoint_commit: Instant | None = None

    def report(self) -> OperationReport:
        """Return what the outcome of a run says."""
        return OperationReport(
            phase=self.phase,
            target=self.target,
            removed_count=len(self.removed),
            removed=self.removed[:MOST_LISTED],
            savepoints=self.savepoints[:MOST_LISTED],
            rows_before=self.rows_before,
            rows_expected=self.expected.rows,
            rows_after=self.rows_after,
            partitions=self.expected.partitions,
            checksum=str(self.expected.checksum),
            verified=True if self.phase is OperationPhase.DONE else None,
            restore=self.restore,
            checkpoint_commit=self.checkpoint_commit,
        )

    def following(self, earlier: "OperationRecord") -> "OperationRecord":
        """Return the record of an operation whose earlier run has not begun the restore, and may have prepared it."""
        saved = {*self.savepoints, *earlier.savepoints}
        changes = {
            "savepoints": tuple(instant for instant in self.removed if instant in saved),
            "metadata_options": self.metadata_options or earlier.metadata_options,
        }
        return self.model_copy(update=changes)

    def without_what_is_done_with(self) -> "OperationRecord":
        """Return what is kept of an operation that is done."""
        expected = self.expected.model_copy(update={"parts": ()})
        removed = self.removed[:MOST_LISTED]
        return self.model_copy(update={"expected": expected, "checkpoint": None, "removed": removed})


class _Records(Document):
    version: Literal[1] = 1
    records: tuple[OperationRecord, ...] = ()


class Journal:
    """The file of records. Each write replaces it, if nobody else has written it since it was read."""

    def __init__(self, files: TableFiles, base_path: str) -> None:
        self._files = files
        self._base_path = base_path

    def find(self, uid: str) -> OperationRecord | None:
        """Return the record of an operation; raise `TaskFailed` where the file is no longer what a run has written."""
        return next((record for record in self._read()[0] if record.uid == uid), None)

    def beginner_of(self, restore: Restore) -> str | None:
        """Return the resource whose operation has begun a restore that is pending, as far as records tell."""
        running = (each for each in self._read()[0] if each.phase is OperationPhase.RUNNING)
        mine = (each for each in running if each.target == restore.target and each.newest < restore.instant)
        return next((each.resource for each in mine), None)

    def keep(self, record: OperationRecord) -> None:
        """Write the record of an operation in the place of its former one."""
        records, version = self._read()
        content = _encoded([record, *(each for each in records if each.uid != record.uid)])
        if len(content) > RECORD_LIMIT:
            raise TaskFailed(
                FailureReason.OPERATION_REFUSED,
                f"The record of the operation would have {len(content):,} bytes, and {RECORD_LIMIT:,} is the most; "
                "nothing was changed. Finish the operations of this table that have not been finished.",
            )
        self._files.write(RECORD_FILE, content, expected=version)

    def _read(self) -> tuple[Sequence[OperationRecord], str | None]:
        found = self._files.read(RECORD_FILE)
        if found is None:
            return (), None
        try:
            return _Records.model_validate_json(found[0]).records, found[1]
        except (ValidationError, RecursionError) as error:
            raise TaskFailed(
                FailureReason.OPERATION_REFUSED,
                f"The record of operations in {self._base_path}/.hudi-operator/{RECORD_FILE} is damaged, so it is not "
                "known what an earlier run has done. Look at the timeline; remove the file when no restore is pending.",
            ) from error


def _encoded(records: Sequence[OperationRecord]) -> bytes:
    """Return the newest records as JSON. Those that are not done are kept before others."""
    done = [each.uid for each in records if each.phase is OperationPhase.DONE]
    forgotten = set(done[max(MOST_RECORDS - (len(records) - len(done)), 1) :])
    kept = [
        each.without_what_is_done_with() if each.phase is OperationPhase.DONE else each
        for each in records
        if each.uid not in forgotten
    ]
    return _Records(records=tuple(kept[: 2 * MOST_RECORDS])).model_dump_json(by_alias=True, exclude_none=True).encode()
