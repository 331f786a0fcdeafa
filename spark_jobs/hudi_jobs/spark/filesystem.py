"""Access to files and folders on any store through Hadoop's file systems, which also tell what is inside a table.

Hadoop resolves `.` and `..` before it asks the store, and decodes nothing. A path with `..` counts as outside, wherever
it leads: no writer makes one.

Hadoop resolves `.`, `..` and empty names in the keys of a store without folders (`Path.initialize`), so a folder's
listing may name files elsewhere. These functions neither return such a file as part of the folder, nor delete it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location
from hudi_jobs.contract.table.location import beginning_of, relative_names
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import JavaObject, classes, hadoop_configuration, iterated

_RESERVED = frozenset({".hoodie", OPERATOR_FOLDER})
_SCHEME = re.compile(r"[^/]*:")
_LONGEST_NAME = 200


class Folder:
    """The folder of a table, or of its metadata table."""

    def __init__(self, base_path: str) -> None:
        """Raise `NotALocation`, a `ValueError`, unless the path is absolute."""
        self._location = Location.parse(base_path)

    def holds(self, partition: str, path: str) -> bool:
        """Tell whether a file, by its name or whole path, is in a partition of the table."""
        within = self.partition(partition)
        if within is None or not path or "\0" in path:
            return False
        if not path.startswith("/") and not _SCHEME.match(path):
            names = relative_names("/".join((*within, path)))
            return names is not None and len(names) > len(within) and names[0] not in _RESERVED
        location = Location.parse_or_none(path)
        whole = self._location / "/".join(within) if within else self._location
        return location is not None and location != whole and whole.holds(location)

    def partition(self, path: str) -> list[str] | None:
        """Return the folder names of a partition; empty for an unpartitioned table, None when the path leads out."""
        names = relative_names(path)
        return None if names is None or not _RESERVED.isdisjoint(names[:1]) else list(names)

    def strangers(self, files: Iterable[tuple[str, str]]) -> list[str]:
        """Return the files outside of the table, from pairs of partition and file."""
        outside = ((partition, path) for partition, path in files if not self.holds(partition, path))
        return [f"{partition}/{path}"[:_LONGEST_NAME] for partition, path in outside]


_RECURSIVELY = True
_WITH_FOLDERS = frozenset({"file", "hdfs", "viewfs"})
"""Schemes of stores with real folders, so that a listed name is exact."""

_BATCH = 50_000
_NAMED_LIMIT = 300
_NO_XML = "Failed to parse XML document"
_MARK = "FileStatus{path="
_STATUS = re.compile(
    r"FileStatus\{path=(.*?); isDirectory=false; length=(\d+); replication=\d+; blocksize=\d+; "
    r"modification_time=(\d+);",
    re.DOTALL,
)


ReadRange = Callable[[int, int], bytes]
"""Reads a number of bytes from an offset; fewer at the end of the file."""


def located(spark: SparkSession, path: str, name: str | None = None) -> tuple[JavaObject, JavaObject]:
    """Return the file system of a path, or of a name below it, and that path."""
    kind = classes(spark).org.apache.hadoop.fs.Path
    place = kind(path if name is None else Location.parse(path).join(name).url)
    return place.getFileSystem(hadoop_configuration(spark)), place


def read_bytes(spark: SparkSession, filesystem: JavaObject, path: JavaObject) -> bytes:
    """Return all bytes of a file known to be small."""
    stream = filesystem.open(path)
    try:
        return bytes(classes(spark).org.apache.hudi.io.util.FileIOUtils.readAsByteArray(stream))
    finally:
        stream.close()


@contextmanager
def ranges_of(spark: SparkSession, path: str) -> Iterator[tuple[ReadRange, int]]:
    """Open a file; yield the function that reads a range of it, and its size."""
    filesystem, place = located(spark, path)
    size = int(filesystem.getFileStatus(place).getLen())
    stream = filesystem.open(place)

    def read(offset: int, count: int) -> bytes:
        stream.seek(offset)
        return bytes(stream.readNBytes(count))

    try:
        yield read, size
    finally:
        stream.close()


def has_flat_keys(filesystem: JavaObject) -> bool:
    """Tell whether a file system's store may lack folders, so that a listed path may belong to another key."""
    return str(filesystem.getUri().getScheme()) not in _WITH_FOLDERS


def statuses_below(filesystem: JavaObject, folder: JavaObject) -> Iterator[JavaObject]:
    """Yield the statuses of all files in a folder, recursively.

    For local files Hadoop's own listing runs `ls` per file, and fails if a file vanishes meanwhile.
    """
    if str(filesystem.getUri().getScheme()) != "file":
        above = _beginning(filesystem, folder)
        statuses = iterated(filesystem.listFiles(folder, _RECURSIVELY))
        yield from (status for status in statuses if _path_of(status).startswith(above))
        return
    waiting = [folder]
    while waiting:
        for status in filesystem.listStatus(waiting.pop()):
            if status.isDirectory():
                waiting.append(status.getPath())
            else:
                yield status


