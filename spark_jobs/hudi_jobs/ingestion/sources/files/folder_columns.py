"""Declared columns with their values in the names of folders, as in `dt=2026-03-01/`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.location import beginning_of
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, NO_COLUMN
from hudi_jobs.ingestion.sources.files.headers import quoted_name
from hudi_jobs.ingestion.sources.files.text_files import SOURCE_FILE
from hudi_jobs.ingestion.text.text_values import can_be_text, text_fault, text_value
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.filesystem import located

FOLDER_FILE = "_file_of_folder"
"""The column with a row's file, if folders have columns."""

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_LOCAL = "^file:/+"
_FAULT_TYPE = "struct<column:string,cause:string>"


@dataclass(frozen=True)
class FolderColumns:
    """The declared columns of folders, and the texts of each file; None is the folder without a value."""

    fields: tuple[StructField, ...]
    texts: Mapping[str, Mapping[str, str | None]]

    @property
    def names(self) -> frozenset[str]:
        """The names of the columns, which a file may lack."""
        return frozenset(field.name for field in self.fields)


def folder_columns(root: str, paths: Sequence[str], declared: StructType | None) -> FolderColumns:
    """Return the declared columns that every file has in the names of its folders below the source."""
    fields = [] if declared is None else declared.fields
    names = {field.name.lower(): field.name for field in fields}
    start = len(beginning_of(root))
    texts = {path: folder_texts(path[start:], names) for path in paths} if names else {}
    everywhere = set(names.values()).intersection(*texts.values()) if texts else set()
    return FolderColumns(tuple(field for field in fields if field.name in everywhere), texts)


def folder_texts(path: str, names: Mapping[str, str]) -> dict[str, str | None]:
    """Return the texts of a path's folders by the names of columns; `names` are in lower case.

    Hive writes a character that a folder cannot have as % and two digits (`ExternalCatalogUtils.unescapePathName`).
    """
    found: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        key, equals, text = folder.partition("=")
        name = names.get(unquote(key).lower())
        if equals and name is not None:
            found[name] = None if text == _NO_VALUE else unquote(text)
    return found


def with_folder_columns(spark: SparkSession, frame: DataFrame, folders: FolderColumns) -> DataFrame:
    """Return the rows with the values of their folders, and with the file of each row.

    A row with another value than its folder in such a column is a bad row.
    """
    marks_of_rows = {CORRUPT_RECORD, FAULT, NO_COLUMN, SOURCE_FILE}
    kept = [name for name in frame.columns if name not in marks_of_rows]
    values = _values(spark, folders)
    placed = frame.withColumn(FOLDER_FILE, sf.regexp_replace(sf.input_file_name(), _LOCAL, "file:/"))
    joined = placed.join(sf.broadcast(values), FOLDER_FILE, "left")
    place = {field.name: n for n, field in enumerate(folders.fields)}
    both = [name for name in place if name in frame.columns]
    differs = {
        name: column_named(name).isNotNull() & ~column_named(name).eqNullSafe(sf.col(_of(place[name]))) for name in both
    }
    record = sf.to_json(sf.struct(*map(column_named, kept)))
    columns = [sf.col(_of(place[name])).alias(name) if name in place else column_named(name) for name in kept]
    columns += [sf.col(_of(n)).alias(name) for name, n in place.items() if name not in kept]
    marks = [
        _first(frame, CORRUPT_RECORD, [sf.when(other, record) for other in differs.values()], "string"),
        _first(frame, FAULT, [sf.when(other, _fault(name)) for name, other in differs.items()], _FAULT_TYPE),
    ]
    return joined.select(*columns, *marks, sf.col(FOLDER_FILE))


def _first(frame: DataFrame, name: str, found: Sequence[Column], kind: str) -> Column:
    """Return the reader's fault of a row, else the folder's."""
    known = [sf.col(name)] if name in frame.columns else []
    return sf.coalesce(*known, *found, sf.lit(None).cast(kind)).alias(name)


def _fault(name: str) -> Column:
    cause = sf.lit("has another value than the name of the file's folder")
    return sf.struct(sf.lit(name).alias("column"), cause.alias("cause"))


def _values(spark: SparkSession, folders: FolderColumns) -> DataFrame:
    """Return the typed values of each file; raise `TaskFailed` for the first invalid text."""
    rows = [
        (uri, path, *(folders.texts[path][field.name] for field in folders.fields))
        for path, uri in _uris(spark, list(folders.texts)).items()
    ]
    names = [f"text_{n}" for n in range(len(folders.fields))]
    schema = StructType([StructField(name, StringType()) for name in (FOLDER_FILE, "path", *names)])
    texts = spark.createDataFrame(rows, schema)
    converted = [
        text_value(spark, sf.col(name), field.dataType).alias(_of(n))
        for n, (name, field) in enumerate(zip(names, folders.fields, strict=True))
    ]
    _require_values(spark, texts, names, folders.fields)
    return texts.select(FOLDER_FILE, *converted)


def _require_values(spark: SparkSession, texts: DataFrame, names: Sequence[str], fields: Sequence[StructField]) -> None:
    for name, field in zip(names, fields, strict=True):
        if not can_be_text(field.dataType):
            raise TaskFailed(
                FailureReason.INVALID_REQUEST,
                f"The column {quoted_name(field.name)} comes from the names of folders and is declared as "
                f"{field.dataType.simpleString()[:60]}, which no text can be; declare a plain type.",
            )
        fault = text_fault(spark, sf.col(name), field.dataType)
        found = texts.select("path", name, fault.alias("why")).where("why IS NOT NULL").head()
        if found is not None:
            raise TaskFailed(
                FailureReason.BAD_RECORDS,
                f"The folder of the file {found['path']} has "
                f"{quoted_name(field.name)}={quoted_name(str(found[name]))}, which "
                f"{found['why']}; rename the folder, or declare another type.",
            )


def _uris(spark: SparkSession, paths: Sequence[str]) -> dict[str, str]:
    """Return the files as Spark names them in rows: qualified, and with escapes."""
    filesystem, _ = located(spark, paths[0])
    found = {}
    for path in paths:
        uri = str(filesystem.makeQualified(located(spark, path)[1]).toUri().toString())
        found[path] = f"file:/{uri.removeprefix('file:').lstrip('/')}" if uri.startswith("file:") else uri
    return found


def _of(number: int) -> str:
    return f"_value_of_folder_{number}"
