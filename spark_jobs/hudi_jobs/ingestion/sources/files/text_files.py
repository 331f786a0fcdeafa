"""Files of CSV and JSON as rows with columns by name; CSV files are read by their headers, and then united.

Spark lists, divides and schedules the files; `CsvFormat.java` reads them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StringType, StructField, StructType

from hudi_jobs.contract import FailureReason, FileFormat
from hudi_jobs.frames import GivenFiles
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, NO_COLUMN, corrupt_text
from hudi_jobs.ingestion.sources.files.headers import (
    HeaderGroup,
    grouped,
    has_header,
    headers_of,
    lacking_some,
    left_out,
    others_of,
    positions,
    quoted_name,
    require_declared,
    require_same,
)
from hudi_jobs.ingestion.text.csv_dialect import csv_dialect
from hudi_jobs.ingestion.text.json_frames import columns_of, with_columns
from hudi_jobs.ingestion.text.text_values import can_be_text, is_set
from hudi_jobs.schemas.columns import require_distinct
from hudi_jobs.schemas.declared import require_declared_only, undeclared
from hudi_jobs.schemas.types import column_named, fits
from hudi_jobs.schemas.untyped import has_untyped, with_common_types
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.session import java_class

_FAULT = StructType([StructField("column", StringType()), StructField("cause", StringType())])


def read_csv(
    spark: SparkSession, options: Mapping[str, str], fields: Sequence[StructField | None], paths: Sequence[str]
) -> DataFrame:
    """Return the rows of files with these fields by position, with `CORRUPT_RECORD` and `FAULT`.

    A field that is None is left out. Names of options are in lower case. Raises `TaskFailed` for options and types that
    make values ambiguous.
    """
    dialect = csv_dialect(spark, options)
    kept = [field for field in fields if field is not None]
    for field in kept:
        if not can_be_text(field.dataType):
            raise _no_text(field)
    # The columns are named by position, because Spark would compare real names with its own columns.
    placed = [StructField(_at(place), field.dataType) for place, field in enumerate(kept)]
    marks = [StructField(CORRUPT_RECORD, StringType()), StructField(FAULT, _FAULT)]
    reader = java_class(spark, "csv.CsvFormat")()
    frame = GivenFiles(spark, paths).frame(
        "csv", reader=reader, schema=StructType([*placed, *marks]), options=dialect.reader_options(fields)
    )
    named = (sf.col(_at(place)).alias(field.name) for place, field in enumerate(kept))
    return frame.select(*named, CORRUPT_RECORD, FAULT)


def _at(place: int) -> str:
    return f"c{place}"


def _no_text(field: StructField) -> TaskFailed:
    return TaskFailed(
        FailureReason.INVALID_REQUEST,
        f"The column {field.name} is declared as {field.dataType.simpleString()}, and CSV has no text for that type. "
        "Declare "
        "it as STRING, and convert it in the transform (unbase64, unhex, from_json).",
    )


def require_mergeable(schemas: Sequence[StructType], files: Sequence[str]) -> None:
    """Raise `TaskFailed` when a column has types without a common type in two files."""
    known: dict[str, tuple[DataType, str]] = {}
    for schema, file in zip(schemas, files, strict=True):
        for field in schema.fields:
            kind, before = known.setdefault(field.name, (field.dataType, file))
            if not (fits(kind, field.dataType) or fits(field.dataType, kind)):
                raise TaskFailed(
                    FailureReason.SCHEMA_INCOMPATIBLE,
                    f"The column {quoted_name(field.name)} is {field.dataType.simpleString()} in the file {file} and "
                    f"{kind.simpleString()} in the file {before}; write them with the same type.",
                )


def united(frames: Sequence[DataFrame], files: Sequence[str]) -> DataFrame:
    """Return the rows of all frames by the names of columns; missing columns are null.

    `files` has a file of each frame, for messages.
    """
    if any(has_untyped(frame.schema) for frame in frames):
        frames = with_common_types(frames)
    require_mergeable([frame.schema for frame in frames], files)
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


MOST_HEADERS = 100
"""The most different headers of the files of a run; Spark's plan grows with each."""

SOURCE_FILE = "_source_file"
"""The column with the path of a row's file, if files of several headers were united."""

_HIDDEN_FILE = "_metadata.file_path"


@dataclass(frozen=True)
class CsvFiles:
    """The rows of CSV files, the column with a row's file, and a sentence for people."""

    frame: DataFrame
    origin: str = _HIDDEN_FILE
    remark: str = ""


