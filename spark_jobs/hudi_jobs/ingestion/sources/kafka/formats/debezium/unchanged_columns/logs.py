"""Tracks the names of MySQL's binary logs per server: names are compared as texts, and so are events.

If another server takes over, or a number gains a digit, newer events have names that sort before older names, or far
behind. These events would lose, or win, against all existing rows, silently.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.rules.partitions import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import (
    BINLOG_FILE,
    OPERATION,
    PROCESSED,
    READ,
    SERVER,
    SOURCE,
)

SNAPSHOT = "_debezium_snapshot"
"""True for a snapshot row positioned at the log's end when the snapshot was made."""

_MOST_SERVERS = 100
_LONGEST = 300
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


def followed(before: Mapping[str, str], found: Logs) -> dict[str, str]:
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
