"""The verdict on every service of a table: whether it is due, and what stands beside that in its status."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.base import parse_duration
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.table_class import HudiTableClassSpec
from hudi_operator.api.table_services import ServiceMode
from hudi_operator.api.table_status import ActiveJob, PendingStatus, RunStatus, ServicesStatus, ServiceStatus
from hudi_operator.planning import archival, cleaning, clustering, compaction, ingestion
from hudi_operator.planning.dueness import Dueness, Reason, Surroundings
from hudi_operator.planning.failures import after_failures
from hudi_operator.planning.memory import SERVICES
from hudi_operator.planning.model import Observation, TimelineLook
from hudi_operator.planning.pending import HEARTBEAT_TOLERANCE, pending_statuses
from hudi_operator.planning.times import parse_time
from hudi_operator.planning.view import FailedWrite, ServiceView
from hudi_operator.planning.windows import windows_of
from hudi_operator.timeline import Timeline

_JUDGES: Mapping[Service, Callable[[ServiceView], Dueness]] = {
    Service.COMPACTION: compaction.judge,
    Service.CLUSTERING: clustering.judge,
    Service.CLEANING: cleaning.judge,
    Service.ARCHIVAL: archival.judge,
}

_HELD_BACK: Mapping[Service, Callable[[ServiceView], str | None]] = {
    Service.CLEANING: cleaning.held_back,
    Service.ARCHIVAL: archival.held_back,
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """What all services of one table are judged by; `requested` is an unanswered wish for a run now."""

    observation: Observation
    table_class: HudiTableClassSpec
    services: ServicesStatus
    active: tuple[ActiveJob, ...]
    runs: tuple[RunStatus, ...]
    requested: str | None
    now: datetime
    circumstances: str | None = None
    pending: Mapping[Service, tuple[PendingStatus, ...]] = field(default_factory=dict)

    @property
    def table(self) -> HudiTable:
        """The table."""
        return self.observation.table


def make_case(
    observation: Observation,
    *,
    table_class: HudiTableClassSpec,
    services: ServicesStatus,
    active: tuple[ActiveJob, ...],
    runs: tuple[RunStatus, ...],
    requested: str | None,
    circumstances: str | None,
    now: datetime,
) -> Case:
    """Return what services are judged by, with the pending instants of each."""
    look = observation.look
    known = observation.table.status.services
    pending = pending_statuses(look.timeline, known, dict(look.written), now=now) if look.timeline else {}
    return Case(
        observation=observation,
        table_class=table_class,
        services=services,
        active=active,
        runs=runs,
        requested=requested,
        circumstances=circumstances,
        now=now,
        pending=pending,
    )


def judge(case: Case, service: Service) -> Dueness:
    """Return whether a service is due."""
    memory = case.services.of(service)
    if service is Service.INGESTION:
        return ingestion.judge(
            memory, table=case.table, table_class=case.table_class, requested=case.requested, now=case.now
        )
    found = _switched_off(case, service) or _unseen(case.observation.look) or _JUDGES[service](_view(case, service))
    if not found.due:
        return found
    settled = _settled(memory, found, case.observation.look)
    if settled is not None:
        return settled
    failed = after_failures(memory, case.table_class.retry, now=case.now)
    return found if failed is None or failed.due else _waiting(found, failed)


def surroundings(case: Case, service: Service) -> Surroundings:
    """Return what stands beside the verdict in the status of a service."""
    describe = _HELD_BACK.get(service)
    if case.observation.look.timeline is None or case.table.spec.mode_of(service) is ServiceMode.DISABLED:
        describe = None
    return Surroundings(
        pending=case.pending.get(service, ()),
        held_back=describe(_view(case, service)) if describe else None,
    )


def judge_all(case: Case) -> dict[Service, Dueness]:
    """Return the verdict on every service."""
    return {service: judge(case, service) for service in SERVICES}


def _switched_off(case: Case, service: Service) -> Dueness | None:
    mode = case.table.spec.mode_of(service)
    name = service.lower()
    if mode is ServiceMode.INLINE and not _is_stuck(case, service):
        message = f"spec.{name}.mode is Inline: it runs inside the writer, after the commit."
        return Dueness(due=False, reason=Reason.INLINE, message=message)
    if mode is ServiceMode.DISABLED:
        message = f"spec.{name}.mode is Disabled, or there is nothing of the kind in a table of this type."
        left = case.pending.get(service)
        if left:
            message += f" {left[0].action} {left[0].time} stays pending until another tool deals with it."
        return Dueness(due=False, reason=Reason.DISABLED, message=message)
    return None


def _is_stuck(case: Case, service: Service) -> bool:
    """Tell whether a plan stops the writer inside which the service runs, so that the writer never gets to it.

    Hudi executes a pending plan after the next commit, and with Reject a pending clustering fails a writer that updates
    its files. While a Job runs, the plan may be its own.
    """
    return service is Service.CLUSTERING and bool(case.pending.get(service)) and not case.active


def _unseen(look: TimelineLook) -> Dueness | None:
    if look.trouble is not None:
        return Dueness(due=False, reason=look.trouble, message=look.message)
    if look.timeline is None:
        return Dueness(due=False, reason=Reason.NO_TABLE, message="There is no table yet.")
    return None


def _settled(memory: ServiceStatus, found: Dueness, look: TimelineLook) -> Dueness | None:
    """Hold back a run that would find again what the last one found: nothing."""
    if memory.settled_at is None or memory.settled_at != newest_completed(look):
        return None
    last = memory.last_run.message if memory.last_run else ""
    return Dueness(
        due=False,
        reason=Reason.NOTHING_TO_DO,
        message=f"{found.message} The last run left nothing to do, and no instant has completed since "
        f"{memory.settled_at}. {last}".strip(),
        counted=found.counted,
        threshold=found.threshold,
    )


def newest_completed(look: TimelineLook) -> str | None:
    """Return the instant that completed last."""
    if look.timeline is None or not look.timeline.completed:
        return None
    return max(look.timeline.completed, key=lambda one: (one.completed_at or one.time, one.time)).time


def _waiting(found: Dueness, failed: Dueness) -> Dueness:
    return Dueness(
        due=False,
        reason=failed.reason,
        message=f"{found.message} {failed.message}",
        at=failed.at,
        counted=found.counted,
        threshold=found.threshold,
    )


def _view(case: Case, service: Service) -> ServiceView:
    timeline = case.observation.look.timeline
    if timeline is None:
        raise ValueError("a service is judged by a timeline")
    return ServiceView(
        spec=case.table.spec,
        memory=case.services.of(service),
        timeline=timeline,
        now=case.now,
        pending=case.pending.get(service, ()),
        failed_writes=tuple(_failed_writes(case, timeline)),
        metadata=case.observation.look.metadata,
    )


def _failed_writes(case: Case, timeline: Timeline) -> Iterator[FailedWrite]:
    """Yield the writes that dead writers have left.

    In a Serialized table every write is one while no Job is there. In an Optimistic one that is known only of those
    that an ended run of ours began. Others are taken for dead when they are overdue: Hudi rolls them back only if their
    heartbeat has expired, and left alone they would hold cleaning and archival back for ever.
    """
    writes = [instant.time for instant in timeline.counters.inflight_writes or ()]
    is_serialized = case.table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED
    blocking = case.active if is_serialized else [one for one in case.active if one.service is Service.INGESTION]
    if blocking:
        return
    if is_serialized:
        yield from (
            FailedWrite(time=time, from_=case.now, why="was left behind by a run that has ended") for time in writes
        )
        return
    alarm = parse_duration(case.table_class.pending_instant_alarm)
    since = {one.time: parse_time(one.since) or case.now for one in case.pending.get(Service.INGESTION, ())}
    for time in writes:
        ended = _end_of_writer(case, time)
        if ended is not None:
            yield FailedWrite(
                time=time, from_=ended + HEARTBEAT_TOLERANCE, why="was left behind by a run that has ended"
            )
        elif time in since:
            yield FailedWrite(time=time, from_=since[time] + alarm, why="of another writer is overdue")


def _end_of_writer(case: Case, time: str) -> datetime | None:
    """Return when the run of ours ended that began a write, if one did."""
    for run in case.runs:
        if run.service is Service.INGESTION and any(window.holds(time) for window in windows_of([run], ())):
            return parse_time(run.finished_at)
    return None
