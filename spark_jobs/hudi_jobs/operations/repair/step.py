"""The parts of a repair's step."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hudi_jobs.journal.repair_record import RepairRecord
from hudi_jobs.operations.operation_run import OperationRun


@dataclass(frozen=True)
class Found:
    """The findings of a step: its effect, as in "roll back the commit X", and the fields for the record.

    When the fields include `expected`, the rows are not counted again. `is_nothing` means that nothing needs repair,
    which is no failure.
    """

    what: str
    kept: dict[str, Any] = field(default_factory=dict)
    is_nothing: bool = False


@dataclass(frozen=True)
class Step:
    """A repair.

    `look` writes nothing, and raises `TaskFailed` when nothing needs repair or others may be at work; a dry run
    collects such obstacles (`Obstacles`). `mend` repairs, can be repeated after a killed run, and returns a changed
    record if any. `require_mended` raises `TaskFailed` when the repair did not succeed.
    """

    look: Callable[[OperationRun], Found]
    mend: Callable[[OperationRun, RepairRecord], RepairRecord | None]
    require_mended: Callable[[OperationRun, RepairRecord], None]
