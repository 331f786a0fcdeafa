"""Measures the operator with thousands of tables, on a real API server, with nodes and pods of kwok.

    uv run --frozen python benchmarks/scale/run.py [--tables 1000] [--due 1000] [--steady 600] [--s3]

Starts its own control plane, needs no cluster and leaves nothing behind. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import re
import shutil
import statistics
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "dev")]

from programs import running_kwok, running_s3  # noqa: E402
from tables import Tables, next_minute  # noqa: E402

from toolkit.control_plane import ControlPlane, free_ports, running_control_plane  # noqa: E402
from toolkit.operator_process import LocalOperator  # noqa: E402

BUSY_TABLES = 40
COMMITS_PER_SECOND = 4.0
OPERATORS_KINDS = ("huditables", "huditableclasses", "jobs", "pods", "leases", "events", "namespaces")
_REQUESTS = re.compile(r"^apiserver_request_total\{(?P<labels>[^}]*)\} (?P<value>\S+)$", re.MULTILINE)
_STORE = re.compile(r"^hudi_operator_store_requests_total\{[^}]*\} (?P<value>\S+)$", re.MULTILINE)

Row = tuple[str, str]


@dataclass(frozen=True)
class Usage:
    """The resources that the operator's process has used so far."""

    at: float
    cpu_seconds: float
    memory: int
    most_memory: int

    @classmethod
    def of(cls, pid: int) -> Usage:
        """Read it from the kernel; memory is in bytes."""
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        memory, most = (int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return cls(time.monotonic(), seconds, memory, most)

    def since(self, before: Usage) -> str:
        """Describe the processor time between two readings."""
        cpu, wall = self.cpu_seconds - before.cpu_seconds, self.at - before.at
        return f"{cpu:.1f} s of processor time in {wall:.0f} s ({100 * cpu / wall:.0f} % of a core)"


@dataclass(frozen=True)
class Calls:
    """The number of requests to the API server and the store so far."""

    api: Counter[str]
    store: float

    @classmethod
    def now(cls, plane: ControlPlane, metrics_port: int) -> Calls:
        """Read both counts; for the API server those that the operator makes."""
        api: Counter[str] = Counter()
        for found in _REQUESTS.finditer(plane.get("/metrics")):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', found["labels"]))
            if labels["resource"] in OPERATORS_KINDS and labels["verb"] != "WATCH":
                api[f"{labels['verb']} {labels['resource']}"] += int(float(found["value"]))
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=30) as answer:
            store = sum(float(found["value"]) for found in _STORE.finditer(answer.read().decode()))
        return cls(api, store)


