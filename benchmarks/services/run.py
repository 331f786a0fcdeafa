"""Measures the cost of each table service on a small table: wall time, processor time, and the delay of its instant.

    .venv/bin/python benchmarks/services/run.py [--rows 20000] [--repetitions 3]

Each run is the operator's driver in its own process, as in the image: with Java's defaults, with the start-up
flags of small drivers, and with the archive of classes as well. The archive is the tests' own, made as
the build of the image makes its archive.
"""

import argparse
import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hudi_jobs.contract import (
    FileFormat,
    FileSource,
    IngestionTask,
    JobRequest,
    PlannedServiceTask,
    Service,
    TableTask,
    TaskResult,
    decode_outcome,
)
from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.jobs.requests.request import build_request
from hudi_operator.jobs.settings.spark_conf import SMALL_JVM

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dev"))

from toolkit.spark_home import ARCHIVE, spark_home

COMMON = "-XX:+ExitOnOutOfMemoryError -Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true -XX:MaxRAM=2g"
"""Options of every JVM; the last imitates a pod of 2 GiB, because Java sizes its first heap by that."""

SERVICES = (Service.INGESTION, Service.COMPACTION, Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL)
BECOME_SUBREAPER = 36


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    # The JVM outlives the Python that started it for a moment; its processor time counts too.
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
    work = Path(tempfile.mkdtemp(prefix="bench-services-"))
    try:
        print("making the archive of classes where it is not cached", flush=True)
        home = spark_home()
        os.environ["SPARK_HOME"] = str(home)
        archive = home / ARCHIVE
        variants = {
            "Java's defaults": COMMON,
            "first compiler, serial collector": f"{COMMON} {SMALL_JVM}",
            "and the archive": f"{COMMON} {SMALL_JVM} -XX:SharedArchiveFile={archive}",
            "and the whole heap at once": f"{COMMON} {SMALL_JVM} -XX:SharedArchiveFile={archive} -Xms1g",
        }
        measured = {name: measure(work / str(number), flags, arguments) for number, (name, flags) in
                    enumerate(variants.items())}  # fmt: skip
        report(measured)
    finally:
        shutil.rmtree(work)


def measure(folder: Path, flags: str, arguments: argparse.Namespace) -> dict[Service, list[dict[str, float]]]:
    """Repeat the life of a table as often as asked, and measure the last run of each service."""
    found: dict[Service, list[dict[str, float]]] = {service: [] for service in SERVICES}
    for repetition in range(arguments.repetitions):
        table = folder / str(repetition)
        source = table / "source"
        source.mkdir(parents=True)
        for number in range(5):
            write_file(source / f"{number}.csv", arguments.rows, number)
            figures = run(table, Service.INGESTION, flags)
        found[Service.INGESTION].append(figures)
        for service in SERVICES[1:]:
            found[service].append(run(table, service, flags))
        for service, runs in found.items():
            print(f"{service:10} {runs[-1]['wall']:5.1f} s, {runs[-1]['cpu']:5.1f} s of processor time", flush=True)
        shutil.rmtree(table)
    return found


def write_file(file: Path, rows: int, number: int) -> None:
    lines = (f"{key},{key % 3},v{number}-{key},{number}" for key in range(rows))
    file.write_text("id,part,value,seen\n" + "\n".join(lines) + "\n")


def run(table: Path, service: Service, flags: str) -> dict[str, float]:
    """Run a service once; return its wall and processor seconds, and when its instant began and completed."""
    (table / "request.json").write_text(request(table, service, flags).model_dump_json(by_alias=True))
    variables = {"HUDI_JOB_REQUEST": str(table / "request.json"), "HUDI_JOB_OUTCOME": str(table / "outcome.json")}
    with (table / "log.txt").open("w") as log, costs() as figures:
        began = datetime.now(UTC)
        command = [sys.executable, "-m", "hudi_jobs"]
        done = subprocess.run(command, env={**os.environ, **variables}, stdout=log, stderr=log, check=False)
    (result,) = decode_outcome((table / "outcome.json").read_text()).results
    if done.returncode or result.outcome == "Failed":
        sys.exit(f"{service}: {result.message}\n{(table / 'log.txt').read_text()[-3000:]}")
    return figures | instants(table, result, began)


@contextmanager
def costs() -> Iterator[dict[str, float]]:
    figures: dict[str, float] = {}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    yield figures
    figures["wall"] = time.monotonic() - began
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures["cpu"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def instants(table: Path, result: TaskResult, began: datetime) -> dict[str, float]:
    """Return the seconds until the run's instant was requested and completed; empty without an instant."""
    for file in (table / "table/.hoodie/timeline").glob(f"{result.instant}_*"):
        requested, completed = file.stem.split("_")
        return {"requested": seconds(requested, began), "completed": seconds(completed, began)}
    return {}


def seconds(instant: str, began: datetime) -> float:
    moment = datetime.strptime(instant[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC, microsecond=int(instant[14:]) * 1000)
    return (moment - began).total_seconds()


def request(table: Path, service: Service, flags: str) -> JobRequest:
    """Build the request like the operator; only the JVM's flags and the folders are the benchmark's own."""
    spec = {
        "basePath": "s3a://lake/bench",
        "type": "MergeOnRead",
        "recordKey": ["id"],
        "partitionBy": ["part"],
        "orderingFields": ["seen"],
        "clustering": {"mode": "Async", "execution": {"sortColumns": ["value"]}},
        "cleaning": {"retainCommits": 1},
        "archival": {"minCommits": 2, "maxCommits": 3},
    }
    declared = HudiTable.model_validate({"metadata": {"name": "bench", "namespace": "a", "uid": "u"}, "spec": spec})
    table_class = HudiTableClass.model_validate(
        {"metadata": {"name": "c"}, "spec": {"allowedBasePaths": ["s3a://lake"]}}
    )
    conf = {
        "spark.master": "local[1]",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": flags,
    }
    built = build_request(
        table=declared,
        table_class=table_class.spec,
        service=service,
        run=f"bench-{service.lower()}",
        spark_conf=conf,
        operator="bench",
    )
    (task,) = built.tasks
    changes: dict[str, object] = {"table": task.table.copy_with(base_path=str(table / "table"))}
    if service is Service.INGESTION:
        columns = "id BIGINT, part INT, value STRING, seen INT"
        files = FileSource(
            path=str(table / "source"), format=FileFormat.CSV, options={"header": "true"}, schema_ddl=columns
        )
        changes["ingestion"] = IngestionTask(source=files)
    elif service in {Service.COMPACTION, Service.CLUSTERING}:
        changes["planned"] = task.planned or PlannedServiceTask()
    tasks: tuple[TableTask, ...] = (task.copy_with(**changes),)
    return built.copy_with(tasks=tasks)


def report(measured: dict[str, dict[Service, list[dict[str, float]]]]) -> None:
    print("| JVM | service | wall s | processor s | start to requested s | start to completed s |")
    print("|---|---|---|---|---|---|")
    for name, services in measured.items():
        for service, runs in services.items():
            columns = [
                f"{statistics.median(values):.1f}" if (values := [run[key] for run in runs if key in run]) else ""
                for key in ("wall", "cpu", "requested", "completed")
            ]
            print(f"| {name} | {service} | {' | '.join(columns)} |")
    print(json.dumps({name: {str(key): runs for key, runs in found.items()} for name, found in measured.items()}))


if __name__ == "__main__":
    main()
