"""The context of a task: its run, request, Spark session and shared state."""

import logging
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Generic, cast

from pyspark.sql import SparkSession
from typing_extensions import TypeVar

from hudi_jobs.contract import AffectedInstant, OperationTableTask, TableOperation, Task
from hudi_jobs.contract.run_progress import RunPhase
from hudi_jobs.contract.table.layout import Misplaced
from hudi_jobs.inline_services.inline_server import InlineQueue, InlineServer
from hudi_jobs.lease.leases import Lease
from hudi_jobs.usage.run_meter import UNKNOWN, Extent, RunMeter, figures_of

_LOGGER = logging.getLogger(__name__)


T_co = TypeVar("T_co", bound=Task, default=Task, covariant=True)
_Task = TypeVar("_Task", bound=Task)


@dataclass(frozen=True)
class TaskContext(Generic[T_co]):
    """The task, the name of its run, and its own Spark session.

    A failing run reports `affected`, the run's effects on instants that it did not begin. `stopping` is set once the
    pod was asked to end. `batch` is the number of a continuous run's batch, from 1, and `repeats` counts how often
    batches have given way. `settled` are compactions after which no key is in log files alone, and `compared` are log
    files in another slice than named that change no row.

    `inline_server` runs table services for other runs beside the batches of a continuous run. An inline service has the
    lease of the ingestion run in `held`, and both share `inline_queue`. A run with only a service has its own lease
    there. `for_operation` is the operation that a table service runs for. `meter` measures the run's current phase.
    """

    spark: SparkSession
    run: str
    task: T_co
    affected: list[AffectedInstant] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    batch: int | None = None
    repeats: int = 0
    settled: set[str] = field(default_factory=set)
    compared: set[Misplaced] = field(default_factory=set)
    inline_server: InlineServer | None = None
    held: Lease | None = None
    inline_queue: InlineQueue | None = None
    for_operation: TableOperation | None = None
    meter: RunMeter = field(default_factory=RunMeter)

    def of(self, task: _Task) -> "TaskContext[_Task]":
        """Return the context with another task of the same run."""
        return cast("TaskContext[_Task]", replace(cast("Any", self), task=task))

    @property
    def asked_operation(self) -> TableOperation | None:
        """The operation that the task does, or that a table service is run for."""
        return self.task.operation if isinstance(self.task, OperationTableTask) else self.for_operation

    @property
    def attempt(self) -> str:
        """A name unique to this attempt, so that files of an earlier attempt are never overwritten."""
        return f"r{self.repeats}-{self.run}" if self.repeats else self.run

    def at_rest(self) -> AbstractContextManager[None]:
        """Return a block during which no batch of this process runs."""
        return nullcontext() if self.inline_queue is None else self.inline_queue.at_rest()

    def begin(self, phase: RunPhase, extent: Extent = UNKNOWN) -> None:
        """Begin a phase of the run; the batches of a continuous run have none, because the run reports their sums."""
        if self.batch is None:
            alone = self.inline_queue is None
            self.meter.begin(self.run, phase, lambda: figures_of(self.spark, alone=alone), extent)

    def log(self, message: str, **fields: object) -> None:
        """Log a line with the task's id."""
        _LOGGER.info(message, extra={"fields": {"run": self.run, "task": self.task.id, **fields}})
