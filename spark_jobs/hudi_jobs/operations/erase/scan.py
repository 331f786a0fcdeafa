"""Searches keys in texts and in files: in names, in every byte, in compressed parts, and in Parquet files.

Short keys are only compared as values: their bytes appear everywhere by chance.
"""

import re
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, Location
from hudi_jobs.existing_table import has_record_index
from hudi_jobs.frames import GivenFiles
from hudi_jobs.operations.erase.keys import RECORD_KEY, SHORTEST_IN_BYTES, Keys, with_key
from hudi_jobs.operations.erase.spellings import for_scanner, is_longer, script_after, script_before
from hudi_jobs.spark.failures import DriverStopping, stage
from hudi_jobs.spark.filesystem import located, statuses_below
from hudi_jobs.spark.jvm import JavaObject, hadoop_configuration, local_rows
from hudi_jobs.spark.session import java_class
from hudi_jobs.table import HudiTable

_ESCAPE = re.compile(r"(\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})$")
_LONGEST_ESCAPE = 6
"""Longest escape of a character in JSON or a URL; its letters do not extend the text."""

_LONGEST_LENGTH = 4
"""Bytes of the length before a text."""

_MASK = "***"


class Texts:
    """Finds many whole texts in a text as fast as a single text, in the same way as `KeyTexts`.

    With `encoding` the text was decoded from binary content, where a length prefix counted in bytes also makes a text
    whole.
    """

    def __init__(self, texts: Iterable[str], *, encoding: str | None = None) -> None:
        ordered = sorted(texts, key=_bounded_length)
        self._encoding = encoding
        self._indexes = [_Index(group) for _, group in groupby(ordered, key=_bounded_length)]

    def are_in(self, line: str, *, names_files: bool = False) -> bool:
        """Tell whether a line holds one of the texts; with `names_files` a file suffix does not extend a text."""
        return any(True for _ in self._places(line, names_files=names_files))

    def masked(self, line: str) -> str:
        """Return the line with each text masked."""
        shown, done = "", 0
        for start, end in sorted(place for place in self._places(line) if place[0] < place[1]):
            if start >= done:
                shown += line[done:start] + _MASK
            done = max(done, end)
        return shown + line[done:]

    def found(self, line: str, *, encoding: str | None = None) -> set[str]:
        """Return the texts found in the line; with `encoding` the line may be binary."""
        return {line[start:end] for start, end in self._places(line, encoding)}

    def _places(
        self, line: str, encoding: str | None = None, *, names_files: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each text in the line."""
        for index in self._indexes:
            for start, text in index.found_in(line):
                end = start + len(text)
                if _is_whole(line, start, end, encoding or self._encoding, names_files=names_files):
                    yield start, end


class WholeTexts(Texts):
    """Finds keys in a text."""

    def __init__(self, keys: Keys, *, also_short: bool = False) -> None:
        super().__init__(text.decode() for text in (*keys.in_bytes, *(keys.short if also_short else ())))


def _bounded_length(text: str) -> int:
    """Return the length that groups the text in an index, capped for long texts."""
    return min(len(text), SHORTEST_IN_BYTES)


def _is_whole(line: str, start: int, end: int, encoding: str | None, *, names_files: bool) -> bool:
    if _is_joined(line, start, end):
        return False
    if _stands_alone(line, start, end, names_files=names_files):
        return True
    return encoding is not None and _has_its_length_before(line, start, end, encoding)


def _has_its_length_before(line: str, start: int, end: int, encoding: str) -> bool:
    """Tell whether the bytes before a text are its length, and nothing else.

    A variable-length number may also be a character, such as a quote. It counts only when it is a letter or digit after
    a non-text byte.
    """
    before = line[max(start - _LONGEST_LENGTH, 0) : start].encode(encoding, errors="replace")
    size = len(line[start:end].encode(encoding, errors="replace"))
    if before.endswith((size.to_bytes(4, "big"), size.to_bytes(4, "little"), (size & 0xFFFF).to_bytes(2, "big"))):
        return True
    if not before.endswith((_variable(size), _variable(2 * size))):
        return False
    last, further = line[start - 1], line[max(start - 2, 0) : start - 1]
    return not _is_seen(last) or (last.isalnum() and not (further and _is_seen(further)))


def _is_seen(character: str) -> bool:
    return " " <= character <= "~" or character in "\t\n\r"


def _variable(size: int) -> bytes:
    """Encode a length as a variable-length number of Protobuf; Avro encodes the double."""
    low, high = size & 0x7F, size >> 7
    return bytes([low | 0x80]) + _variable(high) if high else bytes([low])


class _Index:
    """Finds texts like `KeyTexts`: the cost per character depends on the longest text, not on their number.

    The texts are sorted, so the greatest text not above the rest of the line is the longest match, or starts with it;
    all other matches are prefixes of that match. `_within` holds for each text its longest proper prefix among the
    texts.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(texts)
        self._shortest, self._longest = min(map(len, self._texts)), max(map(len, self._texts))
        self._beginnings = {text[: self._shortest] for text in self._texts}
        self._within: list[int] = []
        for place, text in enumerate(self._texts):
            self._within.append(self._beginning(place - 1, text))

    def found_in(self, line: str) -> Iterator[tuple[int, str]]:
        """Yield the start and the text of each match in the line."""
        for start in range(len(line) - self._shortest + 1):
            if line[start : start + self._shortest] in self._beginnings:
                rest = line[start : start + self._longest]
                place = self._beginning(bisect(self._texts, rest) - 1, rest)
                while place >= 0:
                    yield start, self._texts[place]
                    place = self._within[place]

    def _beginning(self, place: int, text: str) -> int:
        """Return the index of the longest stored text that is a prefix of `text`, or -1."""
        while place >= 0 and not text.startswith(self._texts[place]):
            place = self._within[place]
        return place


def _stands_alone(line: str, start: int, end: int, *, names_files: bool) -> bool:
    text, after = line[start:end], line[end : end + 2]
    script = script_after(text)
    if is_longer(after[:1], script) or (not names_files and after[:1] == "." and is_longer(after[1:], script)):
        return False
    before = line[max(start - _LONGEST_ESCAPE, 0) : start]
    return not is_longer(before[-1:], script_before(text)) or _ESCAPE.search(before) is not None


def _is_joined(line: str, start: int, end: int) -> bool:
    """Tell whether an address's name continues to the left: `b@example.com` is no part of `a.b@example.com`."""
    text, before = line[start:end], line[max(start - 2, 0) : start]
    return "@" in text and before[1:] in {".", "+", "'"} and is_longer(before[:1], script_before(text))


def before_the_name(path: str, below: str, texts: WholeTexts) -> str | None:
    """Return the printable part of a path with a key in a name below the folder; None without such a name."""
    names = path.removeprefix(below).split("/")
    first = next((place for place, name in enumerate(names) if texts.are_in(name, names_files=True)), None)
    return None if first is None else f"{path[: len(path) - len('/'.join(names[first:]))]}..."


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
        folder = Location.parse(base_path) / METADATA_TABLE
        entries = context.spark.newSession().read.format("hudi").load(folder.url).where(sf.col("type") == _RECORD_INDEX)
        is_empty = with_key(entries.select(sf.col("key").alias(RECORD_KEY)), keys).isEmpty()
    return set() if is_empty else {(folder / "record_index").url}


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
