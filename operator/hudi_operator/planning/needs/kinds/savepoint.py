"""Whether a run for a HudiSavepoint is due."""

from hudi_jobs.contract import SavepointWork
from hudi_operator.planning.facts.savepoints.assess_savepoints import Savepoints
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.times import format_time


def evaluate(savepoints: Savepoints) -> Decision:
    """Return whether a run is due; it goes after a due ingestion and before the table services."""
    following = savepoints.following
    if following is None and savepoints.retry_at is not None:
        return Decision(
            due=False,
            reason=Reason.WAITING_FOR_RETRY,
            message=f"A run for a HudiSavepoint has failed; the next attempt is at {format_time(savepoints.retry_at)}.",
            at=savepoints.retry_at,
        )
    if following is None:
        return Decision(due=False, reason=Reason.NOT_REQUESTED, message="No HudiSavepoint waits for a run.")
    what = "made" if following.work is SavepointWork.MAKE else "removed"
    return Decision(
        due=True,
        reason=Reason.SAVEPOINT_ASKED,
        message=f"The savepoint of HudiSavepoint {following.resource} on commit {following.instant} is to be {what}.",
        priority=Priority.SAVEPOINT,
    )
