"""The cause of a bad row: in the message of a run that fails, and in each record of the quarantine."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_jobs.contract import Location
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, Origin, SourceRows
from hudi_jobs.ingestion.rules.quality import Counts, Faults, refuse
from hudi_jobs.ingestion.rules.quarantine import quarantine
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark

ROWS = [
    (1, "a.csv", None, None),
    (None, "a.csv", "x;1", ("n\x1b", "is not a whole number (INT)")),
    (None, "a.csv", "x;2", ("n\x1b", "is not a whole number (INT)")),
    (None, "b.csv", '"x', (None, "a quote is not closed")),
    (None, "c.csv", "{", None),
]


def rows(spark: SparkSession) -> SourceRows:
    fault = f"{FAULT} STRUCT<column: STRING, cause: STRING>"
    frame = spark.createDataFrame(ROWS, f"id INT, _file STRING, {CORRUPT_RECORD} STRING, {fault}")
    return SourceRows(frame, may_be_corrupt=True, format="csv", origin=Origin("_file", "source_file"))


def test_faults_are_no_column_of_the_source(spark: SparkSession) -> None:
    source = rows(spark)
    assert source.columns == ["id"]
    assert source.parsed.columns == ["id"]


def test_a_failed_run_names_file_column_and_cause_of_bad_rows(spark: SparkSession) -> None:
    source = rows(spark)
    nothing = Faults(keyless={}, misplaced={}, unordered={})
    with pytest.raises(TaskFailed) as raised:
        refuse(Counts(read=5, corrupt=4, keyless=0), source, (source.parsed, nothing))
    assert raised.value.message.startswith(
        "4 of 5 rows cannot be read as csv (2 in a.csv: column 'n\\x1b' is not a whole number (INT), "
        "1 in b.csv: a quote is not closed, 1 in c.csv); "
    )


def test_column_with_two_kinds_of_bad_rows_is_reported_with_their_sum(spark: SparkSession, tmp_path: Path) -> None:
    counts = Counts(read=9, corrupt=4, keyless=3)
    source = rows(spark)
    keyless = spark.createDataFrame([(None,)] * 3, "`n\x1b` INT")
    faults = Faults(keyless={"n\x1b": keyless["n\x1b"].isNull()}, misplaced={}, unordered={})
    told = quarantine(counts, source, (keyless, faults), Location.parse(str(tmp_path)))
    assert told == "Bad rows by column: n\\x1b 5, whole row 2."


def test_quarantined_rows_hold_file_column_and_cause(spark: SparkSession, tmp_path: Path) -> None:
    told = quarantine(Counts(read=5, corrupt=4, keyless=0), rows(spark), None, Location.parse(str(tmp_path)))
    assert told == "Bad rows by column: n\\x1b 2, whole row 2."
    written = [json.loads(line) for file in tmp_path.glob("unreadable/part-*") for line in file.open()]
    assert sorted(written, key=lambda row: row["record"]) == [
        {"source_file": "b.csv", "reason": "a quote is not closed", "record": '"x'},
        {"source_file": "a.csv", "column": "n\x1b", "reason": "is not a whole number (INT)", "record": "x;1"},
        {"source_file": "a.csv", "column": "n\x1b", "reason": "is not a whole number (INT)", "record": "x;2"},
        {"source_file": "c.csv", "reason": "cannot be read as csv", "record": "{"},
    ]
