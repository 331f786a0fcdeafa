"""Gives a folder of jars one order: `one_class_path.py LIBRARY JAR` writes a jar that names them all.

A class-data-sharing archive is bound to the class path, and `jars/*` is read in whatever order the file system has.
"""

import os
import sys
import zipfile
from pathlib import Path

LINE = 70
"""Bytes of a manifest's line; a longer value continues in lines that begin with a space."""

FIRST = ("hudi-operator", "scala-library", "spark-core_", "spark-sql_", "aircompressor", "hudi-", "spark-catalyst_")
"""The beginnings of the names of jars that go before all other jars, in this order.

The first has our own classes, one of which repairs a class of Hudi (spark_jobs/java).

Spark reads the bytes of a class for each closure that it sends to tasks, and searches the jars in order. Jars that hold
classes of the same name keep their order without this list: the order of the alphabet.
"""

DEFAULTS = {
    "yarn-default.xml": "<configuration/>",
    "mapred-default.xml": (
        "<configuration><property><name>mapreduce.outputcommitter.factory.scheme.s3a</name>"
        "<value>org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory</value></property></configuration>"
    ),
}
"""The content that replaces the files in Hadoop's jar.

Spark sends Hadoop's whole configuration with every stage, and two thirds of it would be defaults of YARN and MapReduce.
Nothing runs on YARN here, and the libraries know the defaults that they read.
"""


def main(library: str, jar: str) -> None:
    """Write the jar; the paths in it are relative to its own folder."""
    folder = os.path.relpath(library, Path(jar).parent)
    names = sorted(os.listdir(library), key=place)  # noqa: PTH208 - names
    value = "Class-Path: " + " ".join(f"{folder}/{name}" for name in names)
    lines = [value[:LINE], *(f" {value[at : at + LINE - 1]}" for at in range(LINE, len(value), LINE - 1))]
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "\r\n".join(["Manifest-Version: 1.0", *lines, "", ""]))
        for name, content in DEFAULTS.items():
            archive.writestr(name, content)


def place(name: str) -> tuple[int, str]:
    """Return by what the jars are sorted."""
    return next((number for number, start in enumerate(FIRST) if name.startswith(start)), len(FIRST)), name


if __name__ == "__main__":
    main(*sys.argv[1:])
