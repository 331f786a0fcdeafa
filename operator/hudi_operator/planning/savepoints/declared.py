"""The HudiSavepoints that name a table, each with what is remembered of it and the run that is for it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from hudi_jobs.contract import FailureReason, Outcome, SavepointWork
from hudi_operator.api.resources import SAVEPOINT_FINALIZER, SAVEPOINTS, HudiSavepoint, InvalidObject
from hudi_operator.api.spec.savepoint import SavepointDeletionPolicy
from hudi_operator.api.status.table import ActiveJob, RunStatus
from hudi_operator.api.status.table_savepoints import SavepointState, TableSavepoint
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.runs.failures import failure_kind
from hudi_operator.planning.savepoints.rules import is_instant

MOST_DECLARED = 50
"""HudiSavepoints of one table that are looked at, and remembered, at a time."""

PATIENCE = timedelta(minutes=10)
"""How long a resource that goes waits where nothing can start, runs fail, or its table says nothing of it."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One HudiSavepoint, what the table remembers of it, the Job that is at work on it, and its run that just ended."""

    savepoint: HudiSavepoint
    memory: TableSavepoint | None = None
    job: ActiveJob | None = None
    ended: RunStatus | None = None
    ended_work: SavepointWork | None = None

    @property
    def uid(self) -> str:
        """The uid of the resource."""
        return self.savepoint.metadata.uid

    @property
    def target(self) -> str | None:
        """The commit that is kept, as far as it is decided; what both statuses have lost is decided again."""
        remembered = self.memory.instant if self.memory is not None else None
        target = self.savepoint.spec.instant or remembered or self.savepoint.status.instant
        return target if target is not None and is_instant(target) else None

    @property
    def since(self) -> str | None:
        """Since when the savepoint has been in the table as this resource's."""
        remembered = self.memory.since if self.memory is not None else None
        return remembered or self.savepoint.status.completed_at

    @property
    def is_gone(self) -> bool:
        """Whether the savepoint that it had is gone for good: one that is on its commit now is somebody else's."""
        told = {one.reason for one in self.savepoint.status.conditions}
        state = self.memory.state if self.memory is not None else None
        is_over = state is None and SavepointReason.EXPIRED in told
        is_lost = SavepointReason.LOST in told or state in {SavepointState.LOST, SavepointState.REMOVED}
        return self.since is not None and (is_over or is_lost)

    @property
    def failures(self) -> int:
        """How many runs in a row have failed to make or remove it."""
        before = self.memory.failures if self.memory is not None else 0
        if self.ended is None:
            return before
        if self.ended.outcome is Outcome.SUCCEEDED:
            return 0
        return before + (failure_kind(self.ended) is not None)

    @property
    def may_have_made(self) -> bool:
        """Whether a run for it may have made the savepoint although nothing says so; the driver sees whose one is.

        One has failed, or the commit of one that takes no savepoint over was decided.
        """
        is_decided = self.savepoint.spec.instant is None and self.target is not None
        return self.since is None and (self.failures > 0 or is_decided)

    @property
    def was_adopted(self) -> bool:
        """Whether it was there before the resource asked for it; so it counts where nothing says who made it."""
        if self.has_made or self.may_have_made:
            return False
        if self.since is None:
            return True
        return self.memory.adopted if self.memory is not None else self.savepoint.status.adopted

    @property
    def has_made(self) -> bool:
        """Whether a run that just ended has made it."""
        is_make = self.ended_work is SavepointWork.MAKE
        return is_make and self.ended is not None and self.ended.outcome is Outcome.SUCCEEDED

    @property
    def refusal(self) -> str | None:
        """The sentence of the driver that there can be no such savepoint."""
        if self.ended is not None and self.ended.reason == FailureReason.SAVEPOINT_REFUSED:
            return self.ended.message if self.ended_work is SavepointWork.MAKE else None
        known = self.memory
        is_refused = known is not None and known.reason == FailureReason.SAVEPOINT_REFUSED
        return known.message if known is not None and is_refused else None

    @property
    def is_given_up(self) -> bool:
        """Whether nothing could remove it, or a run has seen that it must not; that is not tried again."""
        refused = self.ended is not None and self.ended.reason == FailureReason.SAVEPOINT_REFUSED
        known = self.memory is not None and self.memory.state is SavepointState.RETAINED
        return known or (refused and self.ended_work is SavepointWork.REMOVE)

    @property
    def is_held(self) -> bool:
        """Whether the resource cannot go without the operator's knowledge; before, nothing is made for it."""
        return SAVEPOINT_FINALIZER in self.savepoint.metadata.finalizers

    @property
    def deleted_at(self) -> datetime | None:
        """When the deletion of the resource was asked for."""
        return parse_time(self.savepoint.metadata.deletion_timestamp)

    @property
    def is_deleted(self) -> bool:
        """Whether the resource goes."""
        return self.savepoint.metadata.deletion_timestamp is not None

    @property
    def removes(self) -> bool:
        """Whether the deletion of the resource removes the savepoint."""
        policy = self.savepoint.spec.deletion_policy
        return policy is SavepointDeletionPolicy.DELETE or (policy is None and not self.was_adopted)

    def has_expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        at = expires_at(self.savepoint)
        return at is not None and now >= at


def expires_at(savepoint: HudiSavepoint) -> datetime | None:
    """Return when a savepoint is removed from the table; None where it is kept for ever."""
    created, after = parse_time(savepoint.metadata.creation_timestamp), savepoint.spec.expires_after
    return created + parse_duration(after) if created is not None and after is not None else None


def declared_of(
    observation: Observation, *, active: Iterable[ActiveJob], finished: Iterable[RunStatus], now: datetime
) -> tuple[Declared, ...]:
    """Return the savepoints that are declared, in order: what goes, what is there, what is to be made, what is over.

    One that goes and is held no more is over, whoever else still holds it.
    """
    status = observation.table.status
    memory = {one.uid: one for one in status.savepoints if one.uid}
    jobs = {job.named_savepoint.uid: job for job in active if job.named_savepoint is not None}
    decided = {job.name: job.named_savepoint for job in status.active_jobs if job.named_savepoint is not None}
    ended = {decided[run.job].uid: run for run in finished if run.job in decided}
    works = {decided[run.job].uid: decided[run.job].work for run in finished if run.job in decided}
    found = [
        Declared(
            savepoint=one,
            memory=memory.get(one.metadata.uid),
            job=jobs.get(one.metadata.uid),
            ended=ended.get(one.metadata.uid),
            ended_work=works.get(one.metadata.uid),
        )
        for one in observation.related.get(SAVEPOINTS, ())
        if isinstance(one, HudiSavepoint)
    ]
    found = [one for one in found if one.is_held or not one.is_deleted]
    return tuple(sorted(found, key=partial(_rank, now=now))[:MOST_DECLARED])


def _rank(declared: Declared, *, now: datetime) -> tuple[bool, bool, bool, str, str]:
    memory, metadata = declared.memory, declared.savepoint.metadata
    is_over = declared.has_expired(now) and memory is not None and memory.state is SavepointState.REMOVED
    return not declared.is_deleted, is_over, declared.since is None, metadata.creation_timestamp or "", metadata.name


def unreadable_entries(observation: Observation) -> Iterator[TableSavepoint]:
    """Yield what is remembered of HudiSavepoints that this version cannot read: a later one needs it."""
    unread = {one.metadata.uid for one in observation.related.get(SAVEPOINTS, ()) if isinstance(one, InvalidObject)}
    return (one for one in observation.table.status.savepoints if one.uid in unread)
