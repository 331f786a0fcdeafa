"""Whether an operation may begin: by its class, by a person, and by the facts of the table. The driver checks again."""

from dataclasses import dataclass

from hudi_jobs.contract import ConcurrencyMode, OperationKind
from hudi_jobs.contract.operations.operation import MOST_OBSTACLES
from hudi_operator.api.resources import OPERATION_UID_ANNOTATION, HudiOperation
from hudi_operator.api.spec.operation import OperationApproval
from hudi_operator.api.status.operation_status import OperationReportStatus, OperationState
from hudi_operator.api.status.table_operations import NamedOperationJob, TableOperation
from hudi_operator.planning.facts.operations.cascade import cascade_asks_for_approval, cascade_wording
from hudi_operator.planning.facts.operations.kinds.operation_registry import (
    KINDS,
    begins_beside_strangers,
    job_of,
    wording_of,
)
from hudi_operator.planning.facts.operations.operation_kind import Answer, fails, waits
from hudi_operator.planning.facts.operations.repeated import repetition
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason

_SHOWN = 64


def admitted(
    resource: HudiOperation,
    observation: Observation,
    *,
    shown: NamedOperationJob | None = None,
    asked_before: bool = False,
) -> Answer | NamedOperationJob:
    """Return the work of an operation's Jobs, or why the operation does not begin.

    `asked_before` says that an approval was required at an earlier look. `shown` is the work that status showed before:
    the Jobs do the approved work, and nothing else.
    """
    spec = resource.spec
    ended = repetition(resource, observation.table.status) or _unpermitted(resource, observation)
    if ended is not None:
        return ended
    instant = KINDS[spec.kind].admit(resource, observation)
    if isinstance(instant, Answer):
        return instant
    job = job_of(resource, observation.table, instant)
    if shown is not None and shown.instant != job.instant:
        return fails(
            OperationReason.TARGET_CHANGED,
            f"The operation was shown as a {wording_of(shown)}, but what it names is now on commit {job.instant}. "
            "Create another HudiOperation. Nothing was changed.",
        )
    if requires_approval(resource, observation, before=asked_before) and not spec.approved:
        return _awaits_approval(f"{wording_of(job)}{cascade_wording(resource, observation)}", job)
    return job


def claim_problem(
    resource: HudiOperation, observation: Observation, job: NamedOperationJob | None, *, approval_required: bool
) -> Answer | None:
    """Return why no Job starts for an operation that has begun by its own status alone; None if a Job may start.

    The timeline does not decide: the table may be half changed, and the record beside the table says what to finish.
    """
    if (refused := _unpermitted(resource, observation)) is not None:
        return refused
    if approval_required and not resource.spec.approved:
        what = wording_of(job) if job is not None else f"operation {resource.spec.kind}"
        return _awaits_approval(f"{what}, which the status of the resource says has begun,", job)
    return None


def _unpermitted(resource: HudiOperation, observation: Observation) -> Answer | None:
    """Return why class, resource or table refuse the operation, whatever the timeline shows."""
    spec, table_class = resource.spec, observation.table_class
    settings = table_class.spec.operations if table_class is not None else None
    if settings is None or spec.kind not in settings.allowed:
        name = table_class.metadata.name if table_class is not None else "of the table"
        return waits(
            OperationReason.NOT_ALLOWED,
            f"The HudiTableClass {name} does not allow {spec.kind}: ask the platform team to add it to "
            "operations.allowed.",
        )
    return copy_problem(resource) or _beside_others(resource, observation)


def _awaits_approval(what: str, job: NamedOperationJob | None) -> Answer:
    return Answer(
        state=OperationState.AWAITING_APPROVAL,
        reason=OperationReason.AWAITING_APPROVAL,
        message=f"The {what} waits for approval: set spec.approved to true.",
        job=job,
    )


def requires_approval(resource: HudiOperation, observation: Observation, *, before: bool) -> bool:
    """Return whether a person has to approve an operation: its class requires it now, or did `before`.

    The status of the resource can only add the need for an approval.
    """
    table_class = observation.table_class
    is_manual = table_class is not None and table_class.spec.operations.approval is OperationApproval.MANUAL
    has_asked = before or resource.status.state is OperationState.AWAITING_APPROVAL
    return not resource.spec.dry_run and (has_asked or is_manual or cascade_asks_for_approval(resource, observation))


def waiting_state(resource: HudiOperation | None, *, approval_required: bool) -> OperationState:
    """Return the state of an operation that may begin and waits for its turn."""
    is_approved = resource is not None and resource.spec.approved and approval_required
    return OperationState.APPROVED if is_approved else OperationState.PENDING


def copy_problem(resource: HudiOperation) -> Answer | None:
    """Refuse a copy of an operation: a backup may lack its status, so nothing else shows that it was done before."""
    named = resource.metadata.copied_from
    if named is None or resource.spec.dry_run:
        return None
    return fails(
        OperationReason.COPIED_OPERATION,
        f"This HudiOperation is a copy of an earlier HudiOperation (uid {named[:_SHOWN]}), for example from a backup. "
        "Running it again could undo what was done since. To run it, create another HudiOperation without the "
        f"annotation {OPERATION_UID_ANNOTATION}. Nothing was changed.",
    )


def _beside_others(resource: HudiOperation, observation: Observation) -> Answer | None:
    """Refuse an operation that would change a table beside other writers; a dry run reports them at its end."""
    why = other_writers(resource, observation)
    if why is None or resource.spec.dry_run:
        return None
    return fails(OperationReason.OTHER_WRITERS, f"{why} Nothing was changed.")


def other_writers(resource: HudiOperation, observation: Observation) -> str | None:
    """Return why an Optimistic table must not be changed: nobody has confirmed that its other writers are stopped."""
    is_shared = observation.table.spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC
    if not is_shared or resource.spec.accept_other_writers:
        return None
    return (
        "The table is Optimistic, and the operator cannot stop its other writers: what they write meanwhile would be "
        "lost. Stop them, then create another HudiOperation with acceptOtherWriters: true."
    )


_LIMIT = 512


@dataclass(frozen=True, kw_only=True)
class Held:
    """Why no operation may start: `before` it has begun, and after it has `begun`.

    `restore`, a pending restore, blocks every operation but a restore, which can finish it if an earlier operation to
    the same commit left it; the driver finds out. `stranger` and `heartbeat` block only operations that have not begun,
    and no operation that repairs what an unknown writer has left. A dry run itself reports an unknown writer. The
    heartbeat of a dead run ends soon. `obstacles` are the sentences of `before`, `restore` and all further blockers.
    """

    before: str | None = None
    restore: str | None = None
    begun: str | None = None
    stranger: str | None = None
    heartbeat: str | None = None
    obstacles: tuple[str, ...] = ()

    def of(self, entry: TableOperation) -> str | None:
        """Return why an operation does not begin."""
        before = self.before or (None if entry.kind is OperationKind.RESTORE else self.restore)
        if before is not None or begins_beside_strangers(entry.kind):
            return before
        return self.heartbeat if entry.dry_run else self.stranger or self.heartbeat

    def report_of(self, entry: TableOperation) -> OperationReportStatus | None:
        """Return the report of a dry run that cannot begin: every obstacle."""
        if not entry.dry_run:
            return entry.report
        every = (*self.obstacles, *([self.stranger] if self.stranger is not None else []))
        return OperationReportStatus(obstacles=tuple(one[:_LIMIT] for one in every[:MOST_OBSTACLES]))
