"""Options of Spark's readers: how bytes are understood, and nothing that leads elsewhere or passes over rows."""

from __future__ import annotations

import pytest

from hudi_jobs.contract import FileFormat
from hudi_operator.jobs.settings.reader_options import refused_reader_options


@pytest.mark.parametrize(
    ("file_format", "options"),
    [
        (FileFormat.CSV, {"header": "true", "sep": ";", "nullValue": "NA", "quote": "'", "timestampFormat": "yyyy"}),
        (FileFormat.CSV, {"HEADER": "true", "inferSchema": "true", "multiline": "true"}),
        (FileFormat.JSON, {"multiLine": "true", "allowComments": "true", "primitivesAsString": "true"}),
        (FileFormat.PARQUET, {"mergeSchema": "true", "datetimeRebaseMode": "CORRECTED"}),
        (FileFormat.AVRO, {"avroSchema": '{"type": "string"}'}),
        (FileFormat.ORC, {}),
    ],
)
def test_options_that_say_how_to_read_a_format_are_accepted(file_format: FileFormat, options: dict[str, str]) -> None:
    assert refused_reader_options(options, file_format) == ()


@pytest.mark.parametrize("file_format", FileFormat)
@pytest.mark.parametrize(
    "key",
    [
        "path",
        "paths",
        "basePath",
        "fs.s3a.endpoint",
        "FS.S3A.endpoint",
        "fs.s3a.aws.credentials.provider",
        "fs.s3a.impl.disable.cache",
        "avroSchemaUrl",
        "pathGlobFilter",
        "recursiveFileLookup",
        "modifiedBefore",
        "modifiedAfter",
        "ignoreCorruptFiles",
        "ignoreMissingFiles",
        "__globPaths__",
        "hoodie.table.name",
        "header ",
        "",
    ],
)
def test_options_that_lead_elsewhere_or_pass_over_rows_are_refused(file_format: FileFormat, key: str) -> None:
    assert refused_reader_options({key: "x"}, file_format) == (
        f"{key!r} is not a reader option of {file_format} files that a table may set",
    )


@pytest.mark.parametrize("value", ["${env.AWS_SECRET_ACCESS_KEY}", "x${env:HOME}", "${fs.s3a.secret.key}"])
def test_a_value_that_may_stand_for_something_else_is_refused(value: str) -> None:
    assert len(refused_reader_options({"nullValue": value}, FileFormat.CSV)) == 1
    assert refused_reader_options({"sep": "$", "quote": "{"}, FileFormat.CSV) == ()


def test_an_option_of_another_format_is_refused() -> None:
    assert len(refused_reader_options({"header": "true"}, FileFormat.JSON)) == 1
