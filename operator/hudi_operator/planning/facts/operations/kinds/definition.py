"""Defines what the operator has to know of a kind of operation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.facts.operations.answer import Answer
from hudi_operator.planning.model import Observation


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
