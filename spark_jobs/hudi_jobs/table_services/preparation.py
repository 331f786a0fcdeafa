"""The first steps of every table service: open and check the table, roll back failed writes, set savepoints.

A savepoint protects a taken-over table from its first table service to the end of the first cycle. Until then a person
can restore the table to its earlier state. The savepoint's user and comment distinguish it from other savepoints, so
that a repeated run makes no second savepoint, and no foreign savepoint is removed.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    SAVEPOINT_USER,
    ConcurrencyMode,
    FailureReason,
    Outcome,
    ProtectedTask,
    SavepointStep,
    SavepointTask,
    Service,
    TaskResult,
    as_service,
)
from hudi_jobs.exclusive import with_lease
from hudi_jobs.lease.leases import Lease
from hudi_jobs.preflight.index_gate import require_index
from hudi_jobs.preflight.slice_gate import require_one_layout, require_slices_as_named
from hudi_jobs.spark.failures import stage
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.plans import require_plans_inside
from hudi_jobs.table_services.timeline import Savepoint, Timeline
from hudi_jobs.table_services.unfinished_work import Others, noting_affected

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


def nothing(context: TaskContext, message: str) -> TaskResult:
    """Return the result of a run with nothing to do."""
    return TaskResult(id=context.task.id, outcome=Outcome.NOTHING_TO_DO, message=message)


def open_table(context: TaskContext, *, compares_slices: bool = True) -> HudiTable | None:
    """Return the table, or None if it does not exist; raise `TaskFailed` for another table.

    `compares_slices` also refuses a table whose file times assign log files to other slices than their names.
    """
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
        if table is not None:
            table.require(context.task.table, context.task.service)
            require_one_layout(context.spark, table)
    if table is not None:
        require_index(context.spark, table, context.task.table, context.task.hudi_options)
        if compares_slices:
            require_slices_as_named(context, table)
    return table


def load_timeline(context: TaskContext) -> Timeline:
    """Read an existing table's timeline."""
    with stage("The table's timeline cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return Timeline(context.spark, HudiTable.existing(context.spark, context.task.table.base_path))


def missing_table(context: TaskContext) -> TaskResult:
    """Return the result of a service without a table."""
    return nothing(context, f"There is no table at {context.task.table.base_path} yet.")


def while_ours(context: TaskContext, work: Callable[[Lease, list[str]], TaskResult]) -> TaskResult:
    """Run the work under the table's lease, after rolling back dead writers' work.

    The work receives the rolled-back instants. It does not start beside an unknown writer's pending work.
    """

    def begin(lease: Lease) -> TaskResult:
        others = Others(context)
        require_plans_inside(context)
        with noting_affected(context, lambda: load_timeline(context)):
            with context.at_rest():
                rolled_back = others.roll_back(load_timeline(context))
            refused = others.refusal(load_timeline(context))
            return refused or protected(context, load_timeline, lambda: work(lease, rolled_back))

    return with_lease(context, begin)


def roll_back_begun_clusterings(context: TaskContext) -> list[str]:
    """Roll back clusterings begun by ended runs of an Optimistic table, unless a service is running; return them.

    For an ingestion that Hudi refused because of them; waits until a living service has renewed its lease.
    """
    others, found = Others(context), load_timeline(context)
    if others.is_alone or context.inline_queue is not None or not others.begun_clusterings(found):
        return []
    rolled_back: list[str] = []

    def work(_: Lease) -> TaskResult:
        rolled_back.extend(others.roll_back_begun_clusterings(load_timeline(context)))
        return nothing(context, "")

    clustering = as_service(context.task, Service.CLUSTERING)
    with_lease(replace(context, held=None).of(clustering), work)
    return rolled_back


def roll_back_writes(context: TaskContext, made: Collection[str]) -> None:
    """Roll back the pending writes among this run's own instants.

    Service plans are not writes. Another tool's pending work must not be ended by this run.
    """
    found = HudiTable.open(context.spark, context.task.table.base_path)
    begun = Timeline(context.spark, found).unfinished_writes() if found is not None else []
    dead = sorted((time for time in begun if time in made), reverse=True)
    if not dead:
        return
    context.log("rolling back what a batch has begun", instants=dead)
    with (
        stage("The write of a batch that gave way cannot be rolled back", otherwise=FailureReason.HUDI_ERROR),
        write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
    ):
        for each in dead:
            client.rollback(each)
