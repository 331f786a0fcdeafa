"""Makes or removes the savepoint of a HudiSavepoint, and measures the files that savepoints keep from cleaning.

A savepoint holds back the files that a clean would delete without savepoints. Hudi makes that plan in memory, over all
partitions, because its incremental plan skips unchanged ones. It runs for tables with savepoints and few files, after a
clean, even one inside a write: then no other file is left to delete.

The operator chooses and remembers the commit before the run starts, and the savepoint names its resource. So repeating
a killed run makes no second savepoint. Hudi makes a savepoint without its lock and checks only the last clean, and not
at all if that keeps numbers of versions. So this module checks every clean's possible removals before writing.
"""

import logging
from collections.abc import Callable, Iterable

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    SAVEPOINT_USER,
    FailureReason,
    HeldBack,
    NamedSavepoint,
    Outcome,
    SavepointTableTask,
    SavepointWork,
    TaskResult,
)
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import sizes_of
from hudi_jobs.table import saved_files
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.preparation import is_of_takeover, load_timeline, missing_table, open_table, while_ours
from hudi_jobs.table_services.timeline import Clean, Savepoint, Timeline
from hudi_jobs.table_services.unfinished_work import Others

_CLEANS_INSIDE = "hoodie.clean.automatic"
_MOST_SAVEPOINTS = 10
_MOST_FILES = 20_000
"""The most files listed by savepoints; with more, the held-back files are not reported."""

_MOST_FOLDERS = 500
"""The most folders to list in turn; with more, missing files are not reported."""

_LOGGER = logging.getLogger(__name__)


def held_back(context: TaskContext, timeline: Timeline) -> tuple[HeldBack, ...]:
    """Return the files held back by the newest savepoints; empty if unknown, without failing the service."""
    return _if_known(lambda: _held_back(context, timeline))


def held_back_after_writes(context: TaskContext, since: str) -> tuple[HeldBack, ...]:
    """Return the same if writes clean and a clean follows the instant `since`; empty otherwise."""
    if context.task.hudi_options.get(_CLEANS_INSIDE) != "true" or context.stopping.is_set():
        return ()

    def look() -> tuple[HeldBack, ...]:
        timeline = load_timeline(context)
        has_cleaned = any(action == "clean" and instant > since for instant, action in timeline.completed())
        return _held_back(context, timeline) if has_cleaned else ()

    return _if_known(look)


def _if_known(look: Callable[[], tuple[HeldBack, ...]]) -> tuple[HeldBack, ...]:
    try:
        return look()
    except Exception:
        _LOGGER.warning("what savepoints hold back is not known", exc_info=True)
        return ()


def _held_back(context: TaskContext, timeline: Timeline) -> tuple[HeldBack, ...]:
    instants = sorted((each.instant for each in timeline.savepoints()), reverse=True)[:_MOST_SAVEPOINTS]
    saved: dict[str, set[str]] = {}
    for instant in instants:
        saved[instant] = saved_files(timeline.meta.getActiveTimeline(), instant)
        if sum(map(len, saved.values())) > _MOST_FILES:
            return ()
    if not saved:
        return ()
    with write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client:
        free = client.would_clean_without_savepoints()
    listed: set[str] = set().union(*saved.values())
    has_few = len({path.rpartition("/")[0] for path in listed}) <= _MOST_FOLDERS
    sizes = sizes_of(context.spark, context.task.table.base_path, listed if has_few else listed & free)
    return tuple(_told(instant, paths, free, sizes, counts=has_few) for instant, paths in saved.items())


def _told(instant: str, paths: set[str], free: set[str], sizes: dict[str, int], *, counts: bool) -> HeldBack:
    held = [sizes[path] for path in paths & free if path in sizes]
    return HeldBack(
        instant=instant, files=len(held), bytes=sum(held), missing=len(paths - sizes.keys()) if counts else None
    )


def change_savepoint(context: TaskContext[SavepointTableTask]) -> TaskResult:
    """Make or remove the task's savepoint."""
    named = context.task.named_savepoint
    makes = named.work is SavepointWork.MAKE
    if open_table(context, compares_slices=makes) is None:
        missing = missing_table(context).message
        return _refused(context, missing) if makes else _succeeded(context, missing)
    work = _make if makes else _remove
    return while_ours(context, lambda *_: work(context, named))


def _make(context: TaskContext, named: NamedSavepoint) -> TaskResult:
    timeline = load_timeline(context)
    there = _on(timeline, named)
    if there is not None:
        return _there(context, named, there)
    refusal = _other(timeline, named) or _refusal(timeline, named.instant)
    if refusal is not None:
        return _refused(context, refusal)
    busy = _drop_begun(context, timeline, named.instant)
    if busy is not None:
        return busy
    known = {each.instant for each in timeline.cleans()}
    failure: TaskFailed | None = None
    try:
        with (
            stage(f"The savepoint on {named.instant} cannot be made", otherwise=FailureReason.HUDI_ERROR),
            write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
        ):
            client.savepoint(named.instant, user=SAVEPOINT_USER, comment=named.text)
    except TaskFailed as error:
        failure = error
    reach(Phase.AFTER_COMMIT)
    return _made(context, named, known, failure)


