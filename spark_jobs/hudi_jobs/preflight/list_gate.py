"""Checks that a write rewrites no files with lists that Hudi cannot read.

`old_lists` tells the affected columns. A clustering reads and writes with Spark, and so converts the lists of the files
that it rewrites. In a MergeOnRead table updates go to log files, and a compaction rewrites base files in the same way,
so only CopyOnWrite tables are checked.
"""

from collections.abc import Collection, Iterable, Iterator

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.contract import FailureReason, IngestionTableTask, TableType, WriteOperation
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.jvm import JavaObject, classes, hadoop_configuration, iterated, java_texts
from hudi_jobs.preflight.key_gate import partitions_of
from hudi_jobs.schemas.old_lists import LeafPath, lists_of_one_field
from hudi_jobs.table import HudiTable

_READING = "The lists of the table's files cannot be looked at"
_REWRITING = frozenset({WriteOperation.UPSERT, WriteOperation.INSERT, WriteOperation.DELETE})
_MOST_PARTITIONS, _MOST_FILES = 1_000, 100
"""The most partitions and files to check, oldest files first. Beyond that, Hudi's own failure names no column."""

ADVICE = "Cluster the table once, with a HudiOperation that runs the service Clustering: that rewrites the lists."


def require_readable_lists(spark: SparkSession, table: HudiTable, task: IngestionTableTask, rows: DataFrame) -> None:
    """Raise `TaskFailed` if the rows belong to a partition with a file of lists that Hudi cannot read."""
    if task.table.type is not TableType.COPY_ON_WRITE or task.ingestion.operation not in _REWRITING:
        return
    lists = _lists_of(table)
    if not lists:
        return
    with stage(_READING, otherwise=FailureReason.HUDI_ERROR):
        partitions = partitions_of(spark, table, task.hudi_options, rows, most=_MOST_PARTITIONS)
        found = next(_old_lists(spark, _base_files(table, partitions), lists), None)
    if found is not None:
        column, file = found
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The column {column} is an array of structs with one field, and {file} of {table.base_path} has it as an "
            f"old list, which Hudi cannot read to write the file again. Nothing was written. {ADVICE}",
        )


def has_old_lists(spark: SparkSession, table: HudiTable) -> bool:
    """Tell whether a table has a file with lists that Hudi cannot read."""
    lists = _lists_of(table)
    if not lists:
        return False
    with stage(_READING, otherwise=FailureReason.HUDI_ERROR):
        return any(True for _ in _old_lists(spark, _base_files(table), lists))


def _lists_of(table: HudiTable) -> dict[str, LeafPath]:
    schema = table.schema()
    return {} if schema is None else dict(lists_of_one_field(schema))


def _old_lists(
    spark: SparkSession, files: Iterable[JavaObject], lists: dict[str, LeafPath]
) -> Iterator[tuple[str, str]]:
    """Yield the columns with old lists in the oldest files, each with a file's name."""
    paths = {column: java_texts(spark, path) for column, path in lists.items()}
    for file in sorted(files, key=lambda file: str(file.getCommitTime()))[:_MOST_FILES]:
        schema = _schema_of(spark, str(file.getPath()))
        for column, path in paths.items():
            if schema.containsPath(path):
                yield column, str(file.getFileName())


def _base_files(table: HudiTable, partitions: Collection[str] | None = None) -> list[JavaObject]:
    """Return the newest base files of some partitions, or of all."""
    view = table.listed_view()
    try:
        if partitions is None:
            view.loadAllPartitions()
            return list(iterated(view.getLatestBaseFiles().iterator()))
        return [file for each in partitions for file in iterated(view.getLatestBaseFiles(each).iterator())]
    finally:
        view.close()


def _schema_of(spark: SparkSession, path: str) -> JavaObject:
    jvm, configuration = classes(spark), hadoop_configuration(spark)
    place = jvm.org.apache.hadoop.fs.Path(path)
    file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(place, configuration)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
    try:
        return reader.getFileMetaData().getSchema()
    finally:
        reader.close()
