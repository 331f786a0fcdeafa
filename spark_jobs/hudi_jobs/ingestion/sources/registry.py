"""The kinds of source that a driver knows, a line each."""

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    AnySource,
    Envelope,
    FailureReason,
    FileFormat,
    FileSource,
    IngestionTask,
    KafkaSource,
    MessageFormat,
)
from hudi_jobs.contract.table.columns import DeclaredSchema
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
    declared = context.task.table.declared
    if declared is None or task.transform_sql is not None:
        return make(context, task)
    return make(context, task.copy_with(source=with_table_columns(task.source, declared)))


_TEXTS = frozenset({FileFormat.CSV, FileFormat.JSON})


def with_table_columns(source: AnySource, declared: DeclaredSchema) -> AnySource:
    """Return a source of texts without columns of its own with those of the table, so that its reader finds bad rows.

    A transform decides itself which columns it reads, and change events and registered schemas bring their types.
    """
    if isinstance(source, FileSource) and source.format in _TEXTS and source.schema_ddl is None:
        return source.copy_with(table_columns=declared)
    if isinstance(source, KafkaSource) and source.value.schema_ddl is None:
        plain = source.value.envelope is Envelope.NONE and source.value.format is MessageFormat.JSON
        if plain:
            return source.copy_with(value=source.value.copy_with(table_columns=_without_parts(source, declared)))
    return source


def _without_parts(source: KafkaSource, declared: DeclaredSchema) -> DeclaredSchema | None:
    """Return the declared columns that come from values: a message has further parts that become columns."""
    parts = {name for name in source.columns.model_dump().values() if name is not None}
    columns = tuple(one for one in declared.columns if one.name not in parts)
    return declared.copy_with(columns=columns) if columns else None
