"""Requests to read files once more, and the findings about skipped input.

A request starts a run at once. Every run receives the request until a run has served it; the commit of that run says
so, so that a run after a crash knows.
"""

from collections.abc import Iterable

from hudi_jobs.contract import Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.rescan import RescanState, RescanStatus
from hudi_operator.api.status.table import ActiveJob, RunStatus, ServiceStatus
from hudi_operator.planning.facts.runs.failures import failure_kind
from hudi_operator.planning.model import LaunchJob, Observation

_VALUE_SHOWN = 256


def unasked(table: HudiTable) -> str | None:
    """Return the request that no run has started for yet."""
    last = table.status.rescan
    return None if last is not None and last.value == table.open_rescan else table.open_rescan


def rescan_after(
    observation: Observation, finished: Iterable[RunStatus], launches: Iterable[LaunchJob]
) -> RescanStatus | None:
    """Return the status of the newest request after this reconcile."""
    table = observation.table
    value, last = table.first_rescan, table.status.rescan
    if value is None:
        return last
    problem = table.rescan_refusal(value)
    if problem is None and table.spec.ingestion is None:
        problem = "The spec has no ingestion, so there are no files to read."
    if problem is not None:
        return RescanStatus(value=value[:_VALUE_SHOWN], state=RescanState.IGNORED, message=problem)
    if value in _served(observation, finished):
        return RescanStatus(value=value, state=RescanState.SERVED)
    if any(launch.job.service is Service.INGESTION for launch in launches) and table.open_rescan is not None:
        return RescanStatus(value=value, state=RescanState.ASKED)
    return last


def skipped_input(
    table: HudiTable, memory: ServiceStatus, active: Iterable[ActiveJob] = ()
) -> tuple[FindingCode, str] | None:
    """Return the code and the sentence of input that ingestion skipped, or None.

    A continuous run reports skipped input while it runs.
    """
    running = [job.live for job in active if job.live is not None and job.live.skipped]
    known = memory.records_skipped + sum(live.records_skipped or 0 for live in running)
    last = running[-1].skipped or () if running else memory.skipped
    if table.passes_over_losses and (known or last):
        return FindingCode.RECORDS_SKIPPED, (
            f"Messages of the source were gone before they could be read: {losses(known, last)}. Their rows are not in "
            "the table; ingestion continues, because onDataLoss is Skip. With onDataLoss Fail it stops at the next "
            "loss, and this finding goes away."
        )
    return (FindingCode.FILES_SKIPPED, _skipped_files(memory)) if table.reads_files and memory.files_skipped else None


def losses(known: int, last: Iterable[str]) -> str:
    """Return which messages are gone, as part of a sentence; for some losses the number is unknown."""
    return f"{known:,} offsets that are known, the last ones {', '.join(last)}"


def _skipped_files(memory: ServiceStatus) -> str:
    named = ", ".join(memory.skipped)
    return (
        f"{memory.files_skipped:,} files of the source match pathGlob but are not read: {named}. Each name is the "
        f"path that Hadoop makes of an object's key; the store has no object or another object at that path. Rename "
        f"these objects, or "
        "narrow pathGlob."
    )


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
