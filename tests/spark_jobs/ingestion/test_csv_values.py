"""CSV files: values equal to what Python's own parsers read, or bad rows with file, column and cause."""

import csv
import io
import json
import random
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as sf
from tests.spark_jobs.trials import ALL, sampled

from hudi_jobs.contract import FailureReason, FileFormat, FileSource, Outcome
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT
from hudi_jobs.ingestion.sources.files.read import read_files
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark

QUARANTINE = {"badRecords": "Quarantine", "run": "run-a"}
BOTH = "a STRING, b STRING"
CASES: dict[str, tuple[str, dict[str, str], bytes, list[Any]]] = {
    # Each: declared columns, options, content, and for each row its values or a part of the cause.
    "bytes of another encoding (databricks/spark-csv#116)": (
        "name STRING, n INT",
        {},
        b"name,n\nM\xfcller,1\nM\xf6ller,2\nM\xc3\xbcller,3\n",
        ["option encoding", "option encoding", ("Müller", 3)],
    ),
    "a replacement character in a valid file": (BOTH, {}, "a,b\n\ufffd,x\n".encode(), [("\ufffd", "x")]),
    "a replacement character beside malformed bytes": (BOTH, {}, b"a,b\n\xef\xbf\xbd,\xff\n", ["option encoding"]),
    "the declared encoding": ("a STRING", {"encoding": "ISO-8859-1"}, b"a\nM\xfcller\n", [("Müller",)]),
    "UTF-16 with lines in quotes": (
        BOTH,
        {"encoding": "UTF-16", "multiLine": "true"},
        'a,b\nMü,1\n"x\ny",2\n'.encode("utf-16"),
        [("Mü", "1"), ("x\ny", "2")],
    ),
    "a byte order mark (SPARK-21289)": (BOTH, {}, "\ufeffa,b\n1,2\n".encode(), [("1", "2")]),
    "decimal commas (databricks/spark-csv#460)": (
        "id INT, price DECIMAL(10,2)",
        {"sep": ";"},
        b"id;price\n1;12,50\n2;1.239\n3;1.230\n4;1,234.50\n",
        ["comma", "more than 2 digits", (3, Decimal("1.23")), "comma"],
    ),
    "decimal commas by the locale": (
        "price DECIMAL(10,2)",
        {"sep": ";", "locale": "de-DE"},
        b"price\n12,50\n12.50\n",
        [(Decimal("12.50"),), "has a point"],
    ),
    "text behind a closing quote (SPARK-22236)": (
        BOTH,
        {},
        b'a,b\n"x,y","q""q"\n"abc"def,1\n"a" ,b\n"a\\"b",1\n',
        [("x,y", 'q"q'), "option escape", "option escape", "option escape"],
    ),
    "quotes that Spark has written": (
        BOTH,
        {"escape": "\\"},
        b'a,b\n"x\\"y,","q\\\\q"\n\\,c\\nd\n"a""b",1\n',
        [('x"y,', "q\\q"), ("\\", "c\\nd"), ('a"b', "1")],
    ),
    "quotes that are not closed": (
        BOTH,
        {},
        b'a,b\n1,"open\n1,"2"""\n1,"x""\n',
        ["multiLine", ("1", '2"'), "multiLine"],
    ),
    "lines in quotes (SPARK-19610)": (
        BOTH,
        {"multiLine": "true"},
        b'a,b\r\n"x\r\ny",2\r\n"abc"def,1\r\n3,"open\r\n',
        [("x\r\ny", "2"), "option escape", "not closed"],
    ),
    "quotes inside of unquoted values": (BOTH, {}, b'a,b\n5" pipe, "x"\n', [('5" pipe', ' "x"')]),
    "empty texts (SPARK-17916)": (BOTH, {}, b'a,b\n"",x\n,y\n', [("", "x"), (None, "y")]),
    "a text for no value": (
        "a STRING, b INT",
        {"nullValue": "NA"},
        b'a,b\nNA,NA\n"NA","7"\n"",""\n',
        [(None, None), (None, 7), ("", None)],
    ),
    "too few and too many fields": (
        BOTH,
        {},
        b"a,b\n1\n1,2,3\n1,2\n",
        ["1 fields instead of 2", "3 fields instead of 2", ("1", "2")],
    ),
    "whole numbers": (
        "n INT",
        {},
        "n\n007\n 1\n1.0\n٣\n2147483648\n1_000\n".encode(),
        [(7,), "blanks", "whole", "whole", "range", "whole"],
    ),
    "floating numbers (SPARK-25040)": (
        "n DOUBLE",
        {},
        b"n\n1d\n0x1p3\n1e400\n1e-400\n-1.5e3\n1,5\n",
        ["not a number", "not a number", "range", "range", (-1500.0,), "2 fields"],
    ),
    "dates (SPARK-31159)": (
        "d DATE",
        {},
        b"d\n2026\n2026-03-01 garbage\n2026-03-01T00:00:00\n2026-02-30\n2026-03-01\n",
        ["not a date", "not a date", "not a date", "not a date", (date(2026, 3, 1),)],
    ),
    "times (SPARK-28156)": (
        "t TIMESTAMP",
        {},
        b"t\n10:20\n2026-03-01 10:20:30.1234567\n2026-03-01T10:20:30.120000000+01:00\n",
        ["not a time", "six digits", (datetime(2026, 3, 1, 9, 20, 30, 120000),)],  # noqa: DTZ001 - of the session
    ),
    "dates by a pattern (SPARK-30668)": (
        "d DATE, t TIMESTAMP",
        {"dateFormat": "dd.MM.yyyy", "timestampFormat": "dd/MM/yyyy HH:mm", "timeZone": "Europe/Berlin"},
        b"d,t\n01.03.2026,01/07/2026 12:00\n31.02.2026,\n1.3.26,\n,31/06/2026 10:00\n",
        [
            (date(2026, 3, 1), datetime(2026, 7, 1, 10)),  # noqa: DTZ001 - of the session
            "dd.MM.yyyy",
            "dd.MM.yyyy",
            "dd/MM/yyyy",
        ],
    ),
    "blanks that options trim": (
        "a STRING, b INT",
        {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
        b'a,b\n "x y" , 2 \n z ,\n',
        [("x y", 2), ("z", None)],
    ),
    "a separator of several characters": (
        BOTH,
        {"sep": "||"},
        b'a||b\n"x||y"||2\nx|y||3\n',
        [("x||y", "2"), ("x|y", "3")],
    ),
    "comments and another quote": (BOTH, {"comment": "#", "quote": "'"}, b"#\na,b\n#x\n'#y,',2\n", [("#y,", "2")]),
    "blank lines and comments before lines in quotes": (
        BOTH,
        {"multiLine": "true", "comment": "#"},
        b'#x\n\na,b\n\n\n1,2\n#c\n"x\ny",4\n\n  \n5,6',
        [("1", "2"), ("x\ny", "4"), "1 fields", ("5", "6")],
    ),
    "a separator of another script and lines in quotes": (
        BOTH,
        {"multiLine": "true", "sep": "é"},
        'aéb\n"é"éü\n1é2é3\n'.encode(),
        [("é", "ü"), "3 fields"],
    ),
    "hours that clocks skip": (
        "t TIMESTAMP",
        {"timeZone": "Europe/Berlin"},
        b"t\n2026-03-29 02:30:00\n2026-03-29 03:30:00\n2026-03-29 02:30:00 America/New_York\n"
        b"2026-03-08 02:30:00 America/New_York\n9999-12-31 23:59:59 -10:00\n",
        ["skip", (datetime(2026, 3, 29, 1, 30),), (datetime(2026, 3, 29, 6, 30),), "skip", "9999"],  # noqa: DTZ001
    ),
    "words for numbers": (
        "n DOUBLE",
        {"positiveInf": "99", "negativeInf": "low"},
        b"n\n1\n99\nlow\n-Inf\nhigh\n",
        [(1.0,), (float("inf"),), (float("-inf"),), (float("-inf"),), "not a number"],
    ),
    "zero where all digits are behind the point": (
        "n DECIMAL(5,5)",
        {},
        b"n\n0\n0e9\n1\n",
        [(Decimal(0),), (Decimal(0),), "range"],
    ),
    "a carriage return by itself": (BOTH, {"lineSep": "\n"}, b"a,b\n1,x\ry\n1,z\r\n", ["option escape", ("1", "z")]),
}


def rows_of(spark: SparkSession, files: dict[str, Any], paths: list[str]) -> list[Row]:
    source = FileSource.model_validate({"format": FileFormat.CSV, **files})
    frame = read_files(spark, source, paths).frame
    return frame.withColumn("_file", sf.col("_metadata.file_path")).collect()


def values(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in row.asDict() if name not in {CORRUPT_RECORD, FAULT, "_file"})


@pytest.mark.parametrize("case", CASES if ALL else list(CASES)[::3])
def test_a_row_has_the_values_that_its_file_writes_or_a_cause(lake: Any, case: str) -> None:
    ddl, options, content, wanted = CASES[case]
    path = str(lake.put("a.csv", content))
    files = {"path": lake.source, "options": {"header": "true", **options}, "schemaDdl": ddl}
    rows = rows_of(lake.spark, files, [path])
    assert len(rows) == len(wanted), rows
    for row, expected in zip(rows, wanted, strict=True):
        if isinstance(expected, str):
            assert row[CORRUPT_RECORD] is not None, row
            assert expected in row[FAULT]["cause"], row
        else:
            assert (values(row), row[CORRUPT_RECORD], row[FAULT]) == (expected, None, None)


def test_parts_of_a_file_have_each_row_once_and_one_header(lake: Any) -> None:
    """Spark divides a large file into parts; a row that equals the header is a row."""
    rows = [("a", "b"), *((str(number), "x") for number in range(1_000)), ("a", "b")]
    path = str(lake.put("a.csv", "a,b\n" + "".join(f"{one},{other}\n" for one, other in rows)))
    session = lake.spark.newSession()
    session.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    session.conf.set("spark.sql.files.openCostInBytes", "0")
    files = {"path": lake.source, "options": {"header": "true"}, "schemaDdl": BOTH}
    source = FileSource.model_validate({"format": FileFormat.CSV, **files})
    frame = read_files(session, source, [path]).frame
    assert frame.rdd.getNumPartitions() > 3
    assert [values(row) for row in frame.collect()] == rows


def test_the_record_of_a_row_with_a_field_too_many_is_what_the_file_has(lake: Any) -> None:
    content = b'a,b\n1,"2",3\n1,2,"3",4\n'
    path = str(lake.put("a.csv", content))
    for options in ({}, {"multiLine": "true"}):
        files = {"path": lake.source, "options": {"header": "true", **options}, "schemaDdl": BOTH}
        assert [row[CORRUPT_RECORD] for row in rows_of(lake.spark, files, [path])] == ['1,"2",3', '1,2,"3",4']


def test_a_run_with_bad_rows_names_file_column_and_cause_and_never_takes_a_rounded_key(lake: Any) -> None:
    lake.put("keys.csv", "id,name\n100.4,a\n100.3,b\n100,c\n")
    files = {"schemaDdl": "id DECIMAL(10,0), name STRING"}
    result = lake.ingest(files=files)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.BAD_RECORDS)
    assert "2 of 3 rows cannot be read as csv (2 in " in result.message
    assert "in/keys.csv: column 'id' has more than 0 digits behind the point" in result.message
    result = lake.ingest(files=files, **QUARANTINE, quarantinePath=f"{lake.root}/quarantine")
    assert (result.outcome, result.rows_quarantined) == (Outcome.SUCCEEDED, 2), result
    assert lake.rows() == [(Decimal(100), "c")]
    written = [json.loads(line) for file in lake.folder.glob("quarantine/**/part-*") for line in file.open()]
    assert {(row["column"], row["record"]) for row in written} == {("id", "100.4,a"), ("id", "100.3,b")}
    assert all("digits behind the point" in row["reason"] and "keys.csv" in row["source_file"] for row in written)


