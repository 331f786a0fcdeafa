"""The HudiSavepoints of a table, each with its memory and its run."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from hudi_jobs.contract import FailureReason, Outcome, SavepointWork
from hudi_operator.api.resources import HudiSavepoint
from hudi_operator.api.spec.savepoint import SavepointDeletionPolicy
from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.status.conditions import ConditionStatus
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.savepoints import NamedSavepointJob, SavepointState, TableSavepoint
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.runs.failures import failure_kind, next_attempt_at
from hudi_operator.planning.facts.savepoints.rules import is_instant
from hudi_operator.planning.model import JobObservation, Observation
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time, parse_time, retry_delay

OVER = frozenset({SavepointState.LOST, SavepointState.REMOVED})
"""Final states. A refused savepoint is not among them: forgotten, it would be tried again."""
ENDS = frozenset({SavepointReason.EXPIRED, SavepointReason.LOST})
"""Reasons that record the end in the resource's own conditions."""

PATIENCE = timedelta(minutes=10)
"""How long a deleted resource waits if no run can start, runs fail, or its table does not report."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A HudiSavepoint with the table's memory of it, its active Job, and its run that just ended.

    `has_reported` says whether that run itself reported success. `in_a_row` counts failed runs for any savepoint of the
    table since the last success, or since a requested attempt.
    """

    savepoint: HudiSavepoint
    memory: TableSavepoint | None = None
    job: ActiveJob | None = None
    ended: RunStatus | None = None
    ended_for: NamedSavepointJob | None = None
    has_reported: bool = False
    in_a_row: int = 0

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.savepoint.metadata.name

    @property
    def takes_latest(self) -> bool:
        """Whether the operator chooses the commit."""
        return self.savepoint.spec.instant is None

    @property
    def uid(self) -> str:
        """The uid of the resource."""
        return self.savepoint.metadata.uid

    @property
    def target(self) -> str | None:
        """The commit to keep, if decided; if both statuses lost it, it is decided again."""
        remembered = self.memory.instant if self.memory is not None else None
        tried = self.ended_for.instant if self.ended_for is not None else None
        target = self.savepoint.spec.instant or remembered or tried or self.savepoint.status.instant
        return target if target is not None and is_instant(target) else None

    @property
    def since(self) -> str | None:
        """Since when this resource's savepoint has been in the table."""
        remembered = self.memory.since if self.memory is not None else None
        return remembered or self.savepoint.status.completed_at

    @property
    def is_gone(self) -> bool:
        """Whether this resource's savepoint is gone for good: a savepoint on its commit now belongs to someone else."""
        told = self.savepoint.status.reasons
        state = self.memory.state if self.memory is not None else None
        is_over = state is None and SavepointReason.EXPIRED in told
        is_lost = SavepointReason.LOST in told or state in {SavepointState.LOST, SavepointState.REMOVED}
        return self.since is not None and (is_over or is_lost)

    @property
    def says_that_it_is_over(self) -> bool:
        """Whether the resource's conditions record its end, and it does not wait for the table's release."""
        told = self.savepoint.status.reasons
        return not self.is_deleted and not told.isdisjoint(ENDS)

    @property
    def failures(self) -> int:
        """The consecutive failed runs to make or remove it; a refused commit counts for a savepoint of the latest."""
        before = self.memory.failures if self.memory is not None else 0
        if self.ended is None:
            return before
        if self.ended.outcome is Outcome.SUCCEEDED:
            return 0
        return before + (failure_kind(self.ended) is not None or self._passes_over)

    @property
    def _ended_work(self) -> SavepointWork | None:
        return self.ended_for.work if self.ended_for is not None else None

    @property
    def _passes_over(self) -> bool:
        """Whether the run that just ended was refused its commit, and another commit is to be chosen."""
        refused = self.ended is not None and self.ended.reason == FailureReason.SAVEPOINT_REFUSED
        return refused and self._ended_work is SavepointWork.MAKE and self.takes_latest

    def retry_at(self, retry: RetrySettings, *, now: datetime) -> str | None:
        """Return when its next run may begin after a failure; other resources are not delayed."""
        if self.ended is not None and self._passes_over:
            return format_time((parse_time(self.ended.finished_at) or now) + retry_delay(self.failures, retry))
        if self.ended is not None and failure_kind(self.ended) is not None:
            return format_time(next_attempt_at(self.ended, min(self.failures, self.in_a_row), retry, now=now))
        known = self.memory if self.failures else None
        is_forgiven = self.in_a_row == 0 and self.refusal is None
        return None if known is None or is_forgiven else known.retry_at

    @property
    def data_complete(self) -> ConditionStatus:
        """Whether all files of the commit exist, as last observed: a savepoint keeps them."""
        if self.has_made and self.has_reported:
            return ConditionStatus.TRUE  # the driver has checked every clean of the active timeline
        if self.memory is not None:
            return self.memory.data_complete
        return self.savepoint.status.data_complete

    @property
    def may_have_made(self) -> bool:
        """Whether an unconfirmed run may have made the savepoint; the driver can tell its owner.

        True after a failed run, or once a commit was decided for a resource that adopts no savepoint.
        """
        is_decided = self.takes_latest and self.target is not None
        return self.since is None and (self.failures > 0 or is_decided)

    @property
    def was_adopted(self) -> bool:
        """Whether the savepoint existed before the resource; assumed if its origin is unknown."""
        if self.has_made or self.may_have_made:
            return False
        if self.since is None:
            return True
        return self.memory.adopted if self.memory is not None else self.savepoint.status.adopted

    @property
    def has_made(self) -> bool:
        """Whether a run that just ended made it."""
        is_make = self._ended_work is SavepointWork.MAKE
        return is_make and self.ended is not None and self.ended.outcome is Outcome.SUCCEEDED

    @property
    def refusal(self) -> str | None:
        """The driver's sentence on why this savepoint is impossible."""
        if self.ended is not None and self.ended.reason == FailureReason.SAVEPOINT_REFUSED:
            return self.ended.message if self._ended_work is SavepointWork.MAKE else None
        known = self.memory
        is_refused = known is not None and known.reason == FailureReason.SAVEPOINT_REFUSED
        return known.message if known is not None and is_refused else None

    @property
    def is_given_up(self) -> bool:
        """Whether removal is impossible, or a run found that it is forbidden; not tried again."""
        refused = self.ended is not None and self.ended.reason == FailureReason.SAVEPOINT_REFUSED
        known = self.memory is not None and self.memory.state is SavepointState.RETAINED
        return known or (refused and self._ended_work is SavepointWork.REMOVE)

    @property
    def is_held(self) -> bool:
        """Whether the operator's finalizer holds the resource; no savepoint is made before that."""
        return self.savepoint.is_held

    @property
    def deleted_at(self) -> datetime | None:
        """When the resource was deleted, or None."""
        return parse_time(self.savepoint.metadata.deletion_timestamp)

    @property
    def is_deleted(self) -> bool:
        """Whether the resource is being deleted."""
        return self.savepoint.metadata.deletion_timestamp is not None

    @property
    def removes(self) -> bool:
        """Whether the deletion of the resource removes the savepoint."""
        policy = self.savepoint.spec.deletion_policy
        return policy is SavepointDeletionPolicy.DELETE or (policy is None and not self.was_adopted)

    def has_expired(self, now: datetime) -> bool:
        """Whether its expiry time has passed."""
        at = expires_at(self.savepoint)
        return at is not None and now >= at


