"""Finished operations, by which a table recognizes an operation that a GitOps tool applies again.

A GitOps tool creates a resource again after its deletion, for example by `ttlAfterFinished`. The new resource has the
same name and spec, and another uid.
"""

import hashlib
import json
from collections.abc import Iterator

from hudi_operator.api.resources import HudiOperation
from hudi_operator.api.status.operation_status import FINISHED, OperationState
from hudi_operator.api.status.table_operations import ENDS_REMEMBERED, DecisionAnswer, EndedOperation, TableOperation
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.operations.operation_kind import Answer
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason

_NO_PART_OF_THE_WORK = {"approved", "ttl_after_finished"}


def repetition(resource: HudiOperation, status: HudiTableStatus) -> Answer | None:
    """Return how an operation ended that had the same name and spec, or None."""
    name, uid = resource.metadata.name, resource.metadata.uid
    namesakes = [one for one in status.ended_operations if one.resource == name and one.uid != uid]
    digest = _digest(resource) if namesakes else ""  # an erasure may name thousands of keys
    for one in reversed(namesakes):
        if one.digest == digest:
            return Answer(
                state=one.state,
                reason=OperationReason.ALREADY_DONE,
                message=f"A HudiOperation {name} with the same spec ended as {one.state} at {one.at}, so nothing was "
                "done now. To repeat it, create a HudiOperation with another name.",
            )
    return None


def ended_operations(observation: Observation, entries: tuple[TableOperation, ...]) -> tuple[EndedOperation, ...]:
    """Return the newest finished operations, with those that have finished now.

    A repeated operation stays among the newest, because the GitOps tool that repeats it will repeat it again.
    """
    status = observation.table.status
    repeated = {one.resource for one in _ended(status, entries) if one.reason == OperationReason.ALREADY_DONE}
    remembered = sorted(status.ended_operations, key=lambda one: one.resource in repeated)
    known = {one.uid for one in status.ended_operations}
    resources = {one.metadata.uid: one for one in observation.related.operations}
    fresh = (
        EndedOperation(resource=name, uid=uid, digest=_digest(resources[uid]), state=state, at=at)
        for name, uid, state, at in _ends(status, entries)
        if uid in resources and uid not in known
    )
    return (*remembered, *fresh)[-ENDS_REMEMBERED:]


def _ends(
    status: HudiTableStatus, entries: tuple[TableOperation, ...]
) -> Iterator[tuple[str, str, OperationState, str]]:
    for one in _ended(status, entries):
        if one.state in FINISHED and one.reason != OperationReason.ALREADY_DONE and one.finished_at is not None:
            yield one.resource, one.uid, one.state, one.finished_at


def _ended(status: HudiTableStatus, entries: tuple[TableOperation, ...]) -> tuple[TableOperation | DecisionAnswer, ...]:
    return (*entries, *(status.decisions.answers if status.decisions is not None else ()))


def _digest(resource: HudiOperation) -> str:
    asked = resource.spec.model_dump(mode="json", exclude=_NO_PART_OF_THE_WORK, exclude_defaults=True)
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
