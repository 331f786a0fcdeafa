"""One namespace's tables cost the reads of another's nothing: threads, memory, clients and large files are shared."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import Location
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.snapshots import reader as reader_module
from hudi_operator.control.snapshots.pool import StorePool
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.control.snapshots.stores import StoreBusy, StoreThreads
from hudi_operator.planning.model import TimelineTrouble
from hudi_operator.planning.policy.class_policy import _problem_of
from hudi_operator.storage import CountingFileSystem, FileSystem, S3Options
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline.files.reading import HeavyFiles, ReadBudget
from hudi_operator.timeline.model import ReadBudgetSpent

STORE = ObjectStore(endpoint="http://store:9000")


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_a_namespace_whose_reads_are_slow_leaves_threads_to_the_others(released: threading.Event) -> None:
    threads = StoreThreads(threads=8, patience_seconds=0.3)
    begun = threading.Semaphore(0)

    def slow() -> None:
        begun.release()
        released.wait(30)

    stuck = [asyncio.create_task(threads.run(slow, timeout_seconds=60, namespace="hostile")) for _ in range(30)]
    await asyncio.sleep(0.05)
    assert sum(begun.acquire(blocking=False) for _ in range(30)) == 6
    async with asyncio.timeout(5):
        for number in range(50):
            assert await threads.run(lambda: 7, timeout_seconds=5, namespace=f"good-{number % 5}") == 7
    refused = await asyncio.gather(*stuck[6:], return_exceptions=True)
    assert {(type(one), getattr(one, "by_namespace", None)) for one in refused} == {(StoreBusy, True)}
    with pytest.raises(StoreBusy):
        await threads.run(slow, timeout_seconds=5, namespace="hostile")
    released.set()
    await asyncio.gather(*stuck[:6])


async def test_of_those_who_wait_the_namespace_that_has_used_least_comes_first(released: threading.Event) -> None:
    threads = StoreThreads(threads=1, patience_seconds=10)
    order: list[str] = []
    await threads.run(lambda: time.sleep(0.05), timeout_seconds=5, namespace="greedy")
    first = asyncio.create_task(threads.run(released.wait, timeout_seconds=30, namespace="greedy"))
    await asyncio.sleep(0.01)
    waiting = [
        asyncio.create_task(threads.run(partial(order.append, name), timeout_seconds=5, namespace=name))
        for name in ["greedy"] * 5 + ["modest"] * 2
    ]
    await asyncio.sleep(0.01)
    released.set()
    await asyncio.gather(first, *waiting)
    assert order == ["modest"] * 2 + ["greedy"] * 5


async def test_a_read_that_is_given_up_while_it_waits_keeps_no_place(released: threading.Event) -> None:
    threads = StoreThreads(threads=2, patience_seconds=10)
    stuck = [asyncio.create_task(threads.run(released.wait, timeout_seconds=30)) for _ in range(2)]
    waiting = [asyncio.create_task(threads.run(lambda: 1, timeout_seconds=5)) for _ in range(10)]
    await asyncio.sleep(0.01)
    for one in waiting[::2]:
        one.cancel()
    released.set()
    for one in waiting[1::4]:
        one.cancel()
    found = await asyncio.gather(*stuck, *waiting, return_exceptions=True)
    assert sum(one == 1 and one is not True for one in found) >= 2
    assert await asyncio.gather(*(threads.run(lambda: 2, timeout_seconds=5) for _ in range(6))) == [2] * 6


async def test_a_thread_that_comes_free_while_a_read_is_given_up_disturbs_neither(released: threading.Event) -> None:
    threads = StoreThreads(threads=1, patience_seconds=10)
    first = asyncio.create_task(threads.run(lambda: released.wait(30), timeout_seconds=60))
    await asyncio.sleep(0.05)
    given_up = asyncio.create_task(threads.run(lambda: None, timeout_seconds=60))
    last = asyncio.create_task(threads.run(lambda: 7, timeout_seconds=60))
    await asyncio.sleep(0.05)
    # The place is handed on between the cancellation and the moment at which the task notices it.
    asyncio.get_running_loop().call_soon(given_up.cancel)
    released.set()
    time.sleep(0.05)  # noqa: ASYNC251 - both have to come in one turn of the loop
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert (await first, await last) == (True, 7)


async def test_clients_of_buckets_are_bounded_and_each_namespace_keeps_its_own() -> None:
    opened: list[str] = []

    def opener(location: Location, _options: S3Options | None) -> FileSystem:
        opened.append(location.url)
        return LocalFileSystem()

    snapshots = SnapshotReader(StorePool(opener=opener))
    for _ in range(2):
        await snapshots.read(Location.parse("s3://good/t"), STORE, namespace="good")
    for number in range(2000):
        await snapshots.read(Location.parse(f"s3://bucket-{number}/t"), STORE, namespace="hostile")
    await snapshots.read(Location.parse("s3://good/t"), STORE, namespace="good")
    assert opened.count("s3://good/t") == 1
    assert len(snapshots.pool._clients) == 128
    assert len(snapshots.pool._stores) == 1


async def test_spellings_of_paths_make_no_threads_of_their_own(tmp_path: Path) -> None:
    snapshots = SnapshotReader()
    for number in range(100):
        await snapshots.read(Location.parse(f"{tmp_path}/{number}"), STORE)
        await snapshots.read(Location.parse(f"gs://b{number}/t"), STORE)
        await snapshots.read(Location.parse(f"file://{tmp_path}/{number}"), STORE)
    assert len(snapshots.pool._stores) <= 2
    assert (await snapshots.read(Location.parse("gs://b1/t"), STORE)).trouble is TimelineTrouble.UNREACHABLE


def test_each_namespace_reads_one_large_file_at_a_time_and_few_are_read_at_once() -> None:
    heavy = HeavyFiles(at_once=2, patience_seconds=0.05)
    with heavy.of("hostile"):
        with pytest.raises(ReadBudgetSpent), heavy.of("hostile"):
            pass
        with heavy.of("good"), pytest.raises(ReadBudgetSpent), heavy.of("third"):
            pass
        with heavy.of("third"):
            pass


@pytest.mark.parametrize(
    ("pattern", "valid"),
    [
        ("(?i)" + "[\u0100-\uffff]" * 50, True),
        ("(?i)" + "[\x01-\U0010ffff]" * 50, True),
        ("(?:a{0,60000}){0,60000}" * 10, True),
        ("dt=2026-(0[1-9]|1[0-2])(?=-)", True),
        ("(" * 256, False),
        ("*", False),
        ("[z-a]", False),
        ("a{99999999999999999999}", False),
    ],
)
def test_a_pattern_is_checked_quickly_and_once(pattern: str, valid: bool) -> None:
    _problem_of.cache_clear()
    started = time.process_time()
    for _ in range(100):
        assert bool(_problem_of(pattern)) is not valid
    assert time.process_time() - started < 1
    assert _problem_of.cache_info().misses == 1


# Hostile tables beside good ones

LAYOUT_2 = "hoodie.table.name=t\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=9\n"


def table(base: Path, files: dict[str, bytes], properties: bytes = LAYOUT_2.encode()) -> str:
    folder = base / ".hoodie" / "timeline"
    folder.mkdir(parents=True)
    (base / ".hoodie" / "hoodie.properties").write_bytes(properties)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return str(base)


def hostile_tables(root: Path) -> list[str]:
    """Twenty tables, each of a kind that once cost the operator memory or time."""
    kinds: list[tuple[dict[str, bytes], bytes]] = [
        ({"1_2.commit": b"{" + b" " * 2**20}, LAYOUT_2.encode()),
        ({"1_2.commit": b'{"partitionToWriteStats":{"p":[' + b",".join([b"{}"] * 200_000) + b"]}}"}, LAYOUT_2.encode()),
        ({"1_2.clean": b"damaged"}, LAYOUT_2.encode()),
        ({}, b"k=" + b"\\u0041" * (4 * 2**20 // 6)),
        ({f"{number}.replacecommit.requested": b"?" for number in range(300)}, LAYOUT_2.encode()),
    ]
    return [table(root / f"hostile-{number}", *kinds[number % len(kinds)]) for number in range(20)]


async def test_hostile_tables_are_read_once_and_good_ones_are_all_looked_at(tmp_path: Path) -> None:
    commit = b'{"operationType": "UPSERT", "extraMetadata": {}}'
    good = [
        table(tmp_path / f"good-{number}", {"1.deltacommit.requested": b"", "1_2.deltacommit": commit})
        for number in range(100)
    ]
    hostile = hostile_tables(tmp_path)
    counting = CountingFileSystem(LocalFileSystem())
    snapshots = SnapshotReader(StorePool(threads=8, opener=lambda _url, _options: counting))

    async def round_of_reads() -> tuple[list[Any], list[Any]]:
        found = await asyncio.gather(
            *(snapshots.read(Location.parse(path), None, namespace="hostile") for path in hostile),
            *(snapshots.read(Location.parse(path), None, namespace="good") for path in good),
        )
        return found[: len(hostile)], found[len(hostile) :]

    bad, fine = await round_of_reads()
    assert [snapshot.timeline.counters.completed_commits for snapshot in fine] == [1] * len(good)
    assert all(snapshot.trouble or snapshot.damaged or snapshot.timeline.problems for snapshot in bad)
    assert counting.read_bytes < 16 * 2**20, "large properties are refused by their size"
    for _ in range(3):
        counting.paths.clear()
        _, fine = await round_of_reads()
        assert all(snapshot.timeline is not None for snapshot in fine)
        read = [path for path in counting.paths if "/hostile-" in path and ".hudi-operator" not in path]
        assert [path for path in read if not path.endswith("hoodie.properties")] == []


async def test_a_namespace_that_uses_the_processor_most_gets_fewer_threads(released: threading.Event) -> None:
    threads = StoreThreads(threads=8, patience_seconds=0.3)
    await threads.run(lambda: None, timeout_seconds=5, namespace="good")
    for _ in range(2):
        threads._processor.add("greedy", 5.0, now=asyncio.get_running_loop().time())
    begun = threading.Semaphore(0)

    def slow() -> None:
        begun.release()
        released.wait(30)

    for namespace, expected in (("greedy", 2), ("good", 6)):
        stuck = [asyncio.create_task(threads.run(slow, timeout_seconds=60, namespace=namespace)) for _ in range(9)]
        await asyncio.sleep(0.05)
        assert sum(begun.acquire(blocking=False) for _ in range(9)) == expected
        refused = await asyncio.gather(*stuck[expected:], return_exceptions=True)
        assert {type(one) for one in refused} == {StoreBusy}
    released.set()
    await asyncio.sleep(0.05)


async def test_a_read_that_has_read_its_fill_says_so_and_says_nothing_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = range(1000, 1010)
    files = {f"{time}.commit.requested": b"" for time in times} | {f"{time}_{time}.commit": b"{}" for time in times}
    base = table(tmp_path / "t", files)
    snapshots = SnapshotReader()
    monkeypatch.setattr(reader_module, "ReadBudget", lambda **_: ReadBudget(files=5))
    first = await snapshots.read(Location.parse(base), None)
    assert (first.trouble, "next read continues" in first.message) == (TimelineTrouble.UNREACHABLE, True)
    later = [await snapshots.read(Location.parse(base), None) for _ in range(3)]
    assert later[-1].timeline is not None
    assert later[-1].timeline.counters.completed_commits == 10
