"""The files of the record in the table's own folder, through Hadoop's file systems."""

from collections.abc import Collection, Iterable

from pyspark.sql import SparkSession

from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.causes import causes_of
from hudi_jobs.failures.classification import stage
from hudi_jobs.ingestion.checkpoint import expired
from hudi_jobs.ingestion.sources.files.record import LoadedSegment, Segment, opened, sequence_of_name
from hudi_jobs.jvm import JavaObject, classes, hadoop_configuration

FOLDER = f"{OPERATOR_FOLDER}/files"

_PIECE = 1_000_000
"""The most bytes to pass between the JVM and this process at once."""
_DAMAGE = {
    "java.io.FileNotFoundException": "missing",
    "org.apache.hadoop.fs.ChecksumException": "not what was written",
}
_ONLY_NEW = False
_ALONE = False


class SegmentFolder:
    """The folder of a table's segments. A segment is written once and never changed."""

    def __init__(self, spark: SparkSession, base_path: str) -> None:
        self._path = classes(spark).org.apache.hadoop.fs.Path
        self._folder = self._path(self._path(base_path), FOLDER)
        self._filesystem = self._folder.getFileSystem(hadoop_configuration(spark))

    def load(self, segments: Iterable[Segment]) -> tuple[LoadedSegment, ...]:
        """Read segments; raise `TaskFailed` when a segment is missing or differs from the checkpoint."""
        with stage("The record of the files that were read cannot be read", otherwise=FailureReason.HUDI_ERROR):
            return tuple(self._load(segment) for segment in segments)

    def write(self, segment: Segment, content: bytes) -> None:
        """Write a new segment; an existing file of its name is not ours, and stays."""
        with stage("The record of the files that were read cannot be written", otherwise=FailureReason.HUDI_ERROR):
            stream = self._filesystem.create(self._path(self._folder, segment.name), _ONLY_NEW)
            try:
                for start in range(0, len(content), _PIECE):
                    stream.write(content[start : start + _PIECE])
            finally:
                stream.close()

    def sweep(self, named: Collection[str], *, before: int) -> int:
        """Remove segments of earlier checkpoints than the given sequence that no commit names.

        They must also be a day older than the newest segment, by the store's own clock. Returns how many were removed.
        """
        statuses = self._filesystem.listStatus(self._folder)
        written = {str(status.getPath().getName()): int(status.getModificationTime()) for status in statuses}
        old = expired(written, named, lambda name: _is_before(name, before))
        return sum(bool(self._filesystem.delete(self._path(self._folder, name), _ALONE)) for name in old)

    def _load(self, segment: Segment) -> LoadedSegment:
        try:
            content = self._content(self._path(self._folder, segment.name), segment.length)
        except Exception as error:
            how = next((_DAMAGE[cause.kind] for cause in causes_of(error) if cause.kind in _DAMAGE), None)
            if how is None:
                raise
            raise self._damaged(segment, how) from error
        loaded = None if content is None else opened(segment, content)
        if loaded is None:
            raise self._damaged(segment, "not what was written")
        return loaded

    def _content(self, path: JavaObject, length: int) -> bytes | None:
        if int(self._filesystem.getFileStatus(path).getLen()) != length:
            return None
        stream = self._filesystem.open(path)
        try:
            pieces = [bytes(stream.readNBytes(min(_PIECE, length - at))) for at in range(0, length, _PIECE)]
        finally:
            stream.close()
        return b"".join(pieces)

    def _damaged(self, segment: Segment, how: str) -> TaskFailed:
        return TaskFailed(
            FailureReason.CHECKPOINT_DAMAGED,
            f"{self._folder.toString()}/{segment.name}, which records the files that were read, is {how}. Restore it "
            "from a copy or an older version of the object. If reading every file again does no harm, as with "
            "Upsert, create a HudiOperation with rescan instead.",
        )


def _is_before(name: str, sequence: int) -> bool:
    try:
        return sequence_of_name(name) < sequence
    except ValueError:
        return False
