"""The commands of the page about reading run as they stand, and each reader sees the same rows at every moment."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hudi import HudiTableBuilder
from tests.docs.pages import blocks
from tests.spark_jobs.readers import daft_command
from tests.spark_jobs.trials import IN_FULL, crossed

from hudi_jobs.contract import Outcome, RunMode, Service

pytestmark = pytest.mark.spark

PAGE = "start/read-it.md"
COLUMNS = "id STRING, part STRING, ts BIGINT, word STRING, at TIMESTAMP, price DECIMAL(10, 2)"
HEADER = "id,part,ts,word,at,price\n"
Rows = list[tuple[Any, ...]]


def line(key: int, ts: int, word: str) -> str:
    return f"{key},p{key % 2},{ts},{word},2026-01-01T00:00:{ts:02}Z,{ts}.25\n"


def declare(lake: Any, table_type: str, version: int) -> Service:
    """Declare a table whose service is always due, and return the service."""
    lake.table = {"type": table_type, "version": version, "orderingFields": ["ts"], "partitionBy": ["part"]}
    lake.ingestion = {"files": {"schemaDdl": COLUMNS}}
    lake.metadata_table = True
    lake.spec = {"tableVersion": version}
    if table_type == "MergeOnRead":
        lake.spec["compaction"] = {"trigger": {"deltaCommits": 1}}
        return Service.COMPACTION
    execution = {"sortColumns": ["id"]}
    lake.spec["clustering"] = {"mode": "Async", "trigger": {"commits": 1}, "execution": execution}
    return Service.CLUSTERING


def ingest(lake: Any, number: int, *lines: str) -> None:
    lake.put(f"{number}.csv", HEADER + "".join(lines), at=60 * number)
    assert lake.ingest().outcome is Outcome.SUCCEEDED


def without_jvm(path: str) -> Rows:
    """Read with hudi-rs, which shares no code with the other readers."""
    return plain(pa.Table.from_batches(HudiTableBuilder.from_base_uri(path).build().read()))


def plain(rows: pa.Table) -> Rows:
    return sorted((row["id"], row["word"], str(row["price"])) for row in rows.to_pylist())


@crossed(("table_type", ["CopyOnWrite", "MergeOnRead"]), ("version", [6, 8, 9]))
def test_spark_and_hudi_rs_see_the_same_rows_before_during_and_after_a_service(
    lake: Any, table_type: str, version: int
) -> None:
    service = declare(lake, table_type, version)
    wanted: dict[str, tuple[str, str]] = {}

    def expect(moment: str, changes: Mapping[str, tuple[str, str]] | None = None) -> None:
        wanted.update(changes or {})
        rows = sorted((key, *values) for key, values in wanted.items())
        by_spark = [(key, word, str(price)) for key, word, price in lake.rows("id", "word", "price")]
        assert (by_spark, without_jvm(lake.base_path)) == (rows, rows), moment

    ingest(lake, 1, *(line(key, 10, "first") for key in range(6)))
    ingest(lake, 2, line(0, 20, "second"), line(7, 20, "second"), line(1, 5, "late"))
    first = {str(key): ("first", "10.25") for key in range(6)}
    expect("after two commits", {**first, "0": ("second", "20.25"), "7": ("second", "20.25")})
    assert lake.serve(service, mode=RunMode.SCHEDULE).outcome is Outcome.SUCCEEDED
    expect("while a plan is pending")
    if service is Service.COMPACTION:
        ingest(lake, 3, line(1, 30, "third"))
        expect("after a write to a file slice that is planned", {"1": ("third", "30.25")})
    assert lake.serve(service, mode=RunMode.SCHEDULE_AND_EXECUTE).outcome is Outcome.SUCCEEDED
    expect("after the plan was executed")
    ingest(lake, 4, line(2, 40, "fourth"), line(8, 40, "fourth"))
    expect("after a write to the new files", {"2": ("fourth", "40.25"), "8": ("fourth", "40.25")})
    assert lake.serve(Service.CLEANING).outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
    expect("after a clean")


@pytest.fixture
def orders(lake: Any, s3: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rows]:
    """The table of the page, at its place on a store; the variables that the page names; its rows."""
    declare(lake, "MergeOnRead", 9)
    ingest(lake, 1, *(line(key, 10, "first") for key in range(6)))
    ingest(lake, 2, line(0, 20, "second"))
    bucket, folder = "lake", "team-a/orders"
    s3.create_bucket(Bucket=bucket)
    lake.use_store(bucket, s3.meta.endpoint_url)
    table = Path(lake.folder, "table")
    for file in (path for path in table.rglob("*") if path.is_file()):
        s3.upload_file(str(file), bucket, f"{folder}/{file.relative_to(table)}")
    variables = {
        "AWS_ENDPOINT_URL": s3.meta.endpoint_url,
        "AWS_ACCESS_KEY_ID": "access",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    yield sorted((str(key), *(("second", "20.25") if key == 0 else ("first", "10.25"))) for key in range(6))
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": one["Key"]} for one in page["Contents"]]})
    s3.delete_bucket(Bucket=bucket)


def shown(*words: str) -> list[str]:
    """The examples of the page, in order, without those that hold one of the words."""
    return [one.text for one in blocks(PAGE, "python") if not any(word in one.text for word in words)]


def test_each_example_of_the_page_reads_the_table(orders: Rows, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    examples = iter(shown("daft"))

    # The session of the tests has settings of its own for this store; the example gets that session.
    exec(next(examples), names)
    assert "second" in capsys.readouterr().out
    by_spark = sorted((row.id, row.word, str(row.price)) for row in names["rows"].collect())
    assert by_spark == orders
    exec(next(examples), names)
    assert {row.word for row in names["rows"].collect()} == {"first"}  # the update waits for its compaction
    for example in examples:
        exec(example, names)
    assert plain(names["rows"]) == orders
    newest = pa.table(names["newest"]).to_pylist()
    assert {row["part"]: row["ts"] for row in newest} == {"p0": 20, "p1": 10}
    assert names["frame"].height == len(orders)


@IN_FULL
@pytest.mark.usefixtures("orders")
def test_daft_reads_the_rows_of_hudi_rs_and_refuses_the_table_itself(lake: Any) -> None:
    (over_arrow,) = (text for text in shown() if "daft" in text)
    (native,) = (text for text in shown() if "HudiTableBuilder" in text)
    refused = f"try:\n    daft.read_hudi('{lake.folder}/table')\nexcept Exception as error:\n    print(error)\n"
    program = f"{native}\n{over_arrow}\nprint(frame.count_rows())\n{refused}"
    done = subprocess.run(
        daft_command(program), env=dict(os.environ), capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.splitlines()[0] == "6"
    assert "Only support" in done.stdout
