"""One other release at a time beside the Spark of the operator's drivers: two JVMs in all."""

from collections.abc import Callable, Iterator

import pytest
from tests.spark_jobs.conftest import installed_spark, lake, spark, spark_conf

from toolkit.writers import Writer

__all__ = ["installed_spark", "lake", "spark", "spark_conf"]


@pytest.fixture(scope="session")
def writer_of() -> Iterator[Callable[[str, str], Writer]]:
    """Return the writer of a release in a zone, which lives until another one is asked for."""
    running: dict[tuple[str, str], Writer] = {}

    def start(version: str, zone: str) -> Writer:
        if (version, zone) not in running:
            while running:
                running.popitem()[1].close()
            running[version, zone] = Writer(version, zone=zone)
            running[version, zone].start()
        return running[version, zone]

    yield start
    for writer in running.values():
        writer.close()
