"""Why an operation does not begin, as a value."""

from dataclasses import dataclass

from hudi_operator.api.status.operation import OperationState


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Why an operation does not begin: it waits, or fails for good."""

    state: OperationState
    reason: str
    message: str


def waits(reason: str, message: str) -> Answer:
    """Return the answer to one that may begin later."""
    return Answer(state=OperationState.PENDING, reason=reason, message=message)


def fails(reason: str, message: str) -> Answer:
    """Return the answer to one that never will."""
    return Answer(state=OperationState.FAILED, reason=reason, message=message)
