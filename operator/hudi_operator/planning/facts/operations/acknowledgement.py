"""Operations with unexpected rows hold the table until a person has deleted their resource."""

from collections.abc import Iterable

from hudi_operator.planning.facts.operations.declared import Declared
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason


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
