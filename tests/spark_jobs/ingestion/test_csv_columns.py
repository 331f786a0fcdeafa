"""Columns of CSV files: found by the names in each file's header, and never by their position."""

import bz2
import gzip
from collections.abc import Sequence
from typing import Any

import pytest
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason, Outcome, TaskResult

pytestmark = pytest.mark.spark

DDL = "id INT, carrier STRING, delay INT"
TYPED = {"files": {"schemaDdl": DDL}}


def ingested(lake: Any, **changes: Any) -> TaskResult:
    """Run and expect success."""
    result: TaskResult = lake.ingest(**changes)
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def refused(lake: Any, reason: FailureReason, *parts: str, **changes: Any) -> None:
    """Run, and expect this refusal of the files that are there, and that there is no table; then remove the files."""
    result: TaskResult = lake.ingest(**changes)
    assert (result.outcome, result.reason) == (Outcome.FAILED, reason), result
    for part in parts:
        assert part in result.message, result.message
    assert not (lake.folder / "table/.hoodie/hoodie.properties").exists()
    for path in lake.landing.iterdir():
        path.unlink()


def test_files_of_one_run_with_other_columns_and_another_order_are_read_by_their_names(lake: Any) -> None:
    """The columns of phone1.csv and phone2.csv of databricks/spark-csv#401, in a table that adds columns."""
    lake.put("0.csv", "id,carrier,delay\n1,AA,5\n2,UA,7\n")
    ingested(lake)
    lake.put("1.csv", "delay,id,carrier\n8,1,BB\n", at=60)
    lake.put("2.csv", "id,gate,carrier,delay\n3,B7,DL,1\n", at=61)
    lake.put("3.csv", "carrier,id\nXX,4\n", at=62)
    result = ingested(lake)
    columns = "id", "carrier", "delay", "gate"
    assert lake.rows(*columns) == [
        ("1", "BB", "8", None),
        ("2", "UA", "7", None),
        ("3", "DL", "1", "B7"),
        ("4", "XX", None, None),
    ]
    assert "3.csv" in result.message
    assert "delay" in result.message


def test_declared_columns_are_found_in_every_kind_of_header(lake: Any) -> None:
    """SPARK-23786: Spark takes declared columns by position, or refuses any other order."""
    files: Sequence[tuple[str, str | bytes]] = sampled(
        ("quoted.csv", '"carrier","no, te","id","delay"\nAA,"a,b",1,1\n'),
        ("bom.csv", b"\xef\xbb\xbfid,delay,carrier\n2,1,AA\n"),
        ("zipped.csv.gz", gzip.compress(b"delay,id,note,carrier\n1,3,x,AA\n")),
        ("name like a pattern {a}[b]*.csv", "carrier,delay,id\nAA,1,4\n"),
        ("packed.csv.bz2", bz2.compress(b"carrier,delay,id\nAA,1,5\n")),
        ("UPPER.CSV", "ID,Delay,CARRIER\n6,1,AA\n"),
        ("windows.csv", "carrier,id,delay\r\nAA,7,1\r\n"),
        ("blank.csv", "\n\ndelay,id,carrier\n1,8,AA\n"),
        ("plain.csv", "delay,carrier,id\n1,AA,9\n"),
        few=4,
    )
    for name, content in files:
        lake.put(name, content)
    lake.put("header only.csv", "carrier,delay,id\n")
    lake.put("no header.csv", "\n\n")
    result = ingested(lake, **TYPED)
    assert lake.rows() == [(number, "AA", 1) for number in range(1, len(files) + 1)]
    assert result.rows_read == len(files)
    assert "note" in result.message
    assert "no, te" in result.message


def test_headers_are_read_with_the_options_of_the_rows(lake: Any) -> None:
    expected = [(1, "Köln", 5), (2, "a\nb", 7)]
    inputs: list[tuple[dict[str, str], list[str | bytes]]] = [
        ({"sep": ";", "encoding": "ISO-8859-1"}, ["größe;ort;id\n5;Köln;1\n".encode("latin-1")]),
        ({"delimiter": "\t", "charset": "windows-1252"}, ["ort\tgröße\tid\nKöln\t5\t1\n".encode("cp1252")]),
        ({"sep": "||", "comment": "#"}, ["# größe||ort\n\nid||größe||ort\n1||5||Köln\n"]),
        ({"quote": "'"}, ["'id',größe,'ort'\n1,5,'Köln'\n"]),
        ({"multiLine": "true"}, ['größe,ort,"first\nsecond",id\n5,Köln,x,1\n', 'ort,größe,id\n"a\nb",7,2\n']),
    ]
    inputs = list(sampled(*reversed(inputs), few=2))
    for number, (options, files) in enumerate(inputs):
        for nth, content in enumerate(files):
            lake.put(f"{number}-{nth}.csv", content, at=number)
        source = {"options": {"header": "true", **options}, "schemaDdl": "id INT, ort STRING, `größe` INT"}
        ingested(lake, files=source)
    assert lake.rows("id", "ort", "größe") == expected


