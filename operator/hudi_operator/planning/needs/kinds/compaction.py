"""Whether a compaction is due: `ScheduleCompactionActionExecutor.needCompact` of Hudi 1.2.0."""

from dataclasses import replace
from datetime import datetime

from hudi_jobs.contract import RunMode, TableType
from hudi_jobs.contract.table.properties import late_changes_remark
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.spec.table_services import CompactionTrigger, CompactionTriggerStrategy
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.model.decision import STARVING_FACTOR, Decision, Priority, Reason, by_count, uncertain
from hudi_operator.planning.model.times import format_time, instant_time
from hudi_operator.planning.needs.view import ServiceView, finish_left_over, finish_pending
from hudi_operator.timeline import Action, Timeline


def evaluate(view: ServiceView) -> Decision:
    """Return whether a pending compaction has to be finished or a new compaction planned.

    For an observed table, the message adds why a compaction may be refused later.
    """
    found, is_observed = _evaluated(view), view.spec.management_policy is ManagementPolicy.OBSERVE
    remark = late_changes_remark(dict(view.timeline.properties.raw)) if is_observed else None
    return found if remark is None else replace(found, message=f"{found.message} {remark}")


def _evaluated(view: ServiceView) -> Decision:
    pending = finish_pending(view, view.timeline.counters.pending_compactions, waits_for_heartbeat=True)
    if pending is not None:
        return pending
    trigger, start = view.spec.compaction.trigger, _start(view.timeline)
    if start is None:
        return Decision(due=False, reason=Reason.BELOW_THRESHOLD, message="There is no delta commit to compact yet.")
    after_request = trigger.strategy is CompactionTriggerStrategy.NUM_COMMITS_AFTER_LAST_REQUEST
    counters = view.timeline.counters
    if after_request:
        number, bounds = counters.delta_commits_since_compaction_request, None
    else:
        number, bounds = counters.delta_commits_since_compaction, counters.delta_commits_since_compaction_bounds
    counting = by_count(
        number,
        trigger.delta_commits,
        what=f"delta commits since the last {'request' if after_request else 'compaction'}",
        bounds=bounds,
        run_mode=RunMode.SCHEDULE_AND_EXECUTE,
    )
    return _by_trigger(trigger, counting, start, now=view.now)


def left_over(view: ServiceView) -> Decision | None:
    """Execute a pending compaction although the spec disables compaction: Hudi cannot remove its plan."""
    if view.spec.type is not TableType.MERGE_ON_READ:
        return None
    plan = next((one for one in view.pending if one.action == Action.COMPACTION.value), None)
    return None if plan is None else finish_left_over(view, plan, what="executed", run_mode=RunMode.EXECUTE)


def _start(timeline: Timeline) -> str | None:
    """Return the instant from which time is counted: the last compaction, else the first completed delta commit."""
    first = next((one.time for one in timeline.completed if one.action is Action.DELTA_COMMIT), None)
    return timeline.counters.last_compaction or first


def _by_trigger(trigger: CompactionTrigger, counting: Decision, start: str, *, now: datetime) -> Decision:
    strategy = trigger.strategy
    if strategy in {CompactionTriggerStrategy.NUM_COMMITS, CompactionTriggerStrategy.NUM_COMMITS_AFTER_LAST_REQUEST}:
        return counting
    timing = _by_time(trigger, start, now=now)
    if strategy is CompactionTriggerStrategy.TIME_ELAPSED:
        return timing
    return _combined(counting, timing, both=strategy is CompactionTriggerStrategy.NUM_AND_TIME)


def _by_time(trigger: CompactionTrigger, start: str, *, now: datetime) -> Decision:
    """Decide by elapsed time: Hudi subtracts the start from the instant of the run, both in UTC in our jobs."""
    moment, elapsed = instant_time(start), parse_duration(trigger.elapsed)
    if moment is None:
        return uncertain(f"The time since instant {start}")
    at = moment + elapsed
    due = now >= at
    late = now - moment >= STARVING_FACTOR * elapsed
    return Decision(
        due=due,
        reason=Reason.THRESHOLD_REACHED if due else Reason.BELOW_THRESHOLD,
        message=f"{trigger.elapsed} since instant {start} {'ended' if due else 'end'} at {format_time(at)}.",
        at=at,
        priority=Priority.STARVING if late else Priority.SERVICE,
        run_mode=RunMode.SCHEDULE_AND_EXECUTE,
    )


def _combined(counting: Decision, timing: Decision, *, both: bool) -> Decision:
    unknown = next((one for one in (counting, timing) if one.reason is Reason.COUNTER_UNCERTAIN), None)
    if unknown is not None:
        return unknown
    due = (counting.due and timing.due) if both else (counting.due or timing.due)
    word = "both are" if both else "either is"
    by_time_alone = timing.due and not both
    reached = Reason.THRESHOLD_REACHED if by_time_alone else counting.reason
    return Decision(
        due=due,
        reason=reached if due else Reason.BELOW_THRESHOLD,
        message=f"{counting.message} {timing.message} Due when {word} reached.",
        at=None if due or timing.due else timing.at,
        counted=counting.counted,
        bounds=counting.bounds,
        threshold=counting.threshold,
        # Starving means that the condition that makes the service due is far behind; with both conditions, the later
        # counts.
        priority=max(counting.priority, timing.priority) if both else min(counting.priority, timing.priority),
        run_mode=RunMode.SCHEDULE_AND_EXECUTE,
    )
