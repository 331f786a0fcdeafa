"""A rollback that can never be finished: a savepoint keeps the commit that it is to undo.

Hudi refuses it, and with it every write and service that finishes what is pending first. A write that came in between
would count the commit's input as read, which the rollback then takes away. So nothing starts until a person decides.
"""

from hudi_jobs.contract import FailureReason
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.timeline import Action

ROLLBACK_OF_SAVEPOINT = FailureReason.ROLLBACK_OF_SAVEPOINT.value
"""A pending rollback cannot be finished, because a savepoint keeps the commit that it is to undo."""


def savepointed_rollback(snapshot: TimelineSnapshot) -> str | None:
    """Return which pending rollback a savepoint keeps from being finished and what to do, or None."""
    if snapshot.timeline is None:
        return None
    savepoints = set(snapshot.timeline.counters.savepoints)
    for one in snapshot.undoings:
        kept = savepoints.intersection(one.targets)
        if kept and one.instant.action is Action.ROLLBACK and not one.instant.is_completed:
            commit, rollback = min(kept), one.instant.time
            return (
                f"The pending rollback {rollback} is to undo commit {commit}, which a savepoint keeps: Hudi refuses to "
                "finish it, and fails whatever is run before. Delete the savepoint, and the next run finishes the "
                "rollback, which undoes the commit; or, where the savepoint is older than the rollback, which has then "
                f"undone nothing yet, remove the files {rollback}.rollback.* of the timeline, and the commit stays."
            )
    return None
