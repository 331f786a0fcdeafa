"""Where events come from: refuses events of several tables, and tracks the names of MySQL's binary logs.

If another server takes over, or a number gains a digit, newer events have names that sort before older names, or far
behind. These events would lose, or win, against all existing rows, silently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask, SourceTables
from hudi_jobs.contract.wording import counted
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import (
    BINLOG_FILE,
    OPERATION,
    PROCESSED,
    READ,
    SCHEMA,
    SERVER,
    SOURCE,
)
from hudi_jobs.spark.failures import TaskFailed

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


def followed_tables(
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


SNAPSHOT = "_debezium_snapshot"
"""True for a snapshot row positioned at the log's end when the snapshot was made."""

_MOST_SERVERS = 100
_ELSEWHERE = ("incremental", "false")
"""Values of `source.snapshot` for events outside such a snapshot."""

Logs = Mapping[str, tuple[str, ...]]
"""The name shapes per server, normally a single shape: `mysql-bin.######`."""

File = tuple[str, int]
"""A file's name, and when Debezium processed an event of it, in milliseconds."""


@dataclass(frozen=True)
class Log:
    """A batch's name shapes, its greatest name, and the name of the snapshot that Debezium processed last."""

    shapes: tuple[str, ...]
    newest: File
    snapshot: File | None = None


def is_snapshot(source: StructType) -> Column:
    """Tell whether an event is a snapshot row that carries the log's end position."""
    if "snapshot" not in source.fieldNames():
        return never()
    told = sf.lower(sf.col(SOURCE)["snapshot"].cast("string"))
    return sf.coalesce((sf.col(OPERATION) == READ) & ~told.isin(*_ELSEWHERE), never())


def logs_of(rows: DataFrame) -> dict[str, Log]:
    """Return the logs in event rows, per server; snapshot rows may have no name."""
    file, time = sf.col(BINLOG_FILE), sf.coalesce(PROCESSED, sf.lit(-1)).alias("time")
    number = sf.substring_index(file, ".", -1)
    name = file.substr(sf.lit(1), sf.length(file) - sf.length(number))
    shape = sf.substring(sf.concat(name, sf.regexp_replace(number, r"\d", "#")), 1, _LONGEST)
    short = sf.substring(file, 1, _LONGEST).alias("file")
    named = rows.where(sf.length(file) > 0).groupBy(sf.substring(SERVER, 1, _LONGEST).alias("server"))
    found = named.agg(
        sf.min(shape).alias("least"),
        sf.max(shape).alias("greatest"),
        sf.max(sf.struct(short, time)).alias("newest"),
        sf.max(sf.when(sf.col(SNAPSHOT), sf.struct(time, short))).alias("snapshot"),
    )
    known: dict[str, Log] = {}
    for row in found.limit(_MOST_SERVERS + 1).collect():
        shapes = tuple(sorted({row["least"], row["greatest"]}))
        snapshot = None if row["snapshot"] is None else (str(row["snapshot"]["file"]), int(row["snapshot"]["time"]))
        newest = (str(row["newest"]["file"]), int(row["newest"]["time"]))
        known[str(row["server"] or "")] = Log(shapes, newest, snapshot)
    return known


def continued(before: Mapping[str, File], found: Mapping[str, Log]) -> dict[str, File]:
    """Return the greatest name per server after a batch; raise `TaskFailed` if a log has restarted.

    A snapshot is positioned at the log's end. So a snapshot made after Debezium processed an event with a greater file
    name belongs to another log, such as that of a server that took over, or was set up again.
    """
    known = dict(before)
    for server, log in found.items():
        newest = max(before.get(server, log.newest), log.newest)
        known[server] = newest
        if log.snapshot is not None and log.snapshot[0] < newest[0] and log.snapshot[1] > newest[1]:
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"A snapshot of {server[:100]!a} is at the file {log.snapshot[0][:100]!a} of its binary log, but an "
                f"older event is in {newest[0][:100]!a}: the file numbers start over, as on another server. Older "
                "rows would win over newer rows; nothing was written. Have the connector take a new snapshot for a "
                "new table.",
            )
    return dict(list(known.items())[:_MOST_SERVERS])


def followed_logs(before: Mapping[str, str], found: Logs) -> dict[str, str]:
    """Return each server's name shape after a batch; raise `TaskFailed` if a shape has changed."""
    for server, shapes in found.items():
        had = before.get(server, shapes[0])
        changed = next((shape for shape in shapes if shape != had), None)
        if changed is not None:
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"The binary log files of {server[:100]!a} were named {had!a}, and are now named {changed!a}. Events "
                "are ordered by these names, so older rows would win over newer rows; nothing was written. Have the "
                "connector take a new snapshot for a new table.",
            )
    known = {**before, **{server: shapes[0] for server, shapes in found.items()}}
    if len(known) > _MOST_SERVERS:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"The events come from more than {_MOST_SERVERS} servers; use one table per server.",
        )
    return known