class Measurement:
    """The operator with its tables, and their measurements."""

    def __init__(self, tables: Tables, plane: ControlPlane, operator: LocalOperator, metrics_port: int) -> None:
        self._tables = tables
        self._plane = plane
        self._operator = operator
        self._port = metrics_port
        self.rows: list[Row] = []

    def say(self, what: str, value: str) -> None:
        """Record a result, and print it at once."""
        self.rows.append((what, value))
        print(f"{datetime.now(UTC):%H:%M:%S} {what}: {value}", flush=True)

    async def start(self, begun: float) -> None:
        """Measure the time from the operator's start to the last correct status."""
        before = Usage(begun, 0.0, 0, 0)
        await self._until(lambda: len(self._tables.right) == len(self._tables.names), seconds=1800)
        self.say("start to all statuses right", f"{time.monotonic() - begun:.1f} s")
        now = Usage.of(self._operator.pid)
        self.say("processor time for that", now.since(before))
        self.say("memory after that", f"{now.memory >> 20} MiB")

    async def commits(self, what: str, count: int, *, seconds: float) -> None:
        """Measure the delay until a commit shows in the status."""
        before = Usage.of(self._operator.pid)
        keys = self._tables.names[-count:]
        delays = await self._tables.commit(keys, per_second=COMMITS_PER_SECOND, seconds=seconds)
        made = int(COMMITS_PER_SECOND * seconds)
        self.say(
            f"commit to status, {what}",
            f"p50 {statistics.median(delays):.1f} s, p99 {delays[int(len(delays) * 0.99)]:.1f} s, "
            f"most {delays[-1]:.1f} s ({len(delays)} of {made} commits shown)",
        )
        self.say("processor time while committing", Usage.of(self._operator.pid).since(before))

    async def launches(self, count: int) -> None:
        """Measure the creation rate of Jobs for tables that become due at the same moment."""
        moment = next_minute(30 + count / 30)
        await self._tables.make_due(count, at=moment)
        changed = self._tables.names[:count]
        await self._until(lambda: all(self._tables.generations[key] >= 2 for key in changed), seconds=600)
        await asyncio.sleep(max(0.0, moment.timestamp() - time.time()))
        before, due_at = Usage.of(self._operator.pid), time.monotonic()
        await self._until(lambda: len(self._tables.jobs) >= count, seconds=600)
        took = sorted(self._tables.jobs)[count - 1] - due_at
        self.say(
            f"{count} tables due at once to the last Job created", f"{took:.1f} s ({count / took * 60:.0f} a minute)"
        )
        self.say("first Job after", f"{min(self._tables.jobs) - due_at:.1f} s")
        self.say("processor time for the launches", Usage.of(self._operator.pid).since(before))
        await asyncio.sleep(90)  # the pods end, and the operator reads their outcomes
        self.say("Jobs in all", str(len(self._tables.jobs)))
        self.say("processor time until all had ended", Usage.of(self._operator.pid).since(before))

    async def steady(self, seconds: float) -> None:
        """Measure the operator's work while nothing happens."""
        before, usage = Calls.now(self._plane, self._port), Usage.of(self._operator.pid)
        await asyncio.sleep(seconds)
        now, used = Calls.now(self._plane, self._port), Usage.of(self._operator.pid)
        share = 3600 / seconds / len(self._tables.names)
        api = now.api - before.api
        # kwok renews the Leases of nodes; the only other renewed one is the leader's.
        nodes = {call: number for call, number in api.items() if "leases" in call}
        own = {call: number for call, number in api.items() if "leases" not in call}
        self.say("at rest: calls to the API server per table and hour", f"{sum(own.values()) * share:.3f} ({own})")
        self.say("at rest: writes of Leases, nodes' and leader's", f"{nodes}")
        self.say("at rest: requests to the store per table and hour", f"{(now.store - before.store) * share:.1f}")
        self.say("at rest: processor time", used.since(usage))
        self.say("memory at rest", f"{used.memory >> 20} MiB; most ever {used.most_memory >> 20} MiB")

    async def _until(self, come_true: object, *, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not come_true():  # type: ignore[operator]
            if time.monotonic() > deadline:
                raise SystemExit(f"not within {seconds:.0f} s; {len(self._tables.right)} statuses are right")
            await asyncio.sleep(0.1)


async def measure(arguments: argparse.Namespace, folder: Path) -> list[Row]:
    """Start everything, measure, and stop everything."""
    with ExitStack() as stack:
        plane = stack.enter_context(running_control_plane(folder))
        stack.enter_context(running_kwok(folder, plane, stages=HERE / "kwok.yaml"))
        endpoint = stack.enter_context(running_s3(folder)) if arguments.s3 else None
        async with Tables(plane, folder / "buckets" / "lake", arguments.tables, endpoint=endpoint) as tables:
            tables.write_timelines()
            await tables.create()
            print(f"{arguments.tables} tables are declared", flush=True)
            metrics_port = free_ports(1)[0]
            settings = {
                "SPARK_IMAGE": "spark",
                "OPERATOR_NAMESPACE": "hudi-operator",
                "METRICS_PORT": str(metrics_port),
                "HEALTH_PORT": "0",
                "LOG_LEVEL": "WARNING",
            }
            log = ROOT / ".dev" / "logs" / "scale-operator.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
            begun = time.monotonic()
            async with LocalOperator(kubeconfig=plane.kubeconfig, settings=settings, log=log) as operator:
                run = Measurement(tables, plane, operator, metrics_port)
                await run.start(begun)
                await run.commits(f"{BUSY_TABLES} busy tables", BUSY_TABLES, seconds=arguments.commit_seconds)
                await run.commits("spread over all tables", arguments.tables, seconds=arguments.commit_seconds)
                await run.launches(arguments.due)
                await run.steady(arguments.steady)
                run.say("starts of the operator", str(operator.starts))
    return run.rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--due", type=int, default=1000, help="tables that become due at once")
    parser.add_argument("--commit-seconds", type=float, default=60, help="how long commits are made at a time")
    parser.add_argument("--steady", type=float, default=600, help="seconds of rest at the end")
    parser.add_argument("--s3", action="store_true", help="read the timelines from an S3 server on this machine")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="scale-"))
    try:
        rows = asyncio.run(measure(arguments, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"\n{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n"
    )
    print(f"| {arguments.tables} tables | |\n| --- | --- |")
    print("\n".join(f"| {what} | {value} |" for what, value in rows))


if __name__ == "__main__":
    main()
