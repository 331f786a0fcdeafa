"""The first steps of every table service: open and check the table, and roll back failed writes."""

from collections.abc import Callable, Collection
from dataclasses import replace

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, Outcome, Service, TaskResult, as_service
from hudi_jobs.exclusive import with_lease
from hudi_jobs.failures.classification import stage
from hudi_jobs.lease.leases import Lease
from hudi_jobs.preflight.index_gate import require_index
from hudi_jobs.preflight.layout_gate import require_one_layout
from hudi_jobs.preflight.slice_gate import require_slices_as_named
from hudi_jobs.services.affected import noting_affected
from hudi_jobs.services.client import write_client
from hudi_jobs.services.others import Others
from hudi_jobs.services.plans import require_plans_inside
from hudi_jobs.services.takeover_savepoint import protected
from hudi_jobs.services.timeline import Timeline
from hudi_jobs.table import HudiTable


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
