"""What one task is given to run with."""

import logging
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hudi_jobs.beside.host import Host
from hudi_jobs.beside.turns import Turns
from hudi_jobs.contract import AffectedInstant, OperationReport, TableTask
from hudi_jobs.contract.table.slices import Misplaced
from hudi_jobs.lease.leases import Lease
from hudi_jobs.totals import Totals

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskContext:
    """The task, the name of its run, and a Spark session that it shares with nobody.

    `affected` gathers what the run does to instants that it did not begin, and `totals` what a continuous run has
    committed, so that a run that fails tells it too; so does `operation`, whose last report is the one that holds.
    `stopping` is set once the pod has been asked to end. `batch` is the number of the batch of a continuous run, from
    1, and `repeats` counts how often batches have given way. `made` are the instants of a batch that has not ended
    well. `settled` are compactions that have left no key in log files alone, and
    `compared` log files in another slice than named that change no row.

    `host` does table services for other runs beside the batches of a continuous one. Such a service has `held`, the
    lease of the run that it is done beside, and both have the same `turns`. A run that does a service by
    itself has its own lease there.
    """

    spark: SparkSession
    run: str
    task: TableTask
    affected: list[AffectedInstant] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    operation: list[OperationReport] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    batch: int | None = None
    repeats: int = 0
    made: list[str] = field(default_factory=list)
    settled: set[str] = field(default_factory=set)
    compared: set[Misplaced] = field(default_factory=set)
    host: Host | None = None
    held: Lease | None = None
    turns: Turns | None = None

    @property
    def attempt(self) -> str:
        """A name that no other attempt to do this work has: what an earlier one has left is never written again."""
        return f"r{self.repeats}-{self.run}" if self.repeats else self.run

    def at_rest(self) -> AbstractContextManager[None]:
        """Return a block in which no batch of this process is under way."""
        return nullcontext() if self.turns is None else self.turns.at_rest()

    def log(self, message: str, **fields: object) -> None:
        """Log a line that carries the task's id."""
        _LOGGER.info(message, extra={"fields": {"run": self.run, "task": self.task.id, **fields}})
