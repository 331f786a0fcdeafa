"""Dates and times of ORC files in the calendar of each file's writer."""

import datetime as dt
import io
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc
from tests.spark_jobs.ingestion.results import ingested, refused

from hudi_jobs.contract import FailureReason

pytestmark = pytest.mark.spark

ORC: dict[str, Any] = {"format": "orc", "options": {}}
CALENDAR = "orc.proleptic.gregorian.default"
DAYS = (dt.date(1, 1, 1), dt.date(1500, 3, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(2026, 3, 1))
NOON = dt.time(12)


def table_of(*days: dt.date) -> pa.Table:
    times = pa.array([dt.datetime.combine(day, NOON) for day in days], pa.timestamp("us"))
    nested = pa.array([[{"on": day}] for day in days], pa.list_(pa.struct([("on", pa.date32())])))
    ids = pa.array(range(len(days)), pa.int64())
    return pa.table({"id": ids, "day": pa.array(days, pa.date32()), "at": times, "legs": nested})


def bytes_of(table: pa.Table, *, by_java: bool = False) -> bytes:
    """The content of a file of pyarrow, or the same content with Java in the footer's place for the writer."""
    buffer = io.BytesIO()
    orc.write_table(table, buffer)
    content = buffer.getvalue()
    if by_java:
        before, found, after = content.rpartition(b"\x48\x01")
        assert found, "field 9 of the footer is 1"
        content = before + b"\x48\x00" + after
    return content


def put_by_spark(lake: Any, name: str, *, proleptic: str) -> None:
    first = 10 if proleptic == "true" else 20
    days = ", ".join(f"({first + nth}L, DATE'{day}')" for nth, day in enumerate(DAYS))
    frame = lake.spark.sql(
        "SELECT id, day, CAST(CONCAT(day, ' 12:00:00') AS TIMESTAMP) AS at, ARRAY(NAMED_STRUCT('on', day)) AS legs "
        f"FROM VALUES {days} t(id, day)"
    )
    folder = lake.folder / f"out-{proleptic}"
    frame.coalesce(1).write.option("orc.proleptic.gregorian", proleptic).orc(str(folder))
    (part,) = folder.glob("part-*")
    part.rename(lake.landing / name)


def stored(lake: Any) -> list[tuple[str, ...]]:
    """The table's values as texts, because Python has no times on the first day of the year 1 in every zone."""
    frame = lake.spark.read.format("hudi").load(lake.base_path)
    return sorted(map(tuple, frame.selectExpr("STRING(day)", "STRING(at)", "STRING(legs[0].on)").collect()))


def texts_of(*days: dt.date) -> list[tuple[str, ...]]:
    return [(str(day), f"{day} 12:00:00", str(day)) for day in days]


def test_dates_of_files_with_and_without_a_calendar_keep_their_values_in_one_run(lake: Any) -> None:
    lake.put("cpp.orc", bytes_of(table_of(*DAYS)))
    put_by_spark(lake, "julian.orc", proleptic="false")
    put_by_spark(lake, "gregorian.orc", proleptic="true")
    ingested(lake, files=ORC)
    assert stored(lake) == sorted(texts_of(*DAYS) * 3)


@pytest.mark.parametrize("column", ["day", "at", "legs"])
def test_old_dates_of_an_unknown_calendar_are_refused_with_file_column_and_option(lake: Any, column: str) -> None:
    lake.put("java.orc", bytes_of(table_of(*DAYS).select(["id", column]), by_java=True))
    refused(lake, FailureReason.SOURCE_UNREADABLE, f"The column {column} of", "java.orc", f"{CALENDAR} ", files=ORC)


def test_unknown_calendar_does_not_matter_for_new_dates(lake: Any) -> None:
    lake.put("new.orc", bytes_of(table_of(*DAYS[-1:]), by_java=True))
    ingested(lake, files=ORC)
    assert stored(lake) == texts_of(DAYS[-1])


def test_unknown_calendar_does_not_matter_for_columns_that_are_not_declared(lake: Any) -> None:
    lake.put("old.orc", bytes_of(table_of(*DAYS), by_java=True))
    ingested(lake, files={**ORC, "schemaDdl": "id BIGINT"})
    assert len(lake.rows()) == len(DAYS)


@pytest.mark.parametrize(("told", "day"), [("true", dt.date(1, 1, 1)), ("false", dt.date(1, 1, 3))])
def test_option_names_the_calendar_of_files_without_one(lake: Any, told: str, day: dt.date) -> None:
    lake.put("java.orc", bytes_of(table_of(*DAYS), by_java=True))
    ingested(lake, files={**ORC, "options": {CALENDAR: told}})
    assert lake.rows("day")[0] == (day,)


def test_option_for_the_calendar_is_true_or_false(lake: Any) -> None:
    lake.put("cpp.orc", bytes_of(table_of(*DAYS)))
    refused(lake, FailureReason.INVALID_REQUEST, CALENDAR, files={**ORC, "options": {CALENDAR: "yes"}})
