"""The status of a HudiOperation as the operator would have written it, and what such a status says."""

from __future__ import annotations

from typing import Any

from tests.planning.world import NOW, at

from hudi_operator.api.status.operation_status import FINISHED, HudiOperationStatus, OperationState
from hudi_operator.planning.outcome.status.conditions import ConditionMaker
from hudi_operator.planning.outcome.status.operation_status import operation_conditions


def told_as(state: str, reason: str | None = None, **changes: Any) -> HudiOperationStatus:
    """The status of an operation that has come this far; without a reason the word of the state is the reason."""
    make = ConditionMaker(generation=1, now=NOW)
    said = changes.get("message") or "Said before."
    conditions = tuple(operation_conditions(OperationState(state), reason or state, said, make))
    over = {"finished_at": at(NOW)} if OperationState(state) in FINISHED else {}
    return HudiOperationStatus(conditions=conditions, **{**over, **changes})


def state_and_reason(status: dict[str, Any]) -> tuple[str, str | None]:
    """How far an operation has come, and why, by the document of its status."""
    read = HudiOperationStatus.model_validate(status)
    return read.state, read.reason
