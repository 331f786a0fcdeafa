"""CSV files as rows with columns by name: the files of each header are read separately, and then united."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from hudi_jobs.contract import FailureReason, FileFormat
from hudi_jobs.failures import TaskFailed
from hudi_jobs.given_files import GivenFiles
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, NO_COLUMN
from hudi_jobs.ingestion.sources.files.csv_rows import read_csv
from hudi_jobs.ingestion.sources.files.header_names import (
    HeaderGroup,
    grouped,
    lacking_some,
    left_out,
    positions,
    require_declared,
    require_same,
)
from hudi_jobs.ingestion.sources.files.headers import has_header, headers_of
from hudi_jobs.ingestion.sources.files.mergeable import united
from hudi_jobs.ingestion.text.csv_dialect import csv_dialect
from hudi_jobs.schemas.types import column_named

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
    optional: Collection[str] = ()
    """Declared columns that a header may lack, because folders have them."""

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
        return CsvFiles(united(placed), SOURCE_FILE, remark)

    def _remark(self, groups: Sequence[HeaderGroup]) -> str:
        if len(groups) > MOST_HEADERS:
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"The CSV files of this run have {len(groups):,} different headers, and a run unites at most "
                f"{MOST_HEADERS}; read fewer files per run (maxFilesPerRun), or write the files with the same header.",
            )
        if self.declared is not None:
            names = [field.name for field in _own(self.declared)]
            require_declared(groups, [name for name in names if name not in self.optional])
            return left_out(groups, names)
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
