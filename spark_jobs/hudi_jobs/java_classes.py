"""Compiles Java classes on demand, for the driver's JVM and the executors."""

import io
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.jvm import JavaObject, classes


def compiled_class(spark: SparkSession, package: str, names: Sequence[str]) -> JavaObject:
    """Return the last of the package's classes; they are compiled once for each JVM.

    Each class may use those before it.
    """
    try:
        return _loaded(spark, names[-1])
    except Py4JJavaError:
        jar = Path(tempfile.mkdtemp()) / f"{names[-1]}.jar"
        jar.write_bytes(_jar(spark, package, names))
        spark.sql(f"ADD JAR '{jar}'")
        return _loaded(spark, names[-1])


def _loaded(spark: SparkSession, name: str) -> JavaObject:
    return _loader(spark).loadClass(name)


def _loader(spark: SparkSession) -> JavaObject:
    return classes(spark).java.lang.Thread.currentThread().getContextClassLoader()


def _jar(spark: SparkSession, package: str, names: Sequence[str]) -> bytes:
    content, loader = io.BytesIO(), _loader(spark)
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            compiler = classes(spark).org.codehaus.janino.SimpleCompiler()
            compiler.setParentClassLoader(loader)
            compiler.cook(files(package).joinpath(f"{name}.java").read_text())
            loader = compiler.getClassLoader()
            for each, code in dict(compiler.getBytecodes()).items():
                archive.writestr(f"{each}.class", bytes(code))
    return content.getvalue()
