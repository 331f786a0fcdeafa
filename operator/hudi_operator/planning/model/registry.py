"""The registry of reasons: of each its kind, whether what stopped for it is tried again, and what helps.

The decision on retries reads it, the conditions take their advice from it, and the reference page is made from it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.planning.model.advice import ADVICE
from hudi_operator.planning.model.blockers import BlockerReason
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.observation import PodTrouble, TimelineTrouble
from hudi_operator.planning.model.reasons import (
    ClassReason,
    EndingEvent,
    EndingReason,
    RunTrouble,
    TableEvent,
    TableReason,
    Waiting,
)


class Retry(StrEnum):
    """When what stopped for a reason is tried again."""

    JOB = "Job"
    """With growing distance, `retry.maxAttempts` times in a row; then once an hour."""

    INFRASTRUCTURE = "Infrastructure"
    """With growing distance, `retry.maxInfrastructureAttempts` times in a row; then once an hour."""

    CONFLICT = "Conflict"
    """With growing distance, without a budget."""

    ON_CHANGE = "OnChange"
    """When the spec, the class, the Spark image or the operator changes, or on request; without that once an hour."""

    WHEN_CLEARED = "WhenCleared"
    """As soon as a reconcile finds that the cause is gone."""

    NEVER = "None"
    """Nothing failed, or it is over."""


RunReason = FailureReason | PodTrouble | RunTrouble
"""Why a run failed."""

AnyReason = (
    RunReason
    | Outcome
    | BlockerReason
    | TimelineTrouble
    | Reason
    | Waiting
    | TableReason
    | ClassReason
    | TableEvent
    | EndingReason
    | EndingEvent
)
"""Every word that says why."""

KINDS: Mapping[type[AnyReason], str] = {
    Outcome: "Outcome of a run",
    BlockerReason: "Blocker",
    TimelineTrouble: "Timeline that cannot be read",
    PodTrouble: "Trouble of a pod",
    FailureReason: "Failure that the driver reports",
    RunTrouble: "Failure that the operator finds",
    Reason: "Whether a service is due",
    Waiting: "Service that waits",
    TableReason: "Condition of a table",
    ClassReason: "Condition of a class",
    EndingReason: "Deletion",
    TableEvent: "Event",
    EndingEvent: "Event at the end of a table",
}
"""What each enumeration is about."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is known of one reason."""

    name: AnyReason
    kind: str
    retry: Retry
    advice: str


def retry_of_run(reason: RunReason) -> Retry:
    """Return when a run that failed for a reason is tried again."""
    match reason:
        case FailureReason.INVALID_REQUEST:
            return Retry.ON_CHANGE
        case FailureReason.CONFLICT | FailureReason.OWNED_ELSEWHERE:
            return Retry.CONFLICT
        case (
            FailureReason.INTERRUPTED
            | FailureReason.STORAGE_UNAVAILABLE
            | FailureReason.STORAGE_FULL
            | FailureReason.LOCK_UNAVAILABLE
            | FailureReason.CLOCK_BEHIND
            | PodTrouble.IMAGE_PULL_FAILED
            | PodTrouble.UNSCHEDULABLE
            | PodTrouble.CONFIGURATION
            | PodTrouble.FORBIDDEN
            | PodTrouble.START_TIMEOUT
            | PodTrouble.INIT_FAILED
            | PodTrouble.EVICTED
            | PodTrouble.NODE_LOST
            | RunTrouble.JOB_LOST
            | RunTrouble.JOB_REFUSED
        ):
            return Retry.INFRASTRUCTURE
        case (
            FailureReason.SOURCE_NOT_FOUND
            | FailureReason.SOURCE_UNREADABLE
            | FailureReason.BAD_RECORDS
            | FailureReason.COLUMN_MISSING
            | FailureReason.RECORD_KEY_NULL
            | FailureReason.SCHEMA_INCOMPATIBLE
            | FailureReason.TRANSFORM_INVALID
            | FailureReason.STORAGE_ACCESS_DENIED
            | FailureReason.TIMELINE_ZONE_UNKNOWN
            | FailureReason.TABLE_MISMATCH
            | FailureReason.CHECKPOINT_DAMAGED
            | FailureReason.PATH_OUTSIDE_TABLE
            | FailureReason.ROLLBACK_OF_SAVEPOINT
            | FailureReason.OUT_OF_MEMORY
            | FailureReason.HUDI_ERROR
            | FailureReason.INTERNAL_ERROR
            | PodTrouble.OUT_OF_MEMORY
            | PodTrouble.DEADLINE_EXCEEDED
            | RunTrouble.NOT_CONFIRMED
            | RunTrouble.DRIVER_DIED
        ):
            return Retry.JOB


