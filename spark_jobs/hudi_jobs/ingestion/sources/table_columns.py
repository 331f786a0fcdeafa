"""Reads texts with the declared columns of the table, where nothing else says which columns they have.

The reader of a source then finds bad rows, with file, column and cause. A transform decides itself which columns it
reads, and change events and registered schemas bring their types.
"""

from hudi_jobs.contract import (
    Envelope,
    FileFormat,
    FileSource,
    IngestionTask,
    KafkaSource,
    MessageFormat,
    TableDefinition,
)

_TEXTS = frozenset({FileFormat.CSV, FileFormat.JSON})


def files_with_table_columns(source: FileSource, task: IngestionTask, table: TableDefinition) -> FileSource:
    """Return files of texts with the columns of the table, unless the source declares its own."""
    if task.transform_sql is not None or source.schema_ddl is not None or source.format not in _TEXTS:
        return source
    return source.copy_with(table_columns=table.declared)


def messages_with_table_columns(source: KafkaSource, task: IngestionTask, table: TableDefinition) -> KafkaSource:
    """Return topics of plain JSON with the columns of the table, except those of the message's other parts."""
    value = source.value
    is_plain = value.envelope is Envelope.NONE and value.format is MessageFormat.JSON
    if task.transform_sql is not None or value.schema_ddl is not None or not is_plain or table.declared is None:
        return source
    parts = {name for name in source.columns.model_dump().values() if name is not None}
    columns = tuple(one for one in table.declared.columns if one.name not in parts)
    if not columns:
        return source
    return source.copy_with(value=value.copy_with(table_columns=table.declared.copy_with(columns=columns)))
