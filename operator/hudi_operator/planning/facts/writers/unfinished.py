"""Who owns a pending instant, and when the operator may clean it up.

Hudi itself takes over any pending work: it rolls a pending clustering back before executing it, and deletes a write's
files outside the lock, while a living driver needs only its inflight file to commit. So the operator handles only
instants that a run of this table began and no longer works on, and instants that no process can be working on any more.

Ownership never compares two clocks. An instant's age counts from the operator's first sight, by its own clock; a
heartbeat, which the store dates, counts for longer by the possible difference of the clocks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.left import LeftInstant
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.runs.continuous import progress_of
from hudi_operator.planning.facts.runs.windows import SKEW
from hudi_operator.planning.facts.writers.leftover import is_new_since
from hudi_operator.planning.facts.writers.ownership import is_ours
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.times import parse_time
from hudi_operator.services.registry import PLAN_KINDS, SERVICES, mode_of, service_of
from hudi_operator.timeline import PendingInstant, PendingKind, State

HEARTBEAT_TOLERANCE = timedelta(seconds=120)
"""How long Hudi considers a writer alive after its last heartbeat (`hoodie.client.heartbeat.interval_in_ms` and
misses).
"""
HEARTBEAT_MARGIN = timedelta(seconds=40)
"""The additional time that a heartbeat counts: a driver, which compares it with its lease, adds half a minute."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """The evidence on who owns pending instants.

    `planned` maps plans to the runs they name, `made` are the instants that the driver of an active run reports for its
    current batch, `heartbeats` maps instants to their last heartbeat in milliseconds since 1970. `left_behind` are the
    instants that ended runs of this table began.
    """

    is_serialized: bool
    alarm: timedelta
    active: tuple[ActiveJob, ...] = ()
    left_behind: Mapping[str, LeftInstant] = field(default_factory=dict)
    planned: Mapping[str, str]
    made: frozenset[str] = frozenset()
    heartbeats: Mapping[str, int]
    disabled: frozenset[Service] = frozenset()

    def is_busy(self, pending: PendingInstant) -> bool:
        """Whether a running Job of this table may be working on an instant.

        A service's instant left by an ended run, done for it by a continuous driver, is not that driver's current work.
        """
        time = pending.instant.time
        if time in self.made and pending.kind is PendingKind.WRITE:
            return True
        is_left = time in self.left_behind and pending.kind is not PendingKind.WRITE
        return any(
            job.name == self.planned.get(time)
            or (
                not (is_left and job.live is not None)
                and is_new_since(job, pending, is_serialized=self.is_serialized, newest=_newest_commit(job))
            )
            for job in self.active
        )

    def is_ours(self, pending: PendingInstant) -> bool:
        """Whether a run of this table began an instant."""
        time = pending.instant.time
        return time in self.left_behind or time in self.planned or self.is_busy(pending)

    def left_alone_until(self, pending: PendingInstant, seen_at: datetime, *, now: datetime) -> datetime | None:
        """Return until when to leave an instant alone; None if no one else can be working on it.

        By contract only this table's runs write to a Serialized table, so a plan that no one has begun there is taken
        over. A begun instant of unknown origin is left alone even there: its writer may live.
        """
        if self.is_ours(pending):
            return self._may_live_until(pending, now=now)
        if self.is_serialized and _is_unclaimed_plan(pending) and service_of(pending) not in self.disabled:
            return None
        overdue = seen_at + self.alarm
        if now < overdue:
            return overdue
        sign = self.heartbeats.get(pending.instant.time)
        dead = None if sign is None else datetime.fromtimestamp(sign / 1000, UTC) + HEARTBEAT_TOLERANCE + SKEW
        return dead if dead is not None and now < dead else None

    def _may_live_until(self, pending: PendingInstant, *, now: datetime) -> datetime | None:
        """Return until when the writer of a left instant may live; None if it is dead.

        If its process was not seen to end, the heartbeat decides, as in the driver. Without a heartbeat there is
        nothing to wait for: a living process holds its run's lease.
        """
        left = self.left_behind.get(pending.instant.time)
        if left is None or left.dead or pending.kind is not PendingKind.WRITE:
            return None
        ended = parse_time(left.ended_at)
        if ended is None or pending.instant.time not in self.heartbeats:
            return None
        dead = ended + HEARTBEAT_TOLERANCE + HEARTBEAT_MARGIN
        return dead if now < dead else None


def watch_of(
    observation: Observation,
    table_class: HudiTableClassSpec,
    *,
    active: tuple[ActiveJob, ...],
    left_behind: Iterable[LeftInstant],
) -> Watch:
    """Return the evidence on who began which instant."""
    spec, snapshot = observation.table.spec, observation.snapshot
    return Watch(
        is_serialized=spec.concurrency.mode is ConcurrencyMode.SERIALIZED,
        alarm=parse_duration(table_class.pending_instant_alarm),
        active=active,
        left_behind={one.time: one for one in left_behind},
        planned={one.instant.time: one.run for one in snapshot.planned if is_ours(one, observation)},
        made=frozenset(
            time for job in active if (told := progress_of(job, snapshot)) is not None for time in told.made
        ),
        heartbeats=dict(snapshot.heartbeats),
        disabled=frozenset(service for service in SERVICES if mode_of(spec, service) is ServiceMode.DISABLED),
    )


def _newest_commit(job: ActiveJob) -> str | None:
    return job.live.instant if job.live is not None else None


def _is_unclaimed_plan(pending: PendingInstant) -> bool:
    return pending.kind in PLAN_KINDS and pending.instant.state is State.REQUESTED
