"""Operations with unexpected rows hold the table until a person has deleted their resource."""

from collections.abc import Iterable

from hudi_operator.api.resources import OPERATIONS, InvalidObject
from hudi_operator.planning.facts.operations.declared import Declared
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason


def unacknowledged(told: Iterable[Declared], observation: Observation) -> str | None:
    """Return the operation that a person has to check; an unreadable resource holds the table too."""
    related = observation.related.get(OPERATIONS, ())
    unread = [one for one in related if isinstance(one, InvalidObject) and one.metadata.deletion_timestamp is None]
    kept = {one.metadata.uid for one in unread}
    for each in told:
        if each.entry.reason == OperationReason.NOT_VERIFIED and (not each.is_going or each.entry.uid in kept):
            return f"HudiOperation {each.entry.resource}: {each.entry.message}"
    for one in unread:
        if one.operation.reason == OperationReason.NOT_VERIFIED:
            return f"HudiOperation {one.metadata.name}: {one.operation.message}"
    return None
