"""Values of JSON, in files and in messages: equal to what an independent parser reads, or a bad row."""

import base64
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark_jobs.formats.messages import Topic, context_of
from tests.spark_jobs.ingestion.json_inputs import COLUMNS, LINES, WHOLE, Bad

from hudi_jobs.contract import FileFormat, FileSource
from hudi_jobs.ingestion.rows import BASE64, CORRUPT_RECORD, FAULT
from hudi_jobs.ingestion.sources.files.read import read_files
from hudi_jobs.ingestion.sources.kafka.formats import json_values
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark


def of_files(spark: SparkSession, folder: Path, *contents: bytes, ddl: str | None = COLUMNS, **options: str) -> Any:
    """Return the rows of files with these contents."""
    paths = []
    for number, content in enumerate(contents):
        (folder / f"{number}.json").write_bytes(content)
        paths.append(str(folder / f"{number}.json"))
    source = FileSource(path=str(folder), format=FileFormat.JSON, options=options, schema_ddl=ddl)
    return read_files(spark, source, paths)


def of_messages(spark: SparkSession, *values: bytes, ddl: str = COLUMNS) -> DataFrame:
    """Return the rows of messages with these values."""
    topic = Topic(spark)
    topic.put(*values)
    context, source = context_of(spark, {"value": {"format": "Json", "schema_ddl": ddl}})
    return json_values.decode(context, source, topic.frame()).frame


def values(frame: DataFrame) -> tuple[dict[int, dict[str, Any]], dict[str, Bad]]:
    """Return the good rows by their ids, without nulls and with times as text, and the faults of bad rows by text."""
    found: dict[int, dict[str, Any]] = {}
    bad: dict[str, Bad] = {}
    # Python has no dates beyond the year 9999.
    frame = frame.withColumns({name: sf.col(name).cast("string") for name in ("day", "at", "local")})
    for row in frame.drop(MESSAGE).collect():
        held = {name: value for name, value in row.asDict(recursive=True).items() if value is not None}
        if CORRUPT_RECORD in held:
            bad[held.pop(CORRUPT_RECORD)] = Bad(held[FAULT].get("column"), held.pop(FAULT)["cause"])
            assert not held, f"a bad row has no value: {held}"
        else:
            found[held.pop("id")] = held
    return found, bad


