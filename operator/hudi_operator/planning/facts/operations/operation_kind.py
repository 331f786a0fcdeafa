"""Defines what the operator has to know of a kind of operation, and why an operation does not begin."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.operation_status import OperationState
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


@dataclass(frozen=True, kw_only=True)
class OperationDefinition:
    """A kind of operation.

    `admit` checks spec and timeline, and returns the commit that the operation names, None if it names none, or why it
    does not begin. `remember` returns the fields of `NamedOperationJob` that only this kind has: every run does the
    same work, whatever happens to the spec of the table. `wording` describes the work, as in "restore to X".

    `may_be_left` says that a killed run leaves the table whole: such an operation is not retried without a limit, and
    may be deleted between two runs. `beside_strangers` lets it begin beside a pending instant of an unknown writer,
    which it may have to remove: its driver looks for signs of life.
    """

    admit: Callable[[HudiOperation, Observation], Answer | str | None]
    remember: Callable[[HudiOperation, HudiTable], Mapping[str, Any]]
    wording: Callable[[NamedOperationJob], str]
    needs_instant: bool = False
    may_be_left: bool = False
    beside_strangers: bool = False
