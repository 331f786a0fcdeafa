"""The input of the decisions on all services of a table, with the owner of each pending instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.left import LeftInstant, PendingStatus
from hudi_operator.api.status.table import ActiveJob, ServicesStatus
from hudi_operator.api.status.takeover import TakeoverStatus
from hudi_operator.planning.facts.operations.assess import Operations
from hudi_operator.planning.facts.savepoints.assess import Savepoints
from hudi_operator.planning.facts.writers.pending import pending_statuses
from hudi_operator.planning.facts.writers.unfinished import watch_of
from hudi_operator.planning.model import Observation
from hudi_operator.timeline import State, pending_instants


@dataclass(frozen=True, kw_only=True)
class Case:
    """The input of the decisions on all services of a table; `requested` is an unanswered request for a run now.

    `busy` are pending instants on which a running Job of this table may be working. `left_behind` are the pending
    instants that ended runs left.
    """

    observation: Observation
    table_class: HudiTableClassSpec
    services: ServicesStatus
    active: tuple[ActiveJob, ...]
    requested: str | None
    now: datetime
    circumstances: str | None = None
    pending: Mapping[Service, tuple[PendingStatus, ...]] = field(default_factory=dict)
    busy: frozenset[str] = frozenset()
    left_behind: tuple[LeftInstant, ...] = ()
    takeover: TakeoverStatus | None = None
    savepoints: Savepoints = field(default_factory=Savepoints)
    operations: Operations = field(default_factory=Operations)
    refused: Mapping[Service, tuple[str, str]] = field(default_factory=dict)
    """The services that the table's files keep from starting, each with a reason word and a sentence."""

    @property
    def table(self) -> HudiTable:
        """The table."""
        return self.observation.table

    @property
    def all_pending(self) -> tuple[PendingStatus, ...]:
        """All pending instants that belong to a service, oldest first."""
        return tuple(sorted((one for some in self.pending.values() for one in some), key=lambda one: one.time))

    @property
    def abandoned(self) -> tuple[str, ...]:
        """Pending instants that nobody works on any more, oldest first: a run may finish or roll them back."""
        taken = {job.instant for job in self.active}
        return tuple(one.time for one in self.all_pending if self.is_free(one) and one.time not in taken)

    def is_free(self, pending: PendingStatus) -> bool:
        """Whether a run may finish or roll back the instant now."""
        return pending.left_alone_until is None and pending.time not in self.busy

    def free(self, service: Service) -> tuple[PendingStatus, ...]:
        """Return the pending instants that a service may handle now, oldest first."""
        return tuple(one for one in self.pending.get(service, ()) if self.is_free(one))

    def others(self, service: Service) -> tuple[PendingStatus, ...]:
        """Return the pending instants of a service that are left alone, oldest first."""
        return tuple(one for one in self.pending.get(service, ()) if one.left_alone_until is not None)


def make_case(
    observation: Observation,
    *,
    table_class: HudiTableClassSpec,
    services: ServicesStatus,
    active: tuple[ActiveJob, ...],
    left_behind: tuple[LeftInstant, ...],
    requested: str | None,
    circumstances: str | None,
    now: datetime,
    takeover: TakeoverStatus | None = None,
    savepoints: Savepoints | None = None,
    operations: Operations | None = None,
) -> Case:
    """Return the input of the decisions, with the pending instants of each service."""
    snapshot = observation.snapshot
    known = observation.table.status.services
    watch = watch_of(observation, table_class, active=active, left_behind=left_behind)
    timeline, written = snapshot.timeline, dict(snapshot.written)
    pending = pending_statuses(timeline, known, written, watch=watch, now=now) if timeline else {}
    busy = (one.instant.time for one in (pending_instants(timeline) if timeline else ()) if watch.is_busy(one))
    return Case(
        observation=observation,
        table_class=table_class,
        services=services,
        active=active,
        requested=requested,
        circumstances=circumstances,
        now=now,
        pending=pending,
        busy=frozenset(busy),
        left_behind=left_behind,
        takeover=takeover,
        savepoints=savepoints or Savepoints(),
        operations=operations or Operations(),
    )


def stranger_at_work(case: Case) -> PendingStatus | None:
    """Return the pending instant of an unknown writer that keeps every Job of a serialized table from starting.

    A Hudi writer would roll the instant back before it begins, and would run any plan that it finds.
    """
    if case.table.spec.concurrency.mode is not ConcurrencyMode.SERIALIZED or case.active:
        return None
    writes = {one.time for one in case.pending.get(Service.INGESTION, ())}
    begun = (one for one in case.all_pending if one.state == State.INFLIGHT.value or one.time in writes)
    return next((one for one in begun if one.left_alone_until is not None), None)
