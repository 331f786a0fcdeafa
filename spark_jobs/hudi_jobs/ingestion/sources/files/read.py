"""Reading the chosen files as one data frame that keeps what it cannot parse."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from hudi_jobs.contract import FailureReason, FileFormat, FileSource
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.causes import causes_of
from hudi_jobs.failures.classification import is_storage_failure, stage
from hudi_jobs.filesystem import exact
from hudi_jobs.ingestion.json_bounds import options_of
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN, Origin, SourceRows
from hudi_jobs.ingestion.schemas.ddl import declared_columns
from hudi_jobs.ingestion.schemas.types import plain_type
from hudi_jobs.ingestion.sources.files.avro_files import schemas_of
from hudi_jobs.ingestion.sources.files.csv_files import CsvReader
from hudi_jobs.ingestion.sources.files.mergeable import require_mergeable
from hudi_jobs.jvm import schema_json
from hudi_jobs.session import ANCIENT_DATES_OF_SOURCES

_MOST_PROBES = 200
_TEXT_FORMATS = frozenset({FileFormat.CSV, FileFormat.JSON})
_MERGING_FORMATS = frozenset({FileFormat.PARQUET, FileFormat.ORC})
_MERGE_FAILED = re.compile(r"Failed to merge (?:incompatible|fields)|CANNOT_MERGE", re.IGNORECASE)


def absolute_paths(root: str, relative: Sequence[str]) -> list[str]:
    """Return full paths; a source that is itself a file has the empty relative path."""
    base = root.rstrip("/")
    return [f"{base}/{path}" if path else base for path in relative]


def read_files(
    spark: SparkSession, source: FileSource, paths: Sequence[str], *, adds_columns: bool = True
) -> SourceRows:
    """Open the files. Text formats keep unparsable rows; merged footers keep columns that only newer files have."""
    with reading(spark, source, paths):
        options = reader_options(source)
        schema = declared_columns(spark, source.schema_ddl)
        if source.format is FileFormat.PARQUET:
            options.setdefault("datetimerebasemode", spark.conf.get(ANCIENT_DATES_OF_SOURCES, "EXCEPTION") or "")
        if source.format is FileFormat.AVRO:
            return _rows(spark, source, paths, _load_avro(spark, source, options, schema, paths))
        if source.format not in _TEXT_FORMATS:
            return _rows(spark, source, paths, _load(spark, source, options, schema, paths))
        if source.format is FileFormat.CSV:
            files = CsvReader(spark, options, schema, adds_columns).read(paths)
            rows = _rows(spark, source, paths, files.frame, may_be_corrupt=True)
            return replace(rows, origin=Origin(files.origin, "source_file"), remark=files.remark)
        options |= options_of(inferred=schema is None)
        schema = schema or _load(spark, source, options, None, paths).schema
        fields = [field for field in schema.fields if field.name != CORRUPT_RECORD]
        # Spark refuses to read nothing but the column of corrupt records.
        fields = fields or [StructField(NO_COLUMN, StringType())]
        widened = StructType([*fields, StructField(CORRUPT_RECORD, StringType())])
        return _rows(spark, source, paths, _load(spark, source, options, widened, paths), may_be_corrupt=True)


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
    )


def reader_options(source: FileSource) -> dict[str, str]:
    """Return Spark's reader options: the user's, then those without which rows could vanish."""
    options = {key.lower(): value for key, value in source.options.items()}
    if source.format in _TEXT_FORMATS:
        options |= {"mode": "PERMISSIVE", "columnnameofcorruptrecord": CORRUPT_RECORD}
    if source.format is FileFormat.CSV:
        # The driver has read each header, and gives the columns in its order.
        options["enforceschema"] = "true"
    if source.format in _MERGING_FORMATS:
        options["mergeschema"] = "true"
    return options


@contextmanager
def reading(spark: SparkSession, source: FileSource, paths: Sequence[str]) -> Iterator[None]:
    """Name the file at fault in whatever goes wrong while the source is read."""
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
    """Raise `TaskFailed` when an error's text shows that one of the files is at fault."""
    if is_storage_failure(text):
        return
    if _MERGE_FAILED.search(text):
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The {source.format} files of {source.path} have columns of one name and different types; "
            "write them with one type, or read fewer files per run.",
        ) from error
    file = file_named_in(text, paths)
    if file is not None:
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"The file {file} cannot be read as {source.format}; it may be half-written. Replace or remove it.",
        ) from error


def file_named_in(text: str, paths: Sequence[str]) -> str | None:
    """Return the first of the paths that the text names."""
    bare = {path.partition("://")[2] or path.removeprefix("file:"): path for path in paths}
    return next((path for short, path in bare.items() if short in text), None)


def _probe(spark: SparkSession, source: FileSource, paths: Sequence[str]) -> None:
    """Open the files one by one, to name the one at fault where Spark's error does not."""
    if source.format in _TEXT_FORMATS:
        return
    for path in paths[:_MOST_PROBES]:
        try:
            _load(spark, source, reader_options(source), None, [path]).limit(1).collect()
        except Exception as error:  # noqa: BLE001 - whatever it is, it comes from this file
            raise_for_file(path, source, [path], error)


def _load_avro(
    spark: SparkSession,
    source: FileSource,
    options: Mapping[str, str],
    schema: StructType | None,
    paths: Sequence[str],
) -> DataFrame:
    """Read each group of files that share a schema by itself: Spark would take one file's schema for all."""
    groups: dict[str, list[str]] = {}
    for path, own in zip(paths, schemas_of(spark, paths), strict=True):
        groups.setdefault(own, []).append(path)
    frames = [_load(spark, source, options, schema, members) for members in groups.values()]
    for frame in frames[1:]:
        require_mergeable(frames[0].schema, frame.schema)
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _load(
    spark: SparkSession,
    source: FileSource,
    options: Mapping[str, str],
    schema: StructType | None,
    paths: Sequence[str],
) -> DataFrame:
    """Open files of one schema; what their footers say of columns besides the types means nothing."""
    reader: DataFrameReader = spark.read.format(source.format.value).options(**options)
    patterns = [exact(path) for path in paths]
    frame = reader.load(patterns) if schema is None else reader.schema(schema).load(patterns)
    described = schema_json(frame)
    plain = plain_type(described)
    return frame if plain == described else reader.schema(StructType.fromJson(plain)).load(patterns)
