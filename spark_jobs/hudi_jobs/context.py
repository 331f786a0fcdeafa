"""The context of one task: its run, request, Spark session and shared state."""

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
    """The task, the name of its run, and its own Spark session.

    A failing run reports `affected`, the run's effects on instants that it did not begin, `totals`, the commits of a
    continuous run, and `operation`, with the last report being valid. `stopping` is set once the pod was asked to end.
    `batch` is the number of a continuous run's batch, from 1, and `repeats` counts how often batches have given way.
    `made` are the instants of a failed batch. `settled` are compactions after which no key is in log files alone, and
    `compared` are log files in another slice than named that change no row.

    `host` runs table services for other runs beside the batches of a continuous run. Such a service has in `held` the
    lease of its host run, and both share `turns`. A run with only a service has its own lease there.
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
        """A name unique to this attempt, so that files of an earlier attempt are never overwritten."""
        return f"r{self.repeats}-{self.run}" if self.repeats else self.run

    def at_rest(self) -> AbstractContextManager[None]:
        """Return a block during which no batch of this process runs."""
        return nullcontext() if self.turns is None else self.turns.at_rest()

    def log(self, message: str, **fields: object) -> None:
        """Log a line with the task's id."""
        _LOGGER.info(message, extra={"fields": {"run": self.run, "task": self.task.id, **fields}})
