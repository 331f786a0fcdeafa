"""Partition columns that a key generator reads as times: their valid values, and their zone.

A value that Hudi cannot parse fails the whole write, so every value is checked before. `hudi_jobs.contract.table.times`
tells which patterns of a table can be checked.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DecimalType, FractionalType, IntegralType, StringType

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.properties import sentence_of
from hudi_jobs.contract.table.times import (
    OFFSET,
    TEXTS,
    TOKEN,
    DatePattern,
    input_patterns,
    stored_option,
    time_columns,
    unsupported_times,
)
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed

_MILLISECONDS = {
    "NANOSECONDS": 1e-6,
    "MICROSECONDS": 1e-3,
    "MILLISECONDS": 1,
    "SECONDS": 1_000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
}
_UNITS = {"UNIX_TIMESTAMP": "SECONDS", "EPOCHMILLISECONDS": "MILLISECONDS", "EPOCHMICROSECONDS": "MICROSECONDS"}
_SCALAR = "SCALAR"
_FIRST, _LAST = -62_135_510_400_000, 253_402_214_400_000
"""Milliseconds since the epoch of the years 1 to 9999, a day less at either end for the zones."""

_FORMATTED = frozenset("yMdHm")

_SAMPLE = 10_000
_QUARTER = 900_000
_OFFSETS = tuple(offset for offset in range(-48, 57) if offset == 0 or abs(offset) >= 4)
"""Quarters of an hour from UTC, for all zones; no zone other than UTC is nearer than an hour."""


@dataclass(frozen=True)
class TimeKeys:
    """How a table makes partitions of times: the columns, the form of their values, and the form of the partitions."""

    columns: frozenset[str]
    kind: str
    unit: str
    inputs: tuple[str, ...]
    output: str
    input_zone: str
    output_zone: str

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "TimeKeys | None":
        """Return the rule in a table's properties, or None for a table with plain partitions.

        Raises `TaskFailed` for patterns that lead out of the table, or that cannot be checked before a write.
        """
        columns = time_columns(properties)
        if not columns:
            return None
        refused = next(unsupported_times(properties), None)
        if refused is not None:
            raise TaskFailed(FailureReason.TABLE_MISMATCH, sentence_of(refused))

        def stored(name: str) -> str:
            return stored_option(properties, name)

        kind = stored("timestamp.type").upper()
        unit = stored("timestamp.scalar.time.unit").upper() or "SECONDS"
        return cls(
            columns=columns,
            kind=kind,
            unit=unit if kind == _SCALAR else _UNITS.get(kind, ""),
            inputs=input_patterns(properties),
            output=stored("output.dateformat"),
            input_zone=stored("timezone") or stored("input.timezone"),
            output_zone=stored("timezone") or stored("output.timezone"),
        )

    def misplaced(self, name: str, kind: DataType) -> Column:
        """Return the condition that Hudi cannot make a partition of a value; without a value it takes 1970."""
        value = column_named(name)
        if isinstance(kind, StringType):
            if self.kind not in TEXTS:
                return value.isNotNull()
            patterns = filter(None, map(DatePattern.of, self.inputs))
            parsed = [_parsed(pattern, value, self.input_zone) for pattern in patterns]
            return value.isNotNull() & ~reduce(or_, parsed)
        if not _is_number(kind):
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"The partition column {name} is a {kind.simpleString()}, for which Hudi makes different partitions "
                "depending on the operation; where partitions are times, only texts and numbers can be ingested.",
            )
        if self.unit not in _MILLISECONDS:
            return value.isNotNull()
        scale = _MILLISECONDS[self.unit]
        return value.isNotNull() & ~value.between(sf.lit(int(_FIRST / scale)), sf.lit(int(_LAST / scale)))

    def depends_on_the_writer(self, kind: DataType) -> bool:
        """Tell whether a partition is in the local time of the JVM that writes it: no zone is stored."""
        return _is_number(kind) and not self.output_zone

    def offsets_shown(self, rows: DataFrame, name: str, *, named: bool, encoded: bool) -> set[int] | None:
        """Return the quarters of an hour from UTC that agree with some rows of the table; None if no offset can."""
        if self.unit not in _MILLISECONDS or not _formats_alike(self.output):
            return None
        time = (column_named(name).cast("decimal(38,0)") * sf.lit(_MILLISECONDS[self.unit])).cast("long")
        path = sf.col("_hoodie_partition_path")
        path = sf.regexp_replace(sf.regexp_replace(path, "%2F", "/"), "%3A", ":") if encoded else path
        path = sf.regexp_replace(path, f"^{re.escape(name)}=", "") if named else path
        sample = rows.where(column_named(name).isNotNull()).limit(_SAMPLE).select(time.alias("t"), path.alias("p"))
        # With a column for each offset, Spark would compile for longer than it runs.
        each = sample.select("t", "p", sf.explode(sf.array(*map(sf.lit, _OFFSETS))).alias("offset"))
        would_be = sf.date_format(sf.timestamp_millis(sf.col("t") + sf.col("offset") * _QUARTER), self.output)
        found = each.groupBy("offset").agg(sf.count(sf.when(would_be != sf.col("p"), 1)).alias("differ")).collect()
        return {row["offset"] for row in found if row["differ"] == 0} if found else {0}


def require_utc(shown: set[int] | None, base_path: str, name: str) -> None:
    """Raise `TaskFailed` unless the rows of a table show that its partitions are in UTC, and in no other zone."""
    if shown == {0}:
        return
    what = "show that it is not UTC" if shown is not None and 0 not in shown else "do not show which"
    raise TaskFailed(
        FailureReason.TABLE_MISMATCH,
        f"The partitions of {base_path} are the times of the column {name} in the zone of the tool that wrote them. "
        f"hoodie.properties does not name that zone, and the rows {what}, so rows could be written again to another "
        "partition. Add hoodie.keygen.timebased.output.timezone to hoodie.properties.",
    )


def _parsed(pattern: DatePattern, value: Column, zone: str) -> Column:
    """Return the condition that a value is a time in this pattern, and that the clocks of the zone show it."""

    def group(letter: str, default: str) -> Column:
        if letter not in pattern.groups:
            return sf.lit(default)
        return sf.regexp_extract(value, pattern.regex, pattern.groups.index(letter) + 1)

    year = group("y", "1970")
    year = sf.when(sf.length(year) == 2, sf.concat(sf.lit("20"), year)).otherwise(year)
    day = sf.concat_ws("-", year, group("M", "1"), group("d", "1"))
    clock = sf.concat_ws(":", group("H", "0"), group("m", "0"), group("s", "0"))
    time = sf.try_to_timestamp(sf.concat_ws(" ", day, clock))
    exists = time.isNotNull()
    if "/" in zone and OFFSET not in pattern.regex:
        exists &= sf.from_utc_timestamp(sf.to_utc_timestamp(time, zone), zone) == time
    return value.rlike(pattern.regex) & sf.coalesce(exists, sf.expr("false"))


def _formats_alike(pattern: str) -> bool:
    """Tell whether Spark formats a pattern as Joda does."""
    tokens = [found[0] for found in TOKEN.finditer(pattern)]
    return all(not token[0].isalpha() or (token[0] in _FORMATTED and len(token) in {2, 4}) for token in tokens)


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, IntegralType | FractionalType | DecimalType)