def expires_at(savepoint: HudiSavepoint) -> datetime | None:
    """Return when a savepoint expires; None if it is kept for ever."""
    created, after = parse_time(savepoint.metadata.creation_timestamp), savepoint.spec.expires_after
    return created + parse_duration(after) if created is not None and after is not None else None


def declared_of(
    observation: Observation,
    *,
    active: Iterable[ActiveJob],
    finished: Iterable[RunStatus],
    in_a_row: int,
    now: datetime,
) -> tuple[Declared, ...]:
    """Return the declared savepoints in order: deleted, present, to be made, finished.

    A deleted resource without the operator's finalizer is finished, even if another finalizer holds it.
    """
    status = observation.table.status
    memory = {one.uid: one for one in status.savepoints if one.uid}
    jobs = {job.named_savepoint.uid: job for job in active if job.named_savepoint is not None}
    decided = {job.name: job.named_savepoint for job in status.active_jobs if job.named_savepoint is not None}
    ended = {decided[run.job].uid: (run, decided[run.job]) for run in finished if run.job in decided}
    reported = {one.name for one in observation.jobs if _reports_success(one)}
    found = [
        Declared(
            savepoint=one,
            memory=memory.get(one.metadata.uid),
            job=jobs.get(one.metadata.uid),
            ended=run,
            ended_for=named,
            has_reported=run is not None and run.job in reported,
            in_a_row=in_a_row,
        )
        for one in observation.related.savepoints
        for run, named in [ended.get(one.metadata.uid, (None, None))]
    ]
    found = [one for one in found if one.is_held or not one.is_deleted]
    return tuple(sorted(found, key=partial(_rank, now=now)))


def _reports_success(found: JobObservation) -> bool:
    return found.result is not None and found.result.outcome is Outcome.SUCCEEDED


def _rank(declared: Declared, *, now: datetime) -> tuple[bool, bool, bool, str, str]:
    memory, metadata = declared.memory, declared.savepoint.metadata
    is_over = declared.has_expired(now) and memory is not None and memory.state is SavepointState.REMOVED
    return not declared.is_deleted, is_over, declared.since is None, metadata.creation_timestamp or "", metadata.name


def may_choose_again(status: HudiTableStatus) -> bool:
    """Whether a decided commit has no savepoint yet: another commit is chosen only if it can have none."""
    return any(one.state is SavepointState.WAITING and one.instant and one.resource for one in status.savepoints)


def unreadable_entries(observation: Observation) -> Iterator[TableSavepoint]:
    """Yield the remembered entries of HudiSavepoints that this version cannot parse: a later version needs them."""
    unread = {one.metadata.uid for one in observation.related.unread_savepoints}
    return (one for one in observation.table.status.savepoints if one.uid in unread)