def _made(context: TaskContext, named: NamedSavepoint, known: set[str], failure: TaskFailed | None) -> TaskResult:
    """Report what the timeline says, and take back a savepoint that a concurrent clean has overtaken."""
    after = load_timeline(context)
    made = _on(after, named)
    if made is None:
        raise failure or TaskFailed(
            FailureReason.HUDI_ERROR, "Hudi returned without an error, but the timeline has no savepoint."
        )
    fresh = [each for each in after.cleans() if each.instant not in known]
    clean = _removing(fresh, named.instant)
    overtaken = _undoing(after, named.instant) or (_cleaned(named.instant, clean) if clean is not None else None)
    if overtaken is not None and _is_ours(made, named):
        _delete(context, named.instant)
        return _refused(context, f"While the savepoint was made, {overtaken}")
    return _there(context, named, made)


def _there(context: TaskContext, named: NamedSavepoint, found: Savepoint) -> TaskResult:
    if not _is_ours(found, named):
        return _refused(
            context,
            f"Commit {named.instant} already has a savepoint of {found.user!r}, and a commit can have only one.",
        )
    return _succeeded(context, f"There is a savepoint on commit {named.instant}.")


def _remove(context: TaskContext, named: NamedSavepoint) -> TaskResult:
    found = _on(load_timeline(context), named)
    if found is not None and is_of_takeover(found):
        return _refused(context, f"The savepoint on {named.instant} belongs to the takeover, which removes it itself.")
    if found is not None and not (named.adopted or _is_ours(found, named)):
        return _refused(context, f"The savepoint on {named.instant} belongs to {found.user!r}, so it was not removed.")
    if found is not None:
        _delete(context, named.instant)
    reach(Phase.AFTER_COMMIT)
    timeline = load_timeline(context)
    busy = _drop_begun(context, timeline, named.instant)
    if busy is not None:
        return busy
    if _on(timeline, named) is not None:
        raise TaskFailed(FailureReason.HUDI_ERROR, f"Hudi did not remove the savepoint on {named.instant}.")
    what = "Removed the savepoint" if found is not None else "No savepoint was left"
    return _succeeded(context, f"{what} on commit {named.instant}.")


def _delete(context: TaskContext, instant: str) -> None:
    with (
        stage(f"The savepoint on {instant} cannot be removed", otherwise=FailureReason.HUDI_ERROR),
        write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
    ):
        client.delete_savepoint(instant)


def _drop_begun(context: TaskContext, timeline: Timeline, instant: str) -> TaskResult | None:
    """Remove a killed run's unfinished savepoint; give way to another tool that may be making a savepoint.

    Hudi would not begin another savepoint. Making one takes moments, but beside other writers its author is unknown.
    """
    if instant in Others(context).savepoints_at_work(timeline):
        return TaskResult(
            id=context.task.id,
            outcome=Outcome.CONFLICT,
            reason=FailureReason.CONFLICT,
            message=f"Another tool has begun a savepoint on {instant} and may be at work; nothing was written.",
        )
    with stage(f"A savepoint on {instant} that was only begun cannot be removed", otherwise=FailureReason.HUDI_ERROR):
        timeline.drop_begun_savepoint(instant)
    return None


def _refusal(timeline: Timeline, instant: str) -> str | None:
    """Return why an instant cannot have a savepoint, or None."""
    if instant not in timeline.commits():
        return f"{instant} is not a completed commit of the active timeline."
    removing = _removing(timeline.cleans(), instant)
    sentence = _undoing(timeline, instant) or (_cleaned(instant, removing) if removing is not None else None)
    return None if sentence is None else f"{sentence[:1].upper()}{sentence[1:]}"


def _other(timeline: Timeline, named: NamedSavepoint) -> str | None:
    """Return a refusal if the resource already has a savepoint on another commit, unknown to the operator."""
    found = next((each for each in timeline.savepoints() if _is_ours(each, named)), None)
    return None if found is None else f"The savepoint of {named.resource} is already on commit {found.instant}."


def _undoing(timeline: Timeline, instant: str) -> str | None:
    """Return a sentence if a commit's rollback has begun: with a savepoint Hudi could not finish it.

    Then no run could begin, not even a run that removes the savepoint.
    """
    found = next((each.instant for each in timeline.unfinished_rollbacks() if each.target == instant), None)
    return None if found is None else f"the rollback {found} of commit {instant} has not completed."


def _removing(cleans: Iterable[Clean], instant: str) -> Clean | None:
    """Return a clean that has removed, or will remove, files visible in a commit.

    A clean requested before the commit has left the commit's base files.
    """
    return next((each for each in cleans if each.instant > instant and instant < (each.keeps_from or "9")), None)


def _cleaned(instant: str, clean: Clean) -> str:
    kept = (
        f"which keeps files from {clean.keeps_from} on" if clean.keeps_from else "which does not record what it keeps"
    )
    return f"the clean {clean.instant}, {kept}, has removed or may remove files of commit {instant}."


def _on(timeline: Timeline, named: NamedSavepoint) -> Savepoint | None:
    return next((each for each in timeline.savepoints() if each.instant == named.instant), None)


def _is_ours(found: Savepoint, named: NamedSavepoint) -> bool:
    return found.user == SAVEPOINT_USER and found.comment.startswith(named.mark)


def _succeeded(context: TaskContext, message: str) -> TaskResult:
    return TaskResult(id=context.task.id, outcome=Outcome.SUCCEEDED, message=message)


def _refused(context: TaskContext, message: str) -> TaskResult:
    """Return the result of a run that changed nothing and would not on repetition either."""
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.NOTHING_TO_DO,
        reason=FailureReason.SAVEPOINT_REFUSED,
        message=message,
    )
