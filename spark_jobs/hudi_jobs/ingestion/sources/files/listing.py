"""Listing a source with Hadoop's file systems, so that every store that Spark can read can be a source."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.causes import causes_of
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import located
from hudi_jobs.ingestion.sources.files.record import canonical
from hudi_jobs.ingestion.sources.files.selection import SourceFile
from hudi_jobs.jvm import JavaObject, classes

_RECURSIVELY = True
_BATCH = 50_000
_MARK = "FileStatus{path="
_STATUS = re.compile(
    r"FileStatus\{path=(.*?); isDirectory=false; length=(\d+); replication=\d+; blocksize=\d+; modification_time=(\d+);"
)


@dataclass(frozen=True)
class Listing:
    """All files of a source, in batches, and the source's path in the canonical spelling."""

    root: str
    batches: Iterator[list[SourceFile]]


def list_source(spark: SparkSession, path: str) -> Listing:
    """List every file below a path; raise `TaskFailed` when there is no such path or no access to it."""
    with stage(f"The source {path} cannot be listed", otherwise=FailureReason.SOURCE_UNREADABLE):
        try:
            return _list(spark, path)
        except Exception as error:
            if any(cause.kind == "java.io.FileNotFoundException" for cause in causes_of(error)):
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
    if status.isFile():
        only = SourceFile(time=int(status.getModificationTime()), path="", size=int(status.getLen()))
        return Listing(canonical(base), iter([[only]]))
    statuses = classes(spark).org.apache.hadoop.util.functional.RemoteIterators.toList(
        filesystem.listFiles(root, _RECURSIVELY)
    )
    return Listing(canonical(base), _batches(statuses, base))


def _batches(statuses: JavaObject, base: str) -> Iterator[list[SourceFile]]:
    total = int(statuses.size())
    for start in range(0, total, _BATCH):
        batch = statuses.subList(start, min(start + _BATCH, total))
        # One answer from the JVM for many files: asking for each of 10,000 files in turn takes seconds.
        files = parse_statuses(str(batch.toString()))
        if len(files) != batch.size():
            files = [(str(s.getPath().toString()), int(s.getLen()), int(s.getModificationTime())) for s in batch]
        yield [SourceFile(time=time, path=path[len(base) + 1 :], size=size) for path, size, time in files]


def parse_statuses(text: str) -> list[tuple[str, int, int]]:
    """Read path, size and modification time out of the text of Hadoop's file statuses.

    A file whose name imitates that text gives a wrong number of files, or none; the caller compares.
    """
    found = [(path, int(size), int(time)) for path, size, time in _STATUS.findall(text)]
    return found if text.count(_MARK) == len(found) else []
