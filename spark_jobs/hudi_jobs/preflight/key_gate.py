"""Checks that a run would keep the keys, the partitions and the lists of the rows that a table has.

`hoodie.properties` does not record everything that decides this: neither slash-separated days, nor how a timestamp
became text. Rows with different keys are not found and are written again. So sample rows are read directly from the
table's files, and Hudi's own key generator computes their keys now.

`schemas/writable.py` tells the columns with such lists. A clustering reads and writes with Spark, and so converts the
lists of the files that it rewrites. In a MergeOnRead table updates go to log files, and a compaction rewrites base
files in the same way, so only CopyOnWrite tables are checked.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, ByteType, DateType, IntegerType, LongType, ShortType, StringType

from hudi_jobs.contract import (
    INDEX_KEY,
    FailureReason,
    IngestionTableTask,
    Location,
    TableDefinition,
    TableType,
    Task,
    WriteOperation,
)
from hudi_jobs.contract.table.properties import printable, record_key_of
from hudi_jobs.contract.table.support import SLASHED, key_generator_of
from hudi_jobs.existing_table import existing_options
from hudi_jobs.frames import GivenFiles
from hudi_jobs.schemas.partition_times import TimeKeys
from hudi_jobs.schemas.types import column_named
from hudi_jobs.schemas.writable import LeafPath, lists_of_one_field
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import Folder, located
from hudi_jobs.spark.jvm import (
    JavaObject,
    classes,
    collected_rows,
    hadoop_configuration,
    iterated,
    java_map,
    java_texts,
)
from hudi_jobs.table import HudiTable, commit_metadata

_FILES, _ROWS, _COMMITS = 8, 25, 50
_PLAIN = (StringType, ByteType, ShortType, IntegerType, LongType, BooleanType, DateType)
"""Types that every operation of Hudi converts to the same text."""

_KEY, _PARTITION = "_hoodie_record_key", "_hoodie_partition_path"
_GENERATOR = "hoodie.datasource.write.keygenerator.type"


@dataclass(frozen=True)
class _Place:
    """The partition of a row, and its record key if the files hold keys."""

    partition: str
    key: str | None


def require_keys(spark: SparkSession, table: HudiTable, task: Task, *, by_rows: bool = False) -> None:
    """Raise `TaskFailed` when this run would give rows of a table different keys or partitions.

    `by_rows` means a write like a bulk insert. After a commit of this operator it checks only types that Hudi's
    operations convert differently.
    """
    definition = task.table
    with stage("The table's keys cannot be compared", otherwise=FailureReason.HUDI_ERROR):
        if table.newest_commit_notes(INDEX_KEY) and _has_plain_keys(table, definition):
            return
        placed = not _depends_on_the_zone(table)
        generator = _generator(spark, table, task.hudi_options)
        by_rows |= isinstance(task, IngestionTableTask) and task.ingestion.operation is WriteOperation.BULK_INSERT
        for partition, rows in _samples(spark, table, definition):
            for found, made in _compared(spark, generator, rows, partition, by_rows=by_rows):
                if found != (made if placed else replace(made, partition=partition)):
                    raise TaskFailed(FailureReason.TABLE_MISMATCH, _explain(definition.base_path, found, made))


def are_found_again(spark: SparkSession, table: HudiTable, options: Mapping[str, str], rows: DataFrame) -> bool:
    """Tell whether writing rows read from a table keeps their keys and partitions.

    Tries some rows. A reader may take partition columns from paths, where times have changed, and releases of Hudi
    convert times and single keys to different texts.
    """
    generator = _generator(spark, table, options)
    named = (*record_key_of(table.properties), *table.partition_columns)
    columns = dict.fromkeys(name if name in rows.columns else name.partition(".")[0] for name in named)
    schema, found = collected_rows(rows.select(_PARTITION, _KEY, *map(column_named, columns)).limit(_ROWS))
    convert = classes(spark).org.apache.hudi.AvroConversionUtils.createConverterToAvro(schema, "row", "hudi_operator")
    return all(_made(generator, convert.apply(row)) == (str(row.get(0)), str(row.get(1))) for row in found)


def partitions_of(
    spark: SparkSession, table: HudiTable, options: Mapping[str, str], rows: DataFrame, *, most: int
) -> list[str]:
    """Return the partitions that a write puts these rows into, at most `most`."""
    if not table.partition_columns:
        return [""]
    generator = _generator(spark, table, options)
    schema, found = collected_rows(rows.select(*map(column_named, table.partition_columns)).distinct().limit(most))
    convert = classes(spark).org.apache.hudi.AvroConversionUtils.createConverterToAvro(schema, "row", "hudi_operator")
    return list(dict.fromkeys(str(generator.getPartitionPath(convert.apply(row))) for row in found))


def _made(generator: JavaObject, record: JavaObject) -> tuple[str, str] | None:
    """Return the partition and key that Hudi generates for a record; None if it cannot."""
    try:
        return str(generator.getPartitionPath(record)), str(generator.getRecordKey(record))
    except Py4JJavaError:
        return None


def _has_plain_keys(table: HudiTable, definition: TableDefinition) -> bool:
    schema = table.schema()
    kinds = {} if schema is None else {field.name: field.dataType for field in schema.fields}
    return all(isinstance(kinds.get(name), _PLAIN) for name in (*definition.record_key, *definition.partition_by))


def _depends_on_the_zone(table: HudiTable) -> bool:
    """Tell whether partitions are times in an unrecorded zone; see `require_zones`."""
    times, schema = TimeKeys.of(table.properties), table.schema()
    kinds = {} if schema is None else {field.name: field.dataType for field in schema.fields}
    return times is not None and any(times.depends_on_the_writer(kinds[name]) for name in times.columns & kinds.keys())


def _samples(spark: SparkSession, table: HudiTable, definition: TableDefinition) -> Iterator[tuple[str, DataFrame]]:
    """Yield sample rows of files written by the newest commits, each with its partition.

    The files are read directly: a reader of Hudi takes partition columns from the path.
    """
    wanted = [*definition.record_key, *definition.partition_by]
    for partition, path in _newest_files(spark, table):
        frame = GivenFiles(spark, [path]).frame("parquet")
        present = {name.lower() for name in frame.columns}
        if all(name.lower() in present for name in wanted):
            names = dict.fromkeys([*([_KEY] if _KEY in frame.columns else []), *wanted])
            yield partition, frame.select(*map(column_named, names)).limit(_ROWS)


def _newest_files(spark: SparkSession, table: HudiTable) -> list[tuple[str, str]]:
    """Return the newest existing base files, at most one per partition.

    Raises `TaskFailed` for a file outside the table: this check's failures show a row of the file.
    """
    found: dict[str, str] = {}
    folder = Folder(table.base_path)
    for partition, name in _written(table):
        if folder.partition(partition) is None or not folder.holds("", name):
            raise TaskFailed(
                FailureReason.PATH_OUTSIDE_TABLE,
                f"A commit of {table.base_path} names the file {name[:200]!a}, which is outside the table. The file "
                "was not read, and nothing was written. Find out who wrote the commit.",
            )
        file = Location.parse(table.base_path).join(name).url
        if partition not in found and _exists(spark, file):
            found[partition] = file
        if len(found) == _FILES:
            break
    return list(found.items())


def _exists(spark: SparkSession, file: str) -> bool:
    filesystem, place = located(spark, file)
    return bool(filesystem.exists(place))


def _written(table: HudiTable) -> Iterator[tuple[str, str]]:
    """Yield partition and path of the base files written by the newest commits."""
    timeline = table.completed_commits()
    instants = timeline.getReverseOrderedInstantsByCompletionTime().iterator()
    for instant in islice(iterated(instants), _COMMITS):
        for stat in iterated(commit_metadata(timeline, instant).getWriteStats().iterator()):
            if str(stat.getPath()).endswith(".parquet"):
                yield str(stat.getPartitionPath()), str(stat.getPath())


def _generator(spark: SparkSession, table: HudiTable, options: Mapping[str, str]) -> JavaObject:
    """Return the key generator that Hudi would use for a write to this table."""
    hudi = classes(spark).org.apache.hudi
    told = {**table.properties, **existing_options(table, options), _GENERATOR: str(key_generator_of(table.properties))}
    properties = hudi.common.config.TypedProperties()
    properties.putAll(java_map(spark, told))
    return hudi.keygen.factory.HoodieSparkKeyGeneratorFactory.createKeyGenerator(properties)


def _compared(
    spark: SparkSession, generator: JavaObject, rows: DataFrame, partition: str, *, by_rows: bool
) -> Iterator[tuple[_Place, _Place]]:
    """Yield each row's actual and computed place: bulk inserts compute from rows, other operations from Avro."""
    schema, found = collected_rows(rows)
    convert = classes(spark).org.apache.hudi.AvroConversionUtils.createConverterToAvro(schema, "row", "hudi_operator")
    has_key = _KEY in rows.columns
    for row in found:
        record = row if by_rows else convert.apply(row)
        key = row.get(0) if has_key else None  # without meta fields the column exists but is empty
        made = _Place(
            partition=str(generator.getPartitionPath(record)),
            key=None if key is None else str(generator.getRecordKey(record)),
        )
        yield _Place(partition=partition, key=None if key is None else str(key)), made


def _explain(base_path: str, found: _Place, made: _Place) -> str:
    what, has, gives = "record key", found.key, made.key
    if found.partition != made.partition:
        what, has, gives = "partition", found.partition, made.partition
    advice = "leave ingestion to the tool that does it now, or write its rows to another table at another base path"
    if what == "partition" and str(gives).replace("-", "/") == has:
        advice = f"add {SLASHED}=true to hoodie.properties (Hudi CLI: table update-configs), or {advice}"
    return (
        f"A row of {base_path} has the {what} {printable(str(has))}, "
        f"but this run would give it {printable(str(gives))}, so "
        "existing rows would not be found and would be duplicated. The tool that wrote them used an option or an "
        f"operation that hoodie.properties does not record; {advice}."
    )


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
