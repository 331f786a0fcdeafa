"""What the operator has to know of a kind of operation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.facts.operations.answer import Answer
from hudi_operator.planning.model import Observation


@dataclass(frozen=True, kw_only=True)
class OperationDefinition:
    """One kind of operation.

    `admit` looks at spec and timeline, and returns the commit that the operation is about, None where it is about none,
    or why it does not begin. `remember` returns the fields of `NamedOperationJob` that only this kind has: every run is
    to do the same, whatever becomes of the spec of the table. `wording` says what is done, as in "restore to X".

    `may_be_left` says that a table is whole also where a run has been killed: such an operation is not tried without
    end, and may be deleted between two runs. `beside_strangers` lets it begin where somebody unknown has left an
    instant pending, which it may be there to remove: its driver looks for signs of life.
    """

    admit: Callable[[HudiOperation, Observation], Answer | str | None]
    remember: Callable[[HudiOperation, HudiTable], Mapping[str, Any]]
    wording: Callable[[NamedOperationJob], str]
    needs_instant: bool = False
    may_be_left: bool = False
    beside_strangers: bool = False
