"""A Spark session with Hudi, and a small landing zone and table for each test."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from pyspark.sql import SparkSession
from tests.spark_jobs.continuous.inline_services import Beside
from tests.spark_jobs.trials import ALL, LEASE
from tests.tasks import task_of

from hudi_jobs.contract import (
    INDEX_KEY,
    ConcurrencyMode,
    IngestionTableTask,
    IngestionTask,
    JobOutcome,
    JobRequest,
    NamedSavepoint,
    Outcome,
    PlannedServiceTask,
    RunMode,
    SavepointWork,
    Service,
    TableDefinition,
    TableOwner,
    TaskResult,
    decode_outcome,
)
from hudi_jobs.driver import Driver
from hudi_jobs.spark.session import open_session
from hudi_operator.api.resources import HudiTable
from hudi_operator.jobs.settings.hudi_options import owned_hudi_options
from toolkit.spark_home import LOCAL_FILES, java_options, spark_home

ROWS = 5_000
"""Rows of each commit of a trial: enough to be killed while they are written."""

SAVEPOINT = NamedSavepoint(
    work=SavepointWork.MAKE, instant="20260101000000000", resource="team/daily", uid="uid-of-daily"
)
"""What a run for a savepoint does where a test says nothing of it."""

_SMALL_FILES = {"hoodie.index.bloom.num_entries": "1000"}
"""A file has a filter for 60,000 keys by default, which takes longer to write than the few rows of a test."""

NOON = 1_700_000_000
"""Seconds since the epoch at which the files of a test begin to arrive."""


@pytest.fixture(scope="session")
def installed_spark() -> Path:
    """Spark with the jars and the archive of classes of its image, as the variable SPARK_HOME names it to a driver."""
    return spark_home()


@pytest.fixture(scope="session")
def spark_conf(installed_spark: Path) -> dict[str, str]:
    """What the operator would put into the request of a small table, for the Spark on this machine."""
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "1500m",
        "spark.driver.extraJavaOptions": f"{java_options(installed_spark)} -Xms1500m",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.default.parallelism": "2",
        **LOCAL_FILES,
    }


@pytest.fixture(scope="session")
def spark(spark_conf: dict[str, str], installed_spark: Path) -> Iterator[SparkSession]:
    """One JVM for all tests of this folder that do not kill theirs."""
    # Each test has plans of its own, and all their code stays.
    options = "spark.driver.extraJavaOptions"
    conf = spark_conf | {options: f"{spark_conf[options]} -XX:ReservedCodeCacheSize=512m"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", str(installed_spark))
        session = open_session(conf)
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
    spec: dict[str, Any] = field(default_factory=dict)
    metadata_table: bool = ALL
    """Whether the table has one, as by default; it doubles the work of a commit, so only some tests do."""
    runs: int = 0
    owner: TableOwner | None = None
    take_over: str | None = None
    lease: float = 60.0
    """Seconds of the lease of ingestions; tests that kill drivers make it short, because the next run waits for it."""

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

    def use_store(self, bucket: str, endpoint: str) -> dict[str, str]:
        """Move to a bucket of an S3 server; return the Spark settings by which other drivers reach it."""
        settings = {
            "endpoint": endpoint,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            "access.key": "access",
            "secret.key": "secret",
        }
        conf = {f"spark.hadoop.fs.s3a.bucket.{bucket}.{name}": value for name, value in settings.items()}
        for key, value in conf.items():
            self.spark._jsc.hadoopConfiguration().set(key.removeprefix("spark.hadoop."), value)
        self.root = f"s3a://{bucket}"
        return conf

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
        files = {"path": self.source, "format": "csv", "options": {"header": "true"}}
        ingestion = {**self.ingestion, **changes}
        source = ingestion.pop("source", None)
        ingestion["source"] = source or {"kind": "files", **files, **ingestion.pop("files", {})}
        options = self.hudi_options(Service.INGESTION)
        task = IngestionTableTask(
            id="flights",
            table=self.declared(options),
            hudi_options=options,
            concurrency=self.spec.get("concurrency", {}).get("mode", ConcurrencyMode.SERIALIZED),
            ingestion=IngestionTask.model_validate(ingestion),
            owner=self.owner,
            take_over=self.take_over,
            lease_seconds=self.lease,
        )
        return JobRequest(run=run or f"run-{self.runs}", spark_conf=conf or {}, tasks=(task,))

    def ingest(self, **changes: Any) -> TaskResult:
        """Ingest what is new and return the result."""
        return self.drive(self.request(**changes))

    def drive(self, request: JobRequest) -> TaskResult:
        """Run the driver once in this process and return its one result."""
        return Driver(request, lambda _: self.spark).run().results[0]

    def hudi_options(self, service: Service) -> dict[str, str]:
        """The options that the operator builds for a service of this table, and the test's own."""
        table = self.definition()
        fields = {
            "basePath": "s3a://lake/flights",
            "type": table.type,
            "recordKey": table.record_key,
            "partitionBy": table.partition_by,
            "orderingFields": table.ordering_fields,
            "tableName": table.name,
            "metadataTable": {"enabled": self.metadata_table},
            **self.spec,
        }
        resource = HudiTable.model_validate({"metadata": {"name": table.name, "namespace": "team"}, "spec": fields})
        return owned_hudi_options(resource, service) | _SMALL_FILES | self.options

    def definition(self) -> TableDefinition:
        """The table as the operator declares it to the driver."""
        fields = {"name": "flights", "basePath": self.base_path, "type": "CopyOnWrite", "recordKey": ["id"]}
        return TableDefinition.model_validate(fields | self.table)

    def declared(self, options: dict[str, str]) -> TableDefinition:
        """The table as a request declares it, with the index of its options."""
        return self.definition().copy_with(index=options.get(INDEX_KEY))

    def service_request(
        self,
        service: Service,
        *,
        run: str | None = None,
        options: dict[str, str] | None = None,
        concurrency: ConcurrencyMode = ConcurrencyMode.SERIALIZED,
        abandoned: tuple[str, ...] | None = None,
        **planned: Any,
    ) -> JobRequest:
        """The request of one run of a table service; the rest are fields of its planned part."""
        self.runs += 1
        merged = self.hudi_options(service) | (options or {})
        task = task_of(
            service,
            id="flights",
            table=self.declared(merged),
            hudi_options=merged,
            concurrency=concurrency,
            abandoned=abandoned,
            planned=PlannedServiceTask.model_validate(planned),
            named_savepoint=SAVEPOINT,
            owner=self.owner,
            take_over=self.take_over,
            lease_seconds=LEASE,
        )
        return JobRequest(run=run or f"run-{self.runs}", tasks=(task,))

    def serve(self, service: Service, **changes: Any) -> TaskResult:
        """Run one table service in this process and return its result."""
        return self.drive(self.service_request(service, **changes))

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """The table's rows in order, without Hudi's own columns."""
        frame = self.spark.read.format("hudi").load(self.base_path)
        names = columns or [name for name in frame.columns if not name.startswith("_hoodie_")]
        return sorted(tuple(row) for row in frame.select(*names).collect())

    def instants(self) -> list[str]:
        """Completed instants of a local table, by their file names."""
        timeline = self.folder / "table/.hoodie/timeline"
        return sorted(path.name for path in timeline.glob("*_*") if not path.name.startswith("."))


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

    def wait_until(self, happened: Callable[[], bool], *, seconds: float = 300) -> None:
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
        self.process.wait(timeout=300)
        return decode_outcome(self.outcome_file.read_text())

    def end(self) -> TaskResult:
        """Ask the driver to end, as Kubernetes does, and return its one result."""
        os.kill(self.process.pid, signal.SIGTERM)
        return self.finish().results[0]

    @property
    def log(self) -> str:
        """Everything that the driver and its JVM have said."""
        return self.log_file.read_text()


