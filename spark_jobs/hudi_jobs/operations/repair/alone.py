"""Checks that nobody works on a table under repair; the request vouches that the named instant is dead."""

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import children_of, located, statuses_below
from hudi_jobs.operations.check import busy
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import UNCHANGED, refused, require_nobody_at_work
from hudi_jobs.services.others import HEARTBEATS, Others
from hudi_jobs.services.timeline import Begun, Timeline

_MARKERS = ".hoodie/.temp"
_SHOWN = 40
_RECURSIVELY = True


def require_instant(work: OperationRun) -> str:
    """Return the instant that the repair names."""
    if work.operation.instant is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, "The request names no instant for the repair.")
    return work.operation.instant


def pending_instant(work: OperationRun, timeline: Timeline) -> Begun:
    """Return the pending instant that the repair names; raise `TaskFailed` when it is not pending."""
    instant = require_instant(work)
    found = next((each for each in timeline.begun() if each.instant == instant), None)
    if found is not None:
        return found
    done = next((action for time, action in timeline.completed() if time == instant), None)
    if done is not None:
        raise refused(f"The {done} {instant} has completed. Undo a completed instant with a rollback or a restore.")
    raise refused(f"The timeline has no pending instant {instant}.")


def require_dead(work: OperationRun, named: Begun, timeline: Timeline, files: tuple[str, ...]) -> None:
    """Refuse when the named or another instant shows a sign of life; `files` are the named instant's timeline files."""
    others, check = Others(work.context), work.obstacles.each
    alive = [each for each in timeline.begun() if others.is_alive(each.instant)]
    with check():
        if alive:
            raise refused(
                f"The {alive[0].action} {alive[0].instant} shows a heartbeat, so its writer may be at work; stop that "
                "writer first."
            )
    with check():
        if any(others.was_written_lately(file) for file in (*files, *_newest_marker(work, named.instant))):
            raise refused(
                f"The {named.action} {named.instant} was modified a moment ago, so a tool may be at work on it. Make "
                "sure that the tool has stopped, and create the operation again in a few minutes."
            )
    with check():
        require_nobody_at_work([each for each in busy(work.context, timeline) if each.instant != named.instant])


def _newest_marker(work: OperationRun, instant: str) -> tuple[str, ...]:
    """Return the newest marker of a write, which creates a marker for each file (`DirectWriteMarkers`)."""
    folder = f"{_MARKERS}/{instant}"
    newest, found = 0, ""
    with stage("The markers of a pending write cannot be listed", otherwise=FailureReason.HUDI_ERROR):
        filesystem, place = located(work.context.spark, work.table.base_path, folder)
        if not filesystem.exists(place):
            return ()
        for each in statuses_below(filesystem, place):
            if int(each.getModificationTime()) >= newest:
                newest, found = int(each.getModificationTime()), str(each.getPath().toUri().getPath())
    return (f"{folder}{found.rpartition(folder)[2]}",) if found else ()


def require_no_heartbeat(context: TaskContext) -> None:
    """Refuse while any heartbeat beats, also of a writer without an instant; works on unreadable tables.

    Heartbeats of the metadata table are elsewhere, and runs known to be dead do not count.
    """
    with stage("The heartbeats of writers cannot be listed", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        filesystem, place = located(context.spark, context.task.table.base_path, HEARTBEATS)
        found = children_of(filesystem, place) if filesystem.exists(place) else ()
        names = [str(each.getPath().getName()) for each in found]
        alive = next(filter(Others(context).is_alive, sorted(names)), None)
    if alive is not None:
        raise refused(f"{alive[:_SHOWN]!a} shows a heartbeat, so its writer may be at work; stop that writer first.")


def require_at_rest(work: OperationRun, timeline: Timeline, what: str) -> None:
    """Refuse while anything is pending, whoever began it."""
    begun = timeline.begun()
    with work.obstacles.each():
        require_nobody_at_work(busy(work.context, timeline))
    with work.obstacles.each():
        if begun:
            raise refused(
                f"The {begun[0].action} {begun[0].instant} is pending, and {what} cannot be made beside it; finish it "
                "first, for example with runService."
            )
        for instant in Others(work.context).savepoints_at_work(timeline):
            raise refused(
                f"Another tool has begun a savepoint on {instant} and may be at work, and {what} cannot be made beside "
                "it; try again in some minutes."
            )


@contextmanager
def once_begun() -> Iterator[None]:
    """Turn a refusal into a retryable failure, because a begun repair must finish."""
    try:
        yield
    except TaskFailed as error:
        if error.reason is not FailureReason.OPERATION_REFUSED:
            raise
        message = f"{error.message.removesuffix(UNCHANGED)}The repair has begun; another run continues it."
        raise TaskFailed(FailureReason.CONFLICT, message) from error
