"""Columns that the spec declares as a Spark DDL string."""

import json

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.causes import causes_of
from hudi_jobs.jvm import classes


def parse_ddl(spark: SparkSession, ddl: str) -> StructType:
    """Parse a Spark DDL string such as `id BIGINT, at TIMESTAMP`."""
    return StructType.fromJson(json.loads(classes(spark).org.apache.spark.sql.types.StructType.fromDDL(ddl).json()))


def declared_columns(spark: SparkSession, ddl: str | None) -> StructType | None:
    """Return the columns that a source declares, None without a declaration; raise `TaskFailed` for anything else."""
    if ddl is None:
        return None
    try:
        return parse_ddl(spark, ddl)
    except Exception as error:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST, f"The source's schema cannot be parsed: {causes_of(error)[-1].first_line}"
        ) from error
