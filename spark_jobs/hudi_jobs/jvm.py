"""The way from PySpark into the JVM: the only place that touches what PySpark calls private."""

from typing import Any, TypeAlias

from py4j.java_gateway import is_instance_of
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

JavaObject: TypeAlias = Any
"""Something that lives in the JVM; py4j knows no types."""


def classes(spark: SparkSession) -> JavaObject:
    """Return the root under which Java classes are found by their full names."""
    return spark._jvm  # noqa: SLF001


def hadoop_configuration(spark: SparkSession) -> JavaObject:
    """Return the configuration that Hadoop's file systems are opened with."""
    return spark._jsc.hadoopConfiguration()  # noqa: SLF001


def session_state(spark: SparkSession) -> JavaObject:
    """Return the parser, the functions and the catalog of a Spark session."""
    return spark._jsparkSession.sessionState()  # noqa: SLF001


def query_execution(frame: DataFrame) -> JavaObject:
    """Return how Spark plans and runs the frame."""
    return frame._jdf.queryExecution()  # noqa: SLF001


def is_a(spark: SparkSession, java: JavaObject, name: str) -> bool:
    """Tell whether a Java object is an instance of the named class."""
    return bool(is_instance_of(spark.sparkContext._gateway, java, name))  # noqa: SLF001


def jvm_process() -> JavaObject | None:
    """Return the process that PySpark started for the JVM, or None where there is none."""
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
