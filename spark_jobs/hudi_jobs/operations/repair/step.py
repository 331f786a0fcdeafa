"""What a step of a repair is made of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hudi_jobs.operations.repair.record import RepairRecord
from hudi_jobs.operations.work import Work


@dataclass(frozen=True)
class Found:
    """What a step has found: what it would do, as in "roll back the commit X", and what its record keeps of it.

    Where that has the rows that are `expected`, nobody else counts them. With `is_nothing` there is nothing to mend,
    and that is no failure.
    """

    what: str
    kept: dict[str, Any] = field(default_factory=dict)
    is_nothing: bool = False


@dataclass(frozen=True)
class Step:
    """One repair.

    `look` writes nothing, and raises `TaskFailed` where nothing is to be mended or somebody may be at work; a dry run
    looks on where it can (`Obstacles`). `mend` does it, may be done again after a run that was killed, and returns the
    record where that has to say more. `require_mended` raises `TaskFailed` where it is not mended.
    """

    look: Callable[[Work], Found]
    mend: Callable[[Work, RepairRecord], RepairRecord | None]
    require_mended: Callable[[Work, RepairRecord], None]
