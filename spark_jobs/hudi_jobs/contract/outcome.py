"""The outcome: one result per task, small enough for a container's termination message."""

import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operations.operation import OperationReport
from hudi_jobs.contract.operations.savepoint import MOST_HELD_BACK, HeldBack
from hudi_jobs.contract.usage import OptionalUsage

MOST_AFFECTED = 10
"""The number of instants that an outcome names; the log of the driver names all of them."""


_NAME = re.compile(r"[A-Za-z0-9.-]{1,63}")
"""The pattern of a run's name, because plans come from outside."""


class Effect(StrEnum):
    """The effect of a run on an instant that was pending before the run began."""

    FINISHED = "Finished"
    """The run completed the instant."""

    ROLLED_BACK = "RolledBack"
    """The run removed the instant, with everything that it had written."""

    REPLANNED = "Replanned"
    """The run removed the instant, and planned another instant of the same kind."""


def _name(given: object) -> str | None:
    return given if isinstance(given, str) and _NAME.fullmatch(given) else None


class AffectedInstant(Document):
    """An instant that the run did not begin; `run` is the run of this table that its plan names, if any."""

    instant: Instant
    action: Annotated[str, Field(pattern=r"^[a-z]{1,32}$")]
    effect: Effect
    run: Annotated[str | None, BeforeValidator(_name)] = None


def _readable(given: Any) -> list[AffectedInstant]:  # noqa: ANN401 - whatever a termination message holds
    """Return the readable lines of a list: an unreadable line is left out, and the other lines stay."""
    found: list[AffectedInstant] = []
    for one in list(given)[:MOST_AFFECTED] if isinstance(given, list | tuple) else ():
        try:
            found.append(AffectedInstant.model_validate(one))
        except ValidationError:
            continue
    return found


AffectedInstants = Annotated[tuple[AffectedInstant, ...], BeforeValidator(_readable)]
"""The first instants that a run affected, oldest first."""


TERMINATION_MESSAGE_LIMIT = 4096
"""The most bytes of a termination message that the kubelet keeps."""

WHOLE_REQUEST = "request"
"""The id of the result of a driver that could not read its request; the result is for every task."""

_MESSAGE_LENGTHS = (1000, 400, 160, 60, 0)


class Outcome(StrEnum):
    """How a task ended, as the driver saw it; the operator confirms it from the timeline."""

    SUCCEEDED = "Succeeded"
    """The run did its work, and the timeline confirms it."""

    NOTHING_TO_DO = "NothingToDo"
    """The run found nothing to do, and wrote nothing."""

    CONFLICT = "Conflict"
    """Another writer won; the run discarded its work, and can be repeated."""

    FENCED = "Fenced"
    """Another run holds the instant, or took it over; this run stopped without completing anything."""

    FAILED = "Failed"
    """The run did not do its work; the reason says why."""