def record(line: bytes) -> str:
    """Return what the quarantine has of a line."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return BASE64 + base64.b64encode(line).decode()


@pytest.mark.parametrize("source", ["files", "messages"])
def test_json_values_are_those_of_an_independent_parser_or_the_row_is_bad(
    spark: SparkSession, tmp_path: Path, source: str
) -> None:
    lines = [line.encoded(number) for number, line in enumerate(LINES)] + list(WHOLE.values())
    frame = of_files(spark, tmp_path, b"\n".join(lines)).frame if source == "files" else of_messages(spark, *lines)
    found, bad = values(frame)
    wrong = {}
    for number, line in enumerate(LINES):
        said = bad.pop(record(lines[number]), None)
        if isinstance(line.right, Bad):
            is_right = said is not None and said.column == line.right.column and line.right.cause in said.cause
        else:
            is_right = said is None and found.get(number) == line.right
        if not is_right:
            wrong[line.name] = (found.get(number), said, line.right)
    assert not wrong
    assert set(bad) == {record(line) for line in WHOLE.values()}


OPTIONS: dict[str, tuple[dict[str, str], str, list[bytes], list[Any]]] = {
    "an array of objects in one file": (
        {"multiLine": "true"},
        "v STRING",
        [b'[\n{"v": 1.10},\n{"v": "\\ud800"}, 5, {"v": {"a" : 1}}]', b'\xef\xbb\xbf{"v":\n"x"}'],
        ["1.10", "surrogate", "not one JSON object", '{"a":1}', "x"],
    ),
    "several objects in one file": (
        {"multiLine": "true"},
        "v INT",
        [b'{"v": 1}\n{"v": 2}'],
        ["something stands behind"],
    ),
    "a broken file": ({"multiLine": "true"}, "v INT", [b'[{"v": 1}, {"v" 2}, {"v": 3}]'], [1, "no JSON"]),
    "a file in UTF-16": (
        {"multiLine": "true", "encoding": "UTF-16"},
        "v STRING",
        ['{"v": "ü"}'.encode("utf-16")],
        ["ü"],
    ),
    "a file that is not in UTF-8": ({"multiLine": "true"}, "v STRING", ['{"v": "ü"}'.encode("utf-16")], ["encoding"]),
    "lines in ISO-8859-1": ({"encoding": "ISO-8859-1"}, "v STRING", ['{"v": "ü"}'.encode("latin-1")], ["ü"]),
    "lines that are blank": ({}, "v INT", [b'\xef\xbb\xbf{"v": 1}\r\n \t\r\n\n{"v": 2}\n\n'], [1, 2]),
    "what is allowed": (
        {
            "allowSingleQuotes": "true",
            "allowUnquotedFieldNames": "true",
            "allowNumericLeadingZeros": "true",
            "allowComments": "true",
            "allowNonNumericNumbers": "true",
            "allowBackslashEscapingAnyCharacter": "true",
        },
        "v STRING, d DOUBLE",
        [b"{'v': 00501, d: 007} // a zip code\n{'v': '\\x', d: NaN}\n{d: '-Infinity'}\n{d: 'infinite'}"],
        ["00501", "x", None, "no DOUBLE"],
    ),
    "dates and times in formats": (
        {
            "dateFormat": "dd.MM.yyyy HH:mm",
            "timestampFormat": "dd.MM.yyyy HH:mm:ss.SSSSSSS",
            "timeZone": "Europe/Berlin",
        },
        "v DATE, at TIMESTAMP",
        [
            b'{"v": "31.12.2026 00:00", "at": "31.12.2026 00:00:00.1234560"}\n{"v": "31.12.2026 10:00"}\n'
            b'{"v": "31.02.2026 00:00"}\n{"at": "31.12.2026 00:00:00.1234567"}\n{"at": "29.03.2026 02:30:00.0000000"}'
        ],
        ["2026-12-31", *["dateFormat"] * 2, *["timestampFormat"] * 2],
    ),
    "an hour that clocks skip": (
        {"timeZone": "Europe/Berlin"},
        "at TIMESTAMP, v STRING",
        [
            b'{"at": "2026-03-29 02:30:00"}\n{"at": "2026-03-29 02:30:00Z", "v": "Z"}\n'
            b'{"at": "2026-10-25 02:30:00", "v": "first"}'
        ],
        ["TIMESTAMP", "Z", "first"],
    ),
    "a decimal comma that a language has": (
        {"locale": "de-DE"},
        "v DECIMAL(10,2)",
        [b'{"v": "12,50"}\n{"v": "1.250,00"}\n{"v": "12.50"}\n{"v": 12.50}'],
        [Decimal("12.50"), "DECIMAL", "DECIMAL", Decimal("12.50")],
    ),
}
"""Options, columns, contents of files, and of each row the value of `v` or a part of the cause."""


def test_options_of_the_reader_change_how_texts_are_understood_and_never_a_value(
    spark: SparkSession, tmp_path: Path
) -> None:
    frames = []
    for number, (options, ddl, contents, _) in enumerate(OPTIONS.values()):
        (tmp_path / str(number)).mkdir()
        rows = of_files(spark, tmp_path / str(number), *contents, ddl=ddl, **options).frame
        value = sf.coalesce(sf.col(FAULT)["cause"], sf.col("v").cast("string"))
        frames.append(rows.select(sf.lit(number).alias("number"), value.alias("told")))
    found: dict[int, list[Any]] = {number: [] for number in range(len(OPTIONS))}
    for row in reduce(DataFrame.unionAll, frames).collect():
        found[row["number"]].append(row["told"])
    for (name, case), told in zip(OPTIONS.items(), found.values(), strict=True):
        right = case[-1]
        assert len(told) == len(right), (name, told)
        for one, expected in zip(told, right, strict=True):
            assert expected is one or str(expected) in str(one), (name, told)


@pytest.mark.parametrize(
    ("ddl", "options", "said"),
    [
        ("v STRING", {"encoding": "nonsense"}, "nonsense"),
        ("v STRING", {"encoding": "UTF-16LE"}, "multiLine"),
        ("v DATE", {"dateFormat": "QQQQQQ"}, "options of the source"),
        ("v MAP<INT, STRING>", {}, "The column v is declared as map<int,string>"),
        ("v STRUCT<x: VARCHAR(3)>", {}, r"The column v.x is declared as varchar\(3\)"),
        ("v STRING, V INT", {}, "the same column"),
    ],
)
def test_columns_and_options_that_no_json_has_are_refused_before_a_file_is_opened(
    spark: SparkSession, tmp_path: Path, ddl: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(TaskFailed, match=said):
        of_files(spark, tmp_path, b"{}", ddl=ddl, **options)


def test_inferred_columns_hold_what_the_files_say_or_the_row_is_bad(spark: SparkSession, tmp_path: Path) -> None:
    """duckdb/duckdb#15038: a whole number beside fractions, and fields that a sample lacks."""
    lines = [
        b'{"id": 0, "v": 9007199254740993, "w": 1e400}',
        b'{"id": 1, "v": 1.5, "w": "text"}',
        b'{"id": 2, "v": 9007199254740992, "w": {"a": 1.10}}',
        b'{"id": 3, "id": 4}',
        b"{'id': 5}",
        *[b'{"id": 6}'] * 50,
        b'{"id": 7, "late": 1}',
    ]
    frame = of_files(spark, tmp_path, b"\n".join(lines), ddl=None, samplingRatio="0.01").frame
    rows = frame.orderBy("id", CORRUPT_RECORD).select("id", "v", "w", "late", FAULT).collect()
    causes = [row[FAULT]["cause"] for row in rows if row[FAULT]]
    parts = ("no DOUBLE", "Duplicate field 'id'", "no JSON")
    assert [part in cause for part, cause in zip(parts, causes, strict=True)] == [True] * 3
    good = [tuple(row)[:4] for row in rows if not row[FAULT]]
    assert good == [
        (1, 1.5, "text", None),
        (2, 9007199254740992.0, '{"a":1.10}', None),
        *[(6, None, None, None)] * 50,
        (7, None, None, 1),
    ]
