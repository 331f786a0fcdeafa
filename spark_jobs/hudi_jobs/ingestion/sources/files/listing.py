"""Lists a source with Hadoop's file systems, so that every store that Spark can read can be a source."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.location import beginning_of
from hudi_jobs.ingestion.sources.files.record import canonical
from hudi_jobs.ingestion.sources.files.selection import OddKeys, SourceFile
from hudi_jobs.spark.failures import TaskFailed, causes_of, stage
from hudi_jobs.spark.filesystem import file_batches, has_flat_keys, located
from hudi_jobs.spark.jvm import classes

_NOT_FOUND = "java.io.FileNotFoundException"
_SECOND = 1_000
"""Milliseconds."""

_AT_ONCE = 8


@dataclass(frozen=True)
class Listing:
    """All files of a source, in batches, and the source's path in the canonical spelling.

    `odd` is complete once all batches were taken.
    """

    root: str
    batches: Iterator[list[SourceFile]]
    odd: OddKeys


def list_source(spark: SparkSession, path: str) -> Listing:
    """List the file at a path and every file below it; a store without folders may have both.

    Raises `TaskFailed` if the path does not exist, or access is denied.
    """
    with stage(f"The source {path} cannot be listed", otherwise=FailureReason.SOURCE_UNREADABLE):
        try:
            return _list(spark, path)
        except Exception as error:
            if any(cause.kind == _NOT_FOUND for cause in causes_of(error)):
                raise TaskFailed(
                    FailureReason.SOURCE_NOT_FOUND,
                    f"The source path {path} does not exist; create it or correct the path.",
                ) from error
            raise


def qualified(spark: SparkSession, path: str) -> str:
    """Return the canonical spelling of a path, as the root of a listing has it."""
    filesystem, place = located(spark, path)
    return canonical(str(filesystem.makeQualified(place).toString()))


def _list(spark: SparkSession, path: str) -> Listing:
    filesystem, root = located(spark, path)
    status = filesystem.getFileStatus(root)
    base = str(status.getPath().toString()).rstrip("/")
    odd, itself = OddKeys(), list[list[SourceFile]]()
    below: Iterable[list[tuple[str, int, int]]] = ()
    if status.isFile():
        only = SourceFile(time=int(status.getModificationTime()), path="", size=int(status.getLen()))
        itself = [[only]]
    if not itself:
        below = file_batches(spark, filesystem, root)
    elif has_flat_keys(filesystem):
        below = ([file for file in batch if file[0] != base] for batch in file_batches(spark, filesystem, root))
    return Listing(canonical(base), chain(itself, _batches(below, beginning_of(base), odd)), odd)


def _batches(found: Iterable[list[tuple[str, int, int]]], above: str, odd: OddKeys) -> Iterator[list[SourceFile]]:
    """Yield each file below the source once; files listed twice, or outside, have an odd key."""
    for batch in found:
        files = dict[SourceFile, None]()
        for path, size, time in batch:
            file = SourceFile(time=time, path=path[len(above) :], size=size)
            if path.startswith(above) and file.path and file not in files:
                files[file] = None
            else:
                odd.add(path.removeprefix(above))
        yield list(files)


def confirmed(spark: SparkSession, path: str, files: Sequence[SourceFile]) -> set[SourceFile]:
    """Return the files that a reader would open under their paths below a source.

    Hadoop makes the same path of several keys, such as `in//a` and `in/a`; the path leads to the object of one key, or
    to none. Stores list times more exactly than they report them for a single object.
    """
    filesystem, root = located(spark, path)
    if not has_flat_keys(filesystem):
        return set(files)

    def is_there(file: SourceFile) -> bool:
        place = classes(spark).org.apache.hadoop.fs.Path(f"{beginning_of(path)}{file.path}") if file.path else root
        try:
            status = filesystem.getFileStatus(place)
        except Py4JJavaError as error:
            if any(cause.kind == _NOT_FOUND for cause in causes_of(error)):
                return False
            raise
        same_time = abs(int(status.getModificationTime()) - file.time) <= _SECOND
        return bool(status.isFile()) and int(status.getLen()) == file.size and same_time

    doing = stage(f"The source {path} cannot be read", otherwise=FailureReason.SOURCE_UNREADABLE)
    with doing, ThreadPoolExecutor(_AT_ONCE) as pool:
        return {file for file, found in zip(files, pool.map(is_there, files), strict=True) if found}
