"""Decides whether a run for a HudiOperation is due; it has the table to itself and needs no turn among the services."""

from hudi_operator.planning.facts.operations.assess_operations import Operations
from hudi_operator.planning.facts.operations.kinds.operation_registry import wording_of
from hudi_operator.planning.model.decision import Decision, Priority, Reason


def evaluate(operations: Operations) -> Decision:
    """Return whether a run is due, else until when it waits."""
    following = operations.following
    if following is None:
        message = operations.maintenance or "No HudiOperation waits for a run."
        return Decision(due=False, reason=Reason.NOT_REQUESTED, message=message, at=operations.at)
    return Decision(
        due=True,
        reason=Reason.OPERATION_ASKED,
        message=f"HudiOperation {following.resource} asks for the {wording_of(following)}.",
        priority=Priority.PENDING,
    )
