"""Decides whether a run of a service is due, and says why."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

from hudi_jobs.contract import RunMode
from hudi_operator.api.status.service_status import EXPLANATION_LIMIT, ServiceStatus
from hudi_operator.api.status.timeline import CountRange, PendingStatus
from hudi_operator.planning.model import TimelineTrouble
from hudi_operator.timeline import Bounds


class Reason(StrEnum):
    """Why a service is due or not."""

    NOT_CONFIGURED = "NotConfigured"
    """The spec has no ingestion."""

    DISABLED = "Disabled"
    """The spec switches the service off, or the table is of a type that has no use for it."""

    INLINE = "Inline"
    """The service runs inside the writer, after each commit."""

    NO_TABLE = "NoTable"
    """Nothing has been written yet."""

    REQUESTED = "Requested"
    """Due: the annotation `hudi-operator.io/requested-at` asks for it."""

    SCHEDULED = "Scheduled"
    """Due by the schedule."""

    CONTINUOUS = "Continuous"
    """Ingestion is continuous: due whenever no driver runs."""

    MORE_INPUT = "MoreInput"
    """Due: the last run reached its limits and left input unread."""

    RETRY = "Retry"
    """Due: another attempt after a failure."""

    THRESHOLD_REACHED = "ThresholdReached"
    """Due: the count has reached its threshold."""

    THRESHOLD_MAY_BE_REACHED = "ThresholdMayBeReached"
    """Due: the count is uncertain, and its upper bound reaches the threshold; a run may find nothing to do."""

    PENDING_PLAN = "PendingPlan"
    """Due: a pending instant is handled before a new plan is made."""

    FAILED_WRITE = "FailedWrite"
    """Due: a write that a dead run left behind is rolled back."""

    NOT_REQUESTED = "NotRequested"
    """No HudiSavepoint, or no HudiOperation, waits for a run."""

    SAVEPOINT_ASKED = "SavepointAsked"
    """Due: a HudiSavepoint waits for its savepoint to be made or removed."""

    OPERATION_ASKED = "OperationAsked"
    """Due: a HudiOperation waits for its Job, and has the table to itself."""

    CATALOG_BEHIND = "CatalogBehind"
    """Due: the catalog does not show the table as it is, so a run that only syncs it starts."""

    CATALOG_ENTRY_TAKEN = "CatalogEntryTaken"
    """Not due: another HudiTable claims the table's entry in the catalog."""

    TAKEOVER_COMPLETE = "TakeoverComplete"
    """Due: every table service has done its first work, so the savepoint of the takeover is removed."""

    WAITING_FOR_SCHEDULE = "WaitingForSchedule"
    """Not due yet by the schedule."""

    NO_NEW_INPUT = "NoNewInput"
    """Not due: a look at the source found nothing that the table does not hold; the next tick looks again."""

    SOURCE_NOT_FOUND = "SourceNotFound"
    """Not due: a look at the source found no file; the operator looks again every minute."""

    WAITING_FOR_RETRY = "WaitingForRetry"
    """The last run failed or gave way; the next attempt is at `nextAttemptAt`."""

    WAITING_FOR_SPEC_CHANGE = "WaitingForSpecChange"
    """The last run failed because its request is invalid; retried once an hour until a change or a request."""

    WAITING_FOR_HEARTBEAT = "WaitingForHeartbeat"
    """Hudi may consider an ended run alive: its instant is left alone until `nextAttemptAt` or `leftAloneUntil`."""

    WAITING_FOR_OTHER = "WaitingForOther"
    """Another tool may be working on a pending instant: the operator leaves it alone until `leftAloneUntil`."""

    BELOW_THRESHOLD = "BelowThreshold"
    """The count has not reached its threshold."""

    NOTHING_TO_DO = "NothingToDo"
    """The threshold is reached, but a run would find nothing, or the last run found nothing and nothing has changed."""

    COUNTER_UNCERTAIN = "CounterUncertain"
    """The decision depends on a timeline file that cannot be understood; the operator does not guess."""

    RETRIES_EXHAUSTED = "RetriesExhausted"
    """The class's limit on failed runs in a row is reached; retried once an hour until a change or a request."""

    INVALID_SCHEDULE = "InvalidSchedule"
    """The schedule names no point in time."""