@pytest.fixture
def program(tmp_path: Path, spark_conf: dict[str, str], installed_spark: Path) -> Iterator[Callable[..., Program]]:
    """Start the driver program on a request; whatever still runs at the end of the test is killed."""
    started: list[Program] = []

    def start(request: JobRequest | str, **environment: str) -> Program:
        if isinstance(request, JobRequest):
            request = request.copy_with(spark_conf={**spark_conf, **request.spark_conf})
        variables = {"SPARK_HOME": str(installed_spark), **environment}
        started.append(Program(tmp_path / f"program-{len(started)}", request, **variables))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.kill()


@pytest.fixture
def beside(spark: SparkSession) -> Iterator[Callable[[JobRequest], Beside]]:
    """Start a driver on a request in a thread; one that still runs at the end of the test is stopped."""
    with ExitStack() as stack:
        yield lambda request: stack.enter_context(Beside(request, spark))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """An empty landing zone and no table yet, on the local file system."""
    lake = Lake(spark=spark, root=str(tmp_path), folder=tmp_path)
    lake.landing.mkdir(exist_ok=True)
    return lake


@pytest.fixture(scope="session")
def s3() -> Iterator[Any]:
    """An S3 server in this process, by its client."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"aws_access_key_id": "access", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    yield boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys)
    server.stop()


class Trial:
    """A table that a service has work on, on local files or on S3, and what its timeline holds."""

    def __init__(self, lake: Any, service: Service, s3: Any) -> None:
        self.lake = lake
        self.service = service
        self._s3 = s3
        self.conf: dict[str, str] = {}
        if s3 is not None:
            bucket = f"trial-{time.monotonic_ns()}"
            s3.create_bucket(Bucket=bucket)
            self.conf = lake.use_store(bucket, s3.meta.endpoint_url)
        lake.lease = LEASE
        lake.table = {"type": "MergeOnRead" if service is Service.COMPACTION else "CopyOnWrite"}
        lake.spec = {"fileSizing": {"smallFileLimit": "0"}, "cleaning": {"retainCommits": 1}}
        # A commit to it is one of the moments at which a driver is killed or overtaken.
        lake.metadata_table = True
        self.instant = ""
        self._commits = 0
        self.write()

    def write(self) -> None:
        """Make work for the service: new files for a clustering, new versions of one file for the others."""
        options = self.lake.request().tasks[0].hudi_options
        inserts = self.service is Service.CLUSTERING
        operation = {"hoodie.datasource.write.operation": "insert" if inserts else "upsert"}
        for number in range(self._commits, self._commits + 3):
            first = number * ROWS if inserts else 0
            rows = self.lake.spark.range(first, first + ROWS).selectExpr("CAST(id AS STRING) AS id", f"{number} AS v")
            rows.write.format("hudi").options(**options, **operation).mode("append").save(self.lake.base_path)
        self._commits += 3
        self.expected = self.found()

    def plan(self) -> None:
        """Make the plan that drivers are to execute."""
        planned = self.lake.serve(self.service, mode=RunMode.SCHEDULE)
        assert planned.outcome is Outcome.SUCCEEDED, planned
        self.instant = planned.instant

    def request(self, run: str, *, concurrency: ConcurrencyMode = ConcurrencyMode.SERIALIZED) -> JobRequest:
        """What a driver is told that is to execute the plan, or to make one where there is none."""
        planned = {"mode": RunMode.EXECUTE, "instant": self.instant} if self.instant else {}
        request: JobRequest = self.lake.service_request(self.service, run=run, concurrency=concurrency, **planned)
        return request.copy_with(spark_conf=self.conf)

    def start(
        self,
        program: Callable[..., Any],
        run: str,
        *,
        concurrency: ConcurrencyMode = ConcurrencyMode.SERIALIZED,
        **environment: str,
    ) -> Any:
        """Start a driver as a program."""
        return program(self.request(run, concurrency=concurrency), **environment)

    def found(self) -> tuple[Any, ...]:
        """What its own session reads: rows, distinct keys, and a sum."""
        frame = self.lake.spark.newSession().read.format("hudi").load(self.lake.base_path)
        return tuple(frame.selectExpr("count(*)", "count(DISTINCT id)", "sum(v)").first())

    def names(self, folder: str) -> list[str]:
        """The files in a folder of the table."""
        if self._s3 is None:
            return [path.name for path in (self.lake.folder / "table" / folder).glob("*")]
        bucket = self.lake.root.removeprefix("s3a://")
        listed = self._s3.list_objects_v2(Bucket=bucket, Prefix=f"table/{folder}".rstrip("/") + "/", Delimiter="/")
        return [entry["Key"].rpartition("/")[2] for entry in listed.get("Contents", [])]

    def has_reached(self, moment: str) -> bool:
        """Tell from the files how far the execution of the plan has come."""
        if moment in {"requested", "inflight"}:
            action = {Service.CLEANING: "clean"}.get(self.service, self.service.lower())
            names = self.names(".hoodie/timeline")
            return any(n.startswith(self.instant) and n.endswith(f".{action}.{moment}") for n in names)
        if moment == "writing":
            return any(name.endswith(f"_{self.instant}.parquet") for name in self.names(""))
        return f"{self.instant}.deltacommit.inflight" in self.names(".hoodie/metadata/.hoodie/timeline")

    def completed(self) -> list[str]:
        """Completed files of the service."""
        actions = {Service.COMPACTION: ".commit", Service.CLUSTERING: ".replacecommit", Service.CLEANING: ".clean"}
        action = actions[self.service]
        return [name for name in self.names(".hoodie/timeline") if "_" in name and name.endswith(action)]


@pytest.fixture
def trial(lake: Any, request: pytest.FixtureRequest) -> Callable[[Service, str], Trial]:
    """Make a trial of a service on a store; the S3 server starts with the first that wants it."""
    return lambda service, store: Trial(lake, service, request.getfixturevalue("s3") if store == "s3" else None)
