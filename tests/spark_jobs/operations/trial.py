"""What a trial of the kill sweep is: a table that has something to do, what is asked for, and what is so afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.spark_jobs.operations.shapes import Shape

from hudi_jobs.contract import JobRequest, OperationKind

UID = "uid-of-trial"

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Asked:
    """What the run is asked for, and the rows that the table then has; `proof` raises where it is not done.

    `afterwards` are the rows once ingestion has read again what the operation has removed; none if it removes no input.
    """

    request: JobRequest
    expected: Rows
    proof: Callable[[], None] = lambda: None
    afterwards: Rows | None = None


@dataclass(frozen=True)
class Trial:
    """One kind of operation; `detail` is the step of a repair, the service, or how it is asked for."""

    kind: OperationKind
    prepare: Callable[[Any, Shape], Asked]
    detail: str = ""
    fits: Callable[[Shape], bool] = lambda _: True

    def __str__(self) -> str:
        return f"{self.kind}{f'-{self.detail}' if self.detail else ''}"