class Priority(IntEnum):
    """The order in which due services start; services of equal priority start in the order of `SERVICES`.

    `BEHIND` is the ingestion of a table that misses its freshness.
    """

    BEHIND = -1
    PENDING = 0
    REQUESTED = 1
    STARVING = 2
    INGESTION = 3
    SAVEPOINT = 4
    FAILED_WRITE = 5
    SERVICE = 6
    CONTINUOUS = 7
    """A continuous ingestion that stopped for table services, or may run for long: other due services go first."""


STARVING_FACTOR = 3
"""A service goes before ingestion when its count is this multiple of its threshold."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Whether a run is due now, since or until when, and why.

    `run_mode` and `instant` tell the run of a compaction or clustering what to do. Status names `at` only if
    `shows_time` is set.
    """

    due: bool
    reason: Reason | TimelineTrouble
    message: str
    at: datetime | None = None
    counted: int | None = None
    bounds: Bounds | None = None
    threshold: int | None = None
    priority: Priority = Priority.SERVICE
    run_mode: RunMode | None = None
    instant: str | None = None
    shows_time: bool = True


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The part of a service's status beside the decision."""

    pending: tuple[PendingStatus, ...] = ()
    blocked_by: str | None = None


def by_count(
    counted: int | None,
    threshold: int,
    *,
    what: str,
    bounds: Bounds | None = None,
    run_mode: RunMode | None = None,
) -> Decision:
    """Return the decision for a service that counts commits; `what` names them, as in `3 of 5 delta commits`.

    An uncertain number has bounds. The service is due when the lower bound reaches the threshold. It is also due when
    only the upper bound does: Hudi counts again, and the operator remembers a run that finds nothing.
    """
    if counted is not None:
        bounds = None
    elif bounds is None:
        return uncertain(f"{what[:1].upper()}{what[1:]}")
    least, most = bounds or (counted or 0, counted or 0)
    reason = Reason.THRESHOLD_MAY_BE_REACHED if most >= threshold else Reason.BELOW_THRESHOLD
    if least >= threshold:
        reason = Reason.THRESHOLD_REACHED
    return Decision(
        due=most >= threshold,
        reason=reason,
        message=_exactly(least, threshold, what) if bounds is None else _between(bounds, threshold, what),
        counted=counted,
        bounds=bounds,
        threshold=threshold,
        priority=Priority.STARVING if least >= STARVING_FACTOR * threshold else Priority.SERVICE,
        run_mode=run_mode,
    )


def _exactly(count: int, threshold: int, what: str) -> str:
    return f"{count} of {threshold} {what}." if count <= threshold else f"{count} {what}; due from {threshold} on."


def _between(bounds: Bounds, threshold: int, what: str) -> str:
    return f"Between {bounds.at_least} and {bounds.at_most} of {threshold} {what} (see status.timeline.problems)."


def uncertain(what: str) -> Decision:
    """Return the decision for a service whose counter depends on an unreadable file."""
    return Decision(
        due=False,
        reason=Reason.COUNTER_UNCERTAIN,
        message=f"{what} cannot be counted, because a file of the timeline cannot be understood: "
        "see status.timeline.problems.",
    )


def unless_hudi_fails(counting: Decision, *, unreadable: bool) -> Decision:
    """Return the decision for a counting service where Hudi would read the same damaged file first, and fail."""
    if not counting.due or not unreadable:
        return counting
    return replace(
        counting,
        due=False,
        reason=Reason.COUNTER_UNCERTAIN,
        message=f"{counting.message} Nothing starts, because Hudi would read a damaged file first and fail: "
        "see status.timeline.problems.",
        priority=Priority.SERVICE,
        run_mode=None,
    )


def concealed(memory: ServiceStatus, *, reason: str, message: str, keeps_figures: bool) -> ServiceStatus:
    """Return what the operator remembers of a hidden table: its runs, and from its timeline at most the figures."""
    halted = memory.copy_with(
        due=False,
        due_since=None,
        reason=reason,
        message=message[:EXPLANATION_LIMIT],
        blocked_by=None,
        next_run_at=None,
        next_attempt_at=None,
    )
    if keeps_figures:
        return halted
    return halted.copy_with(counted=None, counted_range=None, threshold=None, pending=(), checkpoint=None)


def count_range(bounds: Bounds | None) -> CountRange | None:
    """Return the bounds of an uncertain number, as status shows them."""
    return None if bounds is None else CountRange(at_least=bounds.at_least, at_most=bounds.at_most)


def seconds_until(at: datetime | None, *, now: datetime) -> float | None:
    """Return the seconds until a point in time, never negative."""
    return None if at is None else max((at - now) / timedelta(seconds=1), 0.0)
