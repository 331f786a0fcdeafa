"""Services beside a writer that is not the operator's, under a shared lock: no acknowledged row is lost or doubled."""

import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from hudi_jobs.contract import ConcurrencyMode, Outcome, Service

pytestmark = [pytest.mark.spark, pytest.mark.drivers, pytest.mark.timeout(600)]

SECONDS = float(os.environ.get("HUDI_JOBS_WRITER_SECONDS", "45"))
PATIENCE = SECONDS + 90
KEYS = 100
"""New keys of each batch of `foreign_writer.py`."""


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


@pytest.mark.parametrize("table_type", ["MergeOnRead", "CopyOnWrite"])
def test_a_writer_of_another_tool_loses_no_row_beside_the_services(
    lake: Any, class_path: str, tmp_path: Path, zookeeper: str, table_type: str
) -> None:
    lake.table = {"type": table_type}
    lock = {"zookeeper": {"connect": zookeeper, "basePath": "/hudi"}}
    lake.spec = {
        "concurrency": {"mode": "Optimistic", "lock": lock, "lockKey": "flights"},
        "cleaning": {"retainCommits": 3},
        "fileSizing": {"smallFileLimit": "0"},
    }
    lake.put("a.csv", "id,v\nfirst,0\n")
    assert lake.ingest(files={"schemaDdl": "id STRING, v INT"}).outcome is Outcome.SUCCEEDED
    acknowledged, end = tmp_path / "acknowledged", tmp_path / "end"
    script = Path(__file__).with_name("foreign_writer.py")
    arguments = [lake.base_path, class_path, str(acknowledged), str(end), zookeeper]
    with (tmp_path / "writer.txt").open("w") as log:
        writer = subprocess.Popen([sys.executable, script, *arguments], stdout=log, stderr=log)
    try:
        outcomes = serve_beside(lake, writer, acknowledged, table_type)
        end.touch()
        writer.wait(timeout=120)
    finally:
        writer.kill()
    batches, failures = (int(word) for word in acknowledged.read_text().split())
    print(f"{table_type}: {batches} batches, {failures} failed writes, {dict(outcomes)}")  # noqa: T201 - how often each side lost

    assert batches > 3
    assert exact(lake, batches), "at the end"
    assert not missing(outcomes, table_type)
    assert not any(outcome in {Outcome.FAILED, Outcome.FENCED} for _, outcome in outcomes), outcomes


def serve_beside(lake: Any, writer: Any, acknowledged: Path, table_type: str) -> Counter[tuple[Service, Outcome]]:
    """Run the services in turn while the writer writes, and look at the rows each time."""
    services = [Service.CLUSTERING, Service.CLEANING]
    if table_type == "MergeOnRead":
        services.insert(0, Service.COMPACTION)
    outcomes: Counter[tuple[Service, Outcome]] = Counter()
    while not acknowledged.exists():
        assert writer.poll() is None, "the writer has ended"
        time.sleep(0.2)
    begun = time.monotonic()
    while (spent := time.monotonic() - begun) < SECONDS or (missing(outcomes, table_type) and spent < PATIENCE):
        for service in services:
            result = lake.serve(service, concurrency=ConcurrencyMode.OPTIMISTIC)
            outcomes[service, result.outcome] += 1
            assert result.outcome is not Outcome.FAILED, result
            promised = int(acknowledged.read_text().split()[0]) * KEYS
            rows, keys = counted(lake)
            assert rows == keys >= promised
        assert writer.poll() is None, "the writer has ended"
    return outcomes


def missing(outcomes: Counter[tuple[Service, Outcome]], table_type: str) -> set[Service]:
    """Services that have not succeeded yet."""
    wanted = {Service.CLEANING, Service.COMPACTION if table_type == "MergeOnRead" else Service.CLUSTERING}
    return {service for service in wanted if not outcomes[service, Outcome.SUCCEEDED]}


def counted(lake: Any) -> tuple[int, int]:
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    found = frame.selectExpr("count(*)", "count(DISTINCT id)").first()
    return int(found[0]), int(found[1])


def exact(lake: Any, batches: int) -> bool:
    """Whether every key is there once, with the value of the last batch that wrote it."""
    expected = {("first", 0)}
    for batch in range(batches):
        value = min(batch + 1, batches - 1)
        expected |= {(str(key), value) for key in range(batch * KEYS, (batch + 1) * KEYS)}
    return lake.rows("id", "v") == sorted(expected)
