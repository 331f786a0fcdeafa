"""How the files of MySQL's binary log are named, by the server: names are compared as texts, and so are events.

Where another server takes over, or a number gets one digit more, newer events have names that sort before those of
older ones, or far behind: they would lose, or win, against all rows that are there, without a word.
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
"""Column that is true for a row of a snapshot that stands at the place where the log was when it was made."""

_MOST_SERVERS = 100
_LONGEST = 300
_ELSEWHERE = ("incremental", "false")
"""What `source.snapshot` says of events that are of no such snapshot."""

Logs = Mapping[str, tuple[str, ...]]
"""The shapes of names by the server, one of each where all is well: `mysql-bin.######`."""

File = tuple[str, int]
"""The name of a file, and when Debezium dealt with an event of it, in milliseconds."""


@dataclass(frozen=True)
class Log:
    """The shapes of names in a batch, the greatest name, and that of the snapshot which Debezium dealt with last."""

    shapes: tuple[str, ...]
    newest: File
    snapshot: File | None = None


def is_snapshot(source: StructType) -> Column:
    """Tell whether an event is a row of a snapshot for which the log was asked where it ends."""
    if "snapshot" not in source.fieldNames():
        return never()
    told = sf.lower(sf.col(SOURCE)["snapshot"].cast("string"))
    return sf.coalesce((sf.col(OPERATION) == READ) & ~told.isin(*_ELSEWHERE), never())


def logs_of(rows: DataFrame) -> dict[str, Log]:
    """Return what rows of events say of logs, by the server; those of a snapshot may have no name."""
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
    """Return the greatest name by the server after a batch; raise `TaskFailed` where a log has begun again.

    A snapshot stands where the log ends when it is made. So one that Debezium made after it had dealt with an event of
    a file with a greater name is of another log, as that of a server which has taken over, or was set up anew.
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
                "rows would win over newer ones; nothing was written. Have the connector take a new snapshot for a "
                "new table.",
            )
    return dict(list(known.items())[:_MOST_SERVERS])


def followed(before: Mapping[str, str], found: Logs) -> dict[str, str]:
    """Return the shape of each server's names after a batch; raise `TaskFailed` where one has changed."""
    for server, shapes in found.items():
        had = before.get(server, shapes[0])
        changed = next((shape for shape in shapes if shape != had), None)
        if changed is not None:
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"The binary log files of {server[:100]!a} were named {had!a}, and are now named {changed!a}. Events "
                "are ordered by these names, so older rows would win over newer ones; nothing was written. Have the "
                "connector take a new snapshot for a new table.",
            )
    known = {**before, **{server: shapes[0] for server, shapes in found.items()}}
    if len(known) > _MOST_SERVERS:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"The events come from more than {_MOST_SERVERS} servers; use one table per server.",
        )
    return known
