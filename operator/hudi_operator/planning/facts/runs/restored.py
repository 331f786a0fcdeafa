"""Confirms a restore or rollback of ours in the timeline."""

from hudi_jobs.contract import Outcome, TaskResult
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.timeline import Action
from hudi_operator.timeline.rules.counters import COMMITS


def is_restored(job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot) -> bool:
    """Whether a run that reports success left no restore pending, and none of the commits it removed."""
    if result is None or result.outcome is not Outcome.SUCCEEDED:
        return False
    timeline, report = snapshot.timeline, result.operation
    if job.operation is None or job.operation.dry_run or timeline is None:
        return True
    removed = set(report.removed) if report is not None else set()
    stays = any(one.time in removed for one in timeline.completed if one.action in COMMITS)
    return not stays and not any(one.action is Action.RESTORE for one in timeline.pending)
