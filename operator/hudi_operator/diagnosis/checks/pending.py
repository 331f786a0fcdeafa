"""Checks of instants that stay pending: whose writer is gone, and what stops before them."""

from datetime import timedelta

from hudi_jobs.contract import Service
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import (
    HISTORY,
    NO_SERVICE,
    Check,
    Evidence,
    Examined,
    moment_of,
    named,
    shown_moment,
)
from hudi_operator.diagnosis.checks.undoing import pending_restore, savepointed_rollback
from hudi_operator.timeline import Instant, PendingInstant, PendingKind, State, Timeline

PLANS = frozenset({PendingKind.COMPACTION, PendingKind.LOG_COMPACTION, PendingKind.CLUSTERING})
_MANY_PLANS = 5
_BLOCKS_HISTORY = "Cleaning by commits and archival stop before it"
_CONSEQUENCES = {
    PendingKind.WRITE: f"{_BLOCKS_HISTORY}.",
    PendingKind.COMPACTION: f"{_BLOCKS_HISTORY}, and the logs of its file groups grow.",
    PendingKind.LOG_COMPACTION: f"{_BLOCKS_HISTORY}, and its file groups are not compacted.",
    PendingKind.CLUSTERING: f"{_BLOCKS_HISTORY}, and with Reject its file groups take no updates.",
    PendingKind.UNKNOWN: f"{_BLOCKS_HISTORY}.",
    PendingKind.OTHER: "",
}
_METADATA_TABLE_WAITS = " The metadata table is not compacted."
_LAST_VERSION_THAT_BLOCKS_METADATA = 6


def stops_at(pending: PendingInstant, timeline: Timeline) -> str:
    """Return the sentence on what stops before a pending instant, empty if nothing does."""
    text = _CONSEQUENCES[pending.kind]
    if text and timeline.properties.version <= _LAST_VERSION_THAT_BLOCKS_METADATA:
        return text + _METADATA_TABLE_WAITS
    return text


def pending_since(action: str, time: str, state: str, since: str) -> str:
    """Return the sentence on an instant that is pending for too long."""
    return f"{action} {time} has been {state.lower()} since {since}."


def _overdue(table: Examined) -> Evidence | None:
    """Return the oldest overdue instant; a silent write and a stuck restore or rollback have codes of their own."""
    stuck = (pending_restore(table.timeline), savepointed_rollback(table.timeline, table.undoings))
    named_elsewhere = {one.instant for one in stuck if one is not None}
    late = [
        one
        for one in table.pending
        if _is_pending_for(table, one.instant, table.limits.pending)
        and not _is_silent(table, one)
        and one.instant.time not in named_elsewhere
    ]
    if not late:
        return None
    oldest = late[0]
    since = table.begun(oldest.instant)
    said = pending_since(oldest.instant.action, oldest.instant.time, oldest.instant.state, shown_moment(since))
    stops = stops_at(oldest, table.timeline)
    others = f" {len(late) - 1} more are overdue too." if len(late) > 1 else ""
    return Evidence(
        message=f"{said} {stops}{others}".replace("  ", " ").strip(),
        blocks=HISTORY if stops else NO_SERVICE,
        instant=oldest.instant.time,
        count=len(late),
        since=since,
    )


def _is_pending_for(table: Examined, instant: Instant, age: timedelta) -> bool:
    begun = table.begun(instant)
    return begun is not None and table.now - begun > age


def _is_silent(table: Examined, pending: PendingInstant) -> bool:
    """Tell whether an inflight write has no heartbeat, or one that has stopped."""
    instant = pending.instant
    is_write = pending.kind is PendingKind.WRITE and instant.state is State.INFLIGHT
    if not is_write or instant.time not in table.heartbeats:
        return False
    beat = table.heartbeats[instant.time]
    if beat is None:
        return _is_pending_for(table, instant, table.limits.pending)
    moment = moment_of(beat, table.now)
    return moment is not None and table.now - moment > table.limits.silence