def children_of(filesystem: JavaObject, folder: JavaObject) -> list[JavaObject]:
    """Return the statuses of the files and folders directly in a folder."""
    above = _beginning(filesystem, folder)
    return [
        status
        for status in filesystem.listStatus(folder)
        if (path := _path_of(status)).startswith(above) and "/" not in path[len(above) :] and path != above
    ]


def file_batches(
    spark: SparkSession, filesystem: JavaObject, folder: JavaObject
) -> Iterator[list[tuple[str, int, int]]]:
    """Yield path, size and modification time of every file in a folder, in batches.

    On a store without folders a path may lie outside the folder.
    """
    listed = _listed(spark, filesystem, folder)
    total = int(listed.size())
    for start in range(0, total, _BATCH):
        batch = listed.subList(start, min(start + _BATCH, total))
        # A single response from the JVM for many files: a call for each of 10,000 files takes seconds.
        files = parse_statuses(str(batch.toString()))
        if len(files) != batch.size():
            files = [(_path_of(s), int(s.getLen()), int(s.getModificationTime())) for s in batch]
        yield files


def _listed(spark: SparkSession, filesystem: JavaObject, folder: JavaObject) -> JavaObject:
    """Return a Java list of the statuses of all files that the store lists for a folder.

    Hadoop's S3 client requests raw keys, and XML cannot hold control characters; the library's older request asks for
    encoded keys (`AmazonS3Client.listObjects`).
    """
    hadoop = classes(spark).org.apache.hadoop
    to_list = hadoop.util.functional.RemoteIterators.toList
    try:
        return to_list(filesystem.listFiles(folder, _RECURSIVELY))
    except Py4JJavaError as error:
        if _NO_XML not in str(error):
            raise
    older = hadoop.conf.Configuration(hadoop_configuration(spark))
    older.set("fs.s3a.list.version", "1")
    lister = hadoop.fs.FileSystem.newInstance(filesystem.getUri(), older)
    try:
        return to_list(lister.listFiles(folder, _RECURSIVELY))
    finally:
        lister.close()


def parse_statuses(text: str) -> list[tuple[str, int, int]]:
    """Parse path, size and modification time from the text of Hadoop's file statuses.

    A file name that imitates the text gives a wrong number of files, or none; the caller compares.
    """
    found = [(path, int(size), int(time)) for path, size, time in _STATUS.findall(text)]
    return found if text.count(_MARK) == len(found) else []


def require_nothing_outside(spark: SparkSession, filesystem: JavaObject, folder: JavaObject) -> None:
    """Raise `TaskFailed` if the store lists a file for a folder that Hadoop would resolve elsewhere."""
    if not has_flat_keys(filesystem):
        return
    above = _beginning(filesystem, folder)
    for batch in file_batches(spark, filesystem, folder):
        for path, _, _ in batch:
            if not path.startswith(above):
                raise TaskFailed(
                    FailureReason.PATH_OUTSIDE_TABLE,
                    f"The folder {above} is not deleted: the key of an object in it leads to {path[:_NAMED_LIMIT]!a}, "
                    "which Hadoop would delete instead. Remove the object with the segment '..' in its key with a "
                    "tool of the store.",
                )


def delete_whole(spark: SparkSession, filesystem: JavaObject, folder: JavaObject) -> bool:
    """Delete a file, or a folder with its content, and nothing else; raise `TaskFailed` if that is impossible."""
    if not filesystem.exists(folder):
        return False
    if filesystem.getFileStatus(folder).isDirectory():
        require_nothing_outside(spark, filesystem, folder)
    return bool(filesystem.delete(folder, _RECURSIVELY))


def _beginning(filesystem: JavaObject, folder: JavaObject) -> str:
    """Return the common prefix of the paths in a folder."""
    return beginning_of(str(filesystem.makeQualified(folder).toString()))


def _path_of(status: JavaObject) -> str:
    return str(status.getPath().toString())


def sizes_of(spark: SparkSession, base_path: str, paths: Iterable[str]) -> dict[str, int]:
    """Return the sizes of the existing files among some paths below a folder, listing each folder once."""
    found, asked = dict[str, int](), set(paths)
    for within in {path.rpartition("/")[0] for path in asked}:
        filesystem, folder = located(spark, base_path, within)
        for status in children_of(filesystem, folder) if filesystem.exists(folder) else ():
            path = f"{within}/{status.getPath().getName()}".removeprefix("/")
            if path in asked:
                found[path] = int(status.getLen())
    return found
