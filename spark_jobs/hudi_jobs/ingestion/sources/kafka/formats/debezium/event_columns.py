"""The columns added to a change event's row, and the tables that can have a source of change events."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, LongType, StringType, StructType

from hudi_jobs.contract import FailureReason, IngestionTask, TableDefinition, WriteOperation
from hudi_jobs.contract.table.merging import ordering_of, payload_of, version_of
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import tried_cast

BEFORE, AFTER, SOURCE, OPERATION, PROCESSED_AT = "before", "after", "source", "op", "ts_ms"
"""Fields of an event."""

IGNORED = "_debezium_ignored"
"""Marks a message without an event that Debezium sends beside events."""

CREATE, READ, UPDATE, DELETE, TRUNCATE, MESSAGE_OPERATION = "c", "r", "u", "d", "t", "m"

CHANGE_TYPE, SERVER, SCHEMA = "_change_operation_type", "db_shard_source_partition", "db_schema_source_partition"
PROCESSED = "_upstream_event_processed_ts_ms"
LSN, BINLOG_FILE, BINLOG_POSITION = "_event_lsn", "_event_bin_file", "_event_pos"


@dataclass(frozen=True)
class Database:
    """A database's added columns, and the columns that order its events."""

    name: str
    ordering: tuple[str, ...]
    columns: tuple[tuple[str, str, DataType], ...]
    """Name, field of `source`, and type."""

    @property
    def names(self) -> tuple[str, ...]:
        """All added columns, in HoodieStreamer's order."""
        return (CHANGE_TYPE, PROCESSED, *(name for name, _, _ in self.columns))

    def added(self, source: StructType) -> list[Column]:
        """Return the added columns; fields missing in the events are null."""
        present = set(source.fieldNames())
        taken = [
            tried_cast(sf.col(SOURCE)[field] if field in present else sf.lit(None), kind).alias(name)
            for name, field, kind in self.columns
        ]
        processed = tried_cast(sf.col(PROCESSED_AT), LongType()).alias(PROCESSED)
        return [sf.col(OPERATION).alias(CHANGE_TYPE), processed, *taken]


POSTGRES = Database(
    name="PostgreSQL",
    ordering=(LSN,),
    columns=(
        (SERVER, "name", StringType()),
        (SCHEMA, "schema", StringType()),
        ("_event_origin_ts_ms", "ts_ms", LongType()),
        ("_event_tx_id", "txId", LongType()),
        (LSN, "lsn", LongType()),
        ("_event_xmin", "xmin", LongType()),
    ),
)
MYSQL = Database(
    name="MySQL",
    ordering=(BINLOG_FILE, BINLOG_POSITION),
    columns=(
        (SERVER, "name", StringType()),
        ("_event_origin_ts_ms", "ts_ms", LongType()),
        (BINLOG_FILE, "file", StringType()),
        (BINLOG_POSITION, "pos", LongType()),
        ("_event_row", "row", LongType()),
    ),
)
DATABASES = (POSTGRES, MYSQL)

SEQUENCE_TEXT = "_event_seq"
"""The number of the binlog file and the position as a text; only for people to compare."""

ADDED = frozenset({SEQUENCE_TEXT, *(name for database in DATABASES for name in database.names)})
"""All columns added for any database."""


def sequence_text() -> Column:
    """Return a MySQL event's position as text, as `MysqlDebeziumSource` writes it: `000003.154`."""
    number = sf.substring_index(sf.col(BINLOG_FILE), ".", -1)
    return sf.concat(number, sf.lit("."), sf.col(BINLOG_POSITION).cast("string")).alias(SEQUENCE_TEXT)


_FIRST_WITHOUT_PAYLOADS = 9
_BY_DEBEZIUM = ".debezium."
_GLOBAL = "Global"


def required_database(definition: TableDefinition, task: IngestionTask) -> Database:
    """Return the database of a table's ordering fields; raise `TaskFailed` if the table cannot take its events.

    With any other order, a late or repeated event would undo newer events.
    """
    found = next((one for one in DATABASES if one.ordering == definition.ordering_fields), None)
    if found is None:
        possible = " or ".join(f"[{', '.join(one.ordering)}] for {one.name}" for one in DATABASES)
        raise _invalid(f"A source of Debezium's events needs the orderingFields {possible}")
    if task.operation is not WriteOperation.UPSERT:
        raise _invalid(f"A source of Debezium's events needs the operation Upsert, and not {task.operation}")
    loose = [name for name in definition.partition_by if name not in definition.record_key]
    if loose and not (definition.index or "").startswith(_GLOBAL):
        raise _invalid(
            f"A table of Debezium's events needs a global index where its partition column {loose[0]} is not part of "
            "the record key: a delete does not name the partition of its row, and an update may change it"
        )
    return found


def require_order(properties: Mapping[str, str]) -> None:
    """Raise `TaskFailed` for an existing table in which Hudi 1.2.0 does not compare events by their order."""
    payload, version = payload_of(properties) or "", version_of(properties) or 0
    if _BY_DEBEZIUM in payload and version < _FIRST_WITHOUT_PAYLOADS:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table has version {version} and the payload class {payload[:200]}, with which Hudi 1.2.0 lets a "
            "late delete win and keeps values that were not sent; upgrade it to version 9 with upgrade_table, or "
            "leave ingestion to the tool that does it now.",
        )
    if ordering_of(properties).ignored:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table lets the row that is written last win ({ordering_of(properties).decided_by[:200]}), so a late "
            "event would undo newer events; write to another table.",
        )


def _invalid(message: str) -> TaskFailed:
    return TaskFailed(FailureReason.INVALID_REQUEST, f"{message}.")
