"""The pending instants of a table: which service handles each, and which of them a run may finish or roll back now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.left import LeftInstant, PendingStatus
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.writers.pending import overdue, pending_statuses
from hudi_operator.planning.facts.writers.unfinished import watch_of
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.times import parse_time
from hudi_operator.timeline import pending_instants


@dataclass(frozen=True, kw_only=True)
class Instants:
    """The pending instants of a table.

    `busy` are those on which a running Job of this table may be working, `left_behind` those that ended runs left.
    `overdue` have been pending for longer than the class allows. `changes_at` is when another instant becomes overdue,
    or may be handled.
    """

    pending: Mapping[Service, tuple[PendingStatus, ...]] = field(default_factory=dict)
    busy: frozenset[str] = frozenset()
    left_behind: tuple[LeftInstant, ...] = ()
    overdue: tuple[PendingStatus, ...] = ()
    changes_at: datetime | None = None

    @property
    def all(self) -> tuple[PendingStatus, ...]:
        """All pending instants that belong to a service, oldest first."""
        return tuple(sorted((one for some in self.pending.values() for one in some), key=lambda one: one.time))

    def of(self, service: Service) -> tuple[PendingStatus, ...]:
        """Return all pending instants of a service, oldest first."""
        return self.pending.get(service, ())

    def free(self, service: Service) -> tuple[PendingStatus, ...]:
        """Return the pending instants that a service may handle now, oldest first."""
        return tuple(one for one in self.of(service) if self._is_free(one))

    def left_alone(self, service: Service) -> tuple[PendingStatus, ...]:
        """Return the pending instants of a service that are left alone, oldest first."""
        return tuple(one for one in self.of(service) if one.left_alone_until is not None)

    def abandoned(self, active: Iterable[ActiveJob]) -> tuple[str, ...]:
        """Return the instants that nobody works on any more, oldest first: a run may finish or roll them back."""
        taken = {job.instant for job in active}
        return tuple(one.time for one in self.all if self._is_free(one) and one.time not in taken)

    def _is_free(self, pending: PendingStatus) -> bool:
        return pending.left_alone_until is None and pending.time not in self.busy


def instants_of(
    observation: Observation,
    table_class: HudiTableClassSpec,
    *,
    active: tuple[ActiveJob, ...],
    left_behind: tuple[LeftInstant, ...],
    now: datetime,
) -> Instants:
    """Return the pending instants of a table beside its active Jobs."""
    timeline, written = observation.snapshot.timeline, dict(observation.snapshot.written)
    if timeline is None:
        return Instants(left_behind=left_behind)
    known = observation.table.status.services
    watch = watch_of(observation, table_class, active=active, left_behind=left_behind)
    pending = pending_statuses(timeline, known, written, watch=watch, now=now)
    every = [one for some in pending.values() for one in some]
    late, following = overdue(every, alarm=watch.alarm, now=now)
    moments = [following, *(parse_time(one.left_alone_until) for one in every)]
    return Instants(
        pending=pending,
        busy=frozenset(one.instant.time for one in pending_instants(timeline) if watch.is_busy(one)),
        left_behind=left_behind,
        overdue=late,
        changes_at=min((moment for moment in moments if moment is not None and moment > now), default=None),
    )
