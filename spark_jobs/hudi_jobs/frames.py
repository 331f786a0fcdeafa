"""Makes data frames of exactly the given files, and of a few rows of the driver.

Spark's own readers treat a path as a pattern, as a folder when a store has keys below an object's, and as a streaming
query's output when a log there names other files (`DataSource.resolveRelation`, `FileStreamSink.hasMetadata`). Here
Spark gets the files' statuses in place of a listing.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.schemas.columns import parse_ddl
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.filesystem import has_flat_keys, located
from hudi_jobs.spark.jvm import (
    JavaObject,
    classes,
    frame_of_relation,
    inferred_columns,
    java_array,
    scala_map,
    spark_session,
)

_ROWS_AT_ONCE = 1_000
"""The rows that are handed over in a call."""


def local_frame(spark: SparkSession, rows: Iterable[Sequence[object]], schema: StructType | str) -> DataFrame:
    """Return rows as a frame; values are texts, numbers, booleans, `None`, or sequences for structs.

    PySpark's own `createDataFrame` starts Python workers that read the rows, anew for each job that needs them.
    """
    jvm = classes(spark)
    if isinstance(schema, str):
        schema = parse_ddl(spark, schema)
    lines = jvm.java.util.ArrayList()
    for text in _texts(rows, schema):
        lines.addAll(jvm.org.apache.hadoop.util.StringUtils.getStringCollection(text, "\n"))
    strings = spark_session(spark).createDataset(lines, jvm.org.apache.spark.sql.Encoders.STRING()).toDF()
    # A row is nested in another row, because Spark reserves some names at the top, such as `_corrupt_record`.
    parsed = sf.from_json("value", StructType().add("row", schema), {"mode": "FAILFAST"})
    return DataFrame(strings, spark).select(parsed.alias("parsed")).select("parsed.row.*")


def _texts(rows: Iterable[Sequence[object]], kind: StructType) -> Iterator[str]:
    lines = (json.dumps({"row": _value(row, kind)}, ensure_ascii=False) for row in rows)
    while some := list(islice(lines, _ROWS_AT_ONCE)):
        yield "\n".join(some)


def _value(value: object, kind: DataType) -> object:
    if not isinstance(kind, StructType) or value is None:
        return value
    assert isinstance(value, Sequence), "a struct is given as a sequence"
    return {one.name: _value(part, one.dataType) for one, part in zip(kind.fields, value, strict=True)}


_FORMATS = {
    "avro": "org.apache.spark.sql.avro.AvroFileFormat",
    "csv": "org.apache.spark.sql.execution.datasources.csv.CSVFileFormat",
    "json": "org.apache.spark.sql.execution.datasources.json.JsonFileFormat",
    "orc": "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
    "parquet": "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    "text": "org.apache.spark.sql.execution.datasources.text.TextFileFormat",
}
_INFERRED_FROM_TEXT = frozenset({"csv", "json"})
_OF_TEXT = ("linesep", "encoding")
_UNBOUNDED, _FOR_EVER = 2**60, -1
_THREADS = 8
_PATTERN = re.compile(r"[{}\[\]*?\\]")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")
_NAMED_LIMIT = 300


def exact(path: str) -> str:
    """Return the pattern that matches only this path."""
    return _PATTERN.sub(r"\\\g<0>", path)


class GivenFiles:
    """The current files of a store; raises for a missing file, and `TaskFailed` for a folder."""

    def __init__(self, spark: SparkSession, paths: Sequence[str]) -> None:
        self._spark = spark
        self._paths = paths
        self._jvm = classes(spark)
        self._sources = self._jvm.org.apache.spark.sql.execution.datasources

    def frame(
        self,
        format_: str,
        *,
        schema: StructType | str | None = None,
        options: Mapping[str, str] | None = None,
        reader: JavaObject | None = None,
    ) -> DataFrame:
        """Return the rows of all files; without a schema, the columns are inferred from these files alone.

        The reader is a `FileFormat` in place of Spark's own.
        """
        told = {key.lower(): value for key, value in (options or {}).items()}
        wanted = self._inferred(format_, told) if schema is None else self._declared(schema)
        kind, empty = reader or self._format(format_), self._jvm.org.apache.spark.sql.types.StructType()
        self._sources.DataSourceUtils.verifySchema(kind, wanted)
        case_sensitive = str(self._spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
        self._jvm.org.apache.spark.sql.util.SchemaUtils.checkSchemaColumnNameDuplication(wanted, case_sensitive)
        relation = self._sources.HadoopFsRelation(
            self._index, empty, wanted.asNullable(), self._none, kind, scala_map(self._spark, told), self._session
        )
        return frame_of_relation(self._spark, relation)

    def _declared(self, schema: StructType | str) -> JavaObject:
        kinds = self._jvm.org.apache.spark.sql.types.DataType
        declared = kinds.fromDDL(schema) if isinstance(schema, str) else kinds.fromJson(schema.json())
        return self._jvm.org.apache.spark.sql.catalyst.util.CharVarcharUtils.failIfHasCharVarchar(declared)

    def _inferred(self, format_: str, options: Mapping[str, str]) -> JavaObject:
        """Return the columns of the files; of CSV and JSON from their texts, else Spark would open the paths again."""
        if format_ not in _INFERRED_FROM_TEXT:
            found = self._format(format_).inferSchema(
                self._session, scala_map(self._spark, options), self._index.allFiles()
            )
            return found.get()
        is_whole = options.get("multiline", "").lower() == "true"
        if is_whole and format_ == "csv":
            return self._inferred_from_pattern(options)
        texts = self.frame(
            "text",
            schema="value STRING",
            options={key: options[key] for key in _OF_TEXT if key in options}
            | ({"wholetext": "true"} if is_whole else {}),
        )
        charset = options.get("encoding", options.get("charset", "UTF-8"))
        if format_ == "csv" and charset.upper() != "UTF-8":
            texts = texts.select(sf.decode(sf.col("value").cast("binary"), charset).alias("value"))
        return inferred_columns(texts, format_, options)

    def _inferred_from_pattern(self, options: Mapping[str, str]) -> JavaObject:
        """Return the columns of CSV with line breaks in values, which Spark opens by patterns (`BinaryFileRDD`).

        Each pattern matches only its file; Hadoop has no pattern for a name with a colon (HADOOP-3257).
        """
        paths = [path for path in self._paths if ":" not in _SCHEME.sub("", path)]
        if not paths:
            raise TaskFailed(
                FailureReason.SOURCE_UNREADABLE,
                f"The columns of the file {self._paths[0][:_NAMED_LIMIT]!a} cannot be inferred with multiLine, because "
                "its name has a colon. Declare the columns.",
            )
        fs = self._jvm.org.apache.hadoop.fs
        given = [fs.FileStatus(0, False, 1, 0, 0, fs.Path(exact(path))) for path in paths]  # noqa: FBT003 - Java's own
        statuses = self._jvm.PythonUtils.toSeq(given)
        return self._format("csv").inferSchema(self._session, scala_map(self._spark, options), statuses).get()

    @property
    def _session(self) -> JavaObject:
        return spark_session(self._spark)

    @property
    def _none(self) -> JavaObject:
        return self._jvm.scala.Option.empty()

    def _format(self, name: str) -> JavaObject:
        kind: JavaObject = self._jvm
        for part in _FORMATS[name].split("."):
            kind = getattr(kind, part)
        return kind()

    @cached_property
    def _index(self) -> JavaObject:
        """The index of exactly these files; its cache already holds everything that Spark would list.

        With `recursiveFileLookup` Spark neither looks for folders nor for column values in the path.
        """
        filesystem, first = located(self._spark, self._paths[0])
        statuses = self._statuses(filesystem)
        cache = self._sources.SharedInMemoryCache(_UNBOUNDED, _FOR_EVER).createForNewClient()
        cache.putLeafFiles(first, java_array(self._spark, self._jvm.org.apache.hadoop.fs.FileStatus, statuses))
        roots, recursively = self._jvm.PythonUtils.toSeq([first]), {"recursiveFileLookup": "true"}
        index = self._sources.InMemoryFileIndex(
            self._session, roots, scala_map(self._spark, recursively), self._none, cache, self._none, self._none
        )
        self._require_exactly(index, statuses)
        return index

    def _statuses(self, filesystem: JavaObject) -> list[JavaObject]:
        path_of = self._jvm.org.apache.hadoop.fs.Path

        def status_of(path: str) -> tuple[JavaObject, bool]:
            status = filesystem.getFileStatus(path_of(path))
            return status, bool(status.isFile())

        with ThreadPoolExecutor(_THREADS if has_flat_keys(filesystem) else 1) as pool:
            found = list(pool.map(status_of, self._paths))
        for path, (_, is_file) in zip(self._paths, found, strict=True):
            if not is_file:
                raise TaskFailed(
                    FailureReason.SOURCE_UNREADABLE,
                    f"{path[:_NAMED_LIMIT]!a} is a folder, where a file was to be read. Another program may have "
                    "replaced it; run again.",
                )
        return [status for status, _ in found]

    def _require_exactly(self, index: JavaObject, statuses: Sequence[JavaObject]) -> None:
        """Raise when Spark would read other files, or a file twice."""
        sets, listed = self._jvm.java.util.HashSet, index.allFiles()
        found = sets(self._jvm.scala.collection.JavaConverters.seqAsJavaList(listed))
        wanted = sets()
        for status in statuses:
            wanted.add(status)
        if int(listed.size()) == len(self._paths) and found.equals(wanted):
            return
        wanted.removeAll(found)
        names = [str(each.getPath().toString())[:_NAMED_LIMIT] for each in wanted][:3]
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"Spark would read {int(listed.size()):,} files in place of {len(self._paths):,} that were chosen, so "
            f"nothing was read. Missing are {names!a}.",
        )
