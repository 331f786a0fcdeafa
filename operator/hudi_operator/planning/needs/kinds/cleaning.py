"""Whether a cleaning is due: `CleanPlanActionExecutor` of Hudi 1.2.0, and whether it would find anything."""

from dataclasses import replace

from hudi_jobs.contract.wording import counted
from hudi_operator.api.spec.table_services import CleaningPolicy
from hudi_operator.planning.facts.writers.pending import left_alone, named
from hudi_operator.planning.model.decision import Decision, Priority, Reason, by_count, unless_hudi_fails
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.needs.view import ServiceView
from hudi_operator.timeline import Action, clean_would_find
from hudi_operator.timeline.rules.retention import earliest_to_retain


def evaluate(view: ServiceView) -> Decision:
    """Return whether a pending clean has to be finished, or enough commits have come since the last clean.

    A failed write makes a cleaning due at the moment when it may be rolled back.
    """
    urgent = _others_clean(view) or _unfinished(view) or _failed_write(view)
    if urgent is not None:
        return urgent
    found, later = _by_commits(view), min((one.from_ for one in view.failed_writes), default=None)
    return found if found.due else replace(found, at=later)


def blocked_by(view: ServiceView) -> str | None:
    """Return why a cleaning keeps more files than its policy says."""
    spec, timeline = view.spec, view.timeline
    retain = spec.cleaning.retain_commits
    pending, reasons = timeline.counters.earliest_pending, []
    if spec.cleaning.policy is CleaningPolicy.KEEP_LATEST_COMMITS and pending is not None:
        completed = replace(timeline, instants=timeline.completed)
        if earliest_to_retain(timeline, retain_commits=retain) != earliest_to_retain(completed, retain_commits=retain):
            reasons.append(f"{pending.action} {pending.time} is pending: cleaning does not go past it.")
    if timeline.counters.savepoints:
        reasons.append(f"Files of savepoint {timeline.counters.savepoints[0]} are kept.")
    return " ".join(reasons) or None


def _others_clean(view: ServiceView) -> Decision | None:
    """Wait for a clean that another tool may be working on: Hudi's clean would execute it at the same time."""
    alive = next((one for one in view.others if one.action == Action.CLEAN.value), None)
    if alive is None:
        return None
    return Decision(
        due=False,
        reason=Reason.WAITING_FOR_OTHER,
        message=left_alone(alive),
        at=parse_time(alive.left_alone_until),
    )


def _unfinished(view: ServiceView) -> Decision | None:
    if not view.pending:
        return None
    oldest = view.pending[0]
    return Decision(
        due=True,
        reason=Reason.PENDING_PLAN,
        message=f"The {oldest.state.lower()} {named(oldest)} is finished first.",
        priority=Priority.PENDING,
        instant=oldest.time,
    )


def _failed_write(view: ServiceView) -> Decision | None:
    first = min(view.failed_writes, key=lambda one: one.from_, default=None)
    if first is None or view.now < first.from_:
        return None
    return Decision(
        due=True,
        reason=Reason.FAILED_WRITE,
        message=f"The write {first.time} {first.why}: it is rolled back.",
        priority=Priority.FAILED_WRITE,
    )


def _by_commits(view: ServiceView) -> Decision:
    cleaning, timeline = view.spec.cleaning, view.timeline
    counting = by_count(
        timeline.counters.commits_since_clean,
        cleaning.trigger.commits,
        what="commits since the last clean" if timeline.counters.last_clean else "commits and no clean yet",
        bounds=timeline.counters.commits_since_clean_bounds,
    )
    unreadable = timeline.counters.last_clean is not None and timeline.counters.clean is None
    counting = unless_hudi_fails(counting, unreadable=unreadable)
    if not counting.due:
        return counting
    by_commits = cleaning.policy is CleaningPolicy.KEEP_LATEST_COMMITS
    if not by_commits or clean_would_find(timeline, retain_commits=cleaning.retain_commits):
        return counting
    return replace(
        counting,
        due=False,
        reason=Reason.NOTHING_TO_DO,
        message=f"{counting.message} The files of the newest {counted(cleaning.retain_commits, 'commit')} are kept, so "
        "a clean would remove nothing now.",
        priority=Priority.SERVICE,
    )
