"""Measures how late the operator sees commits of good tables, alone and beside hostile tables, in one process.

    python benchmarks/hostile_tables/run.py [--good 500] [--hostile 20] [--quiet] [--write results.json]

Each case runs in its own process: the operator's reads, polled as the operator polls them, while commits are added
to good tables. The hostile tables belong to one namespace, the good ones to ten. Every hostile file changes every
second, so that nothing which the operator remembers of it helps; with --quiet none does.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "timeline")]

import hostile  # noqa: E402

from hudi_jobs.contract import Location  # noqa: E402
from hudi_operator.control.snapshots.reader import SnapshotReader  # noqa: E402

PROPERTIES = b"hoodie.table.name=t\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=9\n"
COMMIT = b'{"operationType": "UPSERT", "extraMetadata": {}}'
WORKERS = 32
THREADS = 8
NAMESPACES = 10
MIB = 2**20


def table(base: Path, files: dict[str, bytes], properties: bytes = PROPERTIES) -> Path:
    folder = base / ".hoodie" / "timeline"
    folder.mkdir(parents=True)
    (base / ".hoodie" / "hoodie.properties").write_bytes(properties)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return base


def hostile_tables(root: Path, count: int) -> list[Path]:
    """Create a table of every kind that once cost the operator memory or time."""
    commits = [
        hostile.inflating(200 * MIB),
        hostile.tiny_statistics(2_900_000),
        hostile.json_of(20_000_000),
        hostile.json_lists(3_000_000),
        hostile.many_entries(2_000_000),
        hostile.wide_items_of_nothing(),
    ]
    kinds: list[tuple[dict[str, bytes], bytes]] = [({"1_2.commit": commit}, PROPERTIES) for commit in commits]
    kinds += [
        ({}, b"k=" + b"\\u0041" * (4 * MIB // 6)),
        ({}, b"k=" + b"\\u0041" * (MIB // 6)),
        ({f"{number}.replacecommit.requested": b"?" for number in range(3000)}, PROPERTIES),
        ({f"stray-{number}": b"" for number in range(70_000)}, PROPERTIES),
    ]
    return [table(root / f"hostile-{number}", *kinds[number % len(kinds)]) for number in range(count)]


def peak() -> int:
    """Return the peak memory of this process in MiB, without that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


class Run:
    """A process that reads: polls tables, and measures the delay until it sees a commit."""

    def __init__(self, good: list[Path], bad: list[Path], *, seconds: float, poll: float, quiet: bool) -> None:
        self.good = good
        self.bad = bad
        self.until = time.monotonic() + seconds
        self.poll = poll
        self.quiet = quiet
        self.snapshots = SnapshotReader(threads=THREADS)
        self.places = asyncio.Semaphore(WORKERS)
        self.written: dict[Path, list[tuple[int, float]]] = {path: [] for path in good}
        self.lags: list[float] = []
        self.stalls: list[float] = []

    async def watch(self, path: Path, namespace: str) -> None:
        await asyncio.sleep(random.random() * self.poll)
        while time.monotonic() < self.until:
            async with self.places:
                found = await self.snapshots.read(Location.parse(str(path)), None, namespace=namespace)
            now = time.monotonic()
            if found.timeline and found.timeline.counters.latest_completed and path in self.written:
                seen = int(found.timeline.counters.latest_completed.time)
                self.lags += [now - at for commit, at in self.written[path] if commit <= seen]
                self.written[path] = [one for one in self.written[path] if one[0] > seen]
            await asyncio.sleep(self.poll)

    async def write(self) -> None:
        for commit in range(1000, 10**9):
            if time.monotonic() > self.until - 2 * self.poll:
                return
            path = random.choice(self.good)
            folder = path / ".hoodie" / "timeline"
            (folder / f"{commit}.deltacommit.requested").touch()
            (folder / f"{commit}_{commit}.deltacommit").write_bytes(COMMIT)
            self.written[path].append((commit, time.monotonic()))
            await asyncio.sleep(0.02)

    async def change(self) -> None:
        files = [file for path in self.bad for file in path.rglob("*") if file.is_file() and file.stat().st_size][:200]
        while not self.quiet and time.monotonic() < self.until:
            for file in files:
                os.utime(file)
            await asyncio.sleep(1)

    async def feel(self) -> None:
        while time.monotonic() < self.until:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            self.stalls.append(time.monotonic() - before - 0.01)

    async def all(self) -> dict[str, Any]:
        started = time.process_time()
        watches = [self.watch(path, f"team-{number % NAMESPACES}") for number, path in enumerate(self.good)]
        watches += [self.watch(path, "hostile") for path in self.bad]
        await asyncio.gather(*watches, self.write(), self.change(), self.feel())
        lags, stalls = sorted(self.lags), sorted(self.stalls)
        return {
            "good": len(self.good),
            "hostile": len(self.bad),
            "commits seen": len(lags),
            "commits not seen": sum(map(len, self.written.values())),
            "lag p50 s": round(lags[len(lags) // 2], 2),
            "lag p99 s": round(lags[len(lags) * 99 // 100], 2),
            "lag max s": round(lags[-1], 2),
            "event loop stall p99 ms": round(stalls[len(stalls) * 99 // 100] * 1000),
            "event loop stall max ms": round(stalls[-1] * 1000),
            "processor seconds": round(time.process_time() - started, 1),
            "peak MiB": peak(),
        }


def one_case(root: Path, arguments: argparse.Namespace, *, bad: bool) -> dict[str, Any]:
    paths = [root / f"{'good' if not bad else 'beside'}-{number}" for number in range(arguments.good)]
    for path in paths:
        table(path, {"1.deltacommit.requested": b"", "1_2.deltacommit": COMMIT})
    command = [sys.executable, __file__, "--case", str(root), "--hostile", str(arguments.hostile if bad else 0)]
    command += ["--good", str(arguments.good), "--seconds", str(arguments.seconds), "--poll", str(arguments.poll)]
    command += ["--quiet"] if arguments.quiet else []
    found: dict[str, Any] = json.loads(subprocess.check_output(command, text=True))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--good", type=int, default=500)
    parser.add_argument("--hostile", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--poll", type=float, default=10)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--case", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        bad = sorted(arguments.case.glob("hostile-*"))[: arguments.hostile]
        good = sorted(arguments.case.glob("beside-*" if bad else "good-*"))
        run = Run(good, bad, seconds=arguments.seconds, poll=arguments.poll, quiet=arguments.quiet)
        print(json.dumps(asyncio.run(run.all())))
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        alone = one_case(root, arguments, bad=False)
        print(json.dumps(alone, indent=2))
        hostile_tables(root, arguments.hostile)
        beside = one_case(root, arguments, bad=True)
        print(json.dumps(beside, indent=2))
    if arguments.write:
        arguments.write.write_text(json.dumps({"alone": alone, "beside hostile tables": beside}, indent=2) + "\n")


if __name__ == "__main__":
    main()
