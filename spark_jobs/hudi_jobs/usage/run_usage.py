"""Measures what a Spark application used: its driver's container, its executors, and the bytes of both.

Executors report to the driver while they run (`UsagePlugin` in spark_jobs/java), and the newest report of each counts.
A figure that cannot be measured is left out: measuring never fails a run.
"""

import logging
from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession

from hudi_jobs.contract import ExecutorsUsage, RunUsage
from hudi_jobs.spark.session import java_class
from hudi_jobs.usage.container import container_usage

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
    """Return the use of the application so far. The session may have ended; the JVM must still run."""

    def counted() -> tuple[str, str | None]:
        totals = java_class(spark, "usage.UsagePlugin").totals()
        return str(java_class(spark, "usage.FileBytes").readAndWritten()), totals

    return with_counts(driver_usage(), counted)


def bytes_moved(spark: SparkSession) -> tuple[int, int]:
    """Return the bytes that the application has read and written so far; raise an error if its JVM does not tell."""
    read, written = map(int, str(java_class(spark, "usage.FileBytes").readAndWritten()).split())
    totals = java_class(spark, "usage.UsagePlugin").totals()
    if totals is None:
        return read, written
    *_, read_there, written_there = map(int, str(totals).split())
    return read + read_there, written + written_there


def with_counts(alone: RunUsage | None, counted: Callable[[], tuple[str, str | None]]) -> RunUsage | None:
    """Return the driver's usage with what its JVM counted, or alone where the JVM does not tell or cannot be right.

    `counted` returns the bytes `READ WRITTEN` of the driver, and the totals of the plugin, if it runs.
    """
    try:
        of_the_driver, of_executors = counted()
        read, written = map(int, of_the_driver.split())
        found = (alone or RunUsage()).model_dump()
        if of_executors is not None:
            number, reported, nanoseconds, peak, read_there, written_there = map(int, of_executors.split())
            found["executors"] = ExecutorsUsage(
                number=number,
                reported=reported,
                cpu_seconds=round(nanoseconds / 1e9, 3),
                peak_memory_bytes=peak if peak >= 0 else None,
            )
            read, written = read + read_there, written + written_there
        return RunUsage.model_validate({**found, "bytes_read": read, "bytes_written": written})
    except Exception:
        _LOGGER.warning("the usage of the run cannot be measured in full", exc_info=True)
        return alone
