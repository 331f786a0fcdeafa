"""Runs a table service once, regardless of its schedule: finishes a pending plan or makes a plan, never a second plan.

The service itself is the scheduled service (`hudi_jobs/table_services`), with the operation's options. The timeline
shows leftovers of killed runs: only the operation makes plans while it has the table to itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hudi_jobs.commit_metadata import OPERATION_KEY
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    FailureReason,
    OperationPhase,
    OperationReport,
    Outcome,
    RunnableService,
    Service,
    ServiceRun,
    TaskResult,
    as_service,
)
from hudi_jobs.contract.operations.operation import LONGEST_FILE_NAMED
from hudi_jobs.contract.wording import counted
from hudi_jobs.journal.records import ServiceRecord
from hudi_jobs.operations.check import busy, require_no_restore, require_same_rows
from hudi_jobs.operations.operation_run import OperationRun, succeeded
from hudi_jobs.operations.refusal import require_nobody_at_work
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.archival import archive
from hudi_jobs.table_services.cleaning import clean
from hudi_jobs.table_services.client import WriteClient, write_client
from hudi_jobs.table_services.clustering import cluster, require_clustering
from hudi_jobs.table_services.compaction import compact, require_compaction
from hudi_jobs.table_services.plans import require_plans_inside
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.timeline import Timeline


@dataclass(frozen=True)
class _Runnable:
    """A service's functions: how to run it, and what it would do.

    `would` counts its work and names the first files to delete, in units of `verb` and `noun`. `pending` are plans to
    finish first, and `require` raises `TaskFailed` for impossible runs.
    """

    run: Callable[[TaskContext], TaskResult]
    would: Callable[[WriteClient], tuple[int, list[str]]]
    verb: str
    noun: str
    pending: Callable[[Timeline], list[str]] = lambda _: []
    require: Callable[[TaskContext, HudiTable], None] = lambda *_: None


_SERVICES: Mapping[RunnableService, _Runnable] = {
    RunnableService.COMPACTION: _Runnable(
        run=compact,
        would=lambda client: (client.would_compact(), []),
        verb="merge",
        noun="file group",
        pending=lambda timeline: [each.instant for each in timeline.pending_compactions()],
        require=require_compaction,
    ),
    RunnableService.CLUSTERING: _Runnable(
        run=cluster,
        would=lambda client: (client.would_cluster(), []),
        verb="rewrite",
        noun="file group",
        pending=lambda timeline: [each.instant for each in timeline.pending_clusterings()],
        require=require_clustering,
    ),
    RunnableService.CLEANING: _Runnable(
        run=clean,
        would=WriteClient.would_clean,
        verb="delete",
        noun="file",
        pending=Timeline.unfinished_cleans,
    ),
    RunnableService.ARCHIVAL: _Runnable(
        run=archive, would=lambda client: (client.would_archive(), []), verb="archive", noun="instant"
    ),
}

_MERGING = frozenset({RunnableService.COMPACTION, RunnableService.CLUSTERING})


def would_run_service(work: OperationRun) -> TaskResult:
    """Report the service's effect: finish a pending plan, or how much it would process."""
    run = _asked(work)
    timeline = _checked(work, run)
    what, found = _SERVICES[run.service], _pending(run, timeline)
    if found is not None:
        work.report(OperationReport(phase=OperationPhase.CHECKING, instant=found))
        name = run.service.lower()
        anew = ", or roll it back and plan it anew" if run.service is RunnableService.CLUSTERING else ""
        return succeeded(work.context, f"Would finish the pending {name} {found}{anew}, and plan no other.")
    context = _as_service(work, run)
    if run.service in _MERGING:
        require_same_rows(work, f"The {run.service.lower()}")
    with (
        stage(f"The effect of the {run.service.lower()} cannot be determined", otherwise=FailureReason.HUDI_ERROR),
        write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
    ):
        count, first = what.would(client)
    files = tuple(file[-LONGEST_FILE_NAMED:] for file in first)
    work.report(OperationReport(phase=OperationPhase.CHECKING, count=count, files=files))
    return succeeded(work.context, f"Would {what.verb} {counted(count, what.noun)}; nothing was written.")


def run_service(work: OperationRun) -> TaskResult:
    """Run the service, or continue it."""
    run = _asked(work)
    record = work.journal.find(ServiceRecord, work.operation.uid)
    if record is None:
        record = _begun(work, run)
    else:
        work.report(record.report())
        if record.phase is OperationPhase.DONE:
            return succeeded(work.context, f"An earlier run has done the {run.service.lower()}.")
        require_no_restore(work.context, work.journal, ours=None)
        if (earlier := _completed(work, record)) is not None:
            _done(work, record, earlier, None)
            return succeeded(work.context, f"An earlier run has completed the {run.service.lower()} {earlier}.")
    result = _SERVICES[run.service].run(_as_service(work, run))
    if result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}:
        _done(work, record, result.instant, _count_of(result))
    return result


def _begun(work: OperationRun, run: ServiceRun) -> ServiceRecord:
    """Check and record, before any write."""
    timeline = _checked(work, run)
    record = ServiceRecord(
        uid=work.operation.uid,
        resource=work.operation.resource,
        phase=OperationPhase.RUNNING,
        newest=timeline.newest_instant(),
        service=run.service,
        found=_pending(run, timeline),
    )
    work.save(record)
    reach(Phase.RECORDED)
    return record


def _checked(work: OperationRun, run: ServiceRun) -> Timeline:
    context = _as_service(work, run)
    timeline = load_timeline(context)
    require_plans_inside(context)
    with work.obstacles.each():
        require_no_restore(context, work.journal, ours=None)
    with work.obstacles.each():
        require_nobody_at_work(busy(context, timeline))
    _SERVICES[run.service].require(context, work.table)
    work.obstacles.require_none()
    return timeline


def _pending(run: ServiceRun, timeline: Timeline) -> str | None:
    """Return the pending plan that the service finishes first; its owner was checked before."""
    return min(_SERVICES[run.service].pending(timeline), default=None)


def _completed(work: OperationRun, record: ServiceRecord) -> str | None:
    """Return the instant that an earlier run completed; commits carry the operation's uid, cleans carry nothing."""
    if record.service is RunnableService.CLEANING:
        cleans = [time for time, action in load_timeline(work.context).completed() if action == "clean"]
        return next((time for time in cleans if time == record.found or time > record.newest), None)
    return work.table.find_commit({OPERATION_KEY: record.uid})


def _done(work: OperationRun, record: ServiceRecord, instant: str | None, count: int | None) -> None:
    reach(Phase.VERIFIED)
    work.save(record.copy_with(phase=OperationPhase.DONE, instant=instant, count=count, found=None))


def _count_of(result: TaskResult) -> int | None:
    figures = (result.file_groups, result.files_deleted, result.instants_archived)
    return next((figure for figure in figures if figure is not None), None)


def _as_service(work: OperationRun, run: ServiceRun) -> TaskContext:
    """Return the context for the service, under this run's lease."""
    task = work.context.task
    options = {**task.hudi_options, **run.options}
    context = work.context.of(as_service(task, Service(run.service.value), hudi_options=options))
    return replace(context, held=work.lease, for_operation=work.operation)


def _asked(work: OperationRun) -> ServiceRun:
    if work.operation.service is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, "The request does not say which service to run.")
    return work.operation.service
