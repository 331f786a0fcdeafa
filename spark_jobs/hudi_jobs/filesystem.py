"""Files and folders on any store, as Hadoop's file systems have them."""

import re
from collections.abc import Iterable, Iterator

from pyspark.sql import SparkSession

from hudi_jobs.jvm import JavaObject, classes, hadoop_configuration, iterated

_RECURSIVELY = True
_PATTERN = re.compile(r"[{}\[\]*?\\]")


def located(spark: SparkSession, path: str, name: str | None = None) -> tuple[JavaObject, JavaObject]:
    """Return the file system that has a path, or a name below it, and that path."""
    kind = classes(spark).org.apache.hadoop.fs.Path
    place = kind(path) if name is None else kind(path, name)
    return place.getFileSystem(hadoop_configuration(spark)), place


def read_bytes(spark: SparkSession, filesystem: JavaObject, path: JavaObject) -> bytes:
    """Return all bytes of a file, of which the caller knows that they are few."""
    stream = filesystem.open(path)
    try:
        return bytes(classes(spark).org.apache.hudi.io.util.FileIOUtils.readAsByteArray(stream))
    finally:
        stream.close()


def statuses_below(filesystem: JavaObject, folder: JavaObject) -> Iterator[JavaObject]:
    """Yield the statuses of all files in a folder and in those below it.

    Of local ones Hadoop's own listing runs `ls` for each, and fails where one has gone by then.
    """
    if str(filesystem.getUri().getScheme()) != "file":
        yield from iterated(filesystem.listFiles(folder, _RECURSIVELY))
        return
    waiting = [folder]
    while waiting:
        for status in filesystem.listStatus(waiting.pop()):
            if status.isDirectory():
                waiting.append(status.getPath())
            else:
                yield status


def sizes_of(spark: SparkSession, base_path: str, paths: Iterable[str]) -> dict[str, int]:
    """Return the sizes of those of some paths below a folder at which there is a file: each folder is listed once."""
    base, found, asked = base_path.rstrip("/"), dict[str, int](), set(paths)
    for within in {path.rpartition("/")[0] for path in asked}:
        filesystem, folder = located(spark, f"{base}/{within}".rstrip("/"))
        for status in filesystem.listStatus(folder) if filesystem.exists(folder) else ():
            path = f"{within}/{status.getPath().getName()}".removeprefix("/")
            if path in asked:
                found[path] = int(status.getLen())
    return found


def exact(path: str) -> str:
    """Return the pattern that means this path and no other.

    Spark can be told that paths are no patterns (`__globPaths__`), but then one that looks like a pattern stands for
    every path that was given (DataSource.checkAndGlobPathIfNecessary), so that the others are read twice.
    """
    return _PATTERN.sub(r"\\\g<0>", path)
