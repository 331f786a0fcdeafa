"""Which due services start now, alone, beside an ingestion or inside its driver, and what the others wait for.

A batch wins a conflict with a clustering that rewrites the same files. A continuous driver may win every time, and the
clustering would never complete, so it runs alone.

A compaction drops deleted keys. If such a key comes back meanwhile, its row is only in a log file, and an index that
looks only into base files makes the next batch write the key again (`HoodieIndex.canIndexLogFiles`). Of the declared
index types only the bucket index needs no look-up: a record index falls back to another index in a table without one.

A service inside the driver is a run of its own all the same: its Job hands the service over to the driver, reports the
result, and fails if the driver dies. After a failed attempt the service runs in the driver's place, with its own memory
and time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hudi_jobs.contract import ConcurrencyMode, SavepointWork, Service
from hudi_jobs.contract.wording import counted, listed
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import JobQuota
from hudi_operator.api.spec.table_writing import IndexType
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.planning.facts.blocking import ServiceBlocker
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.runs.continuous import STOPPED
from hudi_operator.planning.facts.runs.failures import attempts
from hudi_operator.planning.model import JobPhase, LaunchJob, Observation, PlaceHolders
from hudi_operator.planning.model.decision import Decision, Priority
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.needs.needs import savepoint_step
from hudi_operator.planning.order.budget import PATIENCE, held_by_budget
from hudi_operator.planning.order.launch import launch
from hudi_operator.services.registry import SERVICES, TABLE_SERVICES, services_inside

ATTEMPTS_BESIDE = 3
"""The number of conflicts in a row after which a service has the table to itself once.

