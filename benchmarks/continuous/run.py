"""Compares the continuous driver with a bare Structured Streaming job from one topic into Hudi: cost and latency.

    uv run --frozen python benchmarks/continuous/run.py [--records 300000] [--batches 10] [--rounds 3]

Both read the same JSON messages with the same limit of a batch, the same interval, the same Hudi options and Spark
settings, each in a process of its own and into a table of its own, by turns. First they work off a backlog: what is
measured lies between the commit of the last batch of the warm-up and that of the last one. Then messages arrive at an
even rate: a message is visible once the instant is completed that wrote it. In the end each table is read, and holds
every key once. The goal is a ratio of 1.05 at most in records per second and in processor time.
"""

import argparse
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro

from hudi_jobs.contract import TableType
from jobs import STARTS, Job, Stream

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dev"))

from demo.verify import open_session
from toolkit.streams import KafkaBroker

PATIENCE_SECONDS = 600.0


@dataclass(frozen=True)
class Figures:
    """The figures of one program in one round."""

    records_per_second: float
    processor_per_million: float
    latencies: list[float]
    live_processor: float
    live_commits: int


@dataclass(frozen=True)
class Commit:
    at: float
    processor: float


def main() -> None:
    arguments = parse_arguments()
    work = Path(tempfile.mkdtemp(prefix="bench-continuous-"))
    try:
        with KafkaBroker(work / "kafka") as broker:
            found: dict[str, list[Figures]] = {name: [] for name in STARTS}
            for number in range(arguments.rounds):
                for name in STARTS if number % 2 else reversed(STARTS):
                    figures = measure(name, broker, work / f"{name}-{number}", arguments)
                    found[name].append(figures)
                    tell(name, figures)
            report(found)
    finally:
        shutil.rmtree(work)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--warm", type=int, default=3, help="batches of the warm-up, which are not measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between the starts of two batches")
    parser.add_argument("--rate", type=int, default=500, help="messages a second, once the backlog is worked off")
    parser.add_argument("--seconds", type=int, default=30, help="for so long they arrive")
    parser.add_argument("--type", type=TableType, default=TableType.MERGE_ON_READ)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--events", type=Path, help="an existing folder for Spark's event logs, of both")
    return parser.parse_args()


def measure(name: str, broker: KafkaBroker, folder: Path, arguments: argparse.Namespace) -> Figures:
    """Let one program process the backlog and the live messages, which are the same in every round."""
    folder.mkdir()
    topic = folder.name
    broker.create_topic(topic)
    broker.produce(topic, backlog(arguments.records))
    size = arguments.records // arguments.batches
    how = (arguments.interval, arguments.type, arguments.master, arguments.events)
    stream = Stream(broker.bootstrap, topic, size, *how)
    job = STARTS[name](stream, folder)
    try:
        commits = await_commits(job, arguments.batches)
        warm, last = commits[arguments.warm - 1], commits[-1]
        measured = size * (arguments.batches - arguments.warm)
        before = job.processor_seconds()
        send(broker, topic, arguments)
        live = await_keys(job, keys_of(arguments.records) + arguments.rate * arguments.seconds) - arguments.batches
        used = job.processor_seconds() - before
    finally:
        job.stop()
    sent = arguments.rate * arguments.seconds
    figures = Figures(
        records_per_second=measured / (last.at - warm.at),
        processor_per_million=(last.processor - warm.processor) * 1e6 / measured,
        latencies=latencies(folder / "table", arguments.records, sent),
        live_processor=used,
        live_commits=live,
    )
    broker.delete_topic(topic)
    shutil.rmtree(folder)
    return figures


def backlog(records: int) -> Iterator[tuple[None, bytes]]:
    """Yield the messages of the backlog."""
    numbers = random.Random(1)
    return ((None, message(key, number, numbers)) for number, key in enumerate(keys_in_order(records)))


def keys_in_order(records: int) -> Iterator[int]:
    """Yield the keys of the backlog: one message in ten updates an earlier row or uses a skipped key."""
    numbers = random.Random(3)
    return (number if number % 10 else numbers.randrange(number + 1) for number in range(records))


def keys_of(records: int) -> int:
    return len(set(keys_in_order(records)))


def message(key: int, sent: int, numbers: random.Random) -> bytes:
    return json.dumps(
        {
            "id": key,
            "sent": sent,
            "carrier": numbers.choice(["AA", "UA", "DL", "B6"]),
            "flight": numbers.randint(1, 6000),
            "origin": numbers.choice(["JFK", "LGA", "EWR"]),
            "delay": numbers.randint(-20, 300) + 0.5,
            "month": key % 12 + 1,
            "note": f"row {key} of the stream",
        }
    ).encode()


