"""The columns added to a change event's row, named as by HoodieStreamer."""

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, LongType, StringType, StructType

from hudi_jobs.jvm import tried_cast

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
