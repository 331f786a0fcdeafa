"""The operator's own Java classes: the sources in `spark_jobs/java`, which the Spark image has as one jar.

The jar is on the class path of the driver and of the executors.
"""

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.jvm import JavaObject, classes

PACKAGE = "io.hudioperator"


def java_class(spark: SparkSession, name: str) -> JavaObject:
    """Return the class of a name below `PACKAGE`, such as `csv.CsvFormat`; a call of it makes an object.

    Raises `TaskFailed` when the class path does not have it.
    """
    found = classes(spark)
    for part in f"{PACKAGE}.{name}".split("."):
        found = getattr(found, part)
    if not isinstance(found, JavaClass):
        raise TaskFailed(
            FailureReason.INTERNAL_ERROR,
            f"The class path of the driver does not have the Java class {PACKAGE}.{name}, because the image of the job "
            "has no hudi-operator.jar, or that of another release. Use the Spark image of the release of the operator.",
        )
    return found