@dataclass(frozen=True)
class CsvReader:
    """How CSV files are read: Spark's options with names in lower case, and the declared columns of the source."""

    spark: SparkSession
    options: Mapping[str, str]
    declared: StructType | None
    adds_columns: bool
    in_folders: Collection[str] = ()
    """Declared columns with their values in the names of folders, which a header may lack."""
    nullable: Collection[str] = ()
    """Declared columns that are null in files with headers that lack them."""
    refuses_others: bool = False
    """Whether a column that is not declared ends the run."""

    def read(self, paths: Sequence[str]) -> CsvFiles:
        """Return the rows of the files; raise `TaskFailed` if a header lacks a needed column."""
        csv_dialect(self.spark, self.options)
        if not has_header(self.options):
            # Without headers, columns are positions: the declared names, or the names that Spark counts in the first
            # file.
            return CsvFiles(self._rows(_own(self.declared or self._counted(paths)), paths))
        groups = grouped(paths, headers_of(self.spark, self.options, paths))
        remark = self._remark(groups)
        if not groups:
            return CsvFiles(self._rows(_own(self.declared or StructType()), paths))
        frames = [self._group(group) for group in groups]
        if len(frames) == 1:
            return CsvFiles(frames[0], remark=remark)
        placed = [frame.withColumn(SOURCE_FILE, sf.col(_HIDDEN_FILE)) for frame in frames]
        return CsvFiles(united(placed, [group.paths[0] for group in groups]), SOURCE_FILE, remark)

    def _remark(self, groups: Sequence[HeaderGroup]) -> str:
        if len(groups) > MOST_HEADERS:
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"The CSV files of this run have {len(groups):,} different headers, and a run unites at most "
                f"{MOST_HEADERS}; read fewer files per run (maxFilesPerRun), or write the files with the same header.",
            )
        if self.declared is not None:
            names = [field.name for field in _own(self.declared)]
            require_declared(groups, [name for name in names if name not in {*self.in_folders, *self.nullable}])
            if self.refuses_others:
                require_declared_only(others_of(groups, names))
            absent = lacking_some(groups, [name for name in self.nullable if name not in self.in_folders])
            return f"{left_out(groups, names)} {absent}".strip()
        if not self.adds_columns:
            require_same(groups)
        return lacking_some(groups)

    def _group(self, group: HeaderGroup) -> DataFrame:
        """Return the rows of files with the same header: the declared columns, or all columns."""
        if self.declared is None:
            own = (
                None if name in (CORRUPT_RECORD, FAULT) else StructField(name, StringType()) for name in group.header
            )
            return self._rows(list(own), group.paths)
        places = {place: name for name, place in self._positions(group).items()}
        wanted = [field.name for field in _own(self.declared) if field.name in places.values()]
        fields = [self.declared[places[place]] if place in places else None for place in range(len(group.header))]
        return self._rows(fields, group.paths).select(*map(column_named, wanted), CORRUPT_RECORD, FAULT)

    def _positions(self, group: HeaderGroup) -> dict[str, int]:
        return positions(group.header, [field.name for field in _own(self.declared or StructType())])

    def _rows(self, fields: Sequence[StructField | None], paths: Sequence[str]) -> DataFrame:
        # Files without a header and without declared columns have no rows, and a frame has a column.
        return read_csv(self.spark, self.options, fields or [StructField(NO_COLUMN, StringType())], paths)

    def _counted(self, paths: Sequence[str]) -> StructType:
        """Return the columns that Spark counts in the first file, by Spark's own names."""
        return GivenFiles(self.spark, paths[:1]).frame(FileFormat.CSV.value, options=self.options).schema


def _own(schema: StructType) -> list[StructField]:
    return [field for field in schema.fields if field.name != CORRUPT_RECORD]


_TEXT = "value"


def read_json(
    spark: SparkSession,
    options: Mapping[str, str],
    schema: StructType | None,
    paths: Sequence[str],
    *,
    refuses_others: bool = False,
) -> DataFrame:
    """Return the rows of files, including bad rows; `options` are those of Spark's reader, with lower-case names.

    With `refuses_others` an extra pass raises `TaskFailed` for fields that are not declared.
    """
    encoding = options.get("encoding")
    of_lines = {name: value for name, value in options.items() if name == "linesep"}
    if is_set(options, "multiline"):
        of_lines["wholetext"] = "true"
    elif encoding is not None:
        _require_lines(encoding)
        of_lines["encoding"] = encoding
    texts = GivenFiles(spark, paths).frame("text", schema=f"{_TEXT} STRING", options=of_lines)
    texts = texts.where(sf.col(_TEXT).startswith("{") | sf.col(_TEXT).rlike(r"[^ \t\r\n]"))
    known = dict(options)
    text = sf.col(_TEXT) if encoding is None else sf.decode(sf.col(_TEXT).cast("binary"), encoding)
    if schema is not None:
        require_distinct(schema.fieldNames(), "The declared columns")
        if refuses_others:
            require_declared_only(list(undeclared(columns_of(texts.select(text), known, "The files"), schema)))
    else:
        schema, known = columns_of(texts.select(text), known, "The files"), {**known, "inferred": "true"}
    value = sf.col(_TEXT).cast("binary")
    return with_columns(texts, value, schema, known, corrupt=corrupt_text(value))


def _require_lines(encoding: str) -> None:
    """Raise `TaskFailed` for an encoding without the line ends of ASCII: Spark would cut characters."""
    if encoding.upper().startswith(("UTF-16", "UTF-32", "UTF16", "UTF32", "UTF_16", "UTF_32")):
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The option encoding is {encoding}, in which no line of JSON can be told from the next; "
            "write the files in UTF-8, or as one array each and with the option multiLine.",
        )
