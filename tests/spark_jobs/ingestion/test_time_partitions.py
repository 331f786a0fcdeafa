"""Partitions that are made of times: Hudi gets no value that it cannot parse, and none goes to another zone's day."""

from __future__ import annotations

import json
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException
from pyspark.sql.types import LongType, StringType

from hudi_jobs.contract import FailureReason, Outcome
from hudi_jobs.schemas.partition_times import TimeKeys
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark

WRITE, TIME = "hoodie.datasource.write.", "hoodie.keygen.timebased."
HOUR = 3_600_000
MIDNIGHT = 1_767_312_000_000
"""Milliseconds of 2026-01-02T00:00:00Z."""


def keys(**options: str) -> TimeKeys:
    stored = {f"{TIME}{key.replace('_', '.')}": value for key, value in options.items()}
    found = TimeKeys.of(
        {
            "hoodie.table.keygenerator.type": "TIMESTAMP",
            "hoodie.table.partition.fields": "at",
            f"{TIME}output.dateformat": "yyyy/MM/dd",
            **stored,
        }
    )
    assert found is not None
    return found


def texts(pattern: str, **options: str) -> TimeKeys:
    return keys(timestamp_type="DATE_STRING", input_dateformat=pattern, **options)


NEW_YORK = {"timezone": "America/New_York"}


@pytest.mark.parametrize(
    ("found", "good", "bad"),
    [
        (texts("yyyy-MM-dd"), ["2026-01-02", "2024-02-29", None], ["2026-02-29", "2026-13-01", "today", "", "../x"]),
        (texts("yyyyMMdd"), ["20260102"], ["20261301", "202601", "2026-01-02"]),
        (texts("yyyy-MM-dd,yyyyMMdd"), ["2026-01-02", "20260102"], ["2026/01/02"]),
        (texts("yyyy-MM-dd HH:mm:ss"), ["2026-01-02 23:59:59"], ["2026-01-02 24:00:00", "2026-01-02"]),
        (texts("yyyy-MM-dd'T'HH:mm:ss.SSSZ"), ["2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678+0900"], ["x"]),
        (texts("yyyy-MM-dd HH:mm", **NEW_YORK), ["2026-03-08 01:59"], ["2026-03-08 02:30"]),
    ],
)
def test_texts_that_joda_cannot_parse_are_misplaced(
    spark: Any, found: TimeKeys, good: list[str | None], bad: list[str]
) -> None:
    frame = spark.createDataFrame([(value,) for value in [*good, *bad]], "at STRING")
    wrong = frame.where(found.misplaced("at", StringType())).collect()
    assert sorted(row["at"] for row in wrong) == sorted(bad)
    formatter = spark._jvm.org.joda.time.format.DateTimeFormat
    zones = spark._jvm.org.joda.time.DateTimeZone
    for value in filter(None, good):
        patterns = [
            formatter.forPattern(each).withZone(zones.forID(found.input_zone or "UTC")) for each in found.inputs
        ]
        assert any(parses(each, value) for each in patterns), value


def parses(formatter: Any, value: str) -> bool:
    try:
        formatter.parseDateTime(value)
    except (Py4JJavaError, IllegalArgumentException):
        return False
    return True


