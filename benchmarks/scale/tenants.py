"""Measures how long a table of one namespace waits while another namespace creates thousands of tables.

    uv run --frozen python benchmarks/scale/tenants.py [--tables 300 3000] [--before COMMIT]

The namespace `many` creates all its tables, two at a time. Meanwhile and afterwards the namespace `one` creates a table
every two seconds. The wait is the time from the API server's answer to the first status of that table. The API server
shares the machine: its time for one GET is shown beside, and a first status takes about seven calls. With `--before`,
the operator of an earlier commit is measured first, in the same run. Prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "dev")]

from tables import Key, Tables  # noqa: E402

from toolkit.control_plane import free_ports, running_control_plane  # noqa: E402
from toolkit.operator_process import LocalOperator  # noqa: E402

ALONE = 5
"""Tables that `one` creates before the others come."""

AFTER = 5
"""Tables that `one` creates while the operator still works on the others."""

CREATORS = 2
_EVERY_SECONDS = 2.0


@dataclass(frozen=True)
class Found:
    """The waits of the tables of `one` in seconds, and those of the API server's answers to a GET meanwhile."""

    alone: list[float]
    beside: list[float]
    answers: list[float]
    creation: float


class Tenants(Tables):
    """The tables of both namespaces; only the statuses in `one` are watched."""

    async def measure(self, many: int) -> Found:
        """Return the waits of tables in `one` without and with the tables of `many`."""
        alone = [await self._wait_of(f"alone-{number}") for number in range(ALONE)]
        begun = time.monotonic()
        others = [("many", f"table-{number:05}") for number in range(many)]
        creation = asyncio.create_task(self._each(others, self._declare, at_once=CREATORS))
        beside: list[float] = []
        answers: list[float] = []
        while not creation.done():
            answers.append(await self._answer())
            beside.append(await self._wait_of(f"beside-{len(beside)}"))
            await asyncio.wait({creation}, timeout=max(0.0, _EVERY_SECONDS - beside[-1]))
        await creation
        took = time.monotonic() - begun
        # In a queue that does not share, the next table is behind all others.
        for number in range(AFTER):
            answers.append(await self._answer())
            beside.append(await self._wait_of(f"after-{number}"))
        return Found(alone, beside, answers, took)

    async def _answer(self) -> float:
        begun = time.monotonic()
        await self.get(("one", "alone-0"))
        return time.monotonic() - begun

    async def _wait_of(self, name: str) -> float:
        key: Key = ("one", name)
        await self._declare(key)
        begun = time.monotonic()
        while key not in self.generations or self.generations[key] < 1:
            if time.monotonic() - begun > 600:
                raise SystemExit(f"{name} has no status after 600 s")
            await asyncio.sleep(0.01)
        return time.monotonic() - begun


async def measure(many: int, folder: Path, *, source: Path) -> Found:
    """Measure the operator of a source tree, on a control plane of its own."""
    with ExitStack() as stack:
        plane = stack.enter_context(running_control_plane(folder))
        os.environ["PYTHONPATH"] = f"{source}/operator:{source}/spark_jobs"
        settings = {
            "SPARK_IMAGE": "spark",
            "OPERATOR_NAMESPACE": "hudi-operator",
            "METRICS_PORT": str(free_ports(1)[0]),
            "HEALTH_PORT": "0",
            "LOG_LEVEL": "WARNING",
        }
        log = ROOT / ".dev" / "logs" / "tenants-operator.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        async with Tenants(plane, folder / "lake", 0, endpoint=None) as tables:
            await tables.prepare(source / "crds", namespaces=("one", "many"))
            tables.watch(namespace="one")
            async with LocalOperator(kubeconfig=plane.kubeconfig, settings=settings, log=log):
                return await tables.measure(many)


def tree_of(commit: str, folder: Path) -> Path:
    """Write the source tree of a commit to a folder."""
    folder.mkdir()
    archive = subprocess.run(
        ("git", "archive", commit, "operator", "spark_jobs", "crds"), cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    subprocess.run(("tar", "-x", "-C", str(folder)), input=archive.stdout, check=True)
    return folder


def row(name: str, many: int, found: Found) -> str:
    """Return one line of the table."""
    cells = (
        name,
        f"{many:,} in {found.creation:.0f} s",
        f"{statistics.median(found.alone):.2f}",
        f"{statistics.median(found.beside):.2f}",
        f"{max(found.beside):.2f}",
        f"{statistics.median(found.answers):.2f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, nargs="+", default=[300, 3000], help="tables of the other namespace")
    parser.add_argument("--before", metavar="COMMIT", help="measure the operator of this commit first")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tenants-"))
    rows = ["| operator | other tables | alone, s | beside, median, s | beside, most, s | one GET, s |"]
    rows.append("| --- | --- | ---: | ---: | ---: | ---: |")
    try:
        sources = [("now", ROOT)]
        if arguments.before:
            sources.insert(0, ("before", tree_of(arguments.before, folder / "before-tree")))
        for many in arguments.tables:
            for name, source in sources:
                place = folder / f"{name}-{many}"
                place.mkdir()
                rows.append(row(name, many, asyncio.run(measure(many, place, source=source))))
                print(f"{datetime.now(UTC):%H:%M:%S} {rows[-1]}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
