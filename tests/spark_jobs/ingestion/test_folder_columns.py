"""Columns whose values are in the names of folders: only declared ones, strict as other texts."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason, Outcome
from hudi_jobs.ingestion.sources.files.folder_columns import folder_texts

pytestmark = pytest.mark.spark


def test_folders_are_columns_only_where_they_are_declared_and_their_texts_are_decoded(lake: Any) -> None:
    """SPARK-18108 and SPARK-23271: Spark takes the folder's value for the file's, and every folder for a column."""
    lake.put("dt=2026-03-01/city=K%C3%B6ln%2FS%C3%BCd+1/a b%.csv", "v,id\n1,1\n")
    lake.put("dt=2026-03-02/city=__HIVE_DEFAULT_PARTITION__/b.csv", "id,v\n2,2\n")
    lake.put("DT=2026-03-03/city=100%/c.csv", "id,v\n3,3\n")
    lake.put("dt=2026-03-04/city=x/x=1/d.csv", "id,v,dt\n4,4,2026-03-04\n")
    source = {"schemaDdl": "id INT, v INT, dt DATE, city STRING"}
    assert (result := lake.ingest(files=source)).outcome is Outcome.SUCCEEDED, result
    days = [dt.date(2026, 3, day) for day in range(1, 5)]
    assert lake.rows() == [
        (1, 1, days[0], "Köln/Süd+1"),
        (2, 2, days[1], None),
        (3, 3, days[2], "100%"),
        (4, 4, days[3], "x"),
    ]


def test_folders_that_nobody_declares_are_no_columns(lake: Any) -> None:
    lake.put("dt=2026-03-01/a.csv", "id,v\n1,2\n")
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert lake.rows() == [("1", "2")]


@pytest.mark.parametrize("file_format", sampled("json", "csv", "parquet"))
def test_row_with_another_value_than_its_folder_is_a_bad_row(lake: Any, file_format: str) -> None:
    source: dict[str, Any] = {"format": file_format, "schemaDdl": "id BIGINT, dt STRING"}
    source["options"] = {"header": "true"} if file_format == "csv" else {}
    texts = {
        "csv": ("id,dt\n1,a\n2,b\n", "id\n3\n"),
        "json": ('{"id": 1, "dt": "a"}\n{"id": 2, "dt": "b"}\n', '{"id": 3}\n'),
        "parquet": (b"", b""),
    }[file_format]
    paths = [lake.put(f"dt=a/{number}.{file_format}", text) for number, text in enumerate(texts)]
    if file_format == "parquet":
        pq.write_table(pa.table({"id": [1, 2], "dt": ["a", "b"]}), paths[0])
        pq.write_table(pa.table({"id": [3]}), paths[1])
    result = lake.ingest(files=source)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.BAD_RECORDS), result
    assert "1 of 3 rows" in result.message
    assert f"0.{file_format}" in result.message
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine"}
    assert lake.ingest(files=source, **policy).rows_quarantined == 1
    assert lake.rows() == [(1, "a"), (3, "a")]


def test_folder_whose_text_is_not_of_the_declared_type_is_named(lake: Any) -> None:
    lake.put("dt=2026-3-x/a.csv", "id\n1\n")
    result = lake.ingest(files={"schemaDdl": "id INT, dt DATE"})
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.BAD_RECORDS), result
    assert "dt=2026-3-x" in result.message
    assert "a.csv" in result.message


def test_names_of_folders_are_read_from_the_source_down() -> None:
    names = {"dt": "dt", "größe": "größe"}
    assert folder_texts("a/dt=1/DT=2/x=3/dt=9.csv", names) == {"dt": "2"}
    assert folder_texts("gr%C3%B6%C3%9Fe=%zz%41/f", names) == {"größe": "%zzA"}
    assert folder_texts("dt=/f", names) == {"dt": ""}
    assert folder_texts("dt/=1/f", names) == {}
