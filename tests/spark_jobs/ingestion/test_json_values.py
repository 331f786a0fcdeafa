"""Values of JSON, in files and in messages: equal to what an independent parser reads, or a bad row."""

import base64
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark_jobs.formats.messages import Topic, context_of
from tests.spark_jobs.ingestion.json_inputs import COLUMNS, LINES, WHOLE, Bad

from hudi_jobs.contract import FileFormat, FileSource
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT
from hudi_jobs.ingestion.rules.corrupt_texts import BASE64
from hudi_jobs.ingestion.sources.files.read import read_files
from hudi_jobs.ingestion.sources.kafka.formats import json_values
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE

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
