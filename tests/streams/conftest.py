"""The Spark of the operator's drivers, for the tests that read streams with it."""

from tests.spark_jobs.conftest import installed_spark, spark, spark_conf

__all__ = ["installed_spark", "spark", "spark_conf"]
