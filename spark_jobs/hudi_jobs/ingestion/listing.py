"""Listing a source with Hadoop's file systems, so that every store that Spark can read can be a source."""

from pyspark.sql import SparkSession

from hudi_jobs.causes import causes_of
from hudi_jobs.classification import stage
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.checkpoint import SourceFile
from hudi_jobs.jvm import classes, hadoop_configuration

_RECURSIVELY = True


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
    found = []
    files = filesystem.listFiles(root, _RECURSIVELY)
    while files.hasNext():
        file = files.next()
        relative = str(file.getPath().toString())[len(base) + 1 :]
        found.append(SourceFile(time=int(file.getModificationTime()), path=relative, size=int(file.getLen())))
    return found
