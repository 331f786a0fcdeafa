"""The kinds of source that a driver knows, a line each."""

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, IngestionTask
from hudi_jobs.ingestion.batch import Source, SourceFactory
from hudi_jobs.ingestion.sources.files.files_source import Files
from hudi_jobs.ingestion.sources.hudi.hudi_source import Hudi
from hudi_jobs.ingestion.sources.kafka.kafka_source import Kafka
from hudi_jobs.spark.failures import TaskFailed

SOURCES: dict[str, SourceFactory] = {
    "files": Files,
    "kafka": Kafka,
    "hudi": Hudi,
}
"""By the `kind` of the request's source, which is the kind of its checkpoint too."""


def source_of(context: TaskContext, task: IngestionTask) -> Source:
    """Return the source of a task; raise `TaskFailed` for a kind that this driver does not know."""
    make = SOURCES.get(task.source.kind)
    if make is None:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"This release of the driver does not read sources of the kind {task.source.kind!a}, only "
            f"{', '.join(SOURCES)}; use the image that belongs to the operator.",
        )
    return make(context, task)
