"""The savepoint that protects a taken-over table from its first table service to the end of the first cycle.

Until then a person can restore the table to its earlier state. Its user and comment distinguish it from other
savepoints, so that a repeated run makes no second savepoint, and no foreign savepoint is removed.
"""

from collections.abc import Callable

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    SAVEPOINT_USER,
    ConcurrencyMode,
    FailureReason,
    Outcome,
    ProtectedTask,
    SavepointStep,
    SavepointTask,
    TaskResult,
)
from hudi_jobs.failures.classification import stage
from hudi_jobs.services.client import write_client
from hudi_jobs.services.others import Others
from hudi_jobs.services.timeline import Savepoint, Timeline

USER = SAVEPOINT_USER
"""The savepoint's recorded user."""

_BEGINNING = "Before the first table service of HudiTable "


def protected(
    context: TaskContext, load_timeline: Callable[[TaskContext], Timeline], work: Callable[[], TaskResult]
) -> TaskResult:
    """Run a table service under the task's savepoint, or only remove that savepoint.

    The result names this resource's existing savepoint in either case: a status that lost it learns of it again.
    """
    task = _asked(context)
    if task is not None and task.step is SavepointStep.REMOVE:
        return _remove(context, load_timeline(context))
    kept = keep_savepoint(context, load_timeline(context))
    return work().copy_with(savepoint=kept)


def keep_savepoint(context: TaskContext, timeline: Timeline) -> str:
    """Make the task's savepoint unless it exists; return our newest savepoint, or an empty text."""
    ours = _ours(context, timeline)
    if _asked(context) is not None and not any(each.comment == _comment(context) for each in ours):
        made = _make(context, timeline)
        ours += [made] if made else []
    return max((each.instant for each in ours), default="")


def _make(context: TaskContext, timeline: Timeline) -> Savepoint | None:
    """Make the savepoint on the newest commit; another tool's savepoint there serves as well."""
    instant = timeline.newest_commit()
    if instant is None or any(each.instant == instant for each in timeline.savepoints()):
        return None
    with stage("The savepoint before the first table service cannot be made", otherwise=FailureReason.HUDI_ERROR):
        if context.task.concurrency is ConcurrencyMode.SERIALIZED:
            timeline.drop_begun_savepoint(instant)
        with write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client:
            client.savepoint(instant, user=USER, comment=_comment(context))
    context.log("savepoint made", instant=instant)
    return Savepoint(instant, USER, _comment(context))


def _remove(context: TaskContext, timeline: Timeline) -> TaskResult:
    ours = _ours(context, timeline)
    with (
        stage("The savepoint of the takeover cannot be removed", otherwise=FailureReason.HUDI_ERROR),
        write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
    ):
        Others(context).drop_savepoints(timeline)
        for each in ours:
            client.delete_savepoint(each.instant)
    named = ", ".join(each.instant for each in ours)
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.SUCCEEDED,
        message=f"Removed the savepoint {named} from before the first table service."
        if ours
        else "The savepoint from before the first table service was already gone.",
        savepoint="",
    )


def is_of_takeover(savepoint: Savepoint) -> bool:
    """Tell whether a savepoint belongs to a takeover, of any resource."""
    return savepoint.user == USER and savepoint.comment.startswith(_BEGINNING)


def _asked(context: TaskContext) -> SavepointTask | None:
    return context.task.savepoint if isinstance(context.task, ProtectedTask) else None


def _comment(context: TaskContext) -> str:
    task = _asked(context)
    return f"{_resource(context)}, taken over at {task.taken_over_at if task else ''}"


def _resource(context: TaskContext) -> str:
    owner = context.task.owner
    return f"{_BEGINNING}{owner.table} ({owner.table_uid})" if owner else ""


def _ours(context: TaskContext, timeline: Timeline) -> list[Savepoint]:
    resource = _resource(context)
    return [
        each
        for each in (timeline.savepoints() if resource else ())
        if each.user == USER and each.comment.startswith(f"{resource}, ")
    ]
