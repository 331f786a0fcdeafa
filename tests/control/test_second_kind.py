"""A kind is its model, one controller module and one line in the registry: nothing else knows of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.control.bookmarks import BOOKMARK, BOOKMARKS, Bookmark
from tests.control.test_reconciler import KEY, Cluster, Snapshots, living_table
from tests.planning.world import IMAGE

from hudi_operator.control import tables
from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.parts import Parts
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.watches import _KopfThread, watch_settings
from hudi_operator.kube.keys import table_key
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.observation import Related
from hudi_operator.runtime.controller import Trigger, reconcile_by_kind
from hudi_operator.runtime.informer import Informer, KnownObjects
from hudi_operator.runtime.queue import KeyedQueue
from hudi_operator.runtime.resync import Resync

Document = dict[str, Any]
REGISTRY = (*CONTROLLERS, BOOKMARKS)
FIRST = ObjectKey(BOOKMARK, "team-a", "first")


def bookmark(
    name: str = "first", *, table: str = "flights", namespace: str = "team-a", generation: int = 1
) -> Document:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}", "generation": generation}
    return {"metadata": metadata, "spec": {"table": table, "instant": "20260310115900000"}}


class Process:
    """What a process is made of but for kopf, before a cluster in memory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster: Cluster = living_table()
        self.bookmarks = self.cluster.of_kind(BOOKMARK)
        self.observed: list[Observation] = []
        self.queue: KeyedQueue[ObjectKey] = KeyedQueue()
        self.known = KnownObjects(REGISTRY)
        self.informer = Informer(queue=self.queue, known=self.known)
        self.resync = Resync(
            controllers=REGISTRY, kube=self.cluster, queue=self.queue, known=self.known, period_seconds=100
        )
        parts = Parts(
            kube=self.cluster,
            snapshots=Snapshots(self.cluster),
            settings=Settings(spark_image=IMAGE),
            controllers=REGISTRY,
            known=self.known,
            wake=lambda key: self.queue.add(key, Trigger.POLL),
            alert=self.queue.add,
        )
        self._reconcile = reconcile_by_kind(REGISTRY, parts)

        def remembered(observation: Observation, **more: Any) -> Any:
            self.observed.append(observation)
            return decide(observation, **more)

        monkeypatch.setattr(tables, "decide", remembered)

    async def work(self) -> set[ObjectKey]:
        """Reconcile all that waits, and return it."""
        waiting = {key: entry.trigger for key, entry in self.queue._waiting.items()}
        for key, trigger in waiting.items():
            self.queue.discard(key)
            await self._reconcile(key, trigger)
            self.queue.add_after(key, 1000)
        return set(waiting)

    def event(self, kind: str, document: Document) -> None:
        self.informer.object_event(BOOKMARKS, {"type": kind, "object": document})

    def seen_with_the_table(self) -> tuple[object, ...]:
        return self.observed[-1].related.others.get("HudiBookmark", ())


async def test_an_object_of_the_kind_is_reconciled_and_enters_the_observation_of_its_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = Process(monkeypatch)
    await process.resync.resync()
    await process.work()
    assert process.observed[-1].related == Related()
    assert "list HudiBookmark" not in process.cluster.calls[process.cluster.calls.index("get HudiTable") :]

    process.bookmarks["first"] = bookmark()
    process.event("ADDED", process.bookmarks["first"])
    assert await process.work() == {FIRST, KEY}
    assert process.bookmarks["first"]["status"] == {"ready": True}
    assert process.seen_with_the_table() == (Bookmark(table="flights", instant="20260310115900000"),)

    process.event("DELETED", process.bookmarks.pop("first"))
    assert await process.work() == {FIRST, KEY}
    assert process.seen_with_the_table() == ()


async def test_an_object_that_names_another_table_concerns_both(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(monkeypatch)
    process.event("ADDED", bookmark())
    process.event("ADDED", bookmark("of another"))
    await process.work()
    process.event("MODIFIED", bookmark(table="weather", generation=2))
    assert await process.work() == {FIRST, KEY, table_key("team-a", "weather")}
    process.event("MODIFIED", {**bookmark(table="weather", generation=2), "status": {"ready": True}})
    assert await process.work() == set(), "its own status is no news"


async def test_a_resync_finds_what_no_event_told_of_and_knows_what_is_seen_with_a_table_before_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = Process(monkeypatch)
    process.bookmarks["first"] = bookmark()
    await process.resync.resync()
    listed = [call for call in process.cluster.calls if call.startswith("list Hudi")]
    kinds = ("HudiTableClass", "HudiSavepoint", "HudiOperation", "HudiBookmark", "HudiTable")
    assert listed == [f"list {kind}" for kind in kinds]
    assert {FIRST, KEY} <= await process.work()
    assert len(process.seen_with_the_table()) == 1

    del process.bookmarks["first"]
    await process.resync.resync()
    assert await process.work() == {FIRST, KEY}
    assert process.seen_with_the_table() == ()


def test_resource_reconciles_no_table_of_another_namespace() -> None:
    careless = replace(BOOKMARKS, reference=lambda _document: KEY)
    known = KnownObjects((*CONTROLLERS, careless))
    assert known.learn(FIRST, bookmark()) == (KEY,)
    assert known.learn(ObjectKey(BOOKMARK, "team-b", "first"), bookmark(namespace="team-b")) == ()


@pytest.mark.parametrize("namespaces", [(), ("team-a", "team-b")])
async def test_the_kind_is_listed_in_each_namespace_that_is_served(
    namespaces: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(monkeypatch)
    asked: list[tuple[str, str | None]] = []
    each = process.cluster.each

    def recorded(kind: Any, namespace: str | None = None, **more: Any) -> Any:
        asked.append((kind.name, namespace))
        return each(kind, namespace, **more)

    monkeypatch.setattr(process.cluster, "each", recorded)
    resync = Resync(
        controllers=REGISTRY,
        kube=process.cluster,
        queue=process.queue,
        known=process.known,
        period_seconds=100,
        namespaces=namespaces,
    )
    await resync.resync()
    places = namespaces or (None,)
    tried = [("HudiSavepoint", place) for place in namespaces]  # whether anything may be listed there
    assert asked == [
        *tried,
        ("HudiTableClass", None),
        *(("HudiSavepoint", place) for place in places),
        *(("HudiOperation", place) for place in places),
        *(("HudiBookmark", place) for place in places),
        *(("HudiTable", place) for place in places),
    ]


async def test_the_kind_is_watched_beside_the_others() -> None:
    informer = Informer(queue=KeyedQueue(), known=KnownObjects(REGISTRY))
    handlers = _KopfThread(REGISTRY, informer, ())._registry()._watching._handlers
    kinds = ["huditables", "jobs", "pods", "huditableclasses", "hudisavepoints", "hudioperations", "hudibookmarks"]
    assert [handler.id for handler in handlers] == kinds
    assert len(watch_settings(REGISTRY).watching.label_selectors) == 2


async def test_a_document_that_cannot_be_read_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(monkeypatch)
    process.bookmarks["first"] = bookmark()
    process.bookmarks["odd"] = {**bookmark("odd"), "spec": {"table": "flights"}}
    for document in list(process.bookmarks.values()):
        process.event("ADDED", document)
    await process.work()
    assert process.bookmarks["odd"]["status"] == {"ready": False}
    assert set(map(type, process.seen_with_the_table())) == {Bookmark, str}
