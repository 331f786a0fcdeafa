"""Options of Spark's readers: how bytes are understood, and nothing that leads elsewhere or passes over rows."""

from __future__ import annotations

import pytest

from hudi_jobs.contract import FileFormat
from hudi_operator.sources.kinds.files import refused_reader_options


@pytest.mark.parametrize(
    ("file_format", "options"),
    [
        (FileFormat.CSV, {"header": "true", "sep": ";", "nullValue": "NA", "quote": "'", "dateFormat": "dd.MM.yyyy"}),
        (FileFormat.CSV, {"HEADER": "true", "multiline": "true", "Encoding": "UTF-16"}),
        (FileFormat.JSON, {"multiLine": "true", "allowComments": "true", "primitivesAsString": "true"}),
        (FileFormat.PARQUET, {"mergeSchema": "true", "datetimeRebaseMode": "CORRECTED"}),
        (FileFormat.AVRO, {"avroSchema": '{"type": "string"}'}),
        (FileFormat.ORC, {"orc.proleptic.gregorian.default": "true"}),
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


@pytest.mark.parametrize(
    "options",
    [
        {"inferSchema": "true"},
        {"unescapedQuoteHandling": "SKIP_VALUE"},
        {"charToEscapeQuoteEscaping": "x"},
        {"enableDateTimeParsingFallback": "true"},
        {"encoding": "UTF-16"},
        {"encoding": "IBM037"},
        {"lineSep": "|"},
        {"quote": "\u00a7"},
        {"sep": '"'},
        {"comment": ","},
        {"header": "yes"},
        {"maxCharsPerColumn": "many"},
        {"timeZone": "CST"},
        {"locale": "de_DE"},
        {"dateFormat": "dd.MM.yy"},
        {"dateFormat": "MM/dd"},
        {"dateFormat": "dMyyyy"},
        {"dateFormat": "yyyy-MM-dd HH"},
        {"timestampFormat": "yyyy-MM-dd hh:mm"},
        {"timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSSSSS"},
        {"timestampFormat": "yyyy-MM-dd[ HH:mm]"},
        {"timestampFormat": "yyyy-MM-dd HH:mm z"},
        {"timestampNTZFormat": "yyyy-MM-dd HH:mmXXX"},
        {"dateFormat": "dd MMMM yyyy", "locale": "de-DE"},
    ],
)
def test_options_of_csv_that_leave_values_open_are_refused(options: dict[str, str]) -> None:
    assert len(refused_reader_options(options, FileFormat.CSV)) == 1


def test_patterns_that_tell_each_part_of_a_value_are_accepted() -> None:
    patterns = {
        "dateFormat": "dd MMM yyyy",
        "timestampFormat": "yyyy-MM-dd'T'hh:mm:ss.SSSSSS a XXX",
        "timestampNTZFormat": "yyyyMMddHHmmss",
    }
    assert refused_reader_options(patterns, FileFormat.CSV) == ()


def test_an_option_of_another_format_is_refused() -> None:
    assert len(refused_reader_options({"header": "true"}, FileFormat.JSON)) == 1
