"""Reads the chosen files as a data frame that keeps unparsable records."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason, FileFormat, FileSource
from hudi_jobs.contract.table.columns import UndeclaredColumns
from hudi_jobs.contract.table.location import beginning_of
from hudi_jobs.frames import GivenFiles
from hudi_jobs.ingestion.rows import BASE64, CORRUPT_RECORD, Origin, SourceRows
from hudi_jobs.ingestion.sources.files.avro_files import fields_of, schemas_of
from hudi_jobs.ingestion.sources.files.file_types import (
    FileColumns,
    require_numbers_of_parquet,
    require_types_of_file,
    require_types_of_orc,
)
from hudi_jobs.ingestion.sources.files.folder_columns import FOLDER_FILE, folder_columns, with_folder_columns
from hudi_jobs.ingestion.sources.files.footers import ParquetColumn
from hudi_jobs.ingestion.sources.files.headers import HeaderGroup, grouped, lacking_some, quoted_name, require_declared
from hudi_jobs.ingestion.sources.files.orc_files import orc_columns, with_calendar
from hudi_jobs.ingestion.sources.files.parquet_files import (
    as_stored,
    parquet_columns,
    require_readable,
    without_guesses,
    without_type,
)
from hudi_jobs.ingestion.sources.files.text_files import CsvReader, read_json, united
from hudi_jobs.schemas.columns import declared_columns
from hudi_jobs.schemas.types import plain_type
from hudi_jobs.schemas.untyped import refitted
from hudi_jobs.spark.failures import TaskFailed, causes_of, is_storage_failure, stage
from hudi_jobs.spark.jvm import schema_json
from hudi_jobs.spark.session import ANCIENT_DATES_OF_SOURCES

_MOST_PROBES = 200
_TEXT_FORMATS = frozenset({FileFormat.CSV, FileFormat.JSON})
_MERGING_FORMATS = frozenset({FileFormat.PARQUET, FileFormat.ORC})
_LONGEST_CAUSE = 200
_OTHER_TYPE = re.compile(r"Column: \[([^\]]*)\], Expected: ([^,\n]*), Found: ([^\s.]*)")
_NO_SUCH_TYPE = re.compile(
    r"Illegal Parquet type: [^\n.]*|Parquet type not yet supported: [^\n.]*|Found recursive reference in Avro schema"
    r"|timestamp with local time zone|Cannot convert Avro [^\n]*"
    r"|Unsupported (?:\w+ )?type[^\n]*|[Dd]ecimal precision \d+ exceeds[^\n.]*"
)
_OTHER_CALENDAR = re.compile(r"READ_ANCIENT_DATETIME.*?datasource option \"(\w{1,30})\"", re.DOTALL)
_MERGE_FAILED = re.compile(r"Failed to merge (?:incompatible|fields)|CANNOT_MERGE", re.IGNORECASE)


def absolute_paths(root: str, relative: Sequence[str]) -> list[str]:
    """Return full paths; a source that is itself a file has the empty relative path."""
    base = beginning_of(root)
    return [f"{base}{path}" if path else base[:-1] for path in relative]


def read_files(
    spark: SparkSession, source: FileSource, paths: Sequence[str], *, adds_columns: bool = True
) -> SourceRows:
    """Open the files. Text formats keep unparsable rows; merged footers keep columns that only newer files have."""
    with reading(spark, source, paths):
        schema = declared_columns(spark, source.columns_ddl)
        folders = folder_columns(source.path, paths, schema)
        rows = _opened(spark, source, paths, schema, adds_columns=adds_columns, optional=folders.names)
        if not folders.fields:
            return rows
        frame = with_folder_columns(spark, rows.frame, folders)
        before_base64 = BASE64 if source.format is FileFormat.JSON else None
        origin = Origin(FOLDER_FILE, "source_file", before_base64)
        return replace(rows, frame=frame, may_be_corrupt=True, origin=origin)


def _opened(
    spark: SparkSession,
    source: FileSource,
    paths: Sequence[str],
    schema: StructType | None,
    *,
    adds_columns: bool,
    optional: Collection[str],
) -> SourceRows:
    """Open the files with the reader of their format; `optional` are declared columns that a file may lack."""
    options = reader_options(source)
    refuses_others = source.table_columns is not None and source.table_columns.undeclared is UndeclaredColumns.REFUSE
    needed = [] if schema is None else [name for name in schema.fieldNames() if name not in optional]
    if source.format is FileFormat.PARQUET:
        options.setdefault("datetimerebasemode", spark.conf.get(ANCIENT_DATES_OF_SOURCES, "EXCEPTION") or "")
    if (load := _LOADERS.get(source.format)) is not None:
        loaded = load(spark, source, options, schema, paths, needed=needed)
        # Without declared columns, a column of any file is a column of all.
        remark = lacking_some(loaded.headers) if schema is None else ""
        return replace(_rows(spark, source, paths, loaded.frame), remark=remark)
    if source.format is FileFormat.JSON:
        frame = read_json(spark, options, schema, paths, refuses_others=refuses_others)
        rows = _rows(spark, source, paths, frame, may_be_corrupt=True)
        return replace(rows, origin=Origin("_metadata.file_path", "source_file", before_base64=BASE64))
    nullable = {one.name for one in source.table_columns.columns if one.nullable} if source.table_columns else ()
    reader = CsvReader(spark, options, schema, adds_columns, optional, nullable, refuses_others=refuses_others)
    files = reader.read(paths)
    rows = _rows(spark, source, paths, files.frame, may_be_corrupt=True)
    return replace(rows, origin=Origin(files.origin, "source_file"), remark=files.remark)


def _rows(
    spark: SparkSession, source: FileSource, paths: Sequence[str], frame: DataFrame, *, may_be_corrupt: bool = False
) -> SourceRows:
    return SourceRows(
        frame=frame,
        may_be_corrupt=may_be_corrupt,
        name=source.path,
        format=source.format,
        origin=Origin("_metadata.file_path", "source_file"),
        reading=partial(reading, spark, source, paths),
        guessed=source.format in _TEXT_FORMATS and source.columns_ddl is None,
        checks_texts=source.format in _TEXT_FORMATS,
    )


def reader_options(source: FileSource) -> dict[str, str]:
    """Return Spark's reader options: the user's, then the options that keep rows from vanishing."""
    options = {key.lower(): value for key, value in source.options.items()}
    if source.format in _TEXT_FORMATS:
        options |= {"mode": "PERMISSIVE", "columnnameofcorruptrecord": CORRUPT_RECORD}
    if source.format is FileFormat.CSV:
        # The driver has read each header, and gives the columns in its order.
        options["enforceschema"] = "true"
        options.setdefault("escape", options.get("quote", '"'))
    if source.format in _MERGING_FORMATS:
        options["mergeschema"] = "true"
    return options


@contextmanager
def reading(spark: SparkSession, source: FileSource, paths: Sequence[str]) -> Iterator[None]:
    """Name the file at fault in every failure while the source is read."""
    with stage(
        f"The source {source.path} cannot be read as {source.format}", otherwise=FailureReason.SOURCE_UNREADABLE
    ):
        try:
            yield
        except TaskFailed:
            raise
        except Exception as error:
            text = "\n".join(cause.message for cause in causes_of(error))
            raise_for_file(text, source, paths, error)
            if not is_storage_failure(text):
                _probe(spark, source, paths)
            raise


def raise_for_file(text: str, source: FileSource, paths: Sequence[str], error: Exception) -> None:
    """Raise `TaskFailed` when an error's text shows that a file is at fault."""
    if is_storage_failure(text):
        return
    file = file_named_in(text, paths)
    if file is not None and (found := _OTHER_TYPE.search(text)):
        name, expected, kind = found.groups()
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"The column {quoted_name(name)} of the file {file} is {kind}, which Spark cannot read as {expected}. "
            "Declare the type that the file has, or write the column with the declared type.",
        ) from error
    if file is not None and (found := _NO_SUCH_TYPE.search(text)):
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"The file {file} has a type that Spark cannot read as {source.format}: {found[0][:_LONGEST_CAUSE]}. Write "
            "the column with another type.",
        ) from error
    if found := _OTHER_CALENDAR.search(text):
        what = f"A file of {source.path}" if file is None else f"The file {file}"
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"{what} has dates before 1582-10-15 or times before 1900, and does not say in which calendar. Set the "
            f"option {found[1]} of the source to CORRECTED, or to LEGACY where Spark 2 or Hive wrote the file.",
        ) from error
    if file is not None:
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"The file {file} cannot be read as {source.format}; it may be half-written. Replace or remove it.",
        ) from error


