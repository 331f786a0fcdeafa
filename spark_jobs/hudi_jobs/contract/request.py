"""The request: the work of one Spark application, as a list of table tasks."""

from typing import Literal

from pydantic import Field, field_validator

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.tasks.table_task import MaintenanceTableTask, TableTask


def task_id(table: str, service: str) -> str:
    """Return the id of the task of a table's service, equal in every request; `table` is its namespace and name."""
    return f"{table}/{service.lower()}"


class JobRequest(Document):
    """The whole request; `run` is the name of the Job and goes into each of its commits.

    `inline_services` are the table services that the driver of a continuous ingestion may run for other Jobs, with the
    task that each Job would get. Without any, the driver runs none.
    """

    version: Literal[1] = 1
    run: str
    spark_conf: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[TableTask, ...] = Field(min_length=1)
    inline_services: tuple[MaintenanceTableTask, ...] = ()

    @field_validator("tasks")
    @classmethod
    def _with_ids_of_their_own(cls, tasks: tuple[TableTask, ...]) -> tuple[TableTask, ...]:
        if len({task.id for task in tasks}) < len(tasks):
            raise ValueError("two tasks have the same id, so their results could not be told apart")
        return tasks

    def task_of(self, table_uid: str) -> TableTask:
        """Return the task of a table by the uid of its resource; raise `LookupError` for a table without a task."""
        found = (task for task in self.tasks if task.owner is not None and task.owner.table_uid == table_uid)
        task = next(found, None)
        if task is None:
            raise LookupError(table_uid)
        return task
