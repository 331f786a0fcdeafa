"""Why an operation does not begin, as a value."""

from dataclasses import dataclass

from hudi_operator.api.status.operation import OperationState
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Why an operation does not begin: it waits, or fails for good. `job` is the work for which it awaits approval."""

    state: OperationState
    reason: str
    message: str
    job: NamedOperationJob | None = None


def waits(reason: str, message: str) -> Answer:
    """Return the answer to an operation that may begin later."""
    return Answer(state=OperationState.PENDING, reason=reason, message=message)


def waits_for_table(observation: Observation) -> Answer:
    """Return the answer to an operation on a table without a readable timeline."""
    return waits(OperationReason.PENDING, observation.snapshot.message or "The table does not exist yet.")


def fails(reason: str, message: str) -> Answer:
    """Return the answer to an operation that can never begin."""
    return Answer(state=OperationState.FAILED, reason=reason, message=message)
