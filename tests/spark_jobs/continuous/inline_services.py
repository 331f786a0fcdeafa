"""A driver in a thread of this process, for what takes two drivers and no death of one: it costs no second JVM."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from pyspark.sql import SparkSession

from hudi_jobs.contract import JobRequest, TaskResult
from hudi_jobs.driver import Driver


class Beside:
    """A driver that runs until it is done or asked to end."""

    def __init__(self, request: JobRequest, spark: SparkSession) -> None:
        self._driver = Driver(request, lambda _: spark)
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._outcome = self._pool.submit(self._driver.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.stop()
        self._pool.shutdown()

    @property
    def is_done(self) -> bool:
        """Tell whether the driver has ended."""
        return self._outcome.done()

    def wait_until(self, happened: Callable[[], bool], *, seconds: float = 300) -> None:
        """Look every few milliseconds until it has happened; fail where the driver ends before."""
        deadline = time.monotonic() + seconds
        while not happened():
            assert not self._outcome.done(), f"the driver has ended: {self._outcome.result()}"
            assert time.monotonic() < deadline, "it has not happened"
            time.sleep(0.02)

    def finish(self) -> TaskResult:
        """Wait for the end and return the one result."""
        return self._outcome.result(timeout=300).results[0]

    def end(self) -> TaskResult:
        """Ask the driver to end, as the program does when its pod is asked to, and return its one result."""
        self._driver.stop()
        return self.finish()
