"""Guards against events of several database tables in a table, which could replace each other's rows."""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask, SourceTables
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import SCHEMA, SERVER, SOURCE

TABLE = "_debezium_table"
"""The name of an event's database table; null if the event lacks it."""

_MOST_TABLES = 100
_LONGEST = 300
_TOLD_BY = {"name": SERVER, "schema": SCHEMA}
"""Name parts that are columns: as part of the record key, they distinguish rows."""


def table_of(source: StructType, keys: Sequence[str]) -> Column:
    """Return the name of an event's table, without parts that are in the record key."""
    present = set(source.fieldNames())
    if "table" not in present:
        return sf.lit(None).cast("string")
    named = [part for part in ("name", "db", "schema", "table") if part in present and _TOLD_BY.get(part) not in keys]
    name = sf.concat_ws(".", *(sf.col(SOURCE)[part].cast("string") for part in named))
    return sf.when(sf.col(SOURCE)["table"].isNotNull(), sf.substring(name, 1, _LONGEST))


def is_strange(known: Sequence[str]) -> Column:
    """Tell whether an event belongs to an unknown table."""
    return sf.col(CORRUPT_RECORD).isNull() & sf.col(TABLE).isNotNull() & ~sf.col(TABLE).isin(*known)


def followed(
    known: Sequence[str], strange: tuple[int, str, str], tables: SourceTables, task: IngestionTask
) -> tuple[str, ...]:
    """Return the known tables after a batch; raise `TaskFailed` for events of other tables.

    `strange` are the number of events of unknown tables, and the first and last of their names.
    """
    number, *found = strange
    names = sorted({*found})
    if not number:
        return tuple(known)
    if tables is SourceTables.SEVERAL:
        return tuple(sorted({*known, *names})[:_MOST_TABLES])
    if known and task.bad_records is not BadRecordPolicy.FAIL:
        return tuple(known)
    if not known and len(names) == 1:
        return (names[0],)
    said = f"so far {_shown(known[:1])}, and now {_shown(names[:1])}" if known else _shown(names)
    raise TaskFailed(
        FailureReason.BAD_RECORDS if known else FailureReason.TABLE_MISMATCH,
        f"The events come from several tables of the database: {said}. Rows of one table would replace rows of "
        "another with the same key; nothing was written. Give each database table its own HudiTable, or narrow the "
        "topics. If the table was renamed, or record keys are never the same, set value.sourceTables of the Kafka "
        "source to Several." + (" The policy Quarantine sets aside events of the other tables." if known else ""),
    )


def set_aside(number: int) -> str:
    """Return a sentence on events set aside, or an empty text."""
    return f"{counted(number, 'event')} of other tables of the database set aside." if number else ""


def _shown(names: Sequence[str]) -> str:
    return " and ".join(f"{name[:100]!a}" for name in names)
