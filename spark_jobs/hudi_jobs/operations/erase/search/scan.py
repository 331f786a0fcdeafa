"""Searches keys in files: in every byte, in compressed parts, and among the record keys of Parquet files.

Short keys are only compared as values: their bytes appear everywhere by chance.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.existing_table.metadata import has_record_index
from hudi_jobs.failures import DriverStopping
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import located, statuses_below
from hudi_jobs.given_files import GivenFiles
from hudi_jobs.java_classes import java_class
from hudi_jobs.jvm import JavaObject, hadoop_configuration, local_rows
from hudi_jobs.operations.erase.keys import RECORD_KEY, Keys, with_key
from hudi_jobs.operations.erase.search.letters import for_scanner
from hudi_jobs.table import HudiTable

META_FOLDER = ".hoodie"
METADATA_TABLE = f"{META_FOLDER}/metadata"
_RECORD_INDEX = 5
_THREADS = 2  # each thread may hold a row group in memory
_META = f"/{META_FOLDER}/"
_BASE = re.compile(r"[0-9A-Za-z-]+_[0-9A-Za-z-]+_[0-9]+\.parquet")


@dataclass(frozen=True)
class File:
    """A file with its Hadoop path and size in bytes."""

    path: str
    size: int

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


@dataclass
class Search:
    """Findings of a search: `found` are files with a key, `unread` files that could not be read completely."""

    files: int = 0
    size: int = 0
    decoded: int = 0
    found: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)


def files_below(context: TaskContext, folder: str) -> list[File]:
    """Return all files below a folder, sorted by path; an empty list without the folder."""
    filesystem, path = located(context.spark, folder)
    if not filesystem.exists(path):
        return []
    found = (File(str(each.getPath().toString()), int(each.getLen())) for each in statuses_below(filesystem, path))
    return sorted(found, key=lambda file: file.path)


def located_path(context: TaskContext, folder: str) -> str:
    """Return the folder's qualified path, the prefix of its files' paths."""
    filesystem, place = located(context.spark, folder)
    return str(filesystem.makeQualified(place).toString())


def is_data(path: str) -> bool:
    """Tell whether a file is outside of Hudi's own folder."""
    return _META not in path


def is_log(path: str) -> bool:
    """Tell by its name whether a file is a log file of the table."""
    name = path.rpartition("/")[2]
    return is_data(path) and name.startswith(".") and ".log." in name


def is_base(name: str) -> bool:
    """Tell whether a file has the name of a Parquet base file (`FSUtils.BASE_FILE_PATTERN`)."""
    return _BASE.fullmatch(name) is not None


def group_of(name: str) -> str:
    """Return the file group id in the name of a base or log file."""
    return name.removeprefix(".").partition("_")[0]


def unsearched_logs(files: Iterable[File], keys: Keys) -> set[str]:
    """Return the log files when a key is too short for the search in bytes, the only one that covers log files."""
    if keys.are_all_in_bytes:
        return set()
    return {file.path for file in files if is_log(file.path)}


def search(context: TaskContext, files: Iterable[File], keys: Keys) -> Search:
    """Search every byte of the files for the keys, and the record keys of Parquet files."""
    with stage("The files of the table cannot be searched", otherwise=FailureReason.HUDI_ERROR):
        files = list(files)
        result = Search(files=len(files), size=sum(file.size for file in files))
        scanner = Scanner(context, keys.in_bytes)
        with ThreadPoolExecutor(_THREADS) as threads:
            for file, (decoded, found, unread) in zip(files, threads.map(scanner.search, files), strict=True):
                result.decoded += decoded
                result.found |= {file.path} if found else set()
                result.unread |= {file.path} if unread else set()
        whole = [file for file in files if file.path not in result.unread]
        result.found |= _with_record_keys(context.spark, whole, keys)
        result.unread |= _without_record_keys(context.spark, whole)
    return result


def _with_record_keys(spark: SparkSession, files: Collection[File], keys: Keys) -> set[str]:
    """Return the Parquet files that have a row with one of the keys; other schemas lack the record key column."""
    wanted = {file.path for file in files if file.name.endswith(".parquet") and file.size}
    return among(wanted, with_key(_record_keys(spark, wanted), keys)) if wanted else set()


def _without_record_keys(spark: SparkSession, files: Collection[File]) -> set[str]:
    """Return the base files with rows without a record key, which may hold a key as a number."""
    named = {file.path for file in files if is_data(file.path) and is_base(file.name) and file.size}
    if not named:
        return set()
    return among(named, _record_keys(spark, named).where(sf.col(RECORD_KEY).isNull()))


def _record_keys(spark: SparkSession, paths: Collection[str]) -> DataFrame:
    """Return the record keys of Parquet files and each row's `file` name; the key is null without that column."""
    rows = GivenFiles(spark.newSession(), sorted(paths)).frame("parquet", schema=f"{RECORD_KEY} STRING")
    return rows.withColumn("file", sf.col("_metadata.file_name"))


def in_record_index(context: TaskContext, base_path: str, keys: Keys) -> set[str]:
    """Return the record index's path when it holds one of the keys and keys are too short for a search in bytes."""
    table = HudiTable.open(context.spark, base_path)
    if table is None or keys.are_all_in_bytes or not has_record_index(table.properties):
        return set()
    with stage("The index of record keys cannot be searched", otherwise=FailureReason.HUDI_ERROR):
        folder = f"{base_path.rstrip('/')}/{METADATA_TABLE}"
        entries = context.spark.newSession().read.format("hudi").load(folder).where(sf.col("type") == _RECORD_INDEX)
        is_empty = with_key(entries.select(sf.col("key").alias(RECORD_KEY)), keys).isEmpty()
    return set() if is_empty else {f"{folder}/record_index"}


def among(paths: Collection[str], rows: DataFrame) -> set[str]:
    """Return the paths with a file name in the column `file`; Spark encodes the rest of a path differently."""
    names = {str(row["file"]) for row in rows.select("file").distinct().collect()}
    return {path for path in paths if path.rpartition("/")[2] in names}


class Scanner:
    """Searches texts in the bytes of files and values, inside the JVM."""

    def __init__(self, context: TaskContext, texts: Sequence[bytes]) -> None:
        spark = context.spark
        self._scanner = java_class(spark, "search.KeyScanner")(hadoop_configuration(spark), for_scanner(texts))
        self._stopping = context.stopping

    def search(self, file: File) -> tuple[int, bool, bool]:
        """Return the number of decoded bytes, whether a text was found, and whether a part could not be read."""
        if self._stopping.is_set():
            raise DriverStopping
        _, decoded, found, unread = self._answer(file.path)
        return decoded, bool(found), bool(unread)

    def count(self, rows: DataFrame) -> tuple[int, ...]:
        """Return the number of rows with one of the texts, and of values per column; 0 for no rows."""
        return self._answer(local_rows(rows))

    def _answer(self, about: JavaObject) -> tuple[int, ...]:
        return tuple(map(int, str(self._scanner.apply(about)).split()))