def forget_the_rule(lake: Any) -> None:
    """Make the commit one of an earlier release, which noted no rule for quotes."""
    (commit,) = lake.folder.glob("table/.hoodie/timeline/*.commit")
    content = commit.read_bytes()
    assert content.count(b"quotes") == 1
    commit.write_bytes(content.replace(b"quotes", b"quoted"))
    (lake.folder / f"table/.hoodie/timeline/.{commit.name}.crc").unlink(missing_ok=True)


def test_a_table_of_an_earlier_release_is_refused_until_its_source_sets_escape(lake: Any) -> None:
    lake.put("a.csv", "id,v\n1,a\n")
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert lake.ingest().outcome is Outcome.NOTHING_TO_DO
    forget_the_rule(lake)
    lake.put("b.csv", 'id,v\n2,"b""b"\n', at=60)
    result = lake.ingest()
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.INVALID_REQUEST), result
    assert "option escape" in result.message
    assert lake.ingest(files={"options": {"header": "true", "escape": '"'}}).outcome is Outcome.SUCCEEDED
    lake.put("c.csv", "id,v\n3,c\n", at=120)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert lake.rows("id", "v") == [("1", "a"), ("2", 'b"b'), ("3", "c")]


@pytest.mark.parametrize(
    ("ddl", "options", "part"),
    [
        ("a BINARY", {}, "column a is declared as binary"),
        ("a ARRAY<INT>", {}, "column a is declared as array<int>"),
        ("a INT", {"inferSchema": "true"}, "inferschema"),
        ("a INT", {"unescapedQuoteHandling": "SKIP_VALUE"}, "unescapedquotehandling"),
        ("a INT", {"encoding": "UTF-16"}, "multiLine"),
        ("a INT", {"locale": "ar-EG-u-nu"}, "locale"),
        ("a DATE", {"dateFormat": "dd.MM.yy"}, "'yy'"),
    ],
)
def test_ambiguous_csv_option_is_refused_before_reading(
    lake: Any, ddl: str, options: dict[str, str], part: str
) -> None:
    path = str(lake.put("a.csv", "a\n1\n"))
    files = {"path": lake.source, "options": {"header": "true", **options}, "schemaDdl": ddl}
    with pytest.raises(TaskFailed, match=r"cannot be read|is declared") as raised:
        rows_of(lake.spark, files, [path])
    assert part in raised.value.message


def truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


PARSERS: dict[str, Callable[[str], Any]] = {
    "STRING": str,
    "INT": int,
    "BIGINT": int,
    "DOUBLE": float,
    "DECIMAL(12,3)": Decimal,
    "BOOLEAN": truth,
    "DATE": date.fromisoformat,
    "TIMESTAMP_NTZ": datetime.fromisoformat,
}
PIECES = [
    "",
    "0",
    "7",
    "12",
    "-3",
    "+4",
    ".",
    ",",
    ";",
    '"',
    '""',
    "\\",
    " ",
    "e5",
    "E-3",
    "x",
    "é",
    "\ufffd",
    "1.25",
    "12,50",
]
PIECES += [
    "2026-03-01",
    "2026-02-29",
    "T",
    "10:20:30",
    ".123456",
    ".1234567",
    "true",
    "FALSE",
    "NaN",
    "1e400",
    "99999999999",
]


USUAL = {
    "INT": ["1", "-7", "", "007"],
    "BIGINT": ["0", "9223372036854775807"],
    "DOUBLE": ["1.5", "-0.25e3", ".5"],
    "DECIMAL(12,3)": ["12.50", "-0.125", "1E+2", "0E-10"],
    "BOOLEAN": ["true", "FALSE", ""],
    "DATE": ["2026-03-01", "0001-01-01"],
    "TIMESTAMP_NTZ": ["2026-03-01 10:20:30", "2026-03-01T10:20:30.123456", "2026-03-01"],
}