def retry_of_service(reason: Reason) -> Retry:
    """Return when a service whose answer has a reason is tried again."""
    match reason:
        case Reason.WAITING_FOR_SPEC_CHANGE | Reason.RETRIES_EXHAUSTED:
            return Retry.ON_CHANGE
        case (
            Reason.WAITING_FOR_RETRY
            | Reason.WAITING_FOR_HEARTBEAT
            | Reason.WAITING_FOR_OTHER
            | Reason.COUNTER_UNCERTAIN
            | Reason.INVALID_SCHEDULE
        ):
            return Retry.WHEN_CLEARED
        case (
            Reason.NOT_CONFIGURED
            | Reason.DISABLED
            | Reason.INLINE
            | Reason.NO_TABLE
            | Reason.REQUESTED
            | Reason.SCHEDULED
            | Reason.MORE_INPUT
            | Reason.RETRY
            | Reason.THRESHOLD_REACHED
            | Reason.THRESHOLD_MAY_BE_REACHED
            | Reason.PENDING_PLAN
            | Reason.FAILED_WRITE
            | Reason.FIRST_CYCLE_OVER
            | Reason.WAITING_FOR_SCHEDULE
            | Reason.BELOW_THRESHOLD
            | Reason.NOTHING_TO_DO
        ):
            return Retry.NEVER


def retry_of(reason: AnyReason) -> Retry:  # noqa: PLR0911 - one answer per enumeration
    """Return when what stopped for a reason is tried again."""
    match reason:
        case FailureReason() | PodTrouble() | RunTrouble():
            return retry_of_run(reason)
        case Reason():
            return retry_of_service(reason)
        case Outcome.CONFLICT | Outcome.FENCED:
            return Retry.CONFLICT
        case BlockerReason() | TimelineTrouble() | Waiting() | EndingReason():
            return Retry.WHEN_CLEARED
        case TableReason.PROGRESSING | TableReason.INPUT_SKIPPED:
            return Retry.NEVER
        case Outcome.FAILED | TableReason.PROGRESSING_WITH_RETRY:
            return Retry.JOB
        case TableReason():
            return Retry.WHEN_CLEARED
        case Outcome() | ClassReason() | TableEvent() | EndingEvent():
            return Retry.NEVER


def entries(kind: type[AnyReason]) -> Iterator[Entry]:
    """Yield what is known of the members of one enumeration; a `KeyError` names one without advice."""
    for member in kind:
        yield Entry(name=member, kind=KINDS[kind], retry=retry_of(member), advice=ADVICE[kind][member])


REGISTRY: tuple[Entry, ...] = tuple(chain.from_iterable(map(entries, KINDS)))
"""All reasons; a word that two enumerations have stands there twice."""

_RUN_RETRY: Mapping[str, Retry] = {
    str(reason): retry_of_run(reason) for reason in (*FailureReason, *PodTrouble, *RunTrouble)
}


def retry_of_word(reason: str | None) -> Retry:
    """Return when a run is tried again by the reason that status holds; one that is not known costs its own budget."""
    return _RUN_RETRY.get(reason or "", Retry.JOB)