class FailureReason(StrEnum):
    """Why a task failed; classes of failures need different answers."""

    INVALID_REQUEST = "InvalidRequest"
    """The driver cannot do what the spec asks for."""

    SOURCE_NOT_FOUND = "SourceNotFound"
    """The source's path or bucket does not exist."""

    SOURCE_UNREADABLE = "SourceUnreadable"
    """A source file is damaged or half-written."""

    SOURCE_UNAVAILABLE = "SourceUnavailable"
    """The brokers or the schema registry of the source do not answer the job."""

    SOURCE_ACCESS_DENIED = "SourceAccessDenied"
    """The brokers or the schema registry of the source refuse the credentials of the job."""

    INPUT_LOST = "InputLost"
    """Messages that have not been read are no longer in the topic, or compaction may remove deletes unread."""

    UPSTREAM_UNSUPPORTED = "UpstreamUnsupported"
    """The rows of the upstream table do not show every change to it."""

    UPSTREAM_REWOUND = "UpstreamRewound"
    """Commits that were read are no longer in the upstream table, which was restored or recreated."""

    UPSTREAM_ROWS_REMOVED = "UpstreamRowsRemoved"
    """Commits of the upstream table removed rows, and the remaining rows do not show which."""

    UPSTREAM_CLEANED = "UpstreamCleaned"
    """Files of the upstream table may have been cleaned away while they were read."""

    BAD_RECORDS = "BadRecords"
    """Rows cannot be read with the declared columns."""

    COLUMN_MISSING = "ColumnMissing"
    """A needed column is absent."""

    RECORD_KEY_NULL = "RecordKeyNull"
    """Rows have no record key."""

    SCHEMA_INCOMPATIBLE = "SchemaIncompatible"
    """A column's type changed, or Hudi cannot write it or use it as declared."""

    TRANSFORM_INVALID = "TransformInvalid"
    """The SQL of the transform cannot be run."""

    STORAGE_ACCESS_DENIED = "StorageAccessDenied"
    """The store refuses the credentials of the job."""

    STORAGE_UNAVAILABLE = "StorageUnavailable"
    """The store does not answer the job."""

    STORAGE_FULL = "StorageFull"
    """The store, or the scratch volume of a pod, has no space left."""

    LOCK_UNAVAILABLE = "LockUnavailable"
    """The lock of an optimistic table cannot be reached or acquired."""

    CLOCK_BEHIND = "ClockBehind"
    """The clock of the job is behind the newest instant of the table."""

    TIMELINE_ZONE_UNKNOWN = "TimelineZoneUnknown"
    """The table's instants are in a local time of an uncertain zone."""

    FILE_SLICES_UNCERTAIN = "FileSlicesUncertain"
    """Times of timeline files put log files into other file slices than their names do."""

    TABLE_MISMATCH = "TableMismatch"
    """Another table is at the path."""

    ROWS_WOULD_CHANGE = "RowsWouldChange"
    """Hudi 1.2.0 would merge log files to other rows than the tool that wrote them reads."""

    CHECKPOINT_DAMAGED = "CheckpointDamaged"
    """A part of what the checkpoint refers to is missing or damaged: the record of files, or of deleted rows."""

    OWNED_ELSEWHERE = "OwnedElsewhere"
    """Another operator owns the table, or the record of its owner cannot be read."""

    PATH_OUTSIDE_TABLE = "PathOutsideTable"
    """A plan of the table's timeline names a file outside of the table."""

    ROLLBACK_OF_SAVEPOINT = "RollbackOfSavepoint"
    """A pending rollback cannot be finished, because a savepoint keeps the commit that it would undo."""

    RESTORE_PENDING = "RestorePending"
    """Somebody began to restore the table, and has not finished."""

    SAVEPOINT_REFUSED = "SavepointRefused"
    """The savepoint is not possible: its commit does not exist, was cleaned, or has a savepoint of another owner."""

    OPERATION_REFUSED = "OperationRefused"
    """The operation cannot be done to this table, and nothing was changed."""

    NOT_VERIFIED = "NotVerified"
    """After an operation the counts of rows differ from those before, or rows of other commits may be missing."""

    NOT_ERASED = "NotErased"
    """Files still hold keys that were to be erased."""

    CATALOG_UNAVAILABLE = "CatalogUnavailable"
    """The catalog of the table does not answer the job."""

    CATALOG_REFUSED = "CatalogRefused"
    """The catalog, or Hudi's sync, refused the table's entry."""

    CATALOG_ENTRY_TAKEN = "CatalogEntryTaken"
    """The entry in the catalog belongs to somebody else."""

    OUT_OF_MEMORY = "OutOfMemory"
    """The driver or an executor ran out of memory."""

    CONFLICT = "Conflict"
    """Another writer changed the same files."""

    INTERRUPTED = "Interrupted"
    """The pod was asked to end."""

    DRIVER_ENDED = "DriverEnded"
    """The continuous driver that was to run a service ended before it started it; nothing has failed."""

    HUDI_ERROR = "HudiError"
    """Hudi refused or failed; the log of the driver says more."""

    INTERNAL_ERROR = "InternalError"
    """An unexpected failure; the log of the driver says more."""


def _well_formed(text: str) -> str:
    return text.encode(errors="replace").decode()


Text = Annotated[str, AfterValidator(_well_formed)]
"""Text that JSON can carry: names of files may hold halves of characters, which become question marks."""


_OF_THE_SURROUNDINGS = frozenset(
    {
        FailureReason.STORAGE_ACCESS_DENIED,
        FailureReason.STORAGE_UNAVAILABLE,
        FailureReason.STORAGE_FULL,
        FailureReason.LOCK_UNAVAILABLE,
        FailureReason.SOURCE_NOT_FOUND,
        FailureReason.INTERRUPTED,
    }
)
"""Reasons that a plan fails for while the store or the lock is away; without them even a rollback cannot be written."""


def is_of_the_plan(reason: str | None) -> bool:
    """Tell whether a plan that failed for this reason would fail again."""
    return reason not in _OF_THE_SURROUNDINGS


