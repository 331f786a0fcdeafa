"""Removes records with an erased key from quarantine files, and keeps all other records.

The kept records are written to a new file before the old file is deleted: a run killed in between leaves them twice
until the next run, and loses none.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.frames import GivenFiles
from hudi_jobs.ingestion.rows import UNREADABLE
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.quarantine_records import BadRecords, Verdict
from hudi_jobs.operations.erase.scan import File, files_below, search
from hudi_jobs.operations.refusal import refused
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import located
from hudi_jobs.spark.jvm import JavaObject

LARGEST = 256 * 1024 * 1024
"""Bytes; the largest file to rewrite."""

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?=/)")
_KEPT, _KEPT_AGAIN = "kept-", "kept2-"
_SUCCESS = "_SUCCESS"
_LINES = "value STRING"


@dataclass
class _Seen:
    """Findings in a folder: unknown files, the number of records to remove by file name, and undecided files."""

    odd: set[str] = field(default_factory=set)
    going: Counter[str] = field(default_factory=Counter)
    undecided: set[str] = field(default_factory=set)


def count_in(context: TaskContext, folders: tuple[str, ...], keys: Keys) -> int:
    """Return how many records in the folders have a key; refuse files that cannot be cleaned."""
    records, count = BadRecords(keys), 0
    for folder in folders:
        files = _own(context, folder)
        seen = _searched(context, folder, files, keys, records)
        odd = seen.odd | {file.path for file in files if file.name in seen.going and file.size > LARGEST}
        if odd:
            raise refused(
                f"The file {min(odd)} of the quarantine cannot be read as a whole, has more than {LARGEST:,} bytes, "
                "holds a key in a form that is not known, or was written by no run; inspect the file, and delete it."
            )
        undecided = {file.path for file in files if file.name in seen.undecided}
        if undecided:
            raise refused(
                f"The file {min(undecided)} of the quarantine has a record that may be of one of the keys: it is "
                "binary, written half, or writes numbers or times in another way. Inspect the file, remove such "
                "records from it or delete it, and erase again."
            )
        count += seen.going.total()
    return count


def erase_from(context: TaskContext, folders: tuple[str, ...], keys: Keys) -> None:
    """Remove the records with a key from the files of the folders."""
    records = BadRecords(keys)
    for folder in folders:
        files = _plain(_own(context, folder))
        with stage("The quarantine cannot be searched", otherwise=FailureReason.HUDI_ERROR):
            judged = _judged(context, folder, files, records)
            going = {name for name, verdict in judged if verdict is Verdict.GOES}
        for file in (file for file in files if file.name in going):
            _rewrite(context, file, *_lines(context, folder, file, records))


def holding_in(context: TaskContext, folders: tuple[str, ...], keys: Keys) -> set[str]:
    """Return the files of the folders that hold a key or cannot be searched."""
    records, found = BadRecords(keys), set[str]()
    for folder in folders:
        files = _own(context, folder)
        seen = _searched(context, folder, files, keys, records)
        found |= seen.odd | {file.path for file in files if file.name in seen.going.keys() | seen.undecided}
    return found


def _searched(context: TaskContext, folder: str, files: list[File], keys: Keys, records: BadRecords) -> _Seen:
    """Search the bytes of the files, and each of their records."""
    plain, seen = _plain(files), _Seen()
    with stage("The quarantine cannot be searched", otherwise=FailureReason.HUDI_ERROR):
        scanned = search(context, files, keys)
        for name, verdict in _judged(context, folder, plain, records):
            if verdict is Verdict.GOES:
                seen.going[name] += 1
            elif verdict is Verdict.UNDECIDED:
                seen.undecided.add(name)
    told = {file.path for file in plain if file.name in seen.going.keys() | seen.undecided}
    of_nobody = {file.path for file in files if file.size and file.name != _SUCCESS} - {file.path for file in plain}
    seen.odd = scanned.unread | of_nobody | (scanned.found - told)
    return seen


def _own(context: TaskContext, folder: str) -> list[File]:
    """Return this table's files: other tables may share the folder, and hold the same value under another key.

    A run's folder holds a folder for its task, named by namespace and name of the table.
    """
    table, depth = _table(context), _depth(context, folder)
    return [file for file in files_below(context, folder) if _segments(file.path)[depth - len(table) : depth] == table]


def _table(context: TaskContext) -> list[str]:
    task = context.task.id
    return (task.rpartition("/")[0] or task).split("/")


def _depth(context: TaskContext, folder: str) -> int:
    """Return the depth of the table's folder in the paths of its files."""
    return len(_segments(str(located(context.spark, folder)[1].toString()))) + 1 + len(_table(context))


def _segments(path: str) -> list[str]:
    """Return the segments of a path without its scheme."""
    return [name for name in _SCHEME.sub("", path).split("/") if name]


def _plain(files: list[File]) -> list[File]:
    return [file for file in files if file.name.endswith(".json")]


def _judged(context: TaskContext, folder: str, files: list[File], records: BadRecords) -> Iterator[tuple[str, Verdict]]:
    """Yield the file name and the verdict of each record in the files."""
    if not files:
        return
    given = GivenFiles(context.spark.newSession(), [file.path for file in files])
    lines, depth = given.frame("text", schema=_LINES), _depth(context, folder)
    for line, quoted in lines.select("value", sf.col("_metadata.file_path")).toLocalIterator():
        path = unquote(quoted)
        yield _segments(path)[-1], _judge(line, path, records, depth)


def _judge(line: str, path: str, records: BadRecords, depth: int) -> Verdict:
    """Judge a record; a record left by a killed run is still in the writer's temporary folder."""
    return records.judge(line, is_unreadable=UNREADABLE in _segments(path)[depth:-1])


def _lines(context: TaskContext, folder: str, file: File, records: BadRecords) -> tuple[list[str], list[str]]:
    """Return the records of a file to keep and to remove."""
    if file.size > LARGEST:
        raise TaskFailed(
            FailureReason.NOT_ERASED,
            f"The quarantine {file.path} has more than {LARGEST:,} bytes, so it is not rewritten; delete it.",
        )
    kept: list[str] = []
    gone: list[str] = []
    depth = _depth(context, folder)
    with stage("The quarantine cannot be read", otherwise=FailureReason.HUDI_ERROR):
        for row in GivenFiles(context.spark, [file.path]).frame("text", schema=_LINES).collect():
            line = str(row[0])
            (gone if _judge(line, file.path, records, depth) is Verdict.GOES else kept).append(line)
    return kept, gone


def _rewrite(context: TaskContext, file: File, kept: list[str], gone: list[str]) -> None:
    if not gone:
        return
    with stage("The quarantine cannot be rewritten", otherwise=FailureReason.HUDI_ERROR):
        filesystem, path = located(context.spark, file.path)
        if kept:
            _, new = located(context.spark, f"{file.path.rpartition('/')[0]}/{_new_name(file.name)}")
            _write(filesystem, new, "".join(f"{line}\n" for line in kept).encode())
        filesystem.delete(path, False)  # noqa: FBT003 - Java's own


def _new_name(name: str) -> str:
    """Return another name for the kept records, because a run may be killed while it writes them."""
    bare = name.removeprefix(_KEPT).removeprefix(_KEPT_AGAIN)
    return f"{_KEPT_AGAIN if name.startswith(_KEPT) else _KEPT}{bare}"


def _write(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    stream = filesystem.create(path, True)  # noqa: FBT003 - Java's own
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()
