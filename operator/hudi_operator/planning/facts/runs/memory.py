"""Remembers the state of each service after ended runs, and which requests the runs have answered."""

from collections.abc import Iterable
from datetime import datetime

from hudi_jobs.contract import FailureReason, Outcome, RunMode, Service
from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION, HudiTable
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.service_status import ServicesStatus, ServiceStatus
from hudi_operator.jobs.sizing import grown_memory, resolve_sizing
from hudi_operator.planning.facts.runs.continuous import STOPPED, cut_names, is_healthy
from hudi_operator.planning.facts.runs.daily_costs import with_costs
from hudi_operator.planning.facts.runs.failures import (
    FailureKind,
    attempts,
    counted,
    failure_kind,
    has_passed_over,
    reset_failures,
)
from hudi_operator.planning.facts.runs.freshness import freshness_after, freshness_while_running, look_after
from hudi_operator.planning.model import LaunchJob, Observation
from hudi_operator.planning.model.healing import differ, have_changed
from hudi_operator.services.registry import SERVICES, leaves_no_instant, mode_of
from hudi_operator.sources.registry import skipped_code


def open_request(table: HudiTable) -> str | None:
    """Return the value of the annotation requested-at if it has not been answered."""
    requested = table.metadata.annotations.get(REQUESTED_AT_ANNOTATION)
    return requested[:128] if requested and requested[:128] != table.status.last_handled_reconcile_at else None


def answered_by(table: HudiTable, launches: Iterable[LaunchJob], *, active: Iterable[ActiveJob] = ()) -> str | None:
    """Answer a request when ingestion is launched, or at once if ingestion cannot be launched.

    A running continuous driver looks at the source soon anyway.
    """
    launched = any(launch.job.service is Service.INGESTION for launch in launches)
    goes_on = any(job.live is not None and job.state not in STOPPED for job in active)
    return open_request(table) if launched or goes_on or table.spec.ingestion is None else None


def after_request(table: HudiTable, services: ServicesStatus) -> ServicesStatus:
    """Reset the failures of the requested service, or of all services if the table has no ingestion.

    Without an ingestion the request is answered at once. Otherwise the failures of the table services are reset only
    when ingestion starts: a request may stay open for long, and a service that fails meanwhile must back off.
    """
    if open_request(table) is None:
        return services
    if table.spec.ingestion is None:
        return reset_all(services)
    return services.replaced({Service.INGESTION: reset_failures(services.ingestion)})


def reset_all(services: ServicesStatus) -> ServicesStatus:
    """Reset failures, and let services that found nothing to do run again: somebody asked for a run."""
    return services.replaced(
        {one: reset_failures(services.of(one)).copy_with(last_no_op_instant=None) for one in SERVICES}
    )


def remember(
    observation: Observation,
    finished: tuple[RunStatus, ...],
    *,
    circumstances: str | None,
    active: tuple[ActiveJob, ...] = (),
    now: datetime,
) -> ServicesStatus:
    """Return the memory of all services: from ended runs, the timeline, and `active` Jobs.

    A continuous driver that has polled its source clears the failures of earlier runs.
    """
    table = observation.table
    table_class = observation.table_class.spec if observation.table_class else None
    services = table.status.services
    after = services.replaced(
        {
            service: remember_runs(
                services.of(service),
                tuple(run for run in finished if run.service is service),
                table=table,
                table_class=table_class,
                circumstances=circumstances,
            )
            for service in SERVICES
        }
    )
    ingestion = _learn_progress(after.ingestion, observation, finished)
    fresh = freshness_while_running(ingestion.freshness, observation, active, now=now)
    ingestion = ingestion.copy_with(freshness=fresh, look=look_after(ingestion.look, observation, finished, active))
    if any(is_healthy(job) for job in active):
        ingestion = reset_failures(ingestion).copy_with(next_attempt_at=None)
    return after.replaced({Service.INGESTION: ingestion})


def remember_runs(
    memory: ServiceStatus,
    runs: Iterable[RunStatus],
    *,
    table: HudiTable,
    table_class: HudiTableClassSpec | None,
    circumstances: str | None = None,
) -> ServiceStatus:
    """Return a service's memory after these runs of it have ended."""
    generation = table.metadata.generation
    if attempts(memory) and have_changed(memory, generation=generation, circumstances=circumstances):
        # Only another spec changes the memory that a run needs.
        grown = memory.driver_memory if memory.failures_generation == generation else None
        memory = reset_failures(memory).copy_with(driver_memory=grown)
    for run in runs:
        memory = _after(with_costs(memory, run), run, table=table, table_class=table_class, circumstances=circumstances)
    return memory


