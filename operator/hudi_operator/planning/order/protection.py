"""The savepoint of a takeover: the first table service makes it, a cleaning removes it after a first cycle of all."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from hudi_jobs.contract import Outcome, SavepointStep, Service
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.status.table import RunStatus, ServiceStatus
from hudi_operator.api.status.takeover import Protection, TakeoverPhase, TakeoverStatus
from hudi_operator.planning.facts.case import Case
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.needs.evaluation import after_backoff
from hudi_operator.services.registry import TABLE_SERVICES, mode_of

_SERVICES = tuple(one.service for one in TABLE_SERVICES)
_DONE = frozenset({Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO})


def savepoint_step(case: Case, service: Service, decision: Decision) -> SavepointStep | None:
    """Return what a run does with the savepoint: an ingestion makes it only if services run inside the writer.

    A run for a HudiSavepoint makes none: Hudi allows a commit one savepoint, and the resource needs it.
    """
    if decision.reason is Reason.TAKEOVER_COMPLETE:
        return SavepointStep.REMOVE
    is_wanted = case.takeover is not None and case.takeover.protection is Protection.WANTED
    if not is_wanted or not case.table_class.takeover.savepoint or service is Service.SAVEPOINT:
        return None
    is_affected = service is not Service.INGESTION or _modes(case, ServiceMode.INLINE)
    return SavepointStep.KEEP if is_affected else None


def reported_by_runs(
    takeover: TakeoverStatus | None, observation: Observation, finished: Iterable[RunStatus], *, now: datetime
) -> TakeoverStatus | None:
    """Return the memory of the takeover after runs reported the savepoint; a lost status learns of it again."""
    results = {job.name: job.result for job in observation.jobs}
    for run in finished:
        result = results.get(run.job)
        reported = result.savepoint if result is not None else None
        if reported is None or (takeover is None and not reported):
            continue
        if takeover is None:
            takeover = TakeoverStatus(phase=TakeoverPhase.DONE, since=format_time(now))
        if takeover.phase is TakeoverPhase.DONE and (reported or takeover.protection is not None):
            protection = Protection.KEPT if reported else Protection.OVER
            takeover = takeover.copy_with(protection=protection, savepoint=reported[:32] or None)
    return takeover


def with_removal(case: Case, decisions: Mapping[Service, Decision]) -> dict[Service, Decision]:
    """Return the decisions with a cleaning that only removes the savepoint once the first cycle is over."""
    takeover = case.takeover
    if takeover is None or takeover.protection is not Protection.KEPT or not _is_cycle_over(case, takeover, decisions):
        return dict(decisions)
    own = decisions[Service.CLEANING]
    if own.due and own.reason is not Reason.THRESHOLD_REACHED:
        return dict(decisions)
    found = Decision(
        due=True,
        priority=own.priority if own.due else Priority.SERVICE,
        reason=Reason.TAKEOVER_COMPLETE,
        message=f"The first table services since the takeover have succeeded: the savepoint {takeover.savepoint or ''} "
        "from before them is removed.",
    )
    return {**decisions, Service.CLEANING: after_backoff(case, Service.CLEANING, found)}


def _is_cycle_over(case: Case, takeover: TakeoverStatus, decisions: Mapping[Service, Decision]) -> bool:
    """Tell whether every service has once succeeded or is not due; the service that deletes files must have succeeded.

    If cleaning runs inside the writer, an ingestion must have succeeded; if cleaning is off, any service.
    """
    if not case.table_class.takeover.savepoint:
        return True
    since = parse_time(takeover.since)
    ran = {service for service in Service if _has_succeeded(case.services.of(service), since)}
    for service in _modes(case, ServiceMode.ASYNC):
        # A failed run is not due until its backoff is over, and its work may never be possible.
        if _has_failed(case.services.of(service), since) or (decisions[service].due and service not in ran):
            return False
    cleaning = mode_of(case.table.spec, Service.CLEANING)
    if cleaning is ServiceMode.DISABLED:
        return bool(ran.intersection(_SERVICES))
    return (Service.CLEANING if cleaning is ServiceMode.ASYNC else Service.INGESTION) in ran


def _has_succeeded(memory: ServiceStatus, since: datetime | None) -> bool:
    last = memory.last_run
    return last is not None and last.outcome in _DONE and _has_ended(last, since)


def _has_failed(memory: ServiceStatus, since: datetime | None) -> bool:
    last = memory.last_run
    return last is not None and last.outcome is Outcome.FAILED and _has_ended(last, since)


def _has_ended(run: RunStatus, since: datetime | None) -> bool:
    ended = parse_time(run.finished_at)
    return ended is not None and (since is None or ended >= since)


def _modes(case: Case, mode: ServiceMode) -> tuple[Service, ...]:
    return tuple(service for service in _SERVICES if mode_of(case.table.spec, service) is mode)
