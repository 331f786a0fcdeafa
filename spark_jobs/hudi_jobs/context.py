"""What one task is given to run with."""

import logging
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hudi_jobs.contract import AffectedInstant, TableTask

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskContext:
    """The task, the name of its run, and a Spark session that it shares with nobody.

    `affected` gathers what the run does to instants that it did not begin, so that a run that fails tells it too.
    """

    spark: SparkSession
    run: str
    task: TableTask
    affected: list[AffectedInstant] = field(default_factory=list)

    def log(self, message: str, **fields: object) -> None:
        """Log a line that carries the task's id."""
        _LOGGER.info(message, extra={"fields": {"run": self.run, "task": self.task.id, **fields}})
