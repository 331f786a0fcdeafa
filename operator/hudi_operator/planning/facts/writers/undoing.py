"""Detects unfinished rollbacks and restores that block every run.

A rollback can never finish if a savepoint keeps the commit to undo. Hudi refuses it, and with it every write and
service that first finishes pending work. A write in between would count the commit's input as read, which the rollback
then removes.

A restore removes files by a plan that knows no later instant. Hudi refuses concurrent writes, but not services: a
compaction would keep rows that the restore removes, and a clean would delete files it restores. Only its author can
finish it, or a HudiOperation that continues the recorded work of another HudiOperation.
"""

from hudi_jobs.contract import FailureReason
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.timeline import Action

ROLLBACK_OF_SAVEPOINT = FailureReason.ROLLBACK_OF_SAVEPOINT.value
"""A pending rollback cannot finish, because a savepoint keeps the commit to undo."""


RESTORE_PENDING = FailureReason.RESTORE_PENDING.value
"""A restore of the table has begun and is not finished."""


def in_the_way(snapshot: TimelineSnapshot) -> tuple[str, str] | None:
    """Return the reason and sentence of the unfinished rollback or restore that blocks every run, or None."""
    if (message := _savepointed_rollback(snapshot)) is not None:
        return ROLLBACK_OF_SAVEPOINT, message
    if (message := _pending_restore(snapshot)) is not None:
        return RESTORE_PENDING, message
    return None


def _pending_restore(snapshot: TimelineSnapshot) -> str | None:
    pending = snapshot.timeline.pending if snapshot.timeline else ()
    restore = next((one for one in pending if one.action is Action.RESTORE), None)
    if restore is None:
        return None
    return (
        f"The restore {restore.time} was started and has not completed: the table may be half restored, and nothing "
        "starts beside it. If nobody works on it any more, finish it with the tool that started it "
        "(restore to the same savepoint once more). If a deleted HudiOperation started it, create another "
        "HudiOperation that restores to the same commit; an operation to any other commit is refused, and its message "
        "names the commit."
    )


def _savepointed_rollback(snapshot: TimelineSnapshot) -> str | None:
    """Return the message on a pending rollback blocked by a savepoint, or None."""
    if snapshot.timeline is None:
        return None
    savepoints = set(snapshot.timeline.counters.savepoints)
    for one in snapshot.undoings:
        kept = savepoints.intersection(one.targets)
        if kept and one.instant.action is Action.ROLLBACK and not one.instant.is_completed:
            commit, rollback = min(kept), one.instant.time
            return (
                f"The pending rollback {rollback} is to undo commit {commit}, which a savepoint keeps: Hudi refuses to "
                "finish the rollback and fails every run until then. To undo the commit, delete the savepoint: the "
                "next run finishes the rollback. To keep the commit, where the savepoint is older than the rollback, "
                f"which has then undone nothing yet, remove the files {rollback}.rollback.* of the timeline."
            )
    return None
