"""Services beside a writer that is not the operator's, under a shared lock: no acknowledged row is lost or doubled.

The end-to-end tests do the same in a cluster, with `HUDI_JOBS_TRIALS=all`.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from tests.spark_jobs.trials import sampled
from tests.spark_jobs.writers import foreign_writer
from tests.spark_jobs.writers.foreign_writer import KEYS, reports_in, rows_after

from hudi_jobs.contract import ConcurrencyMode, Outcome, Service
from hudi_jobs.table import HudiTable

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

SECONDS = float(os.environ.get("HUDI_JOBS_WRITER_SECONDS", "20"))
PATIENCE = SECONDS + 90
BATCHES = 4


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A ZooKeeper server from the jars that Spark brings."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    folder = tmp_path_factory.mktemp("zookeeper")
    jars = Path(pyspark.__file__).parent / "jars"
    command = ["java", "-Xmx64m", "-cp", f"{jars}/*", "-Dzookeeper.admin.enableServer=false"]
    with (folder / "log.txt").open("w") as log:
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        process = subprocess.Popen([*command, main, str(port), str(folder / "data")], stdout=log, stderr=log)
    deadline = time.monotonic() + 60
    while not _answers(port):
        assert process.poll() is None, (folder / "log.txt").read_text()
        assert time.monotonic() < deadline, (folder / "log.txt").read_text()
        time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("table_type", sampled("MergeOnRead", "CopyOnWrite"))
def test_a_writer_of_another_tool_loses_no_row_beside_the_services(
    lake: Any, installed_spark: Path, tmp_path: Path, zookeeper: str, table_type: str
) -> None:
    lake.table, lake.metadata_table = {"type": table_type, "partitionBy": ["part"]}, True
    lock = {"zookeeper": {"connect": zookeeper, "basePath": "/hudi"}}
    lake.spec = {
        "concurrency": {"mode": "Optimistic", "lock": lock, "lockKey": "flights"},
        "cleaning": {"retainCommits": 3},
        "fileSizing": {"smallFileLimit": "0"},
    }
    lake.put("a.csv", "id,v,part\nfirst,0,p000\n")
    assert lake.ingest(files={"schemaDdl": "id STRING, v INT, part STRING"}).outcome is Outcome.SUCCEEDED
    log, end = tmp_path / "writer.txt", tmp_path / "end"
    writer = start_writer(lake, installed_spark, zookeeper, log=log, end=end)
    try:
        outcomes = serve_beside(lake, writer, log, table_type)
        end.touch()
        writer.wait(timeout=120)
    finally:
        writer.kill()
    reports = reports_in(log.read_text())
    print(f"{table_type}: {reports[-1].batches} batches, lost {reports[-1].failures}, {dict(outcomes)}")  # noqa: T201 - how often each side lost

    assert len(reports) >= BATCHES
    assert [report.wrong for report in reports] == [0] * len(reports), "after each commit"
    assert Counter(lake.rows("id", "v")) == rows_after(reports[-1].batches) + Counter([("first", 0)]), "at the end"
    assert not missing(outcomes, table_type)
    assert not any(outcome in {Outcome.FAILED, Outcome.FENCED} for _, outcome in outcomes), outcomes


def test_a_table_is_opened_while_another_writer_removes_files_of_its_metadata_table(lake: Any) -> None:
    lake.metadata_table = True
    lake.put("a.csv", "id,v\nfirst,0\n")
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    heartbeats, ended = lake.folder / "table/.hoodie/metadata/.hoodie/.heartbeat", threading.Event()

    def beat() -> None:
        while not ended.is_set():
            for number in range(20):
                (heartbeats / str(number)).touch()
            for number in range(20):
                (heartbeats / str(number)).unlink()

    writer = threading.Thread(target=beat)
    writer.start()
    try:
        opened = [HudiTable.open(lake.spark, lake.base_path) for _ in range(20)]
    finally:
        ended.set()
        writer.join()
    assert None not in opened


def start_writer(lake: Any, installed_spark: Path, zookeeper: str, *, log: Path, end: Path) -> subprocess.Popen[bytes]:
    """Start the writer with the jars that the drivers have."""
    submit = "--master local[1] --driver-memory 1g pyspark-shell"
    command = [sys.executable, foreign_writer.__file__, lake.base_path, "flights", "team.flights", zookeeper, str(end)]
    with log.open("w") as output:
        environment = {**os.environ, "SPARK_HOME": str(installed_spark), "PYSPARK_SUBMIT_ARGS": submit}
        return subprocess.Popen(command, stdout=output, stderr=output, env=environment)


def serve_beside(lake: Any, writer: Any, log: Path, table_type: str) -> Counter[tuple[Service, Outcome]]:
    """Run the services in turn while the writer writes, and look at the rows each time."""
    services = [Service.CLUSTERING, Service.CLEANING]
    if table_type == "MergeOnRead":
        services.insert(0, Service.COMPACTION)
    outcomes: Counter[tuple[Service, Outcome]] = Counter()
    while not reports_in(log.read_text()):
        assert writer.poll() is None, log.read_text()[-3000:]
        time.sleep(0.2)
    begun = time.monotonic()
    while (spent := time.monotonic() - begun) < SECONDS or (
        spent < PATIENCE and (missing(outcomes, table_type) or len(reports_in(log.read_text())) < BATCHES)
    ):
        for service in services:
            result = lake.serve(service, concurrency=ConcurrencyMode.OPTIMISTIC)
            outcomes[service, result.outcome] += 1
            assert result.outcome is not Outcome.FAILED, result
            promised = reports_in(log.read_text())[-1].batches * KEYS
            rows, keys = counted(lake)
            assert rows == keys >= promised
        assert writer.poll() is None, log.read_text()[-3000:]
    return outcomes


def missing(outcomes: Counter[tuple[Service, Outcome]], table_type: str) -> set[Service]:
    """Services that have not succeeded yet."""
    wanted = {Service.CLEANING, Service.COMPACTION if table_type == "MergeOnRead" else Service.CLUSTERING}
    return {service for service in wanted if not outcomes[service, Outcome.SUCCEEDED]}


def counted(lake: Any) -> tuple[int, int]:
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    found = frame.selectExpr("count(*)", "count(DISTINCT id)").first()
    return int(found[0]), int(found[1])
