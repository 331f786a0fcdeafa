"""A Spark session with Hudi, and a small landing zone and table for each test."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_jobs.contract import (
    IngestionTask,
    JobOutcome,
    JobRequest,
    Service,
    TableDefinition,
    TableTask,
    TaskResult,
    decode_outcome,
)
from hudi_jobs.driver import Driver
from hudi_jobs.session import open_session
from hudi_operator.api.resources import HudiTable
from hudi_operator.jobs.hudi_options import owned_hudi_options

REPOSITORY = Path(__file__).parents[2]
MAVEN = "https://repo1.maven.org/maven2"
NOON = 1_700_000_000
"""Seconds since the epoch at which the files of a test begin to arrive."""


@pytest.fixture(scope="session")
def class_path() -> str:
    """The jars of the Spark image, downloaded where they are not cached."""
    cache = Path(os.environ.get("HUDI_OPERATOR_CACHE", Path.home() / ".cache/hudi-operator")) / "jars"
    image = REPOSITORY / "dev/image"
    repository = os.environ.get("MAVEN_REPOSITORY", MAVEN)
    subprocess.run([sys.executable, image / "fetch_jars.py", image / "jars.txt", cache, repository], check=True)
    lines = (image / "jars.txt").read_text().splitlines()
    return ":".join(str(cache / Path(line.split()[1]).name) for line in lines if line and not line.startswith("#"))


@pytest.fixture(scope="session")
def spark_conf(class_path: str) -> dict[str, str]:
    """What the operator would put into the request of a small table, and where the jars are."""
    return {
        "spark.master": "local[2]",
        "spark.driver.extraClassPath": class_path,
        "spark.driver.memory": "1500m",
        "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError -XX:TieredStopAtLevel=1",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
        "spark.default.parallelism": "2",
    }


@pytest.fixture(scope="session")
def spark(spark_conf: dict[str, str]) -> Iterator[SparkSession]:
    """One JVM for all tests of this folder that do not kill theirs."""
    session = open_session(spark_conf)
    yield session
    session.stop()


@dataclass
class Lake:
    """A source folder and a table in it; `ingest` is one run of the driver in this process."""

    spark: SparkSession
    root: str
    folder: Path
    table: dict[str, Any] = field(default_factory=dict)
    ingestion: dict[str, Any] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    runs: int = 0

    @property
    def source(self) -> str:
        return f"{self.root}/in"

    @property
    def base_path(self) -> str:
        return f"{self.root}/table"

    @property
    def landing(self) -> Path:
        """The source as a local folder; tests on other stores copy it there."""
        path = self.folder / "in"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def put(self, name: str, text: str | bytes, *, at: float = 0) -> Path:
        """Write a file that arrived `at` seconds after noon."""
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        os.utime(path, (NOON + at, NOON + at))
        return path

    def request(self, *, run: str | None = None, conf: dict[str, str] | None = None, **changes: Any) -> JobRequest:
        """The request of the next run; changes are fields of the ingestion task."""
        self.runs += 1
        definition = TableDefinition.model_validate(
            {"name": "flights", "basePath": self.base_path, "type": "CopyOnWrite", "recordKey": ["id"]} | self.table
        )
        files = {"path": self.source, "format": "csv", "options": {"header": "true"}}
        ingestion = {**self.ingestion, **changes}
        ingestion["files"] = {**files, **ingestion.pop("files", {})}
        task = TableTask(
            id="flights",
            service=Service.INGESTION,
            table=definition,
            hudi_options=hudi_options(definition) | self.options,
            ingestion=IngestionTask.model_validate(ingestion),
        )
        return JobRequest(run=run or f"run-{self.runs}", spark_conf=conf or {}, tasks=(task,))

    def ingest(self, **changes: Any) -> TaskResult:
        """Run the driver once and return its one result."""
        outcome = Driver(self.request(**changes), lambda _: self.spark).run()
        return outcome.results[0]

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """The table's rows in order, without Hudi's own columns."""
        frame = self.spark.read.format("hudi").load(self.base_path)
        names = columns or [name for name in frame.columns if not name.startswith("_hoodie_")]
        return sorted(tuple(row) for row in frame.select(*names).collect())

    def instants(self) -> list[str]:
        """Completed instants of a local table, by their file names."""
        timeline = self.folder / "table/.hoodie/timeline"
        return sorted(path.name for path in timeline.glob("*_*") if not path.name.startswith("."))


def hudi_options(definition: TableDefinition) -> dict[str, str]:
    """The options that the operator builds for this table."""
    spec = {
        "basePath": "s3a://lake/flights",
        "type": definition.type,
        "recordKey": definition.record_key,
        "partitionBy": definition.partition_by,
        "orderingFields": definition.ordering_fields,
        "tableName": definition.name,
    }
    table = HudiTable.model_validate({"metadata": {"name": definition.name, "namespace": "team"}, "spec": spec})
    return owned_hudi_options(table)


class Program:
    """`python3 -m hudi_jobs` as a pod would run it, in a process group of its own."""

    def __init__(self, folder: Path, request: JobRequest | str, **environment: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.outcome_file = folder / "outcome.json"
        self.log_file = folder / "log.txt"
        document = request if isinstance(request, str) else request.model_dump_json(by_alias=True)
        (folder / "request.json").write_text(document)
        files = {"HUDI_JOB_REQUEST": str(folder / "request.json"), "HUDI_JOB_OUTCOME": str(self.outcome_file)}
        with self.log_file.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hudi_jobs"],
                env={**os.environ, **files, **environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """End the driver and its JVM at once, as a lost node does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait_until(self, happened: Callable[[], bool], *, seconds: float = 120) -> None:
        """Look every few milliseconds until it has happened; fail with the log when the program ends before."""
        deadline = time.monotonic() + seconds
        while not happened():
            assert self.process.poll() is None, f"the driver has ended:\n{self.log}"
            assert time.monotonic() < deadline, f"it has not happened:\n{self.log}"
            time.sleep(0.003)

    def has_stopped(self) -> bool:
        """Tell whether the driver has stopped itself at a phase."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def finish(self) -> JobOutcome:
        """Wait for the end and read the outcome."""
        self.process.wait(timeout=60)
        return decode_outcome(self.outcome_file.read_text())

    @property
    def log(self) -> str:
        """Everything that the driver and its JVM have said."""
        return self.log_file.read_text()


@pytest.fixture
def program(tmp_path: Path, spark_conf: dict[str, str]) -> Iterator[Callable[..., Program]]:
    """Start the driver program on a request; whatever still runs at the end of the test is killed."""
    started: list[Program] = []

    def start(request: JobRequest | str, **environment: str) -> Program:
        if isinstance(request, JobRequest):
            request = request.model_copy(update={"spark_conf": {**spark_conf, **request.spark_conf}})
        started.append(Program(tmp_path / f"program-{len(started)}", request, **environment))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.kill()


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """An empty landing zone and no table yet, on the local file system."""
    lake = Lake(spark=spark, root=str(tmp_path), folder=tmp_path)
    lake.landing.mkdir(exist_ok=True)
    return lake