class TaskResult(Document):
    """The result of a task; times are RFC 3339 in UTC, sizes are bytes.

    `records_skipped` counts messages of a stream that were gone before they could be read, and `skipped` names their
    places. The table holds the input up to `complete_up_to` (RFC 3339), and `backlog_records` and `backlog_bytes` are
    unread. For a continuous ingestion, `batches` counts its commits, rows, files and bytes are sums over them, and
    `instant` is the newest commit. `savepoint` is the operator's savepoint that protects the table after the run, empty
    if there is none. `operation` is the progress and the result of an operation; without it the run wrote nothing.
    `newest_instant` is the newest instant that the run's own JVM has made, empty if it has made none; later pending
    instants belong to somebody else. None in both fields means unknown. `made` are the instants that the run has made
    since its last batch began, if that batch did not end well: a pending instant among them is the run's own.
    `held_back` are the files that savepoints keep from being cleaned, as a clean found them.
    """

    id: Text
    outcome: Outcome
    reason: FailureReason | None = None
    message: Text = ""
    instant: str | None = None
    checkpoint: Text | None = None
    batches: int | None = None
    files_read: int | None = None
    bytes_read: int | None = None
    rows_read: int | None = None
    rows_quarantined: int | None = None
    files_skipped: int | None = None
    records_skipped: int | None = None
    skipped: tuple[Text, ...] = ()
    complete_up_to: str | None = None
    backlog_records: int | None = None
    backlog_bytes: int | None = None
    rescan: Text | None = None
    more_input: bool | None = None
    file_groups: int | None = None
    files_written: int | None = None
    files_deleted: int | None = None
    bytes_written: int | None = None
    bytes_deleted: int | None = None
    instants_archived: int | None = None
    affected: AffectedInstants = ()
    savepoint: str | None = None
    operation: OperationReport | None = None
    newest_instant: str | None = None
    made: tuple[Text, ...] = ()
    held_back: tuple[HeldBack, ...] = Field(default=(), max_length=MOST_HELD_BACK)
    started_at: str | None = None
    finished_at: str | None = None


class JobOutcome(Document):
    """All results of a run; `truncated` says that messages or figures were dropped to fit the limit.

    `usage` is the use of the whole Spark application. A driver that cannot read its request answers with one result,
    with the id `WHOLE_REQUEST`.
    """

    version: Literal[1] = 1
    results: tuple[TaskResult, ...] = Field(default=())
    truncated: bool = False
    usage: OptionalUsage = None

    def result_of(self, task_id: str) -> TaskResult | None:
        """Return the result of a task, else the result of the whole request, else None."""
        by_id = {result.id: result for result in self.results}
        return by_id.get(task_id, by_id.get(WHOLE_REQUEST))


class UnreadableOutcome(ValueError):
    """The termination message is not an outcome document."""


def encode_outcome(outcome: JobOutcome, *, limit: int = TERMINATION_MESSAGE_LIMIT) -> str:
    """Write the outcome in at most `limit` bytes of UTF-8.

    A long outcome loses parts in this order: the tails of messages, all figures of results, the effects on instants of
    other writers, the usage, the results of tasks that succeeded or had nothing to do, and then results from the end. A
    missing result means unknown: the operator reads the timeline, as it does for every result. The driver also logs the
    whole document, so nothing is lost to a person.
    """
    text = _dump(outcome)
    if _fits(text, limit):
        return text
    for length in _MESSAGE_LENGTHS:
        text = _dump(_shortened(outcome, length))
        if _fits(text, limit):
            return text
    for reduced in (_without_figures, _essential):
        results = tuple(map(reduced, outcome.results))
        text = _dump(outcome.copy_with(results=results, truncated=True))
        if _fits(text, limit):
            return text
    essential = [_essential(result) for result in outcome.results]
    essential.sort(key=lambda result: result.outcome is not Outcome.FAILED)
    while essential:
        text = _dump(JobOutcome(results=tuple(essential), truncated=True))
        if _fits(text, limit):
            return text
        essential.pop()
    return _dump(JobOutcome(truncated=True))


def decode_outcome(text: str) -> JobOutcome:
    """Read a termination message; raise `UnreadableOutcome` if it is anything else."""
    try:
        return JobOutcome.model_validate_json(text)
    except ValidationError as error:
        raise UnreadableOutcome("the termination message holds no outcome document") from error


def _shortened(outcome: JobOutcome, length: int) -> JobOutcome:
    results = tuple(result.copy_with(message=_cut(result.message, length)) for result in outcome.results)
    return outcome.copy_with(results=results, truncated=True)


def _cut(message: str, length: int) -> str:
    if len(message) <= length:
        return message
    return message[: max(length - 3, 0)] + "..." if length else ""


def _without_figures(result: TaskResult) -> TaskResult:
    return _essential(result).copy_with(affected=result.affected, made=result.made)


def _essential(result: TaskResult) -> TaskResult:
    return TaskResult(
        id=result.id,
        outcome=result.outcome,
        reason=result.reason,
        instant=result.instant,
        operation=_essential_operation(result.operation),
    )


def _essential_operation(report: OperationReport | None) -> OperationReport | None:
    """Return the phase of an operation, which decides what follows, and the instants of the operation."""
    if report is None:
        return None
    return OperationReport(
        phase=report.phase,
        target=report.target,
        verified=report.verified,
        restore=report.restore,
        checkpoint_commit=report.checkpoint_commit,
        instant=report.instant,
    )


def _dump(outcome: JobOutcome) -> str:
    return outcome.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True)


def _fits(text: str, limit: int) -> bool:
    return len(text.encode()) <= limit
