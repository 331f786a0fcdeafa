"""The outcome: one result per task, small enough for a container's termination message."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError

from hudi_jobs.contract.document import Document

TERMINATION_MESSAGE_LIMIT = 4096
"""Bytes that the kubelet keeps of a termination message."""

_MESSAGE_LENGTHS = (1000, 400, 160, 60, 0)


class Outcome(StrEnum):
    """How one task ended, as the driver saw it; the operator confirms it from the timeline."""

    SUCCEEDED = "Succeeded"
    NOTHING_TO_DO = "NothingToDo"
    FAILED = "Failed"


class FailureReason(StrEnum):
    """Why a task failed, in classes that call for different answers."""

    INVALID_REQUEST = "InvalidRequest"
    SOURCE_NOT_FOUND = "SourceNotFound"
    SOURCE_UNREADABLE = "SourceUnreadable"
    BAD_RECORDS = "BadRecords"
    COLUMN_MISSING = "ColumnMissing"
    RECORD_KEY_NULL = "RecordKeyNull"
    SCHEMA_INCOMPATIBLE = "SchemaIncompatible"
    TRANSFORM_INVALID = "TransformInvalid"
    STORAGE_ACCESS_DENIED = "StorageAccessDenied"
    STORAGE_UNAVAILABLE = "StorageUnavailable"
    TABLE_MISMATCH = "TableMismatch"
    OUT_OF_MEMORY = "OutOfMemory"
    CONFLICT = "Conflict"
    INTERRUPTED = "Interrupted"
    HUDI_ERROR = "HudiError"
    INTERNAL_ERROR = "InternalError"


def _well_formed(text: str) -> str:
    return text.encode(errors="replace").decode()


Text = Annotated[str, AfterValidator(_well_formed)]
"""Text that JSON can carry: names of files may hold halves of characters, which become question marks."""


class TaskResult(Document):
    """What became of one task; times are RFC 3339 in UTC, sizes are bytes."""

    id: Text
    outcome: Outcome
    reason: FailureReason | None = None
    message: Text = ""
    instant: str | None = None
    checkpoint: Text | None = None
    files_read: int | None = None
    bytes_read: int | None = None
    rows_read: int | None = None
    rows_quarantined: int | None = None
    more_input: bool | None = None
    started_at: str | None = None
    finished_at: str | None = None


class JobOutcome(Document):
    """All results of a run; `truncated` says that messages or figures were dropped to fit the limit."""

    version: Literal[1] = 1
    results: tuple[TaskResult, ...] = Field(default=())
    truncated: bool = False


class UnreadableOutcome(ValueError):
    """The termination message is not an outcome document."""


def encode_outcome(outcome: JobOutcome, *, limit: int = TERMINATION_MESSAGE_LIMIT) -> str:
    """Write the outcome in at most `limit` bytes of UTF-8.

    What does not fit is given up in this order: the tails of messages, then all figures, then the results of tasks
    that succeeded or had nothing to do, then results from the end. A result that is missing means unknown: the operator
    reads the timeline, as it does for every result. The driver also logs the whole document, so nothing is lost to a
    person.
    """
    text = _dump(outcome)
    if _fits(text, limit):
        return text
    for length in _MESSAGE_LENGTHS:
        text = _dump(_shortened(outcome, length))
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
    """Read a termination message; raise `UnreadableOutcome` when it is anything else."""
    try:
        return JobOutcome.model_validate_json(text)
    except ValidationError as error:
        raise UnreadableOutcome("the termination message holds no outcome document") from error


def _shortened(outcome: JobOutcome, length: int) -> JobOutcome:
    results = tuple(result.model_copy(update={"message": _cut(result.message, length)}) for result in outcome.results)
    return JobOutcome(results=results, truncated=True)


def _cut(message: str, length: int) -> str:
    if len(message) <= length:
        return message
    return message[: max(length - 3, 0)] + "..." if length else ""


def _essential(result: TaskResult) -> TaskResult:
    return TaskResult(id=result.id, outcome=result.outcome, reason=result.reason, instant=result.instant)


def _dump(outcome: JobOutcome) -> str:
    return outcome.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True)


def _fits(text: str, limit: int) -> bool:
    return len(text.encode()) <= limit
