"""Classes of Java that are compiled where they are needed, and given to the driver's JVM and to the executors."""

import io
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.jvm import JavaObject, classes


def compiled_class(spark: SparkSession, name: str) -> JavaObject:
    """Return a class whose source lies beside this module; it is compiled once for each JVM."""
    try:
        return _loaded(spark, name)
    except Py4JJavaError:
        jar = Path(tempfile.mkdtemp()) / f"{name}.jar"
        jar.write_bytes(_jar(spark, name))
        spark.sql(f"ADD JAR '{jar}'")
        return _loaded(spark, name)


def _loaded(spark: SparkSession, name: str) -> JavaObject:
    return _loader(spark).loadClass(name)


def _loader(spark: SparkSession) -> JavaObject:
    return classes(spark).java.lang.Thread.currentThread().getContextClassLoader()


def _jar(spark: SparkSession, name: str) -> bytes:
    compiler = classes(spark).org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(_loader(spark))
    compiler.cook(files(__package__).joinpath(f"{name}.java").read_text())
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(f"{name}.class", bytes(compiler.getBytecodes()[name]))
    return content.getvalue()
