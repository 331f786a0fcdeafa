"""Whether an operation may begin: by its class, by a person, and by what the table shows. The driver looks again."""

from hudi_jobs.contract import ConcurrencyMode
from hudi_operator.api.resources import OPERATION_UID_ANNOTATION, HudiOperation
from hudi_operator.api.spec.operation import OperationApproval
from hudi_operator.api.status.operation import OperationState
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.planning.operations.answer import Answer, fails, waits
from hudi_operator.planning.operations.cascade import cascade_asks_for_approval, cascade_wording
from hudi_operator.planning.operations.kinds.registry import KINDS, job_of, wording_of

_SHOWN = 64


def admitted(
    resource: HudiOperation, observation: Observation, *, shown: NamedOperationJob | None = None
) -> Answer | NamedOperationJob:
    """Return what the Jobs of an operation are to do, or why it does not begin.

    `shown` is what was said before that they would do: what a person has approved is done, and nothing else.
    """
    spec, table_class = resource.spec, observation.table_class
    settings = table_class.spec.operations if table_class is not None else None
    if settings is None or spec.kind not in settings.allowed:
        name = table_class.metadata.name if table_class is not None else "of the table"
        return waits(
            OperationReason.NOT_ALLOWED,
            f"The HudiTableClass {name} does not allow {spec.kind}: ask the platform team to add it to "
            "operations.allowed.",
        )
    if (refused := _comes_again(resource) or _beside_others(resource, observation)) is not None:
        return refused
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
    if _asks_for_approval(resource, observation) and not spec.approved:
        what = f"{wording_of(job)}{cascade_wording(resource, observation)}"
        return Answer(
            state=OperationState.AWAITING_APPROVAL,
            reason=OperationReason.AWAITING_APPROVAL,
            message=f"The {what} waits for approval: set spec.approved to true.",
            job=job,
        )
    return job


def _asks_for_approval(resource: HudiOperation, observation: Observation) -> bool:
    table_class = observation.table_class
    is_manual = table_class is not None and table_class.spec.operations.approval is OperationApproval.MANUAL
    return not resource.spec.dry_run and (is_manual or cascade_asks_for_approval(resource, observation))


def waiting_state(resource: HudiOperation | None, observation: Observation) -> OperationState:
    """Return what is shown of an operation that may begin and waits for its turn."""
    is_approved = resource is not None and resource.spec.approved and _asks_for_approval(resource, observation)
    return OperationState.APPROVED if is_approved else OperationState.PENDING


def _comes_again(resource: HudiOperation) -> Answer | None:
    """Refuse a copy of an operation, which nothing else may tell to have been done before: a backup may lack status."""
    named = resource.metadata.copied_from
    if named is None or resource.spec.dry_run:
        return None
    return fails(
        OperationReason.COMES_AGAIN,
        f"This is a copy of an earlier HudiOperation (uid {named[:_SHOWN]}), such as one restored from a backup. "
        "Running it again could undo what was done since. To run it, create another HudiOperation without the "
        f"annotation {OPERATION_UID_ANNOTATION}. Nothing was changed.",
    )


def _beside_others(resource: HudiOperation, observation: Observation) -> Answer | None:
    """Refuse what would change a table beside other writers; a dry run changes nothing, and says so at its end."""
    why = other_writers(resource, observation)
    if why is None or resource.spec.dry_run:
        return None
    return fails(OperationReason.OTHER_WRITERS, f"{why} Nothing was changed.")


def other_writers(resource: HudiOperation, observation: Observation) -> str | None:
    """Return why an Optimistic table is not to be changed: nobody has said that its other writers are stopped."""
    is_shared = observation.table.spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC
    if not is_shared or resource.spec.accept_other_writers:
        return None
    return (
        "The table is Optimistic, and the operator cannot stop its other writers: what they write meanwhile would be "
        "lost. Stop them, then create another HudiOperation with acceptOtherWriters: true."
    )
