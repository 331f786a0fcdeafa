"""What one task is given to run with."""

import logging
import threading
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hudi_jobs.contract import AffectedInstant, TableTask
from hudi_jobs.totals import Totals

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskContext:
    """The task, the name of its run, and a Spark session that it shares with nobody.

    `affected` gathers what the run does to instants that it did not begin, and `totals` what a continuous run has
    committed, so that a run that fails tells it too. `stopping` is set once the pod has been asked to end. `batch` is
    the number of the batch of a continuous run, from 1.
    """

    spark: SparkSession
    run: str
    task: TableTask
    affected: list[AffectedInstant] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    stopping: threading.Event = field(default_factory=threading.Event)
    batch: int | None = None

    def log(self, message: str, **fields: object) -> None:
        """Log a line that carries the task's id."""
        _LOGGER.info(message, extra={"fields": {"run": self.run, "task": self.task.id, **fields}})
