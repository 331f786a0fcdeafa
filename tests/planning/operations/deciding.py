"""HudiOperations that are decisions, and tables that know of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.planning.world import CREATED, NOW, at

from hudi_operator.api.resources import (
    OPERATION_UID_ANNOTATION,
    OPERATIONS,
    HudiOperation,
    InvalidObject,
    parse_operation,
)
from hudi_operator.api.status.operation_status import HudiOperationStatus
from hudi_operator.api.status.table_operations import DecisionAnswer, DecisionsStatus
from hudi_operator.planning.facts.operations.decisions import with_decisions
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.observation import Related

UID = "uid-of-decision"


def parsed(*, name: str = "decision", uid: str = UID, told: HudiOperationStatus | None = None, **spec: Any) -> Any:
    """A decision as the operator reads it; a spec that it cannot read gives an InvalidObject."""
    metadata = {"name": name, "namespace": "team-a", "uid": uid, "generation": 1, "creationTimestamp": at(CREATED)}
    metadata["annotations"] = {OPERATION_UID_ANNOTATION: spec.pop("copied_from", uid)}
    document = {"metadata": metadata, "spec": {"tableRef": {"name": "flights"}, **spec}}
    return parse_operation({**document, "status": told.to_document() if told is not None else {}})


def decision(**changes: Any) -> HudiOperation:
    """A decision of which the table has not heard yet."""
    found = parsed(**changes)
    assert isinstance(found, HudiOperation), found
    return found


def deciding(observation: Observation, *decisions: HudiOperation | InvalidObject) -> Observation:
    """The observation of a table that has read these decisions."""
    known = observation.related
    related = Related.of({OPERATIONS: (*known.operations, *known.unread_operations, *decisions)})
    return with_decisions(replace(observation, related=related), now=NOW)


def answers(observation: Observation) -> dict[str, DecisionAnswer]:
    """What a table answers to decisions, by their uids."""
    decisions = observation.table.status.decisions or DecisionsStatus()
    return {one.uid: one for one in decisions.answers}
