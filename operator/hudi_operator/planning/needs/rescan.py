"""Requests to read files once more, and the findings about skipped input.

A request starts a run at once. Every run receives the request until a run has served it; the commit of that run says
so, so that a run after a crash knows.
"""

from collections.abc import Iterable

from hudi_jobs.contract import Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_parts import RescanState, RescanStatus
from hudi_operator.planning.facts.runs.failures import failure_kind
from hudi_operator.planning.model import LaunchJob, Observation
from hudi_operator.sources.registry import declared_source, open_rescan, rescan_refusal

_VALUE_SHOWN = 256


def unasked(table: HudiTable) -> str | None:
    """Return the request that no run has started for yet."""
    last, value = table.status.rescan, open_rescan(table)
    return None if last is not None and last.value == value else value


def rescan_after(
    observation: Observation, finished: Iterable[RunStatus], launches: Iterable[LaunchJob]
) -> RescanStatus | None:
    """Return the status of the newest request after this reconcile."""
    table = observation.table
    value, last = table.first_rescan, table.status.rescan
    if value is None:
        return last
    problem = rescan_refusal(table.spec, value)
    if problem is None and table.spec.ingestion is None:
        problem = "The spec has no ingestion, so there are no files to read."
    if problem is not None:
        return RescanStatus(value=value[:_VALUE_SHOWN], state=RescanState.IGNORED, message=problem)
    if value in _served(observation, finished):
        return RescanStatus(value=value, state=RescanState.SERVED)
    if any(launch.job.service is Service.INGESTION for launch in launches) and open_rescan(table) is not None:
        return RescanStatus(value=value, state=RescanState.ASKED)
    return last


def skipped_input(
    table: HudiTable, memory: ServiceStatus, active: Iterable[ActiveJob] = ()
) -> tuple[FindingCode, str] | None:
    """Return the code and the sentence of input that ingestion skipped, or None.

    A continuous run reports skipped input while it runs.
    """
    source = declared_source(table.spec)
    skipped = source.skipped if source is not None else None
    if skipped is None:
        return None
    if skipped.code is FindingCode.FILES_SKIPPED:
        number, names = memory.files_skipped, memory.skipped
        return (skipped.code, skipped.message(number, names)) if number else None
    running = [job.live for job in active if job.live is not None and job.live.skipped]
    number = memory.records_skipped + sum(live.records_skipped or 0 for live in running)
    places = running[-1].skipped or () if running else memory.skipped
    return (skipped.code, skipped.message(number, places)) if number or places else None


def _served(observation: Observation, finished: Iterable[RunStatus]) -> set[str]:
    """Return the requests that drivers report as served; the commits of these runs are confirmed."""
    names = {run.job for run in finished if run.service is Service.INGESTION and failure_kind(run) is None}
    results = [job.result for job in observation.jobs if job.name in names]
    served = {result.rescan for result in results if result is not None and result.rescan is not None}
    progress = observation.snapshot.progress
    at_work = {job.name for job in observation.table.status.active_jobs if job.live is not None}
    if progress is not None and progress.run in at_work and progress.batches and progress.rescan is not None:
        served.add(progress.rescan)
    return served
