"""How the files of MySQL's binary log are named, by the server: names are compared as texts, and so are events.

Where another server takes over, or a number gets one digit more, newer events have names that sort before those of
older ones, or far behind: they would lose, or win, against all rows that are there, without a word.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import BINLOG_FILE, SERVER

_MOST_SERVERS = 100
_LONGEST = 300

Logs = Mapping[str, tuple[str, ...]]
"""The shapes of names by the server, one of each where all is well: `mysql-bin.######`."""


def logs_of(rows: DataFrame) -> Logs:
    """Return the shapes of the names in rows of events; those of a snapshot may have no name."""
    file = sf.col(BINLOG_FILE)
    number = sf.substring_index(file, ".", -1)
    name = file.substr(sf.lit(1), sf.length(file) - sf.length(number))
    shape = sf.concat(name, sf.regexp_replace(number, r"\d", "#"))
    named = rows.where(sf.length(file) > 0).groupBy(sf.substring(SERVER, 1, _LONGEST).alias("server"))
    found = named.agg(*(each(sf.substring(shape, 1, _LONGEST)) for each in (sf.min, sf.max)))
    known = found.limit(_MOST_SERVERS + 1).collect()
    return {str(server or ""): tuple(sorted({least, greatest})) for server, least, greatest in known}


def followed(before: Mapping[str, str], found: Logs) -> dict[str, str]:
    """Return the shape of each server's names after a batch; raise `TaskFailed` where one has changed."""
    for server, shapes in found.items():
        had = before.get(server, shapes[0])
        changed = next((shape for shape in shapes if shape != had), None)
        if changed is not None:
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"The files of the binary log of {server[:100]!a} were named {had!a}, and are now named {changed!a}. "
                "Events are ordered by these names, so older rows would win over newer ones; nothing was written. Let "
                "the connector make a new snapshot for a new table.",
            )
    known = {**before, **{server: shapes[0] for server, shapes in found.items()}}
    if len(known) > _MOST_SERVERS:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"The events are of more than {_MOST_SERVERS} servers; give a server a table of its own.",
        )
    return known
