"""Which due services start now, and what the other services wait for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.spec.table_class import JobQuota
from hudi_operator.api.status.table import ActiveJob, ServicesStatus, ServiceStatus
from hudi_operator.planning.facts.blocking import ServiceBlocker
from hudi_operator.planning.facts.case import Case
from hudi_operator.planning.facts.runs.failures import reset_failures
from hudi_operator.planning.model import LaunchJob, Observation
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.needs.evaluation import surroundings
from hudi_operator.planning.needs.missed_freshness import misses_freshness
from hudi_operator.planning.order.alone import kept_apart
from hudi_operator.planning.order.explanation import explain
from hudi_operator.planning.order.inside import host_for
from hudi_operator.planning.order.launch import launch
from hudi_operator.services.registry import SERVICES

QUOTAS_REACHED = frozenset({Waiting.CLASS_QUOTA_REACHED.value, Waiting.NAMESPACE_QUOTA_REACHED.value})
"""Reasons of a due service that waits until a Job of another table ends."""

_FIRST = Priority.BEHIND - 2
_BEFORE_THE_WRITER = Priority.BEHIND - 1

PATIENCE = 10
"""How often a due service is passed over before it goes first, whatever else is pending, requested or late."""


def in_order(
    decisions: Mapping[Service, Decision], memory: ServicesStatus, *, apart: frozenset[Service] = frozenset()
) -> list[Service]:
    """Return the due services in the order in which they may start, the services kept `apart` before ingestion.

    Nothing starves: a service that was passed over for long goes first, and requests that are renewed all the time
    alternate with services that are far behind. The ingestion of a table that misses its freshness goes before
    services, except a pending clustering, which would fail its updates.
    """
    due = [service for service in SERVICES if decisions[service].due]
    is_behind = any(decisions[service].priority is Priority.BEHIND for service in due)

    def rank(service: Service) -> tuple[int, int, str, int]:
        found = _rank(decisions[service], service, memory.of(service).passed_over)
        if service is Service.INGESTION and found[0] == Priority.INGESTION and not apart.isdisjoint(due):
            return (Priority.CONTINUOUS, *found[1:])
        clears_the_way = service is Service.CLUSTERING and found[0] == Priority.PENDING
        return (_BEFORE_THE_WRITER, *found[1:]) if is_behind and clears_the_way else found

    return sorted(due, key=rank)


def _rank(decision: Decision, service: Service, passed_over: int) -> tuple[int, int, str, int]:
    instant, place = decision.instant or "", SERVICES.index(service)
    if passed_over >= PATIENCE:
        return _FIRST, -passed_over, instant, place
    if decision.priority is Priority.STARVING and passed_over:
        return Priority.REQUESTED, -passed_over, instant, place
    in_turn = -passed_over if decision.priority is Priority.REQUESTED else 0
    return decision.priority, in_turn, instant, place


def occupied(
    service: Service,
    active: Sequence[ActiveJob],
    mode: ConcurrencyMode,
    *,
    host: str | None = None,
    apart: frozenset[Service] = frozenset(),
) -> ServiceBlocker | None:
    """Return the Job beside which a service must not start.

    A Serialized table has one Job at a time; only its `host`, the driver that does the service, may run too. In an
    Optimistic table one table service may run beside ingestion, unless it is kept `apart`. Nothing runs beside a Job of
    a service that this version does not know.
    """
    for job in active:
        if host is not None and job.name == host:
            continue
        if Service.OPERATION in {job.service, service}:
            return Waiting.RUNNING, f"Job {job.name}: {job.state}. An operation has the table to itself."
        if job.service is None:
            return (
                Waiting.RUNNING,
                f"Job {job.name}: {job.state}. This version of the operator does not know its service.",
            )
        beside = (job.service is Service.INGESTION) != (service is Service.INGESTION)
        if mode is ConcurrencyMode.SERIALIZED or not beside or not apart.isdisjoint({job.service, service}):
            return Waiting.RUNNING, f"Job {job.name}: {job.state}."
    return None


@dataclass(frozen=True, kw_only=True)
class Started:
    """The launches of this reconcile, and all Jobs that are active after them."""

    launches: tuple[LaunchJob, ...] = ()
    active: tuple[ActiveJob, ...] = ()


def start(case: Case, decisions: Mapping[Service, Decision], blocker: ServiceBlocker | None) -> Started:
    """Return the launches that may start beside the active Jobs, the most urgent first.

    A service for which a continuous driver stopped starts before the next driver.
    """
    active, launches, given = case.active, list[LaunchJob](), given_turn(case.services, decisions)
    order = in_order(decisions, case.services, apart=kept_apart(case.table.spec, case.services))
    for service in order:
        if _blocked(case, service, blocker) is not None:
            continue
        if service is Service.INGESTION and given is not None and all(job.service is not given for job in active):
            continue
        decision = decisions[service]
        if _waits_for(case, service, decision, active) is None:
            launches.append(launch(case, service, decision, inside=host_for(case, service, decision, active)))
            active = (*active, launches[-1].job)
    return Started(launches=tuple(launches), active=active)


def given_turn(services: ServicesStatus, decisions: Mapping[Service, Decision]) -> Service | None:
    """Return the due service for which the last continuous driver stopped, if it has not run since."""
    last = services.ingestion.last_run
    given = last.ended_for if last is not None else None
    if last is None or given is None or given is Service.INGESTION or given not in decisions:
        return None
    followed, ended = services.of(given).last_run, parse_time(last.finished_at)
    started = parse_time(followed.started_at) if followed is not None else None
    has_followed = ended is None or (started is not None and started >= ended)
    return None if has_followed or not decisions[given].due else given


def explained(
    case: Case, decisions: Mapping[Service, Decision], started: Started, blocker: ServiceBlocker | None
) -> ServicesStatus:
    """Return the status of all services, with why each is due or not and what it waits for."""
    launched = {launch.job.service for launch in started.launches}
    after: dict[Service, ServiceStatus] = {}
    for service, decision in decisions.items():
        memory = case.services.of(service)
        if _is_due_no_more(case, service, decision):
            memory = reset_failures(memory)  # another writer has already done what failed
        passed_over = _passed_over(case, service, decision, launched)
        own = _blocked(case, service, blocker)
        waits = None if service in launched else _waits_for(case, service, decision, started.active, own)
        if waits is not None and blocker is None and passed_over and _ingestion_goes_first(case, service, started):
            waits = _behind_ingestion(waits, passed_over)
        beside = surroundings(case, service)
        memory = memory.copy_with(passed_over=passed_over)
        after[service] = explain(memory, decision, blocker=waits, now=case.now, surroundings=beside)
    return case.services.replaced(after)


def _blocked(case: Case, service: Service, blocker: ServiceBlocker | None) -> ServiceBlocker | None:
    """Return why a service may not start; the blockers of operations are decided elsewhere."""
    return None if service is Service.OPERATION else blocker or case.refused.get(service)


def _is_due_no_more(case: Case, service: Service, decision: Decision) -> bool:
    """Whether the failed work is no longer needed; while the service runs, its own plan may hide the need."""
    if decision.reason is Reason.NOT_REQUESTED:
        if service is Service.OPERATION:
            return case.operations.maintenance is None
        return not any(one.failures for one in case.savepoints.entries)
    return decision.reason is Reason.BELOW_THRESHOLD and not any(job.service is service for job in case.active)


def _ingestion_goes_first(case: Case, service: Service, started: Started) -> bool:
    """Whether a table service waits because the ingestion of a table that misses its freshness runs."""
    runs = any(job.service is Service.INGESTION for job in started.active)
    is_missed = misses_freshness(case.table.spec, case.services.ingestion, now=case.now)
    return service is not Service.INGESTION and runs and is_missed


def _behind_ingestion(waits: ServiceBlocker, passed_over: int) -> ServiceBlocker:
    reason, message = waits
    times = "once" if passed_over == 1 else f"{passed_over} times"
    why = (
        "Ingestion goes first, because the table misses its freshness: this service was skipped "
        f"{times} and goes first after {PATIENCE}."
    )
    return Waiting.INGESTION_FIRST if reason == Waiting.RUNNING else reason, f"{message} {why}"


def _passed_over(case: Case, service: Service, decision: Decision, launched: Collection[Service | None]) -> int:
    """Return how often other services started while this service was due and could have started."""
    before = case.services.of(service).passed_over
    if service in launched:
        return 0
    if not decision.due:
        return before if case.active else 0  # a running Job may hide the need
    could_start = _waits_for(case, service, decision, case.active) is None
    return before + 1 if launched and could_start else before


def _waits_for(
    case: Case,
    service: Service,
    decision: Decision,
    active: Sequence[ActiveJob],
    blocker: ServiceBlocker | None = None,
) -> ServiceBlocker | None:
    host, spec = host_for(case, service, decision, active), case.table.spec
    return (
        case.refused.get(service)
        or occupied(service, active, spec.concurrency.mode, host=host, apart=kept_apart(spec, case.services))
        or blocker
        or limit_reached(case.observation, active)
    )


def limit_reached(observation: Observation, active: Sequence[ActiveJob]) -> ServiceBlocker | None:
    """Return the limit of the class that another Job would exceed; `active` are this table's own Jobs."""
    table_class = observation.table_class
    limits = table_class.spec.job_quota if table_class else JobQuota()
    in_class = observation.running_in_class + len(active)
    in_namespace = observation.running_in_namespace + len(active)
    if limits.running_jobs is not None and in_class >= limits.running_jobs:
        return Waiting.CLASS_QUOTA_REACHED, f"The class runs {limits.running_jobs} jobs, which is its limit."
    if limits.running_jobs_per_namespace is not None and in_namespace >= limits.running_jobs_per_namespace:
        return (
            Waiting.NAMESPACE_QUOTA_REACHED,
            f"The namespace runs {in_namespace} jobs of the class, which is its limit.",
        )
    return None