def test_header_that_does_not_name_each_column_is_refused_with_the_file_and_the_name(lake: Any) -> None:
    """SPARK-16896, SPARK-15264 and databricks/spark-csv#61: Spark makes up names such as id0 and _c1."""
    missing, broken = FailureReason.COLUMN_MISSING, FailureReason.SOURCE_UNREADABLE
    for content, reason, parts, changes in (
        ("id,carrier\n1,AA\n", missing, ("delay", "id, carrier", "id, carrier, delay"), TYPED),
        ("id;carrier;delay\n1;AA;5\n", missing, ("id;carrier;delay", "sep"), TYPED),
        ("1,AA,5\n", missing, ("delay", "1, AA, 5"), TYPED),
        ("id,carrier,delay,id\n1,AA,5,2\n", broken, ("id", "twice"), TYPED),
        ("id,carrier,carrier\n1,AA,5\n", broken, ("carrier", "twice"), {}),
        ("id,ID,carrier,delay\n1,2,AA,5\n", broken, ("id", "ID", "case"), TYPED),
        ("id,Carrier,carrier\n1,2,AA\n", broken, ("Carrier", "carrier", "case"), {}),
        (",id,carrier\n0,1,AA\n", broken, ("column 1", "no name"), {}),
        ('id," ",carrier,delay\n1,,AA,5\n', broken, ("column 2", "no name"), TYPED),
        ("größe,id\n1,1\n".encode("latin-1"), broken, ("UTF-8", "encoding"), {}),
        ("id,carrier,delay\n1,AA,5\n".encode("utf-16"), broken, ("UTF-8", "encoding"), TYPED),
        ("id," * 25_000 + "x\n1\n", broken, ("20,480",), {}),
        ("x" * 3_000_000 + "\n1\n", broken, ("1 MiB",), {}),
    ):
        lake.put("a b.csv", content)
        refused(lake, reason, "a b.csv", *parts, **changes)


def test_only_the_first_of_many_files_without_a_column_is_named_and_all_are_counted(lake: Any) -> None:
    for number in range(3):
        lake.put(f"{number}.csv", "id,delay\n1,5\n", at=number)
    lake.put("good.csv", "id,carrier,delay\n1,AA,5\n", at=9)
    refused(lake, FailureReason.COLUMN_MISSING, "0.csv", "2 more files", "carrier", **TYPED)


def test_more_headers_than_a_run_can_unite_are_refused(lake: Any) -> None:
    for number in range(150):
        lake.put(f"{number}.csv", f"id,c{number}\n1,5\n", at=number)
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "150 different headers", "maxFilesPerRun")


def test_without_added_columns_all_files_of_a_run_need_the_same_names(lake: Any) -> None:
    lake.put("0.csv", "id,carrier,delay\n1,AA,5\n")
    lake.put("1.csv", "carrier,id\nAA,2\n", at=1)
    refused(lake, FailureReason.COLUMN_MISSING, "1.csv", "delay", "carrier, id", schemaEvolution="None")
    lake.put("0.csv", "id,carrier,delay\n1,AA,5\n")
    lake.put("1.csv", "carrier,delay,id\nAA,5,2\n", at=1)
    ingested(lake, schemaEvolution="None")
    assert lake.rows() == [("1", "AA", "5"), ("2", "AA", "5")]


def test_rows_without_a_header_have_exactly_the_declared_count_of_columns(lake: Any) -> None:
    source = {"options": {"header": "false"}, "schemaDdl": DDL}
    lake.put("a.csv", "1,AA,5\n2,AA\n")
    refused(lake, FailureReason.BAD_RECORDS, "1 of 2 rows", "a.csv", files=source)
    lake.put("a.csv", "1,AA,5\n2,AA,6,7\n")
    refused(lake, FailureReason.BAD_RECORDS, "1 of 2 rows", "a.csv", files=source)
    lake.put("a.csv", "1,AA,5\n")
    lake.put("b.csv", "2,AA,5\n")
    ingested(lake, files=source)
    assert lake.rows() == [(1, "AA", 5), (2, "AA", 5)]


def test_bad_rows_of_files_with_different_headers_are_named_by_file(lake: Any) -> None:
    lake.put("a.csv", "id,carrier,delay\n1,AA,5\n2,AA\n")
    lake.put("b.csv", "delay,carrier,id\n5,AA,three\n5,AA,4\n")
    refused(lake, FailureReason.BAD_RECORDS, "2 of 4 rows", "1 in", "a.csv", "b.csv", **TYPED)