def file_named_in(text: str, paths: Sequence[str]) -> str | None:
    """Return the first of the paths in the text."""
    bare = {path.partition("://")[2] or path.removeprefix("file:"): path for path in paths}
    return next((path for short, path in bare.items() if short in text), None)


def _probe(spark: SparkSession, source: FileSource, paths: Sequence[str]) -> None:
    """Open the files singly, to name the file at fault if Spark's error does not."""
    if source.format in _TEXT_FORMATS:
        return
    for path in paths[:_MOST_PROBES]:
        try:
            _load(spark, source, reader_options(source), None, [path]).limit(1).collect()
        except Exception as error:  # noqa: BLE001 - whatever it is, it comes from this file
            raise_for_file("\n".join((path, *(cause.message for cause in causes_of(error)))), source, [path], error)


class _Loaded(NamedTuple):
    """The rows of files, and the files by their columns."""

    frame: DataFrame
    headers: Sequence[HeaderGroup]


def _load_avro(
    spark: SparkSession,
    source: FileSource,
    options: Mapping[str, str],
    schema: StructType | None,
    paths: Sequence[str],
    *,
    needed: Sequence[str],
) -> _Loaded:
    """Read each group of files with the same schema separately: Spark would use a single file's schema for all."""
    groups: dict[str, list[str]] = {}
    for path, own in zip(paths, schemas_of(spark, paths), strict=True):
        groups.setdefault(own, []).append(path)
    by_name = not {"avroschema", "positionalfieldmatching"} & options.keys()
    named = [HeaderGroup(names, tuple(paths)) for own, paths in groups.items() if by_name and (names := fields_of(own))]
    if schema is not None:
        require_declared(named, needed)
        for members in groups.values():
            require_types_of_file(members[0], _load(spark, source, options, None, members[:1]).schema, schema)
    frames = [_load(spark, source, options, schema, members) for members in groups.values()]
    return _Loaded(united(frames, [members[0] for members in groups.values()]), named)


