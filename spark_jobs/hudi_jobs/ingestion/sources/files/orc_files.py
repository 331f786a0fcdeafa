"""Reads the names of columns from the footers of ORC files."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from hudi_jobs.ingestion.sources.files.header_names import Header
from hudi_jobs.jvm import classes, elements, hadoop_configuration

_AT_ONCE = 8
_POSITION = "_col"
"""Old Hive named columns by position, and Spark finds them by it (`OrcUtils.requestedColumnIds`)."""


def orc_columns(spark: SparkSession, paths: Sequence[str]) -> list[Header | None]:
    """Return the names of each file, None if they are positions or the file has no schema."""
    java = classes(spark)
    utilities = java.org.apache.spark.sql.execution.datasources.orc.OrcUtils
    settings, passes_over = hadoop_configuration(spark), False

    def one(path: str) -> Header | None:
        found = utilities.readSchema(java.org.apache.hadoop.fs.Path(path), settings, passes_over)
        names = tuple(map(str, elements(found.get().getFieldNames()))) if found.isDefined() else ()
        return None if all(name.startswith(_POSITION) for name in names) else names

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(one, paths))
