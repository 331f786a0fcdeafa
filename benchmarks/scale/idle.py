"""Measures what tables cost whose sources are at rest: Jobs, looks at sources, and the lag of a new file.

    uv run --frozen python benchmarks/scale/idle.py [--tables 100] [--ticks 10] [--before COMMIT]

Each table has the schedule `every: 1m` and a folder with one file. After their first Jobs, the operator runs for so
many ticks without a new file; then each table gets one. The lag is the time from the file to its Job. The program plays
the drivers: a pod ends after two seconds and has read everything. There is no kwok and no Spark. With `--before`, the
operator of an earlier commit is measured first, in the same run. Prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "dev")]

from run import Usage  # noqa: E402
from tables import Document, Key, Tables  # noqa: E402
from tenants import tree_of  # noqa: E402

from toolkit.control_plane import free_ports, running_control_plane  # noqa: E402
from toolkit.operator_process import LocalOperator  # noqa: E402

NAMESPACE = "idle"
_DRIVER_SECONDS = 2.0
_TABLE_LABEL = "hudi-operator.io/table"
_COUNTED = re.compile(r"^hudi_operator_(source_looks|source_requests|store_requests)_total(?:\{[^}]*\})? (\S+)$", re.M)


@dataclass(frozen=True)
class Found:
    """The result for one operator; requests are per table and hour at rest."""

    jobs_at_rest: int
    looks: float
    look_requests: float
    timeline_requests: float
    processor: str
    jobs_with_files: int
    lags: list[float]


class Idle(Tables):
    """Tables over folders of files, and drivers that find nothing to do."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.begun: defaultdict[str, list[float]] = defaultdict(list)
        """When each Job of a table was seen as created."""
        self._drivers: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Watch Jobs and play the drivers."""
        place = f"/namespaces/{NAMESPACE}"
        self._watches = [
            asyncio.create_task(self._watch(f"/apis/batch/v1{place}/jobs", self._see_job)),
            asyncio.create_task(self._watch(f"/api/v1{place}/pods", self._see_pod)),
        ]

    async def declare(self) -> None:
        """Deliver a file to each table, and create the tables."""
        for _, name in self.names:
            self.deliver(name, "first.csv")
        await self._each(self.names, self._declare)

    def deliver(self, table: str, name: str) -> None:
        """Put a file into the source of a table."""
        folder = self._lake / "landing" / table
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{name}"
        unfinished.write_text("1\n")
        unfinished.rename(folder / name)

    def all_jobs(self) -> int:
        """Return the number of Jobs so far."""
        return sum(map(len, self.begun.values()))

    def _spec(self, key: Key) -> Document:
        spec = super()._spec(key)
        spec["ingestion"]["schedule"] = {"every": "1m"}
        return spec

    def _see_job(self, kind: str, job: Document) -> None:
        if kind == "ADDED":
            self.begun[job["metadata"]["labels"][_TABLE_LABEL]].append(time.monotonic())

    def _see_pod(self, kind: str, pod: Document) -> None:
        if kind == "ADDED":
            task = asyncio.create_task(self._drive(pod["metadata"]))
            self._drivers.add(task)
            task.add_done_callback(self._drivers.discard)

    async def _drive(self, metadata: Document) -> None:
        """End a pod as a driver that has read everything and found nothing new."""
        await asyncio.sleep(_DRIVER_SECONDS)
        table = metadata["labels"][_TABLE_LABEL]
        told = (
            f'{{"version":1,"results":[{{"id":"{NAMESPACE}/{table}/ingestion","outcome":"NothingToDo",'
            '"moreInput":false}]}'
        )
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        ended = {"exitCode": 0, "reason": "Completed", "message": told, "startedAt": now, "finishedAt": now}
        status = {
            "phase": "Succeeded",
            "startTime": now,
            "containerStatuses": [
                {"name": "driver", "image": "spark", "imageID": "", "ready": False, "restartCount": 0}
                | {"state": {"terminated": ended}}
            ],
        }
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{metadata['name']}/status"
        headers = {"Content-Type": "application/merge-patch+json"}
        async with self._session.patch(path, json={"status": status}, headers=headers) as answer:
            if answer.status not in {200, 404}:
                raise RuntimeError(f"{path}: {await answer.text()}")


def counts(port: int) -> dict[str, float]:
    """Return looks and requests of the operator so far; an earlier operator makes no looks."""
    found: defaultdict[str, float] = defaultdict(float)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        for name, value in _COUNTED.findall(answer.read().decode()):
            found[name] += float(value)
    return found


async def until(come_true: Any, *, seconds: float, what: str) -> None:
    """Wait; give up after so many seconds."""
    deadline = time.monotonic() + seconds
    while not come_true():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: not within {seconds:.0f} s")
        await asyncio.sleep(0.1)


async def observe(tables: Idle, operator: LocalOperator, port: int, ticks: int) -> Found:
    """Measure ticks at rest, and a new file for each table."""
    names = [name for _, name in tables.names]
    await until(lambda: len(tables.begun) == len(names), seconds=600, what="a first Job for each table")
    await asyncio.sleep(75)  # these end, and the first tick after them has looked
    jobs, before, usage = tables.all_jobs(), counts(port), Usage.of(operator.pid)
    await asyncio.sleep(60 * ticks)
    at_rest, now, used = tables.all_jobs() - jobs, counts(port), Usage.of(operator.pid)
    share = 60 / ticks / len(names)
    delivered = {}
    for name in names:
        tables.deliver(name, "second.csv")
        delivered[name] = time.monotonic()
    jobs = tables.all_jobs()

    def lags() -> list[float]:
        later = ((at for at in tables.begun[name] if at >= delivered[name]) for name in names)
        return sorted(
            first - delivered[name] for name, times in zip(names, later, strict=True) if (first := next(times, None))
        )

    await until(lambda: len(lags()) == len(names), seconds=300, what="a Job for each new file")
    await asyncio.sleep(75)
    return Found(
        jobs_at_rest=at_rest,
        looks=(now["source_looks"] - before["source_looks"]) * share,
        look_requests=(now["source_requests"] - before["source_requests"]) * share,
        timeline_requests=(now["store_requests"] - before["store_requests"]) * share,
        processor=used.since(usage),
        jobs_with_files=tables.all_jobs() - jobs,
        lags=lags(),
    )


async def measure(arguments: argparse.Namespace, folder: Path, *, source: Path) -> Found:
    """Measure the operator of a source tree, on a control plane of its own."""
    with ExitStack() as stack:
        plane = stack.enter_context(running_control_plane(folder))
        os.environ["PYTHONPATH"] = f"{source}/operator:{source}/spark_jobs"
        port = free_ports(1)[0]
        settings = {
            "SPARK_IMAGE": "spark",
            "OPERATOR_NAMESPACE": "hudi-operator",
            "METRICS_PORT": str(port),
            "HEALTH_PORT": "0",
            "LOG_LEVEL": "WARNING",
        }
        log = ROOT / ".dev" / "logs" / "idle-operator.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        async with Idle(plane, folder / "lake", 0, endpoint=None) as tables:
            tables.names = [(NAMESPACE, f"table-{number:05}") for number in range(arguments.tables)]
            await tables.prepare(source / "crds", namespaces=(NAMESPACE,))
            tables.begin()
            await tables.declare()
            async with LocalOperator(kubeconfig=plane.kubeconfig, settings=settings, log=log) as operator:
                return await observe(tables, operator, port, arguments.ticks)


def row(name: str, found: Found) -> str:
    """Return one line of the table."""
    cells = (
        name,
        str(found.jobs_at_rest),
        f"{found.looks:.0f}, {found.look_requests:.0f}",
        f"{found.timeline_requests:.0f}",
        found.processor,
        str(found.jobs_with_files),
        f"{statistics.median(found.lags):.1f} / {found.lags[-1]:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--ticks", type=int, default=10, help="minutes without a new file")
    parser.add_argument("--before", metavar="COMMIT", help="measure the operator of this commit first")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="idle-"))
    rows = [
        "| operator | Jobs at rest | looks, requests | timeline requests | at rest | Jobs with new files | lag, s |",
        "| --- | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    try:
        sources = [("now", ROOT)]
        if arguments.before:
            sources.insert(0, ("before", tree_of(arguments.before, folder / "before-tree")))
        for name, source in sources:
            place = folder / name
            place.mkdir()
            rows.append(row(name, asyncio.run(measure(arguments, place, source=source))))
            print(f"{datetime.now(UTC):%H:%M:%S} {rows[-1]}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
