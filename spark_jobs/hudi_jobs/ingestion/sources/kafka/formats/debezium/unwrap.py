"""Extracts rows and deletes from change events of any format."""

from collections.abc import Sequence
from functools import partial

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    BadRecordPolicy,
    FailureReason,
    IngestionTableTask,
    IngestionTask,
    KafkaSource,
    SourceTables,
    Tombstones,
)
from hudi_jobs.contract.wording import counted
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, IS_DELETED
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import (
    AFTER,
    BEFORE,
    POSTGRES,
    TRUNCATE,
    Database,
    require_order,
    required_database,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.images import (
    KIND,
    has_columns,
    only_events,
    rows_of,
    struct_of,
    without_columns,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unavailable import (
    as_bad_records,
    unavailable_columns,
    with_values,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.deleted import LATE, is_before, with_late
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.event_state import Changed, Kept
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.holders import (
    HELD,
    HOLDER,
    MOVED,
    SURE,
    TAKEN,
    confirmed,
    doubts,
    refuse_taken,
    settled,
    with_former_keys,
    with_held,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.origins import (
    SNAPSHOT,
    TABLE,
    followed_tables,
    is_strange,
    set_aside,
)
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
)
from hudi_jobs.schemas.columns import declared_columns
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable

_MARKS = (KIND, HOLDER, MOVED, SURE, HELD, TABLE, SNAPSHOT, LATE, TAKEN)
"""Internal mark columns of events."""


def require(source: KafkaSource) -> None:
    """Raise `TaskFailed` if tombstones should delete; the table is checked with the task."""
    if source.tombstones is Tombstones.DELETE:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            "Debezium reports a delete as an event; leave tombstones, which follow it, at Skip.",
        )


def wrapped(columns: StructType) -> StructType:
    """Return the event type that holds a table's columns."""
    return StructType([StructField(name, columns) for name in (BEFORE, AFTER)])


def unwrap(context: TaskContext[IngestionTableTask], source: KafkaSource, decoded: Decoded) -> Decoded:
    """Return rows with the database table's columns and their events' positions.

    The events are read once here and cached, because an update may lack values that older events have.
    """
    task = context.task.ingestion
    database, table = required_database(context.task.table, task), _table(context)
    frame = only_events(decoded.frame)
    if not has_columns(frame):
        return Decoded(without_columns(frame), events=decoded.events)
    keys = context.task.table.record_key
    frame = with_former_keys(frame, keys, *(struct_of(frame, name) for name in (BEFORE, AFTER)))
    rows = rows_of(frame, database, keys, declared_columns(context.spark, source.value.schema_ddl))
    before = Kept.of(decoded.events)
    marked = partial(_marked, before=before, keys=keys, database=database)
    rows = marked(rows, before.deletes(context.spark, database))
    own = rows.drop(MESSAGE, CORRUPT_RECORD, FAULT, *_MARKS)
    missing = unavailable_columns(own.schema) if database is POSTGRES else {}
    count = partial(_counted, missing=missing, before=before, database=database)
    found = count(rows)
    if found["older"]:
        rows = marked(rows, before.every_delete(context.spark, context.task.table.base_path, database))
        found = count(rows)
    rows, taken = confirmed(rows, keys, database) if found["taken"] else (rows, 0)
    refuse_taken(taken, task)
    tables = _required(found, before.tables, source.value.source_tables, task)
    kept = rows.where(~sf.col(LATE) | sf.col(TAKEN))
    strange = is_strange(tables) if source.value.source_tables is SourceTables.ONE else never()
    if taken or found["strange"]:
        kept = as_bad_records(kept, sf.col(TAKEN) | strange, kept.columns, marks=_MARKS)
    kept = settled(kept, keys, database, moved=bool(found["moved"]), unsure=bool(found["unsure"]))
    changed = Changed(has_deletes=bool(found["deletes"]), has_moved=bool(found["moved"]), tables=tables)
    events, write = before.after(kept, context.task.table.base_path, keys, database, changed)
    lacking = {name: condition for n, (name, condition) in enumerate(missing.items()) if found[f"missing_{n}"]}
    if lacking:
        kept = with_values(context, task, table, kept, lacking)
    remark = _remark(found, before.tables, tables)
    return Decoded(kept.drop(*_MARKS), deletes=True, remark=remark, events=events, before_commit=write)


def _table(context: TaskContext) -> HudiTable | None:
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
    if table is not None:
        require_order(table.properties)
    return table


def _marked(
    rows: DataFrame, deletes: DataFrame | None, *, before: Kept, keys: Sequence[str], database: Database
) -> DataFrame:
    """Return the rows, cached, marked with the known deletes and holders of their keys."""
    late = with_late(rows.drop(LATE, HELD, TAKEN), deletes, keys, database)
    return with_held(late, before.holders, keys, database).persist(StorageLevel.MEMORY_AND_DISK)


def _counted(rows: DataFrame, missing: dict[str, Column], before: Kept, database: Database) -> Row:
    late, strange, below = sf.col(LATE), is_strange(before.tables), before.spilled.below
    older = never() if below is None else ~late & ~sf.col(IS_DELETED) & is_before(below, database)
    named = {"truncates": sf.col(KIND) == TRUNCATE, "late": late & ~sf.col(TAKEN), "deletes": sf.col(IS_DELETED)}
    named |= {**doubts(), "strange": strange, "older": older}
    named |= {f"missing_{n}": condition & ~late for n, condition in enumerate(missing.values())}
    counts = (sf.count(sf.when(one, 1)).alias(name) for name, one in named.items())
    other = sf.when(strange, sf.col(TABLE))
    return rows.agg(*counts, sf.min(other).alias("first"), sf.max(other).alias("last")).collect()[0]


def _required(found: Row, known: Sequence[str], tables: SourceTables, task: IngestionTask) -> tuple[str, ...]:
    """Return the database's known tables; raise `TaskFailed` for events that stop a batch."""
    _refuse_truncates(int(found["truncates"]), task)
    return followed_tables(known, (int(found["strange"]), str(found["first"]), str(found["last"])), tables, task)


def _remark(found: Row, known: Sequence[str], tables: Sequence[str]) -> str:
    strange = int(found["strange"]) if known and tuple(known) == tuple(tables) else 0
    said = (_truncates(int(found["truncates"])), _late(int(found["late"])), set_aside(strange))
    return " ".join(filter(None, said))


def _late(number: int) -> str:
    return f"{counted(number, 'event')} skipped, older than the delete of their row." if number else ""


def _refuse_truncates(number: int, task: IngestionTask) -> None:
    if number and task.bad_records is BadRecordPolicy.FAIL:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"{_truncates(number)} Rows of the table would stay; empty the table and have the connector take a new "
            "snapshot, or set the policy for bad records to Quarantine to continue without it.",
        )


def _truncates(number: int) -> str:
    return (
        f"{counted(number, 'event')} of the database truncated its table, which the operator does not repeat."
        if number
        else ""
    )
