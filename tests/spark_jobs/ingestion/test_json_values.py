"""Values of JSON, in files and in messages: equal to what an independent parser reads, or a bad row."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark_jobs.formats.messages import Topic, context_of
from tests.spark_jobs.ingestion.json_inputs import COLUMNS, LINES, WHOLE, Bad

from hudi_jobs.contract import FileFormat, FileSource
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.sources.files.read import read_files
from hudi_jobs.ingestion.sources.kafka.formats import json_values

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


def values(frame: DataFrame) -> tuple[dict[int, dict[str, Any]], int]:
    """Return the good rows by their ids, without nulls and with times as text, and the number of bad rows."""
    found: dict[int, dict[str, Any]] = {}
    # Python has no dates beyond the year 9999.
    frame = frame.withColumns({name: sf.col(name).cast("string") for name in ("day", "at", "local")}).persist()
    names = [name for name in frame.columns if not name.startswith("_")]
    for row in frame.where(sf.col(CORRUPT_RECORD).isNull()).select(*names).collect():
        held = {name: value for name, value in row.asDict(recursive=True).items() if value is not None}
        found[held.pop("id")] = held
    return found, frame.where(sf.col(CORRUPT_RECORD).isNotNull()).count()


@pytest.mark.parametrize("source", ["files", "messages"])
def test_json_values_are_those_of_an_independent_parser_or_the_row_is_bad(
    spark: SparkSession, tmp_path: Path, source: str
) -> None:
    lines = [line.encoded(number) for number, line in enumerate(LINES)] + list(WHOLE.values())
    frame = of_files(spark, tmp_path, b"\n".join(lines)).frame if source == "files" else of_messages(spark, *lines)
    found, bad = values(frame)
    right = {number: line.right for number, line in enumerate(LINES) if not isinstance(line.right, Bad)}
    wrong = {
        LINES[number].name if number < len(LINES) else number: (found.get(number), right.get(number))
        for number in found.keys() | right.keys()
        if found.get(number) != right.get(number)
    }
    assert not wrong
    assert bad == len(lines) - len(right)
