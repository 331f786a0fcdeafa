"""Another Spark session reads a table by the name of its entry, before and after each service of the table."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import read
from tests.spark_jobs.catalogs.conftest import DATABASE, CatalogTrial
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import Outcome, RunMode, Service
from toolkit.spark_home import LOCAL_FILES
from toolkit.streams.metastore import HiveMetastore

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PAGE = "guides/catalog.md"
ADDRESS = "thrift://metastore.example.com:9083"
Rows = list[tuple[Any, ...]]

PROGRAM = """
import sys
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.appName("read").master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
    .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
    .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
    {settings}
    .getOrCreate()
)
for name in map(str.strip, sys.stdin):
    spark.catalog.refreshTable(name)
    rows = spark.sql(f"SELECT id, v, day FROM {{name}} ORDER BY id").collect()
    print("ROWS", [tuple(row) for row in rows], flush=True)
"""


class Reader:
    """A Spark session of its own process, with the settings of the guide; it answers names with rows."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def rows(self, name: str) -> Rows:
        """Return the rows of an entry."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line.startswith("ROWS "):
                rows: Rows = ast.literal_eval(line.removeprefix("ROWS "))
                return rows
        pytest.fail(f"the reader has ended: {self._log.read_text()[-3000:]}")


@pytest.fixture(scope="module")
def reader(
    started_metastore: HiveMetastore, installed_spark: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reader]:
    """A reader that shares nothing with the driver but the metastore and the files."""
    settings = re.findall(r"^    \.config\(.*\)$", read(PAGE), re.MULTILINE)
    assert len(settings) == 2
    local = [f'.config("{key}", "{value}")' for key, value in LOCAL_FILES.items()]
    text = "\n    ".join((*settings, *local)).replace(ADDRESS, started_metastore.uri)
    folder = tmp_path_factory.mktemp("reader")
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(settings=text)],
            env={"SPARK_HOME": str(installed_spark), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    yield Reader(process, folder / "log.txt")
    process.kill()
    process.wait()


def declare(trial: CatalogTrial, kind: str, version: int) -> Sequence[Service]:
    """Declare a table with services that are always due, and return them in the order of their runs."""
    trial.lake.owner = trial.owner
    trial.lake.table |= {"type": kind, "version": version}
    trial.lake.spec = {
        "tableVersion": version,
        "compaction": {"trigger": {"deltaCommits": 1}},
        "clustering": {"mode": "Async", "trigger": {"commits": 1}, "execution": {"sortColumns": ["id"]}},
        "cleaning": {"retainCommits": 1},
        "archival": {"minCommits": 2, "maxCommits": 3},
    }
    services = (Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL)
    return (Service.COMPACTION, *services) if kind == "MergeOnRead" else services


@pytest.mark.parametrize(
    ("kind", "version"), sampled(("MergeOnRead", 9), ("CopyOnWrite", 6), ("MergeOnRead", 6), ("CopyOnWrite", 9))
)
def test_spark_reads_every_row_by_name_before_and_after_each_service(
    trial: CatalogTrial, reader: Reader, kind: str, version: int
) -> None:
    services = declare(trial, kind, version)
    trial.ingest({"id": "1", "v": "a", "day": "mon"})
    trial.ingest({"id": "1", "v": "b", "day": "mon"}, {"id": "2", "v": "c", "day": "tue"})
    entry, merged = f"{DATABASE}.{trial.table}", kind == "MergeOnRead"
    every = [("1", "b", "mon"), ("2", "c", "tue")]
    of_base_files = [("1", "a", "mon"), ("2", "c", "tue")]

    def shows(moment: object, of_base_files: Rows) -> None:
        expected = {"": every, "_rt": every, "_ro": of_base_files} if merged else {"": every}
        assert {suffix: reader.rows(f"{entry}{suffix}") for suffix in expected} == expected, moment

    shows("after two commits", of_base_files)
    for service in services:
        planned = service in {Service.COMPACTION, Service.CLUSTERING}
        result = trial.lake.serve(service, **({"mode": RunMode.SCHEDULE_AND_EXECUTE} if planned else {}))
        assert result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, result
        assert not planned or result.outcome is Outcome.SUCCEEDED, result
        shows(service, every)
    trial.ingest({"id": "3", "v": "d", "day": "wed"})
    every.append(("3", "d", "wed"))
    shows("after a commit of a new partition", every)