@pytest.mark.parametrize(
    ("found", "good", "bad"),
    [
        (keys(timestamp_type="EPOCHMILLISECONDS"), [0, -1, MIDNIGHT, None], [2**62, -(2**62)]),
        (keys(timestamp_type="UNIX_TIMESTAMP"), [0, MIDNIGHT // 1000], [MIDNIGHT * 1000]),
        (keys(timestamp_type="SCALAR", timestamp_scalar_time_unit="days"), [20_000], [MIDNIGHT]),
    ],
)
def test_numbers_beyond_the_calendar_are_misplaced(
    spark: Any, found: TimeKeys, good: list[int | None], bad: list[int]
) -> None:
    frame = spark.createDataFrame([(value,) for value in [*good, *bad]], "at BIGINT")
    wrong = frame.where(found.misplaced("at", LongType())).collect()
    assert sorted(row["at"] for row in wrong) == sorted(bad)


@pytest.mark.parametrize(
    "options",
    [
        {"timestamp_type": "EPOCHMILLISECONDS", "output_dateformat": "'../../'yyyy"},
        {"timestamp_type": "EPOCHMILLISECONDS", "output_dateformat": "yyyy//MM"},
        {"timestamp_type": "EPOCHMILLISECONDS", "output_dateformat": "'.hoodie'"},
        {"timestamp_type": "EPOCHMILLISECONDS", "output_dateformat": ""},
        {"timestamp_type": "DATE_STRING", "input_dateformat": "EEE, dd MMM yyyy"},
        {"timestamp_type": "DATE_STRING", "input_dateformat": "MM-dd"},
        {"timestamp_type": "DATE_STRING", "input_dateformat": "yyyy-MM-dd;yyyyMMdd"},
        {"timestamp_type": "DATE_STRING", "input_dateformat": "(a+)+yyyy"},
        {"timestamp_type": "DATE_STRING", "input_dateformat": ""},
    ],
)
def test_patterns_that_lead_away_or_cannot_be_checked_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(TaskFailed) as refused:
        keys(**options)
    assert refused.value.reason is FailureReason.TABLE_MISMATCH


def by_days(lake: Any, hours: list[int], *, zone: str, stored: bool) -> None:
    """Make a table of one row at each of these hours after a midnight in UTC, by the days of a zone."""
    lake.table = {"partitionBy": ["at"]}
    options = {
        "hoodie.table.name": "flights",
        f"{WRITE}recordkey.field": "id",
        f"{WRITE}partitionpath.field": "at",
        f"{WRITE}keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        f"{TIME}timestamp.type": "EPOCHMILLISECONDS",
        f"{TIME}output.dateformat": "yyyyMMdd",
        f"{TIME}timezone": zone,
        "hoodie.metadata.enable": "false",
    }
    rows = [(str(hour), MIDNIGHT + hour * HOUR, "old") for hour in hours]
    frame = lake.spark.createDataFrame(rows, "id STRING, at BIGINT, v STRING")
    frame.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    if not stored:
        path = lake.folder / "table/.hoodie/hoodie.properties"
        lines = path.read_text().splitlines(keepends=True)
        (path.parent / ".hoodie.properties.crc").unlink()
        path.write_text("".join(line for line in lines if not line.startswith(f"{TIME}timezone")))


def ingest(lake: Any, hours: list[int]) -> Any:
    found = [{"id": str(hour), "at": MIDNIGHT + hour * HOUR, "v": "new"} for hour in hours]
    lake.put("a.json", "".join(json.dumps(row) + "\n" for row in found))
    files = {"format": "json", "options": {}, "schemaDdl": "id STRING, at BIGINT, v STRING"}
    return lake.ingest(files=files, operation="Upsert")


@pytest.mark.parametrize(
    ("zone", "stored", "hours", "said"),
    [
        ("GMT+9:00", True, [3, 16], None),
        ("UTC", False, [0, 23, 24], None),
        ("UTC", False, [3, 16], "do not show which"),
        ("GMT+9:00", False, [14, 15], "show that it is not UTC"),
    ],
)
def test_days_are_those_of_the_zone_that_is_stored_or_shown(
    lake: Any, zone: str, stored: bool, hours: list[int], said: str | None
) -> None:
    by_days(lake, hours, zone=zone, stored=stored)
    result = ingest(lake, hours)
    if said is None:
        assert result.outcome is Outcome.SUCCEEDED, result
        assert lake.rows("id", "v") == sorted((str(hour), "new") for hour in hours)
    else:
        assert (result.reason, said in result.message) == (FailureReason.TABLE_MISMATCH, True), result
        assert lake.rows("id", "v") == sorted((str(hour), "old") for hour in hours)


def test_a_date_that_cannot_be_parsed_is_set_aside(lake: Any) -> None:
    lake.table = {"partitionBy": ["day"]}
    options = {
        "hoodie.table.name": "flights",
        f"{WRITE}recordkey.field": "id",
        f"{WRITE}partitionpath.field": "day",
        f"{WRITE}keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        f"{TIME}timestamp.type": "DATE_STRING",
        f"{TIME}input.dateformat": "yyyy-MM-dd",
        f"{TIME}output.dateformat": "yyyy/MM/dd",
        "hoodie.metadata.enable": "false",
    }
    frame = lake.spark.createDataFrame([("0", "2026-01-02")], "id STRING, day STRING")
    frame.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    values = {"1": "2026-01-03", "2": "yesterday", "3": "2026-02-30"}
    lake.put("a.json", "".join(json.dumps({"id": key, "day": day}) + "\n" for key, day in values.items()))
    files = {"files": {"format": "json", "options": {}}}
    assert lake.ingest(**files).reason is FailureReason.BAD_RECORDS
    assert lake.rows("id", "day") == [("0", "2026-01-02")]
    result = lake.ingest(**files, badRecords="Quarantine", quarantinePath=f"{lake.root}/bad")
    assert (result.outcome, result.rows_quarantined) == (Outcome.SUCCEEDED, 2), result
    assert lake.rows("id", "day") == [("0", "2026-01-02"), ("1", "2026-01-03")]
    assert (lake.folder / "table/2026/01/03").is_dir()
