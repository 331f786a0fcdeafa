"""Listing a source with Hadoop's file systems, so that every store that Spark can read can be a source."""

import re

from pyspark.sql import SparkSession

from hudi_jobs.causes import causes_of
from hudi_jobs.classification import stage
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.checkpoint import SourceFile
from hudi_jobs.jvm import classes, hadoop_configuration

_RECURSIVELY = True
_MARK = "FileStatus{path="
_STATUS = re.compile(
    r"FileStatus\{path=(.*?); isDirectory=false; length=(\d+); replication=\d+; blocksize=\d+; modification_time=(\d+);"
)


def list_source(spark: SparkSession, path: str) -> list[SourceFile]:
    """Return every file below a path; raise `TaskFailed` when there is no such path or no access to it."""
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


def _list(spark: SparkSession, path: str) -> list[SourceFile]:
    root = classes(spark).org.apache.hadoop.fs.Path(path)
    filesystem = root.getFileSystem(hadoop_configuration(spark))
    status = filesystem.getFileStatus(root)
    base = str(status.getPath().toString()).rstrip("/")
    if status.isFile():
        return [SourceFile(time=int(status.getModificationTime()), path="", size=int(status.getLen()))]
    statuses = classes(spark).org.apache.hadoop.util.functional.RemoteIterators.toList(
        filesystem.listFiles(root, _RECURSIVELY)
    )
    # One answer from the JVM for all files: asking for each of 10,000 files in turn takes seconds.
    files = parse_statuses(str(statuses.toString()))
    if len(files) != statuses.size():
        files = [(str(s.getPath().toString()), int(s.getLen()), int(s.getModificationTime())) for s in statuses]
    return [SourceFile(time=time, path=path[len(base) + 1 :], size=size) for path, size, time in files]


def parse_statuses(text: str) -> list[tuple[str, int, int]]:
    """Read path, size and modification time out of the text of Hadoop's file statuses.

    A file whose name imitates that text gives a wrong number of files, or none; the caller compares.
    """
    if text.count(_MARK) != len(_STATUS.findall(text)):
        return []
    return [(path, int(size), int(time)) for path, size, time in _STATUS.findall(text)]
