"""Looks at sources: whose threads they take, how often they are made, and what becomes of errors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.control.lake import Lake, snapshots_of
from tests.planning.world import NOW, table, table_class

from hudi_operator.control.snapshots.looks import SourceLooker
from hudi_operator.control.snapshots.stores import StoreBusy, StoreThreads
from hudi_operator.kube.keys import table_key
from hudi_operator.sources.look import LookProblem, SourceLook
from hudi_operator.storage import StorageError, StorageErrorKind
from hudi_operator.telemetry.metrics import metrics
from toolkit.small_table import SmallTable

KEY = table_key("team-a", "flights")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "landing" / "flights").mkdir(parents=True)
    return Lake(tmp_path)


def looker(lake: Lake, **options: Any) -> SourceLooker:
    return SourceLooker(snapshots_of(lake), now=lambda: NOW, **options)


async def look(one: SourceLooker, **changes: Any) -> SourceLook:
    return await one.look(KEY, table(**changes), table_class())


def samples() -> dict[str, float]:
    lines = metrics.exposition().decode().splitlines()
    return {name: float(value) for name, _, value in (one.rpartition(" ") for one in lines if not one.startswith("#"))}


async def test_a_look_counts_the_files_that_the_source_selects_and_its_requests_apart(lake: Lake) -> None:
    lake.deliver("landing/flights/a.csv")
    lake.deliver("landing/flights/_SUCCESS")
    before = samples()
    found = await look(looker(lake))
    assert (found.at, found.inputs, found.listed, found.problem, lake.listed) == (NOW, 1, 2, None, ["landing/flights"])
    grown = {name for name, value in samples().items() if value != before.get(name, 0.0) and "hudi" in name}
    assert 'hudi_operator_source_looks_total{result="success"}' in grown
    assert 'hudi_operator_source_requests_total{operation="list"}' in grown
    assert not any(name.startswith("hudi_operator_store_requests") for name in grown)


async def test_a_source_that_does_not_exist_has_no_input_and_is_no_problem(lake: Lake) -> None:
    (lake.root / "landing" / "flights").rmdir()
    found = await look(looker(lake))
    assert (found.inputs, found.problem) == (0, None)


async def test_a_table_has_one_look_a_minute_and_its_last_look_until_then(lake: Lake) -> None:
    one, other = looker(lake), table_key("team-a", "other")
    assert one.last(KEY, table(), table_class()) is None
    first = await look(one)
    lake.deliver("landing/flights/a.csv")
    assert await look(one) is first
    assert one.last(KEY, table(), table_class()) is first
    assert (await one.look(other, table(name="other"), table_class())).inputs == 1
    assert len(lake.listed) == 2


async def test_a_minute_later_the_source_is_listed_again(lake: Lake) -> None:
    one = looker(lake, pause_seconds=0)
    await look(one)
    lake.deliver("landing/flights/a.csv")
    assert (await look(one)).inputs == 1


@pytest.mark.parametrize(
    "change",
    [
        {"ingestion": {"source": {"files": {"path": "s3a://landing/other", "format": "csv"}}}},
        {"ingestion": {"source": {"files": {"path": "s3a://landing/flights/", "format": "csv", "pathGlob": "b*"}}}},
    ],
)
async def test_a_look_at_one_source_is_none_at_another_and_changing_specs_list_no_more_often(
    lake: Lake, change: dict[str, Any]
) -> None:
    one = looker(lake)
    await look(one)
    assert one.last(KEY, table(**change), table_class()) is None
    for _ in range(10):
        found = await look(one, **change)
    assert (found.problem, found.digest) == (LookProblem.UNREACHABLE, None)
    assert "a table has one look a minute" in found.message
    assert one.last(KEY, table(**change), table_class()) is None
    assert len(lake.listed) == 1


async def test_a_look_with_other_settings_of_the_store_is_another(lake: Lake) -> None:
    one = looker(lake)
    await look(one)
    assert one.last(KEY, table(), table_class(objectStore={"endpoint": "http://other:9000"})) is None


async def test_a_table_that_is_gone_is_forgotten(lake: Lake) -> None:
    one = looker(lake)
    await look(one)
    one.forget(KEY)
    one.forget(KEY)
    assert not one._last


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (StorageError(StorageErrorKind.ACCESS_DENIED, "refused."), LookProblem.NOT_ALLOWED),
        (StorageError(StorageErrorKind.TOO_LARGE, "refused."), LookProblem.TOO_LARGE),
        *(
            (StorageError(StorageErrorKind(kind), "refused."), LookProblem.UNREACHABLE)
            for kind in ("Unreachable", "NoBucket", "OddKey", "Unsupported")
        ),
        (ZeroDivisionError("refused."), LookProblem.UNREACHABLE),
    ],
)
async def test_every_error_of_a_listing_is_a_problem_and_never_an_exception(
    lake: Lake, error: Exception, problem: LookProblem
) -> None:
    lake.fails = error
    found = await look(looker(lake))
    assert (found.problem, found.digest, found.inputs) == (problem, None, None)
    assert found.message.endswith(".")


async def test_a_source_beyond_the_bound_has_no_digest(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudi_operator.storage.local.PAGE", 1)
    for number in range(201):
        lake.deliver(f"landing/flights/{number}.csv")
    found = await look(looker(lake))
    assert (found.problem, found.digest) == (LookProblem.TOO_LARGE, None)
    assert "move files that have been read to another place" in found.message


async def test_an_operator_that_may_list_no_sources_lists_none_and_says_so(lake: Lake) -> None:
    one = looker(lake, enabled=False)
    found = await look(one)
    assert (found.problem, lake.listed) == (LookProblem.SWITCHED_OFF, [])
    assert one.last(KEY, table(), table_class()) == found
    assert "objectStore.listSources" in found.message


@pytest.mark.parametrize("changes", [{"ingestion": None}, {"source": "kafka"}])
async def test_a_source_in_no_store_has_no_last_look(lake: Lake, changes: dict[str, Any]) -> None:
    if "source" in changes:
        kafka = {"bootstrapServers": ["kafka:9092"], "topics": ["t"], "value": {"format": "Raw"}}
        changes = {"ingestion": {"source": {"kafka": kafka}}}
    assert looker(lake, enabled=False).last(KEY, table(**changes), table_class()) is None


@pytest.mark.parametrize(
    ("path", "spark_conf", "why"),
    [
        ("file:///landing/flights", {}, "in the file systems of pods"),
        ("gs://landing/flights", {}, "not a base path that can be read"),
        ("s3a://landing/flights", {"spark.hadoop.fs.s3a.bucket.landing.endpoint": "http://b:1"}, "another store"),
        ("s3a://landing/flights", {"spark.hadoop.fs.s3a.endpoint": "http://b:1"}, "another store"),
    ],
)
async def test_a_source_that_pods_may_see_elsewhere_is_not_listed(
    lake: Lake, path: str, spark_conf: dict[str, str], why: str
) -> None:
    one = table(ingestion={"source": {"files": {"path": path, "format": "csv"}}})
    found = await looker(lake).look(KEY, one, table_class(sparkConf=spark_conf))
    assert (found.problem, lake.listed) == (LookProblem.UNREACHABLE, [])
    assert why in found.message


async def test_settings_of_another_bucket_do_not_matter(lake: Lake) -> None:
    conf = {"spark.hadoop.fs.s3a.bucket.other.endpoint": "http://b:1"}
    assert (await looker(lake).look(KEY, table(), table_class(sparkConf=conf))).problem is None


# Upstream tables


def upstream(lake: Lake) -> SmallTable:
    (lake.root / "landing" / "up").mkdir()
    found = SmallTable(lake.root / "landing" / "up")
    found.create("up")
    found.commit()
    return found


UPSTREAM = {"ingestion": {"source": {"hudi": {"path": "s3a://landing/up"}}, "operation": "Upsert"}}


async def test_a_look_at_an_upstream_table_reads_its_timeline_and_lists_no_data(lake: Lake) -> None:
    one, found = looker(lake, pause_seconds=0), upstream(lake)
    first = await look(one, **UPSTREAM)
    assert (first.inputs, first.problem, lake.listed) == (1, None, [])
    assert (await look(one, **UPSTREAM)).digest == first.digest
    found.commit()
    second = await look(one, **UPSTREAM)
    assert (second.inputs, second.digest != first.digest) == (2, True)
    found.remove(found.commits()[0])
    assert (await look(one, **UPSTREAM)).digest not in {first.digest, second.digest}


async def test_an_upstream_table_that_cannot_be_read_is_a_problem_and_a_missing_one_is_not(lake: Lake) -> None:
    one = looker(lake, pause_seconds=0)
    missing = await look(one, **UPSTREAM)
    assert (missing.inputs, missing.listed, missing.problem) == (0, 0, None)
    upstream(lake)
    lake.deliver("landing/up/.hoodie/hoodie.properties", content="damaged")
    damaged = await look(one, **UPSTREAM)
    assert (damaged.problem, damaged.digest) == (LookProblem.UNREACHABLE, None)
    assert "hoodie.properties" in damaged.message


# Threads


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def begin_looks(threads: StoreThreads, call: Callable[[], Any], namespaces: Sequence[str]) -> list[asyncio.Task[Any]]:
    run = partial(threads.run, call, timeout_seconds=60, is_look=True)
    return [asyncio.create_task(run(namespace=one)) for one in namespaces]


async def test_looks_take_a_quarter_of_the_threads_and_reads_of_timelines_have_the_rest(
    released: threading.Event,
) -> None:
    threads = StoreThreads(threads=8, patience_seconds=0.2)
    begun = threading.Semaphore(0)

    def slow() -> None:
        begun.release()
        released.wait(30)

    looks = begin_looks(threads, slow, [f"tenant-{number}" for number in range(40)])
    await asyncio.sleep(0.05)
    assert sum(begun.acquire(blocking=False) for _ in range(40)) == 2
    async with asyncio.timeout(5):
        for number in range(50):
            assert await threads.run(lambda: 7, timeout_seconds=5, namespace=f"good-{number % 5}") == 7
    released.set()
    await asyncio.gather(*looks, return_exceptions=True)


async def test_the_looks_of_a_namespace_leave_a_thread_to_those_of_others(released: threading.Event) -> None:
    threads = StoreThreads(threads=16, patience_seconds=0.2)
    many = begin_looks(threads, lambda: released.wait(30), ["many"] * 300)
    await asyncio.sleep(0.05)
    (one,) = begin_looks(threads, lambda: 7, ["one"])
    assert await asyncio.wait_for(one, 2) == 7
    released.set()
    await asyncio.gather(*many, return_exceptions=True)


async def test_a_thread_that_comes_free_goes_to_a_read_of_a_timeline_before_a_look(released: threading.Event) -> None:
    threads = StoreThreads(threads=1, patience_seconds=10)
    order: list[str] = []
    first = asyncio.create_task(threads.run(released.wait, timeout_seconds=30))
    await asyncio.sleep(0.01)
    looks = begin_looks(threads, lambda: order.append("look"), ["a", "b"])
    await asyncio.sleep(0.01)
    reads = [
        asyncio.create_task(threads.run(lambda: order.append("read"), timeout_seconds=5, namespace="a"))
        for _ in range(3)
    ]
    await asyncio.sleep(0.01)
    released.set()
    await asyncio.gather(first, *looks, *reads)
    assert order == ["read"] * 3 + ["look"] * 2


async def test_a_look_that_takes_long_does_not_count_as_a_store_that_hangs(released: threading.Event) -> None:
    threads = StoreThreads(threads=1, patience_seconds=0.5)
    (long,) = begin_looks(threads, lambda: released.wait(30), ["a"])
    await asyncio.sleep(0.6)
    read = asyncio.create_task(threads.run(lambda: 7, timeout_seconds=5, namespace="b"))
    await asyncio.sleep(0.1)
    released.set()
    assert await read == 7
    await long


async def test_a_look_that_finds_no_thread_is_given_up_and_keeps_no_place(released: threading.Event) -> None:
    threads = StoreThreads(threads=4, patience_seconds=0.05)
    stuck = begin_looks(threads, lambda: released.wait(30), ["a"])
    await asyncio.sleep(0.01)
    with pytest.raises(StoreBusy):
        await asyncio.gather(*begin_looks(threads, lambda: 7, ["a"]))
    released.set()
    await asyncio.gather(*stuck)
    assert await asyncio.gather(*begin_looks(threads, lambda: 7, ["a"] * 5)) == [7] * 5
    assert not threads._looking
    assert not threads._taken
