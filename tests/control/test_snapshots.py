"""Snapshots of timelines: stores that hang, and timelines that have not moved."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import Location
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.snapshots.pool import StorePool
from hudi_operator.control.snapshots.reader import SnapshotReader, fingerprint
from hudi_operator.planning.model import TimelineTrouble
from hudi_operator.storage import FileSystem, Listing, S3Options
from hudi_operator.storage.local import LocalFileSystem

DEAD = ObjectStore(endpoint="http://dead:9000")
HEALTHY = ObjectStore(endpoint="http://healthy:9000")


class NeverAnswers(LocalFileSystem):
    """A store of which every read waits until the test ends."""

    def __init__(self, released: threading.Event) -> None:
        self.released = released
        self.asked = 0

    @property
    def identity(self) -> str:
        return "dead"

    def read_file(self, path: str, *, limit: int) -> bytes:
        self.asked += 1
        self.released.wait(30)
        return super().read_file(path, limit=limit)

    def list_directory(self, path: str, **options: Any) -> Listing:
        self.asked += 1
        self.released.wait(30)
        return super().list_directory(path, **options)


@pytest.fixture
def dead() -> Iterator[NeverAnswers]:
    released = threading.Event()
    yield NeverAnswers(released)
    released.set()


def snapshots_beside(dead: NeverAnswers, threads: int = 2, **options: float) -> SnapshotReader:
    def opener(_location: Location, options: S3Options | None) -> FileSystem:
        return dead if options is not None and options.endpoint == DEAD.endpoint else LocalFileSystem()

    limits = {"timeout_seconds": 30.0, "patience_seconds": 0.2, **options}
    return SnapshotReader(StorePool(threads=threads, opener=opener, **limits))


async def test_a_store_that_never_answers_takes_no_thread_from_a_healthy_one(
    dead: NeverAnswers, tmp_path: Path
) -> None:
    snapshots = snapshots_beside(dead)
    stuck = [asyncio.create_task(snapshots.read(Location.parse(f"s3://dead/{number}"), DEAD)) for number in range(20)]
    async with asyncio.timeout(10):
        for number in range(20):
            found = await snapshots.read(Location.parse(str(tmp_path / str(number))), HEALTHY)
            assert (found.timeline, found.trouble) == (None, None)
        refused = await asyncio.gather(*stuck[2:])
        assert {snapshot.trouble for snapshot in refused} == {TimelineTrouble.UNREACHABLE}
        at_once = await snapshots.read(Location.parse("s3://dead/again"), DEAD)
    assert at_once.trouble is TimelineTrouble.UNREACHABLE
    assert at_once.message.startswith(f"The store {DEAD.endpoint} has not answered earlier reads")
    assert dead.asked == 2, "no more reads than the store has threads"
    dead.released.set()
    await asyncio.gather(*stuck)


async def test_a_read_that_takes_too_long_is_given_up_and_keeps_its_thread_until_the_store_answers(
    dead: NeverAnswers, eventually: Callable[..., Awaitable[Any]]
) -> None:
    snapshots = snapshots_beside(dead, timeout_seconds=0.2)
    given_up = await asyncio.gather(
        *(snapshots.read(Location.parse(f"s3://dead/{number}"), DEAD) for number in range(2))
    )
    assert {snapshot.trouble for snapshot in given_up} == {TimelineTrouble.UNREACHABLE}
    assert f"{DEAD.endpoint} did not answer for s3://dead/0 within" in given_up[0].message
    await snapshots.read(Location.parse("s3://dead/2"), DEAD)
    assert dead.asked == 2

    dead.released.set()

    async def answers() -> bool:
        return (await snapshots.read(Location.parse("s3://dead/3"), DEAD)).trouble is None

    await eventually(answers)
    assert dead.asked > 2


async def test_a_table_whose_namespace_waits_for_a_store_names_the_store(dead: NeverAnswers) -> None:
    snapshots = snapshots_beside(dead, threads=8)
    reads = [
        asyncio.create_task(snapshots.read(Location.parse(f"s3://dead/{each}"), DEAD, namespace="one"))
        for each in range(8)
    ]
    ended, _ = await asyncio.wait(reads, timeout=2)
    dead.released.set()
    await asyncio.gather(*reads)
    refused = [read.result() for read in ended]

    waiting = f"The store {DEAD.endpoint} has not answered other reads of tables of namespace one yet"
    assert [snapshot.trouble for snapshot in refused] == [TimelineTrouble.UNREACHABLE] * 2
    assert [snapshot.message.partition(";")[0] for snapshot in refused] == [waiting] * 2


async def test_the_fingerprint_is_that_of_a_whole_read_until_the_timeline_moves(tmp_path: Path) -> None:
    snapshots = SnapshotReader()
    assert await snapshots.fingerprint(Location.parse(str(tmp_path)), None) == fingerprint(None)
    assert (await snapshots.read(Location.parse(str(tmp_path)), None)).timeline is None

    timeline = tmp_path / ".hoodie"
    timeline.mkdir()
    properties = "hoodie.table.name=t\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=6\n"
    (timeline / "hoodie.properties").write_text(f"{properties}hoodie.timeline.layout.version=1\n")
    whole = await snapshots.read(Location.parse(str(tmp_path)), None)
    assert whole.timeline is not None, whole.message
    before = await snapshots.fingerprint(Location.parse(str(tmp_path)), None)
    assert before == fingerprint(whole.timeline) != fingerprint(None)

    (timeline / "20260101000000000.commit.requested").touch()
    after = await snapshots.fingerprint(Location.parse(str(tmp_path)), None)
    assert after != before
    assert after == fingerprint((await snapshots.read(Location.parse(str(tmp_path)), None)).timeline)


async def test_a_timeline_that_cannot_be_read_has_no_fingerprint(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / ".hoodie" / "hoodie.properties").write_text("damaged")
    assert await SnapshotReader().fingerprint(Location.parse(str(tmp_path)), None) is None
    assert await SnapshotReader().fingerprint(Location.parse("gs://nowhere"), None) is None
