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


def compiled_class(spark: SparkSession, sources: Sequence[tuple[str, str]]) -> JavaObject:
    """Return the last of some classes, each given by the package of its source and its name.

    Each class may use those before it. A class is compiled once for each JVM.
    """
    _, name = sources[-1]
    missing = [source for source in sources if not _is_loaded(spark, source[1])]
    if missing:
        jar = Path(tempfile.mkdtemp()) / f"{name}.jar"
        jar.write_bytes(_jar(spark, missing))
        spark.sql(f"ADD JAR '{jar}'")
    return _loader(spark).loadClass(name)


def _is_loaded(spark: SparkSession, name: str) -> bool:
    try:
        _loader(spark).loadClass(name)
    except Py4JJavaError:
        return False
    return True


def _loader(spark: SparkSession) -> JavaObject:
    return classes(spark).java.lang.Thread.currentThread().getContextClassLoader()


def _jar(spark: SparkSession, sources: Sequence[tuple[str, str]]) -> bytes:
    content, loader = io.BytesIO(), _loader(spark)
    with zipfile.ZipFile(content, "w") as archive:
        for package, name in sources:
            compiler = classes(spark).org.codehaus.janino.SimpleCompiler()
            compiler.setParentClassLoader(loader)
            compiler.cook(files(package).joinpath(f"{name}.java").read_text())
            loader = compiler.getClassLoader()
            for each, code in dict(compiler.getBytecodes()).items():
                archive.writestr(f"{each}.class", bytes(code))
    return content.getvalue()