def _load_parquet(
    spark: SparkSession,
    source: FileSource,
    options: Mapping[str, str],
    schema: StructType | None,
    paths: Sequence[str],
    *,
    needed: Sequence[str],
) -> _Loaded:
    """Read the files with no type for columns without a value; Spark would make a type up."""
    footers = dict(zip(paths, parquet_columns(spark, paths), strict=True))
    wanted = None if schema is None else schema.fieldNames()
    headers = grouped(paths, [tuple(dict.fromkeys(one.path[0] for one in columns)) for columns in footers.values()])
    if wanted is not None:
        require_declared(headers, needed)
    require_readable(footers, wanted)
    if schema is not None:
        for path, columns in footers.items():
            require_numbers_of_parquet(path, columns, schema)
    groups: dict[frozenset[ParquetColumn], list[str]] = {}
    for path, columns in footers.items():
        groups.setdefault(without_type(columns), []).append(path)
    frames = []
    for empty, members in groups.items():
        typed = None if schema is None else as_stored(schema, empty)
        frame = _load(spark, source, options, typed, members)
        frames.append(refitted(frame, without_guesses(frame.schema, empty) if schema is None else schema))
    return _Loaded(united(frames, [members[0] for members in groups.values()]), headers)


def _load_orc(
    spark: SparkSession,
    source: FileSource,
    options: Mapping[str, str],
    schema: StructType | None,
    paths: Sequence[str],
    *,
    needed: Sequence[str],
) -> _Loaded:
    """Read the files with the calendar of each."""
    files = dict(zip(paths, orc_columns(spark, paths), strict=True))
    headers = grouped(paths, [columns.names for columns in files.values()])
    if schema is not None:
        require_declared(headers, needed)
        for path, columns in files.items():
            require_types_of_orc(path, columns, schema)
    wanted = None if schema is None else schema.fieldNames()
    return _Loaded(_load(spark, source, with_calendar(options, files, wanted), schema, paths), headers)


def _types_differ(
    spark: SparkSession, source: FileSource, options: Mapping[str, str], paths: Sequence[str]
) -> TaskFailed:
    """Return the refusal of files whose columns Spark cannot merge, with the first two files that differ."""
    columns = FileColumns(source.format)
    try:
        for path in paths[:_MOST_PROBES]:
            columns.add(path, _load(spark, source, options, None, [path]).schema)
    except TaskFailed as found:
        return found
    return TaskFailed(
        FailureReason.SCHEMA_INCOMPATIBLE,
        f"The {source.format} files of {source.path} have columns of the same name and different types; write them "
        "with the same type, or read fewer files per run.",
    )


_LOADERS = {FileFormat.PARQUET: _load_parquet, FileFormat.AVRO: _load_avro, FileFormat.ORC: _load_orc}


def _load(
    spark: SparkSession,
    source: FileSource,
    options: Mapping[str, str],
    schema: StructType | None,
    paths: Sequence[str],
) -> DataFrame:
    """Open files with the same schema; notes on columns in their footers, other than types, are ignored."""
    files, name = GivenFiles(spark, paths), source.format.value
    try:
        frame = files.frame(name, schema=schema, options=options)
    except Exception as error:
        if len(paths) > 1 and any(_MERGE_FAILED.search(cause.message) for cause in causes_of(error)):
            raise _types_differ(spark, source, options, paths) from error
        raise
    described = schema_json(frame)
    plain = plain_type(described)
    return frame if plain == described else files.frame(name, schema=StructType.fromJson(plain), options=options)