The following attempts run beside ingestion again: if a foreign writer wins the conflicts, stopping our ingestion helps
nobody.
"""


def kept_apart(spec: HudiTableSpec, services: ServicesStatus) -> frozenset[Service]:
    """Return the table services that must not run beside an ingestion, neither now nor in their next run."""
    if spec.concurrency.mode is not ConcurrencyMode.OPTIMISTIC or spec.ingestion is None:
        return frozenset()
    cycle = ATTEMPTS_BESIDE + 1
    beaten = {one.service for one in TABLE_SERVICES if services.of(one.service).conflicts % cycle == ATTEMPTS_BESIDE}
    return frozenset(beaten | ({Service.COMPACTION} if spec.index.type is not IndexType.BUCKET else set()))


_AFTER_SAVEPOINTS = frozenset({Service.CLEANING, Service.ARCHIVAL})
"""Services that could remove the files or the commit of a waiting HudiSavepoint: the driver stops for the savepoint
first.
"""


def host_for(facts: Facts, service: Service, decision: Decision, active: Iterable[ActiveJob]) -> str | None:
    """Return the run of the driver that can do a service, or None if the service needs the table to itself."""
    if service not in services_inside(facts.table.spec) or attempts(facts.services.of(service)):
        return None
    if savepoint_step(facts, service, decision) is not None:
        return None
    following = facts.savepoints.following
    if service in _AFTER_SAVEPOINTS and following is not None and following.work is SavepointWork.MAKE:
        return None
    return next((job.name for job in active if _takes(job, facts)), None)


def services_apart(facts: Facts, decisions: Mapping[Service, Decision], *, quota_reached: bool) -> tuple[Service, ...]:
    """Return the due table services that cannot run beside a driver: the driver stops for them between two batches.

    At the limit on Jobs, a service that the driver could do cannot start before the driver stops.
    """
    due = [service for service, decision in decisions.items() if decision.due and service is not Service.INGESTION]
    if facts.table.spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC:
        others = any(job.service is not Service.INGESTION for job in facts.active)
        apart = kept_apart(facts.table.spec, facts.services) if not others else frozenset()
        return tuple(service for service in due if service in apart)
    if quota_reached and not any(job.inside for job in facts.active):
        return tuple(due)
    return tuple(service for service in due if host_for(facts, service, decisions[service], facts.active) is None)


def _takes(job: ActiveJob, facts: Facts) -> bool:
    if job.live is None or not job.live.takes or job.state in STOPPED:
        return False
    found = next((one for one in facts.observation.jobs if one.name == job.name and one.uid == job.uid), None)
    return found is not None and found.phase is JobPhase.RUNNING


QUOTAS_REACHED = frozenset({Waiting.CLASS_QUOTA_REACHED.value, Waiting.NAMESPACE_QUOTA_REACHED.value})
"""Reasons of a due service that waits until a Job of another table ends."""

_FIRST = Priority.BEHIND - 2
_BEFORE_THE_WRITER = Priority.BEHIND - 1

_HOLDERS_SHOWN = 3


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


def start(facts: Facts, decisions: Mapping[Service, Decision]) -> Started:
    """Return the launches that may start beside the active Jobs, the most urgent first.

    A service for which a continuous driver stopped starts before the next driver.
    """
    active, launches, given = facts.active, list[LaunchJob](), given_turn(facts.services, decisions)
    order = in_order(decisions, facts.services, apart=kept_apart(facts.table.spec, facts.services))
    for service in order:
        if blocked(facts, service) is not None:
            continue
        if service is Service.INGESTION and given is not None and all(job.service is not given for job in active):
            continue
        decision = decisions[service]
        if waits_for(facts, service, decision, active) is None:
            launches.append(launch(facts, service, decision, inside=host_for(facts, service, decision, active)))
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


def blocked(facts: Facts, service: Service) -> ServiceBlocker | None:
    """Return why a service may not start; the blockers of operations are decided elsewhere."""
    return None if service is Service.OPERATION else facts.blocker or facts.refused.get(service)


def waits_for(
    facts: Facts,
    service: Service,
    decision: Decision,
    active: Sequence[ActiveJob],
    blocker: ServiceBlocker | None = None,
) -> ServiceBlocker | None:
    """Return what a service waits for beside the active Jobs; `blocker` says why nothing starts."""
    held = held_by_budget(facts, service, decision) if blocker is None else None
    return facts.refused.get(service) or held or waits_for_place(facts, service, decision, active, blocker)


def waits_for_place(
    facts: Facts,
    service: Service,
    decision: Decision,
    active: Sequence[ActiveJob],
    blocker: ServiceBlocker | None = None,
) -> ServiceBlocker | None:
    """Return what a service waits for, whatever its budget."""
    host, spec = host_for(facts, service, decision, active), facts.table.spec
    return (
        facts.refused.get(service)
        or occupied(service, active, spec.concurrency.mode, host=host, apart=kept_apart(spec, facts.services))
        or blocker
        or limit_reached(facts.observation, active)
    )


def limit_reached(observation: Observation, active: Sequence[ActiveJob]) -> ServiceBlocker | None:
    """Return the limit of the class that another Job would exceed; `active` are this table's own Jobs."""
    table_class = observation.table_class
    limits = table_class.spec.job_quota if table_class else JobQuota()
    in_class = observation.running_in_class + len(active)
    in_namespace = observation.running_in_namespace + len(active)
    if limits.running_jobs is not None and in_class >= limits.running_jobs:
        message = f"The class runs {counted(limits.running_jobs, 'job')}, which is its limit."
        return Waiting.CLASS_QUOTA_REACHED, message + _used_by(observation.holders, active, field="runningJobs")
    if limits.running_jobs_per_namespace is not None and in_namespace >= limits.running_jobs_per_namespace:
        message = f"The namespace runs {counted(in_namespace, 'job')} of the class, which is its limit."
        here = replace(observation.holders, elsewhere=False)
        return Waiting.NAMESPACE_QUOTA_REACHED, message + _used_by(here, active, field="runningJobsPerNamespace")
    return None


def _used_by(holders: PlaceHolders, active: Sequence[ActiveJob], *, field: str) -> str:
    """Return the sentence on who uses the places of a limit; it names no table of another namespace."""
    users = [
        *(["this table"] if active else []),
        *([f"{listed(holders.tables, _HOLDERS_SHOWN)} in this namespace"] if holders.tables else []),
        *(["tables of other namespaces"] if holders.elsewhere else []),
    ]
    return f" jobQuota.{field} is used by {' and by '.join(users)}." if users else ""
