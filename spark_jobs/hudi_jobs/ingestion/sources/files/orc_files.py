"""Inspects ORC files before Spark reads them: their columns, and dates and times of an unknown calendar.

ORC counts days before 1582-10-15 by the calendar that the footer names. Footers of C++ writers name none and mean the
proleptic Gregorian calendar; in other footers without a name, Hive 3.1 means it and older writers mean the Julian one.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.sources.files.headers import Header, quoted_name
from hudi_jobs.schemas.types import plain_type
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import JavaObject, classes, elements, hadoop_configuration

_AT_ONCE = 8
_POSITION = "_col"
"""Old Hive named columns by position, and Spark finds them by it (`OrcUtils.requestedColumnIds`)."""

_CALENDAR = "orc.proleptic.gregorian.default"
"""Spark's option for files without a calendar: `true` for the proleptic Gregorian, `false` for the Julian calendar."""

_CPP = 1
"""The writer's number in footers of the C++ library (`OrcFile.WriterImplementation`)."""

_FIRST_GREGORIAN_DAY = -141_427
_MILLISECONDS = 86_400_000


@dataclass(frozen=True)
class OrcColumns:
    """The columns of an ORC file; `names` is None if they are positions or the file has no schema."""

    kinds: StructType
    names: Header | None
    undated: Header = ()
    """Columns that may have dates or times before 1582-10-15 of an unknown calendar."""


def orc_columns(spark: SparkSession, paths: Sequence[str]) -> list[OrcColumns]:
    """Return the columns of each file by their types in Spark."""
    java = classes(spark)
    utilities = java.org.apache.spark.sql.execution.datasources.orc.OrcUtils
    texts = java.org.apache.spark.sql.catalyst.util.CharVarcharUtils
    files, path_of = java.org.apache.orc.OrcFile, java.org.apache.hadoop.fs.Path
    settings = hadoop_configuration(spark)

    def one(path: str) -> OrcColumns:
        reader = files.createReader(path_of(path), files.readerOptions(settings))
        try:
            schema, undated = reader.getSchema(), tuple(_undated(reader))
        finally:
            reader.close()
        if not schema.getFieldNames():
            return OrcColumns(StructType(), None)
        catalyst = texts.replaceCharVarcharWithStringInSchema(utilities.toCatalystSchema(schema))
        kinds = StructType.fromJson(plain_type(json.loads(catalyst.json())))
        names = tuple(kinds.names)
        return OrcColumns(kinds, None if all(name.startswith(_POSITION) for name in names) else names, undated)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(one, paths))


def _undated(reader: JavaObject) -> Iterator[str]:
    """Yield the columns that may have values before 1582-10-15, if the footer tells no calendar."""
    footer = reader.getFileTail().getFooter()
    if footer.hasCalendar() or footer.getWriter() == _CPP:
        return
    schema = reader.getSchema()
    if not schema.getFieldNames():
        return
    kinds = [one.getKind().toString() for one in elements(footer.getTypesList())]
    statistics = elements(footer.getStatisticsList())
    for name, column in zip(elements(schema.getFieldNames()), elements(schema.getChildren()), strict=True):
        parts = range(int(column.getId()), int(column.getMaximumId()) + 1)
        if any(_may_be_ancient(kinds[at], statistics[at] if at < len(statistics) else None) for at in parts):
            yield str(name)


def _may_be_ancient(kind: str, statistics: JavaObject | None) -> bool:
    """Tell whether a column has dates or times before 1582-10-15, or no statistics that say so."""
    if kind != "DATE" and not kind.startswith("TIMESTAMP"):
        return False
    if statistics is None:
        return True
    if kind == "DATE":
        days = statistics.getDateStatistics()
        least, first = (int(days.getMinimum()) if days.hasMinimum() else None), _FIRST_GREGORIAN_DAY
    else:
        times = statistics.getTimestampStatistics()
        least = int(times.getMinimumUtc()) if times.hasMinimumUtc() else None
        if least is None and times.hasMinimum():
            least = int(times.getMinimum())
        # A writer's zone may be a day away from UTC.
        first = (_FIRST_GREGORIAN_DAY + 1) * _MILLISECONDS
    if least is None:
        return not (statistics.hasNumberOfValues() and statistics.getNumberOfValues() == 0)
    return least < first


def with_calendar(
    options: Mapping[str, str], files: Mapping[str, OrcColumns], wanted: Collection[str] | None
) -> dict[str, str]:
    """Return reader options that read the dates of each file by its calendar; names of options are in lower case.

    Raises `TaskFailed` for the first file with an unknown calendar, unless the options name it; `wanted` are the
    columns that are read, None for all.
    """
    if (told := options.get(_CALENDAR)) is not None:
        if told.lower() not in {"true", "false"}:
            raise TaskFailed(FailureReason.INVALID_REQUEST, f"The option {_CALENDAR} must be true or false.")
        return dict(options)
    known = None if wanted is None else {name.lower() for name in wanted}
    for path, columns in files.items():
        for name in columns.undated:
            if known is None or columns.names is None or name.lower() in known:
                raise _refusal(path, name)
    # Of the remaining files without a calendar, only those of C++ writers have values that depend on one.
    return {**options, _CALENDAR: "true"}


def _refusal(path: str, name: str) -> TaskFailed:
    return TaskFailed(
        FailureReason.SOURCE_UNREADABLE,
        f"The column {quoted_name(name)} of the file {path} may have dates or times before 1582-10-15, and the file "
        f"does not say in which calendar. Set the option {_CALENDAR} of the source to false where Spark 2 or Hive "
        "before 3.1 wrote the file, and to true where Hive 3.1 or another writer of the Gregorian calendar did.",
    )
