"""Partition columns whose values a key generator takes for times: which values make a partition, and in which zone.

Hudi's TimestampBased and Custom key generators parse and format with Joda (`TimestampBasedAvroKeyGenerator`), and a
value that they cannot parse fails the whole write. So every value is checked before. The patterns are a table's own,
a file of somebody else's: those whose values cannot be told good from bad, or which lead out of the table, are refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DecimalType, FractionalType, IntegralType, StringType

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.merging import columns_of
from hudi_jobs.contract.table.support import CUSTOM, TIMESTAMP, key_generator_of
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.schemas.types import column_named

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
_TEXTS = frozenset({"DATE_STRING", "MIXED"})
_FIRST, _LAST = -62_135_510_400_000, 253_402_214_400_000
"""Milliseconds since the epoch of the years 1 to 9999, a day less at either end for the zones."""

_TOKEN = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']")
_LITERAL = re.compile(r"[-_=.: /T]*")
_OFFSET = r"(?:Z|[+-]\d{2}:?\d{2})"
_IN_NAMES = re.compile(r"[\w= -][\w=. -]*(/[\w= -][\w=. -]*)*")
_FORMATTED = frozenset("yMdHm")
_LONGEST_PATTERN = 100

_SAMPLE = 10_000
_QUARTER = 900_000
_OFFSETS = tuple(offset for offset in range(-48, 57) if offset == 0 or abs(offset) >= 4)
"""Quarters of an hour from UTC, as far as zones go; none is nearer than an hour."""


@dataclass(frozen=True)
class TimeKeys:
    """How a table makes partitions of times: of which columns, from what, and as what."""

    columns: frozenset[str]
    kind: str
    unit: str
    inputs: tuple[str, ...]
    output: str
    input_zone: str
    output_zone: str

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "TimeKeys | None":
        """Return how a table does by its properties, or None for one whose partitions are plain values."""
        generator = key_generator_of(properties)
        fields = columns_of(properties.get("hoodie.table.partition.fields"))
        kinds = [field.rpartition(":") for field in fields]
        if generator == TIMESTAMP:
            columns = frozenset(fields)
        elif generator == CUSTOM:
            columns = frozenset(name for name, _, kind in kinds if kind.upper() == "TIMESTAMP")
        else:
            columns = frozenset()
        return cls._of(columns, properties) if columns else None

    @classmethod
    def _of(cls, columns: frozenset[str], properties: Mapping[str, str]) -> "TimeKeys":
        def stored(name: str) -> str:
            names = (f"hoodie{owner}.keygen.timebased.{name}" for owner in ("", ".deltastreamer", ".streamer"))
            return next((properties[key] for key in names if key in properties), "").strip()

        kind = stored("timestamp.type").upper()
        unit = stored("timestamp.scalar.time.unit").upper() or "SECONDS"
        keys = cls(
            columns=columns,
            kind=kind,
            unit=unit if kind == _SCALAR else _UNITS.get(kind, ""),
            inputs=tuple(each for each in stored("input.dateformat").split(",") if each),
            output=stored("output.dateformat"),
            input_zone=stored("timezone") or stored("input.timezone"),
            output_zone=stored("timezone") or stored("output.timezone"),
        )
        delimiter = stored("input.dateformat.list.delimiter.regex")
        keys._require_known(delimiter)
        return keys

    def _require_known(self, delimiter: str) -> None:
        """Raise `TaskFailed` for patterns that lead out of the table, or whose values cannot be checked before."""
        if not _IN_NAMES.fullmatch(self.output.replace("'", "")) or len(self.output) > _LONGEST_PATTERN:
            raise _refused("output.dateformat", self.output, "does not make plain folder names")
        if delimiter not in {"", ","}:
            raise _refused("input.dateformat.list.delimiter.regex", delimiter, "is not the comma")
        unknown = [each for each in self.inputs if _Pattern.of(each) is None]
        if self.kind in _TEXTS and (unknown or not self.inputs):
            pattern = unknown[0] if unknown else ""
            raise _refused("input.dateformat", pattern, "is not one of the digit patterns whose values can be checked")

    def misplaced(self, name: str, kind: DataType) -> Column:
        """Return the condition that Hudi cannot make a partition of a value; without a value it takes 1970."""
        value = column_named(name)
        if isinstance(kind, StringType):
            if self.kind not in _TEXTS:
                return value.isNotNull()
            parsed = [pattern.parsed(value, self.input_zone) for pattern in map(_Pattern.of, self.inputs) if pattern]
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
        """Tell whether a partition is in the local time of whichever JVM writes it: no zone is stored."""
        return _is_number(kind) and not self.output_zone

    def offsets_shown(self, rows: DataFrame, name: str, *, named: bool, encoded: bool) -> set[int] | None:
        """Return the quarters of an hour from UTC that agree with some rows of the table; None where none can."""
        if self.unit not in _MILLISECONDS or not _formats_alike(self.output):
            return None
        time = (column_named(name).cast("decimal(38,0)") * sf.lit(_MILLISECONDS[self.unit])).cast("long")
        path = sf.col("_hoodie_partition_path")
        path = sf.regexp_replace(sf.regexp_replace(path, "%2F", "/"), "%3A", ":") if encoded else path
        path = sf.regexp_replace(path, f"^{re.escape(name)}=", "") if named else path
        sample = rows.where(column_named(name).isNotNull()).limit(_SAMPLE).select(time.alias("t"), path.alias("p"))
        # A column for each offset would be code that Spark compiles for longer than it runs.
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


@dataclass(frozen=True)
class _Pattern:
    """A pattern of dates as a regular expression, with the group of every part."""

    regex: str
    groups: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "_Pattern | None":
        tokens = [found[0] for found in _TOKEN.finditer(text)]
        if len(text) > _LONGEST_PATTERN or "".join(tokens) != text:
            return None
        parts, groups = [], []
        for token, following in pairwise([*tokens, ""]):
            part = _part(token, following)
            if part is None or token[0] in groups:
                return None
            parts.append(part)
            groups += [token[0]] if part.startswith("(") and not part.startswith("(?:") else []
        return cls(f"^{''.join(parts)}$", tuple(groups)) if "y" in groups else None

    def parsed(self, value: Column, zone: str) -> Column:
        """Return the condition that a value is a time in this pattern, and one that the clocks of the zone show."""

        def group(letter: str, default: str) -> Column:
            if letter not in self.groups:
                return sf.lit(default)
            return sf.regexp_extract(value, self.regex, self.groups.index(letter) + 1)

        year = group("y", "1970")
        year = sf.when(sf.length(year) == 2, sf.concat(sf.lit("20"), year)).otherwise(year)
        day = sf.concat_ws("-", year, group("M", "1"), group("d", "1"))
        clock = sf.concat_ws(":", group("H", "0"), group("m", "0"), group("s", "0"))
        time = sf.try_to_timestamp(sf.concat_ws(" ", day, clock))
        exists = time.isNotNull()
        if "/" in zone and _OFFSET not in self.regex:
            exists &= sf.from_utc_timestamp(sf.to_utc_timestamp(time, zone), zone) == time
        return value.rlike(self.regex) & sf.coalesce(exists, sf.expr("false"))


def _part(token: str, following: str) -> str | None:
    """Return the regular expression of a part of a pattern; None for one that is not understood."""
    letter, length = token[0], len(token)
    if not letter.isalpha():
        literal = token.strip("'")
        return re.escape(literal) if _LITERAL.fullmatch(literal) else None
    if letter in "MdHms" and length <= 2:
        return rf"(\d{{{length}}})" if following[:1].isalpha() else r"(\d{1,2})"
    if letter == "S" or (letter == "y" and length in {2, 4}):
        return rf"(\d{{{length}}})"
    return _OFFSET if letter == "Z" else None


def _formats_alike(pattern: str) -> bool:
    """Tell whether Spark formats a pattern as Joda does."""
    tokens = [found[0] for found in _TOKEN.finditer(pattern)]
    return all(not token[0].isalpha() or (token[0] in _FORMATTED and len(token) in {2, 4}) for token in tokens)


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, IntegralType | FractionalType | DecimalType)


def _refused(key: str, found: str, why: str) -> TaskFailed:
    return TaskFailed(
        FailureReason.TABLE_MISMATCH,
        f"hoodie.keygen.timebased.{key} of the table is {found[:_LONGEST_PATTERN]!a}, which {why}; leave ingestion to "
        "the tool that does it now, or write its rows to another table at another base path.",
    )