def _silent(table: Examined) -> Evidence | None:
    found = [one.instant for one in table.pending if _is_silent(table, one)]
    if not found:
        return None
    oldest = found[0]
    beat = table.heartbeats.get(oldest.time)
    since = table.begun(oldest) if beat is None else moment_of(beat, table.now)
    said = (
        f"is inflight since {shown_moment(since)} without a heartbeat: its writer has ended, or keeps none"
        if beat is None
        else f"is inflight, and its writer's last heartbeat was at {shown_moment(since)}: the writer has ended"
    )
    others = f" {len(found) - 1} more are inflight without a heartbeat." if len(found) > 1 else ""
    return Evidence(
        message=f"{named(oldest)} {said}. {_BLOCKS_HISTORY}.{others}",
        blocks=HISTORY,
        instant=oldest.time,
        count=len(found),
        since=since,
    )


def _pinned(table: Examined) -> Evidence | None:
    """Return the oldest plan behind which many commits have completed for a day."""
    plan = next((one for one in table.pending if one.kind in PLANS), None)
    if plan is None or not _is_pending_for(table, plan.instant, table.limits.abandoned):
        return None
    number = table.commits_after(plan.instant.time)
    if number <= table.limits.pinned_commits:
        return None
    message = (
        f"{number} commits have completed since {named(plan.instant)} was planned, and none of them can be cleaned or "
        "archived before the plan is executed or rolled back."
    )
    return Evidence(
        message=message, blocks=HISTORY, instant=plan.instant.time, count=number, since=table.begun(plan.instant)
    )


def _unexecuted(table: Examined) -> Evidence | None:
    plans = [one.instant for one in table.pending if one.kind in PLANS and one.instant.state is State.REQUESTED]
    if len(plans) < _MANY_PLANS or not _is_pending_for(table, plans[0], table.limits.abandoned):
        return None
    message = (
        f"{len(plans)} plans wait to be executed, the oldest is {named(plans[0])}: a tool schedules table services, "
        "and nothing executes them."
    )
    return Evidence(
        message=message,
        blocks=HISTORY | {Service.COMPACTION},
        instant=plans[0].time,
        count=len(plans),
        since=table.begun(plans[0]),
    )


PENDING_INSTANT_OVERDUE = Check(
    code=FindingCode.PENDING_INSTANT_OVERDUE,
    severity=Severity.WARNING,
    blocks="Cleaning and archival stop before the instant.",
    remedy=(
        "See `status.services` for what is done about the instant. Without the operator: execute the plan, or roll it "
        "back once its tool has ended (`run_rollback_inflight_tableservice` of Hudi)."
    ),
    find=_overdue,
)
WRITER_STOPPED = Check(
    code=FindingCode.WRITER_STOPPED,
    severity=Severity.WARNING,
    blocks="Cleaning and archival stop before the instant.",
    remedy="Make sure that the writer has ended, then clean the table once: a clean rolls back failed writes.",
    find=_silent,
)
PLAN_PINS_HISTORY = Check(
    code=FindingCode.PLAN_PINS_HISTORY,
    severity=Severity.WARNING,
    blocks="Cleaning and archival; in versions up to 6 the compaction of the metadata table too.",
    remedy="Execute the plan with the tool that made it, or roll it back (Hudi: `run_rollback_inflight_tableservice`).",
    find=_pinned,
)
PLANS_NOT_EXECUTED = Check(
    code=FindingCode.PLANS_NOT_EXECUTED,
    severity=Severity.WARNING,
    blocks="Compaction and clustering of the planned files, and cleaning and archival before the oldest plan.",
    remedy="Start the job that executes plans, or switch off the setting that only schedules them.",
    find=_unexecuted,
)

CHECKS = (PENDING_INSTANT_OVERDUE, WRITER_STOPPED, PLAN_PINS_HISTORY, PLANS_NOT_EXECUTED)