@pytest.mark.parametrize("dialect", sampled({}, {"sep": ";"}, {"multiLine": "true"}, {"quote": "'", "escape": "'"}))
def test_generated_values_equal_those_of_another_parser_or_are_bad_rows(lake: Any, dialect: dict[str, str]) -> None:
    """Python's csv, decimal and datetime read each file as well; no row is lost, and none differs."""
    draw = random.Random(repr(dialect))
    kinds = list(PARSERS)
    sep, quote = dialect.get("sep", ","), dialect.get("quote", '"')
    lines = []
    for number in range(3_000 if ALL else 400):
        cells, odd = [], draw.randrange(2 * len(kinds))
        for place, kind in enumerate(kinds):
            mixed = "".join(draw.choices(PIECES, k=draw.choice((0, 1, 1, 2, 3))))
            text = mixed if place == odd or kind == "STRING" else draw.choice(USUAL[kind])
            quoted = quote + text.replace(quote, quote * draw.choice((1, 2, 2, 2, 2))) + quote
            cells.append(quoted if draw.random() < 0.3 or (quote in text and draw.random() < 0.8) else text)
        lines.append(sep.join([str(number), *cells]))
    names = [f"c{place}" for place in range(len(kinds))]
    path = lake.put("a.csv", "\n".join([sep.join(["row", *names]), *lines]) + "\n")
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    files = {"path": lake.source, "options": {"header": "true", **dialect}, "schemaDdl": f"row INT, {columns}"}
    found = rows_of(lake.spark, files, [str(path)])
    good = {row["row"]: row for row in found if row[CORRUPT_RECORD] is None}
    assert len(lines) // 10 < len(good) < len(lines)
    assert all(row[FAULT]["cause"] for row in found if row[CORRUPT_RECORD] is not None)
    if "multiLine" not in dialect:
        assert len(found) == len(lines)
    for number, row in good.items():
        (cells,) = csv.reader(io.StringIO(lines[number]), delimiter=sep, quotechar=quote)
        for name, kind, text in zip(names, kinds, cells[1:], strict=True):
            if text == "":
                assert row[name] in {None, ""}, (kind, lines[number])
            else:
                assert row[name] == PARSERS[kind](text) or text == "NaN", (kind, lines[number], row[name])
