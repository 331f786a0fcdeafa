"""Keys of a store without folders: the object that was listed is what is read, and no odd key stops another file.

The store is moto, which keeps keys as they are, as S3 does; a server that keeps files in folders has none of these.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import functions as sf
from tests.spark_jobs.trials import sampled

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, FileFormat, FileSource, Outcome, Service
from hudi_jobs.ingestion.sources.files.read import absolute_paths, read_files
from hudi_jobs.operations.erase.keys import _read, keys_of
from hudi_jobs.operations.erase.quarantine_files import _judged
from hudi_jobs.operations.erase.quarantine_records import BadRecords
from hudi_jobs.operations.erase.scan import File, files_below
from hudi_jobs.spark.failures import TaskFailed

pytestmark = [pytest.mark.spark, pytest.mark.s3]

LOG_ENTRY = {
    "size": 700,
    "isDir": False,
    "modificationTime": 1,
    "blockReplication": 1,
    "blockSize": 33554432,
    "action": "add",
}

GOOD = {
    # An object beside others below its key (HADOOP-13221: s3a does not ask whether an ancestor is a file).
    "a.csv": "beside children",
    "a.csv/b.csv": "child",
    "m.csv": "beside a log of a sink",  # SPARK-35565
    # What Hadoop takes for a pattern, and a colon, which its Globber cannot have (HADOOP-3257, SPARK-32810).
    "[1]{a,b}*?.csv": "pattern",
    "co:lon.csv": "colon",
    "[2]co:lon.csv": "pattern and colon",
    "back\\slash.csv": "backslash",
    "x,y.csv": "comma",  # SPARK-10185
    # What a reader of URLs takes for something else (SPARK-23148).
    "hash#q?.csv": "fragment",
    "%2e%2e/p.csv": "percent",
    "100%25 +.csv": "percent and plus",
    " sp ace .csv ": "spaces",
    "tab\t.csv": "tab",
    "esc\x1b[31m.csv": "escape",  # no character of XML
    "u\u0308\U0001f600.csv": "characters",
    "...csv/....csv": None,  # hidden, as every name that begins with a dot
    "d" * 200 + "/" + "e" * 200 + "/" + "f" * 200 + ".csv": "long",
    "twin.csv": "twin",
    "same.csv": "same",
}
"""Keys below the source, and the row of each; None where the name is hidden."""

ODD = {
    "/double.csv": "double.csv",  # rclone/rclone#5063
    "/twin.csv": "twin.csv",
    "/same.csv": "same.csv",
    "x/../dots.csv": "dots.csv",
    "./dot.csv": "dot.csv",
    "../other/victim.csv": "s3a://",
    "../../above.csv": "s3a://",
    "..": "s3a://",
}
"""Keys that Hadoop resolves to another path, and how the result names each."""


@pytest.fixture
def put(lake: Any, s3: Any) -> Callable[[str, str | bytes], None]:
    """Move the lake to a bucket, and return what puts an object there."""
    bucket = f"keys-{time.monotonic_ns()}"
    s3.create_bucket(Bucket=bucket)
    lake.use_store(bucket, s3.meta.endpoint_url)
    settings = lake.spark._jsc.hadoopConfiguration()
    settings.set(f"fs.s3a.bucket.{bucket}.retry.limit", "0")
    return lambda key, content: s3.put_object(Bucket=bucket, Key=key, Body=content)


def csv(value: str) -> str:
    return f"id,v\n{value},1\n"


def sink_log(path: str) -> str:
    """A log as a streaming query leaves it, that names a file elsewhere."""
    return "v1\n" + json.dumps({"path": path} | LOG_ENTRY)


def context_of(lake: Any) -> TaskContext:
    task = SimpleNamespace(id="team/flights/ingestion", table=lake.definition())
    return cast("TaskContext", SimpleNamespace(spark=lake.spark, task=task))


def test_odd_keys_are_named_and_stop_no_other_file(lake: Any, put: Callable[..., None]) -> None:
    for key, value in GOOD.items():
        put(f"in/{key}", csv(value or "hidden"))
    for key in ODD:
        put(f"in/{key}", csv("same" if "same" in key else f"odd key {key}"))
    put("in", csv("the source itself"))
    put("other/victim.csv", csv("victim"))
    put("in/m.csv/_spark_metadata/0", sink_log(f"{lake.root}/other/victim.csv"))
    put("in/a.csv/_x", "nothing")
    files = {"schema_ddl": "id STRING, v INT"}
    first = lake.ingest(files=files, operation="Insert", max_files=8)
    second = lake.ingest(files=files, operation="Insert")
    assert {first.outcome, second.outcome} == {Outcome.SUCCEEDED}, (first, second)
    expected = sorted([*(value for value in GOOD.values() if value), "the source itself"])
    assert [row[0] for row in lake.rows("id")] == expected
    assert (first.files_read, first.more_input) == (8, True)
    assert (second.files_read, second.more_input) == (len(expected) - 8, False)
    third = lake.ingest(files=files, operation="Insert")
    assert third.outcome is Outcome.NOTHING_TO_DO, third
    assert f"all {len(expected)} files" in third.message
    assert first.files_skipped is not None
    assert 0 < first.files_skipped <= len(ODD), "objects beyond the limit of a run are not looked at"
    for result in (second, third):
        assert result.files_skipped == len(ODD), result
        assert len(result.skipped) == 3
        assert all(len(name) < 110 and name.isprintable() for name in result.skipped)
        assert "not read" in result.message


@pytest.mark.parametrize("format_", sampled("parquet", "csv", "orc", "avro", "json", few=2))
def test_a_log_of_a_sink_or_a_child_is_never_read_in_place_of_the_object(
    lake: Any, put: Callable[..., None], tmp_path: Path, format_: str
) -> None:
    """SPARK-35565 for the log; `_metadata` and `_common_metadata` after SPARK-15895."""
    own, victim = one_file(lake, tmp_path / "own", format_, "own"), one_file(lake, tmp_path / "v", format_, "victim")
    name, other = f"a.{format_}", f"other/victim.{format_}"
    put(f"in/{name}", own)
    put(other, victim)
    put(f"in/{name}/_spark_metadata/0", sink_log(f"{lake.root}/{other}"))
    for child in ("_metadata", "_common_metadata", "b", "_delta_log/0.json", "delta_1_1/bucket_0"):
        put(f"in/{name}/{child}", victim)
    declared = "id STRING" if format_ in {"json", "csv"} else None
    for schema in dict.fromkeys((None, declared)):
        source = FileSource(path=lake.source, format=FileFormat(format_), options=options(format_), schema_ddl=schema)
        rows = read_files(lake.spark, source, absolute_paths(lake.source, [name]))
        assert [row[0] for row in rows.frame.select("id").collect()] == ["own"]


def options(format_: str) -> dict[str, str]:
    return {"header": "true"} if format_ == "csv" else {}


def one_file(lake: Any, folder: Path, format_: str, value: str) -> bytes:
    frame = lake.spark.sql(f"SELECT '{value}' AS id").coalesce(1)
    frame.write.format(format_).options(**options(format_)).save(str(folder))
    (file,) = folder.glob("part-*")
    return file.read_bytes()


@pytest.mark.parametrize(
    ("format_", "asked"),
    sampled(
        ("csv", {"header": "true", "multiLine": "true"}),
        ("json", {"multiLine": "true"}),
        ("csv", {"header": "false", "multiLine": "true"}),
        ("csv", {"header": "true", "encoding": "ISO-8859-1"}),
        ("json", {}),
        few=2,
    ),
)
def test_columns_are_inferred_from_the_listed_object_alone(
    lake: Any, put: Callable[..., None], tmp_path: Path, format_: str, asked: dict[str, str]
) -> None:
    """After SPARK-32810 Spark still expands patterns in keys where it infers the columns of several lines at once."""
    secret = {"csv": "id,SECRET,more\n1,2,3\n", "json": '{"id": "1", "SECRET": 2}\n'}[format_]
    plain = {"csv": "id,v\n1,2\n", "json": '{"id": "1", "v": 2}\n'}[format_]
    encoding = asked.get("encoding", "UTF-8")
    (tmp_path / "local").write_text(secret)
    put(f"other/victim.{format_}", secret.encode(encoding))
    names = [
        f"{{x.{format_},../other/victim.{format_}}}",
        f"x,{tmp_path}/local",
        "co:lon",
        f"[o]ther.{format_}",
    ]
    put("in/other." + format_, secret.encode(encoding))
    for name in names:
        put(f"in/{name}", plain.encode(encoding))
        put(f"in/{name}/b", secret.encode(encoding))
        source = FileSource(path=lake.source, format=FileFormat(format_), options=asked)
        is_counted = asked.get("header") == "false"
        if ":" in name and is_counted:
            with pytest.raises(TaskFailed, match=r"co:lon.*Declare the columns"):
                read_files(lake.spark, source, absolute_paths(lake.source, [name]))
            continue
        rows = read_files(lake.spark, source, absolute_paths(lake.source, [name]))
        names_and_rows = (["_c0", "_c1"], {("id", "v"), ("1", "2")}) if is_counted else (["id", "v"], {("1", "2")})
        found = {tuple(map(str, row)) for row in rows.frame.select(*rows.columns).collect()}
        assert (rows.columns, found) == names_and_rows, name


def test_an_object_that_is_no_file_any_more_is_named(lake: Any, put: Callable[..., None]) -> None:
    put("in/gone.csv/b.csv", csv("child"))
    source = FileSource(path=lake.source, format=FileFormat.CSV, options=options("csv"), schema_ddl="id STRING")
    with pytest.raises(TaskFailed, match=r"gone\.csv"):
        read_files(lake.spark, source, absolute_paths(lake.source, ["gone.csv"])).frame.collect()


def test_keys_of_an_erasure_come_from_the_named_object_alone(lake: Any, put: Callable[..., None]) -> None:
    put("keys.jsonl", '"mine"\n')
    put("other.jsonl", '"victim"\n')
    put("keys.jsonl/_spark_metadata/0", sink_log(f"{lake.root}/other.jsonl"))
    put("keys.jsonl/b.jsonl", '"child"\n')
    assert _read(context_of(lake), f"{lake.root}/keys.jsonl") == ["mine"]


def test_the_quarantine_is_searched_object_by_object_and_nowhere_else(lake: Any, put: Callable[..., None]) -> None:
    folder, own = f"{lake.root}/q/mine", "q/mine/run/team/flights/r.json"
    put(own, '{"id": "mine"}\n')
    put(f"{own}/_spark_metadata/0", sink_log(f"{lake.root}/q/other/run/team/flights/r.json"))
    put(f"{own}/c.json", '{"id": "child"}\n')
    put("q/other/run/team/flights/r.json", '{"id": "victim"}\n')
    put("q/mine/../other/run/team/flights/r.json", "x")
    context = context_of(lake)
    files = files_below(context, folder)
    assert all(file.path.startswith(f"{folder}/") for file in files), files
    records = BadRecords(keys_of(("id",), frozenset({("mine",)}), "uid"))
    judged = list(_judged(context, folder, [File(f"{lake.root}/{own}", 15)], records))
    assert [(name, verdict.name) for name, verdict in judged] == [("r.json", "GOES")]


def test_a_deletion_touches_nothing_outside_of_the_folder(lake: Any, put: Callable[..., None], s3: Any) -> None:
    """Hadoop deletes what keys with `..` resolve to, which is another table's file."""
    lake.root = f"{lake.root}/team"
    put("team/table/.hoodie/hoodie.properties", "hoodie.table.name=flights\n")
    put("team/table/p/1.parquet", "x")
    put("team/table/../victim/p/1.parquet", "x")
    put("team/table/p/../../victim/p/2.parquet", "x")
    for name in ("1", "2"):
        put(f"team/victim/p/{name}.parquet", "rows")
    result = lake.serve(Service.DELETION)
    bucket = lake.root.split("/")[2]
    left = {each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]}
    assert {"team/victim/p/1.parquet", "team/victim/p/2.parquet"} <= left
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.PATH_OUTSIDE_TABLE), result
    assert "victim" in result.message
    assert "team/table/p/1.parquet" in left, "nothing is deleted where the folder cannot be"


def test_a_frame_of_given_files_has_each_row_with_its_file(lake: Any, put: Callable[..., None]) -> None:
    put("in/a.csv", csv("1"))
    put("in/a.csv/b.csv", csv("2"))
    source = FileSource(path=lake.source, format=FileFormat.CSV, options=options("csv"), schema_ddl="id STRING, v INT")
    rows = read_files(lake.spark, source, absolute_paths(lake.source, ["a.csv", "a.csv/b.csv"]))
    found = rows.frame.select("id", sf.col("_metadata.file_path")).collect()
    assert sorted(map(tuple, found)) == [("1", f"{lake.source}/a.csv"), ("2", f"{lake.source}/a.csv/b.csv")]
