"""Tells from the table's folder whether a run has begun its operation, whatever happened to its Job."""

from hudi_jobs.contract import GOES_BACK, OperationPhase
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.timeline import Action


def shows_work(job: ActiveJob, snapshot: TimelineSnapshot) -> bool:
    """Whether a run has reported past its check, or a restore has appeared since it was decided.

    A lack of traces proves nothing: reports are skipped when the store fails.
    """
    operation, told, timeline = job.operation, snapshot.told, snapshot.timeline
    if operation is None or operation.dry_run:
        return False
    if told is not None and (told.uid, told.run) == (operation.uid, job.name):
        return told.phase is not OperationPhase.CHECKING
    if operation.kind not in GOES_BACK or timeline is None:
        return False
    restores = (one.time for one in timeline.instants if one.action is Action.RESTORE)
    return max(restores, default="") > (job.base_instant or "")