def _after(
    memory: ServiceStatus,
    run: RunStatus,
    *,
    table: HudiTable,
    table_class: HudiTableClassSpec | None,
    circumstances: str | None,
) -> ServiceStatus:
    kind, job = failure_kind(run), _job_of(run, table)
    if job is not None and job.run_mode is RunMode.ROLL_BACK:
        memory = memory.copy_with(rollback_of=job.instant)
        if kind is None and attempts(memory) and _is_enabled(run, table):
            return memory  # says nothing about the plan that failed, whose service still backs off
    memory = memory.copy_with(last_run=run, due_since=None, last_no_op_instant=_settled(run, job))
    if kind is None:
        return reset_failures(memory).copy_with(next_attempt_at=None)
    memory = memory.copy_with(more_input=False)
    if run.batches:
        memory = reset_failures(memory)  # it came further than the runs before it
    if job is not None and _is_outdated(job, table, circumstances):
        return reset_failures(memory)  # says nothing about the current spec and class, which are tried at once
    if kind is FailureKind.JOB:
        grown = _next_memory(memory, run, table=table, table_class=table_class)
        memory = memory.copy_with(driver_memory=grown)
    return counted(memory, kind, generation=table.metadata.generation, circumstances=circumstances)


def _is_enabled(run: RunStatus, table: HudiTable) -> bool:
    return run.service is not None and mode_of(table.spec, run.service) is not ServiceMode.DISABLED


def _is_outdated(job: ActiveJob, table: HudiTable, circumstances: str | None) -> bool:
    return job.generation not in {None, table.metadata.generation} or differ(job.circumstances, circumstances)


def _job_of(run: RunStatus, table: HudiTable) -> ActiveJob | None:
    return next((job for job in table.status.active_jobs if job.name == run.job), None)


def _settled(run: RunStatus, job: ActiveJob | None) -> str | None:
    """Return the instant until whose successor the service need not be retried.

    Archival leaves no instant, and its removals may be seen late: its success counts like finding nothing.
    """
    if job is None or run.reason == FailureReason.DRIVER_ENDED:
        return None  # the run did not check for work
    if run.outcome is Outcome.NOTHING_TO_DO or (run.outcome is Outcome.SUCCEEDED and leaves_no_instant(run.service)):
        return job.base_instant
    return None


def _next_memory(
    memory: ServiceStatus, run: RunStatus, *, table: HudiTable, table_class: HudiTableClassSpec | None
) -> str | None:
    if run.reason != FailureReason.OUT_OF_MEMORY or table_class is None:
        return memory.driver_memory
    current = resolve_sizing(table.spec, table_class, driver_memory=memory.driver_memory).driver.memory
    return grown_memory(current, table_class.limits.driver_memory) or memory.driver_memory


def _learn_progress(memory: ServiceStatus, observation: Observation, finished: tuple[RunStatus, ...]) -> ServiceStatus:
    """Take over the source's checkpoint and freshness, and whether the last run left input behind."""
    learned = memory.copy_with(freshness=freshness_after(memory.freshness, observation, finished))
    if observation.snapshot.trouble is None and not observation.snapshot.damaged:
        learned = learned.copy_with(checkpoint=observation.snapshot.checkpoint)
    for run in finished:
        if run.service is Service.INGESTION and failure_kind(run) is None:
            job = next((job for job in observation.jobs if job.name == run.job), None)
            result = job.result if job is not None else None
            # If a driver committed and died before its report, the earlier knowledge stands.
            more_input = bool(result.more_input) if result is not None else memory.more_input
            learned = learned.copy_with(more_input=more_input)
            if result is not None and result.files_skipped is not None:
                learned = learned.copy_with(files_skipped=result.files_skipped, skipped=cut_names(result.skipped))
    return _learn_losses(learned, observation.table, finished)


def _learn_losses(memory: ServiceStatus, table: HudiTable, finished: Iterable[RunStatus]) -> ServiceStatus:
    """Add up the stream messages that runs found lost, as long as the source skips losses.

    The commits of a continuous run include them, even if it failed in the end.
    """
    code = skipped_code(table.spec)
    if code is FindingCode.FILES_SKIPPED:
        return memory.copy_with(records_skipped=0)
    if code is not FindingCode.RECORDS_SKIPPED or memory.files_skipped:
        memory = memory.copy_with(files_skipped=0, records_skipped=0, skipped=())
    for run in finished if code is FindingCode.RECORDS_SKIPPED else ():
        if run.service is Service.INGESTION and has_passed_over(run):
            known = memory.records_skipped + (run.records_skipped or 0)
            memory = memory.copy_with(records_skipped=known, skipped=run.skipped or ())
    return memory