def send(broker: KafkaBroker, topic: str, arguments: argparse.Namespace) -> None:
    """Send the live messages evenly, ten times a second, each with its send time."""
    numbers = random.Random(2)
    began, parts = time.time(), arguments.seconds * 10
    for part in range(parts):
        time.sleep(max(0.0, began + part / 10 - time.time()))
        first = arguments.records + part * arguments.rate // 10
        ids = range(first, arguments.records + (part + 1) * arguments.rate // 10)
        broker.produce(topic, [(None, message(key, round(time.time() * 1e3), numbers)) for key in ids])


def completed(table: Path) -> dict[str, float]:
    """Return when each completed write became visible, by its instant."""
    files = (table / ".hoodie/timeline").glob("[0-9]*_*commit")
    return {file.name.partition("_")[0]: file.stat().st_mtime for file in files}


def await_commits(job: Job, wanted: int) -> list[Commit]:
    """Wait for `wanted` commits; return each with the processor time used by then."""
    commits: list[Commit] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(commits) < wanted:
        job.require_running()
        if time.monotonic() > deadline:
            sys.exit(f"{len(commits)} of {wanted} commits within {PATIENCE_SECONDS:.0f} s")
        found = sorted(completed(job.table).values())
        commits += [Commit(at, job.processor_seconds()) for at in found[len(commits) :]]
        time.sleep(0.02)
    return commits


def await_keys(job: Job, wanted: int) -> int:
    """Wait until the commits have inserted `wanted` keys; return the number of commits."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    inserted: dict[str, int] = {}
    while sum(inserted.values()) < wanted:
        job.require_running()
        if time.monotonic() > deadline:
            sys.exit(f"{sum(inserted.values()):,} of {wanted:,} keys within {PATIENCE_SECONDS:.0f} s")
        inserted |= {name: inserts(job.table, name) for name in completed(job.table) if name not in inserted}
        time.sleep(0.1)
    return len(inserted)


def inserts(table: Path, instant: str) -> int:
    """Return the number of inserted keys in a commit's metadata."""
    (file,) = (table / ".hoodie/timeline").glob(f"{instant}_*commit")
    with file.open("rb") as content:
        commits = list(fastavro.reader(content))
    return sum(
        one["numInserts"] for commit in commits for stats in commit["partitionToWriteStats"].values() for one in stats
    )


def latencies(table: Path, first: int, sent: int) -> list[float]:
    """Return the seconds until each live message was visible, once every key has been found."""
    spark = open_session()
    rows = spark.read.format("hudi").load(str(table)).select("id", "sent", "_hoodie_commit_time").collect()
    spark.stop()
    keys = {row.id for row in rows}
    if not len(rows) == len(keys) == keys_of(first) + sent:
        sys.exit(f"{table} has {len(rows)} rows with {len(keys)} keys")
    visible = completed(table)
    return [visible[row["_hoodie_commit_time"]] - row.sent / 1e3 for row in rows if row.id >= first]


def percentile(values: Iterable[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def tell(name: str, figures: Figures) -> None:
    p50, p99 = (percentile(figures.latencies, one) for one in (50, 99))
    print(
        f"{name:7} {figures.records_per_second:8,.0f} records/s, {figures.processor_per_million:6.1f} s of processor "
        f"time per million, live: p50 {p50:5.2f} s, p99 {p99:5.2f} s, {figures.live_commits} commits, "
        f"{figures.live_processor:5.1f} s of processor time",
        flush=True,
    )


def report(found: dict[str, list[Figures]]) -> None:
    """Print the ratios within rounds, because the machine's speed changes between rounds."""
    every = {name: [value for one in figures for value in one.latencies] for name, figures in found.items()}
    for name, values in every.items():
        print(f"{name:7} latency of all rounds: p50 {percentile(values, 50):.2f} s, p99 {percentile(values, 99):.2f} s")
    rounds = list(zip(found["driver"], found["bare"], strict=True))
    tell_ratios("processor time per record", [a.processor_per_million / b.processor_per_million for a, b in rounds])
    tell_ratios("time per record", [b.records_per_second / a.records_per_second for a, b in rounds])
    tell_ratios("p50 of the latency", [percentile(a.latencies, 50) / percentile(b.latencies, 50) for a, b in rounds])


def tell_ratios(what: str, ratios: list[float]) -> None:
    each: Any = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"driver to bare, {what}: {each}; median {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
