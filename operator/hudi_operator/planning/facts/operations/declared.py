"""The operations of a table: the requests of resources, the memory of each in status, and what a person acknowledges.

The memory in status alone finishes an operation that has begun, whatever happens to its resource. After a loss of the
table's status, the resource's own status replaces it, so that a finished operation never begins again. An operation
that has begun by its own status alone is a claim, because people may write that status. A claim holds the table, needs
every permission of a new operation, and its Jobs only finish what is recorded beside the table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract import OperationKind
from hudi_jobs.contract.table.location import canonical_path
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.operation_status import FINISHED, OperationState
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.operations.kinds.operation_registry import KINDS, job_of, may_be_left
from hudi_operator.planning.facts.runs.tracking import operation_metadata
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.planning.model.times import format_time

_AT_WORK = frozenset({OperationState.RUNNING, OperationState.VERIFYING})


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An operation with the memory of it; `resource` is None if it is gone, or cannot be read.

    `is_recorded` says that the stored status of the table holds the operation: no run starts before that, so that a
    deletion of the resource cannot cross the decision. `job` is the Job that works for it.
    """

    resource: HudiOperation | None
    entry: TableOperation
    is_recorded: bool
    job: ActiveJob | None

    @property
    def is_finished(self) -> bool:
        """Whether the operation is over."""
        return self.entry.state in FINISHED

    @property
    def must_be_finished(self) -> bool:
        """Whether the table may be half changed, or a Job is at work that may do so."""
        return not self.is_finished and (self.entry.begun or self.job is not None)

    @property
    def may_start(self) -> bool:
        """Whether its resource is held and recorded, so that its deletion waits for a started Job."""
        if self.entry.begun and not self.entry.claimed:
            return True
        return self.resource is not None and self.resource.is_held and self.is_recorded

    @property
    def is_going(self) -> bool:
        """Whether the resource is being deleted, or gone."""
        return self.resource is None or self.resource.metadata.deletion_timestamp is not None


def declared_of(observation: Observation, active: tuple[ActiveJob, ...], *, now: datetime) -> tuple[Declared, ...]:
    """Return all operations of a table, the oldest first; begun operations without a resource come first."""
    memory = {one.uid: one for one in observation.table.status.operations}
    jobs = {job.operation.uid: job for job in active if job.operation is not None}
    related = observation.related
    resources = [one for one in related.oldest_operations if one.spec.decision is None]
    found = [
        Declared(
            resource=one,
            entry=memory.get(one.metadata.uid) or _entry_of(one, observation.table, now=now),
            is_recorded=one.metadata.uid in memory,
            job=jobs.get(one.metadata.uid),
        )
        for one in resources
    ]
    named = {one.metadata.uid for one in resources}
    unread = {metadata.uid for metadata in related.metadata_of_operations()} - named
    orphans = [
        Declared(resource=None, entry=entry, is_recorded=True, job=jobs.get(uid))
        for uid, entry in memory.items()
        if uid not in named and not (entry.is_bare_claim and uid not in unread)
    ]
    return (*(one for one in orphans if one.must_be_finished or one.entry.uid in unread), *found)


def _entry_of(resource: HudiOperation, table: HudiTable, *, now: datetime) -> TableOperation:
    """Return the memory of an operation that the table does not know, from the operation's own status.

    The operation continues after its table was declared again, but only in the same folder: it was requested, and
    perhaps approved or begun, for the table there.
    """
    told, spec = resource.status, resource.spec
    state, reason, message, finished_at = told.state, told.reason, told.message, told.finished_at
    if reason == OperationReason.CASCADING:
        state, reason = OperationState.SUCCEEDED, OperationReason.SUCCEEDED
    is_over, begun = state in FINISHED, may_have_begun(resource)
    if _is_of_another_folder(told.base_path, table) and not is_over:
        what = "had begun on" if begun else "was for"
        message = f"The operation {what} another table, at {told.base_path}. Nothing was changed here."
        state, reason, finished_at = OperationState.FAILED, OperationReason.TABLE_NOT_FOUND, format_time(now)
        is_over = True
    entry = TableOperation(
        resource=resource.metadata.name,
        uid=resource.metadata.uid,
        kind=spec.kind,
        dry_run=spec.dry_run,
        state=state if is_over else OperationState.PENDING,
        reason=(reason if is_over else None) or OperationReason.PENDING,
        message=(message or "") if is_over else "The operator has just seen the resource.",
        begun=begun,
        claimed=begun and not is_over,
        started_at=told.started_at if is_over else None,
        finished_at=finished_at,
        report=told.report,
    )
    instant = spec.instant or told.instant
    is_known = instant is not None or not KINDS[spec.kind].needs_instant
    return entry.copy_with(job=job_of(resource, table, instant)) if begun and is_known else entry


def _is_of_another_folder(base_path: str | None, table: HudiTable) -> bool:
    return base_path is not None and canonical_path(base_path) != canonical_path(table.spec.base_path)


def may_have_begun(resource: HudiOperation) -> bool:
    """Whether an operation that its table does not know has begun, or had a Job that may have begun it.

    A table forgets an operation that has not begun only when its resource is deleted; every other missing memory is a
    loss.
    """
    is_going = resource.metadata.deletion_timestamp is not None
    return was_at_work(resource) and (resource.status.begun or not is_going)


def was_at_work(resource: HudiOperation) -> bool:
    """Whether the status of an operation says that it has begun on its table, or had a Job that may have begun it."""
    if resource.spec.decision is not None:
        return False
    told, changes = resource.status, not resource.spec.dry_run and not may_be_left(resource.spec.kind)
    return told.reason != OperationReason.CASCADING and (told.begun or (told.state in _AT_WORK and changes))


def is_without_keys(one: Declared, observation: Observation) -> bool:
    """Whether an erasure has to continue without its keys: its resource, their only place, is gone."""
    is_open = not one.is_finished and one.job is None and one.entry.kind is OperationKind.ERASE
    return is_open and operation_metadata(one.entry.uid, observation) is None


def has_begun(status: HudiTableStatus) -> bool:
    """Whether an operation of a table has begun and is not finished, or its Job may be at work."""
    at_work = {
        job.operation.uid for job in status.active_jobs if job.operation is not None and not job.operation.dry_run
    }
    return any(one.state not in FINISHED and (one.begun or one.uid in at_work) for one in status.operations)


def unacknowledged(told: Iterable[Declared], observation: Observation) -> str | None:
    """Return the operation that a person has to check; an unreadable resource holds the table too."""
    found = observation.related.unread_operations
    unread = [one for one in found if one.metadata.deletion_timestamp is None]
    kept = {one.metadata.uid for one in unread}
    for each in told:
        if each.entry.reason == OperationReason.NOT_VERIFIED and (not each.is_going or each.entry.uid in kept):
            return f"HudiOperation {each.entry.resource}: {each.entry.message}"
    for one in unread:
        if one.operation.reason == OperationReason.NOT_VERIFIED:
            return f"HudiOperation {one.metadata.name}: {one.operation.message}"
    return None
