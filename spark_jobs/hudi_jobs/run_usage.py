"""Measures what a Spark application used: its driver's container, its executors, and the bytes of both.

Executors report to the driver while they run (`UsagePlugin` in spark_jobs/java), and the newest report of each counts.
A figure that cannot be measured is left out: measuring never fails a run.
"""

import logging
from collections.abc import Mapping

from pyspark.sql import SparkSession

from hudi_jobs.container import container_usage
from hudi_jobs.contract import ExecutorsUsage, RunUsage
from hudi_jobs.spark.session import java_class

_PLUGINS = "spark.plugins"
_PLUGIN = "io.hudioperator.usage.UsagePlugin"
_LOGGER = logging.getLogger(__name__)


def with_usage_plugin(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session, with the plugin that collects reports if the session has executors.

    The driver adds the plugin and not the operator, because only an image of the driver's release has its class.
    """
    if settings.get("spark.master", "local").partition("[")[0] == "local":
        return dict(settings)
    of_the_class = settings.get(_PLUGINS)
    return {**settings, _PLUGINS: f"{_PLUGIN},{of_the_class}" if of_the_class else _PLUGIN}


def driver_usage() -> RunUsage | None:
    """Return the use of the driver's container, without a question to the JVM."""
    try:
        driver = container_usage()
    except Exception:
        _LOGGER.warning("the driver's usage cannot be measured", exc_info=True)
        return None
    return None if driver is None else RunUsage(driver=driver)


def run_usage(spark: SparkSession) -> RunUsage | None:
    """Return the use of the application so far; its session may have ended, and its JVM may not."""
    alone = driver_usage()
    try:
        of_the_driver = str(java_class(spark, "usage.FileBytes").readAndWritten())
        of_executors = java_class(spark, "usage.UsagePlugin").totals()
        return counted_usage(alone or RunUsage(), of_the_driver, of_executors)
    except Exception:
        _LOGGER.warning("the usage of the run cannot be measured in full", exc_info=True)
        return alone


def counted_usage(alone: RunUsage, of_the_driver: str, of_executors: str | None) -> RunUsage:
    """Return the driver's usage with what the JVM counted: `READ WRITTEN`, and the plugin's totals, if it runs."""
    read, written = map(int, of_the_driver.split())
    if of_executors is None:
        return RunUsage(driver=alone.driver, bytes_read=read, bytes_written=written)
    number, reported, nanoseconds, peak, read_there, written_there = map(int, of_executors.split())
    executors = ExecutorsUsage(
        number=number,
        reported=reported,
        cpu_seconds=round(nanoseconds / 1e9, 3),
        peak_memory_bytes=peak if peak >= 0 else None,
    )
    return RunUsage(
        driver=alone.driver,
        executors=executors,
        bytes_read=read + read_there,
        bytes_written=written + written_there,
    )
