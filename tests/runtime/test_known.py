"""What a document leads to, whatever it holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from hudi_jobs.contract import Service
from hudi_operator.control.class_reporter import TABLE_CLASSES
from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.observation.ending import FINALIZER
from hudi_operator.control.tables import TABLES
from hudi_operator.jobs.names import job_labels
from hudi_operator.kube.keys import TABLE, TableKey, class_key, operation_key, savepoint_key, table_key
from hudi_operator.kube.objects import ObjectKey, field, text
from hudi_operator.runtime.controller import Trigger
from hudi_operator.runtime.informer import Informer, KnownObjects, fingerprint, own_key
from hudi_operator.runtime.queue import KeyedQueue

JOBS = TABLES.children[0]
POISON: list[Any] = [
    None,
    3,
    "text",
    [],
    {},
    {"metadata": None},
    {"metadata": "text"},
    {"metadata": []},
    {"metadata": {"name": 3, "namespace": "n"}},
    {"metadata": {"name": "a"}},
    {"metadata": {"namespace": "n"}},
    {"metadata": {"name": "", "namespace": ""}},
    {"metadata": {"name": "a", "namespace": "n", "labels": [], "annotations": 7, "finalizers": {}}, "spec": []},
    {"metadata": {"name": "a", "namespace": "n", "labels": {"hudi-operator.io/table": ["x"]}}, "spec": "text"},
    {"metadata": {"name": "a", "namespace": "n"}, "spec": {"tableClassName": {"no": "name"}}},
]


def table(name: str = "a", *, uid: str = "u1", class_name: str | None = None, **more: Any) -> dict[str, Any]:
    metadata = {"namespace": "n", "name": name, "uid": uid, "generation": 1, "resourceVersion": "1"}
    spec = {} if class_name is None else {"tableClassName": class_name}
    return {"metadata": {**metadata, **more}, "spec": spec, "status": {}}


def child(name: str, uid: str, namespace: str = "n") -> dict[str, Any]:
    labels = job_labels(table=name, table_uid=uid, service=Service.INGESTION)
    return {"metadata": {"namespace": namespace, "name": "job", "labels": labels}}


def parent_of(known: KnownObjects, document: Any) -> ObjectKey | None:
    return known.parent_of(document, kind=TABLE, labels=JOBS)


@pytest.mark.parametrize("document", POISON)
def test_no_document_makes_the_reading_of_it_fail(document: Any) -> None:
    known = KnownObjects(CONTROLLERS)
    field(document, "metadata", "name")
    text(document, "metadata", "name")
    fingerprint(document, FINALIZER)
    own_key(TABLE, document)
    known.learn(table_key("n", "a"), document)
    known.learn(class_key("c"), document)
    known.learn(savepoint_key("n", "s"), document)
    known.learn(operation_key("n", "o"), document)
    parent_of(known, document)
    assert [*known.referring_to(class_key("")), *known.referring_to(class_key("c"))] == [table_key("n", "a")]


@pytest.mark.parametrize("document", POISON)
@pytest.mark.parametrize("kind", [None, "ADDED", "MODIFIED", "DELETED", "???", 3])
async def test_no_event_makes_a_handler_fail_and_the_next_event_is_heard(document: Any, kind: Any) -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    known = KnownObjects(CONTROLLERS)
    informer = Informer(queue=queue, known=known)
    for event in (document, {"type": kind, "object": document}):
        informer.object_event(TABLES, event)
        informer.object_event(TABLE_CLASSES, event)
        informer.child_event(TABLES, JOBS, event)
    before = queue.depth
    informer.object_event(TABLES, {"type": "ADDED", "object": table("good", uid="u9")})
    assert queue.depth == before + 1
    assert table_key("n", "good") in known.of_kind(TABLE)


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        ({"resourceVersion": "2"}, False),
        ({"managedFields": [{"manager": "x"}]}, False),
        ({"generation": 2}, True),
        ({"uid": "u2"}, True),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        ({"finalizers": ["x"]}, True),
        ({"finalizers": [FINALIZER]}, False),
        ({"finalizers": []}, False),
        ({"annotations": {"hudi-operator.io/requested-at": "now"}}, True),
        ({"labels": {"team": "a"}}, True),
    ],
)
async def test_an_event_calls_for_a_reconcile_when_the_declaration_changed(
    change: dict[str, Any], *, matters: bool
) -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    informer = Informer(queue=queue, known=KnownObjects(CONTROLLERS))
    informer.object_event(TABLES, {"type": None, "object": table()})
    assert queue.depth == 1
    queue.discard(table_key("n", "a"))
    changed = table()
    changed["metadata"].update(change)
    changed["status"] = {"message": "written by the operator itself"}
    informer.object_event(TABLES, {"type": "MODIFIED", "object": changed})
    assert queue.depth == (1 if matters else 0)


@pytest.mark.parametrize(
    ("kind", "change", "trigger"),
    [
        (None, {"generation": 2}, Trigger.EVENT),  # changed while no watch was open
        ("MODIFIED", {"generation": 2}, Trigger.EVENT),
        ("ADDED", {"name": "other"}, Trigger.EVENT),
        (None, {"name": "other"}, Trigger.POLL),
    ],
)
async def test_only_what_a_listing_names_for_the_first_time_may_wait_its_turn(
    kind: str | None, change: dict[str, Any], trigger: Trigger
) -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    informer = Informer(queue=queue, known=KnownObjects(CONTROLLERS))
    informer.object_event(TABLES, {"type": None, "object": table()})
    queue.discard(table_key("n", "a"))
    changed = table()
    changed["metadata"].update(change)
    informer.object_event(TABLES, {"type": kind, "object": changed})
    assert [waiting.trigger for waiting in queue._waiting.values()] == [trigger]


def test_a_status_alone_is_no_news_and_ranks_its_object_anew() -> None:
    known, key = KnownObjects(CONTROLLERS), operation_key("n", "o")
    document: dict[str, Any] = {"metadata": {"namespace": "n", "name": "o"}, "spec": {"tableRef": {"name": "a"}}}
    assert known.learn(key, document) == (table_key("n", "a"),)
    assert known.rank(key) == 2
    assert known.learn(key, {**document, "status": {"finishedAt": "2026-03-10T12:00:00Z"}}) is None
    assert (known.rank(key), known.rank(operation_key("n", "other"))) == (None, None)


def test_the_read_only_views_that_kopf_hands_out_are_read_as_well() -> None:
    def frozen(value: Any) -> Any:
        if isinstance(value, Mapping):
            return MappingProxyType({key: frozen(item) for key, item in value.items()})
        return value

    plain = table(annotations={"a": "b"})
    assert fingerprint(frozen(plain), None) == fingerprint(plain, None)
    assert own_key(TABLE, frozen(plain)) == table_key("n", "a")


async def test_a_changed_class_concerns_its_tables_and_those_of_the_default_class() -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    known = KnownObjects(CONTROLLERS)
    informer = Informer(queue=queue, known=known)
    for name, class_name in (("fast", "fast"), ("slow", "slow"), ("default", None)):
        informer.object_event(TABLES, {"type": None, "object": table(name, uid=name, class_name=class_name)})
    for key in known.of_kind(TABLE):
        queue.discard(key)
    event = {"type": "ADDED", "object": {"metadata": {"name": "fast", "generation": 1}}}
    informer.object_event(TABLE_CLASSES, event)
    assert set(queue._waiting) == {table_key("n", "fast"), table_key("n", "default"), class_key("fast")}
    for key in (*known.of_kind(TABLE), class_key("fast")):
        queue.discard(key)
    informer.object_event(TABLE_CLASSES, {**event, "type": "MODIFIED"})
    assert queue.depth == 0
    informer.object_event(TABLE_CLASSES, {**event, "type": "DELETED"})
    assert set(queue._waiting) == {table_key("n", "fast"), table_key("n", "default"), class_key("fast")}
    assert set(known.referring_to(class_key("fast"))) | set(known.referring_to(class_key(""))) == {
        table_key("n", "fast"),
        table_key("n", "default"),
    }


def test_a_job_leads_to_its_table_even_when_the_name_is_longer_than_a_label() -> None:
    known = KnownObjects(CONTROLLERS)
    long_name = "t" * 100
    known.learn(table_key("n", long_name), table(long_name, uid="u1"))
    assert parent_of(known, child(long_name, "u1")) == table_key("n", long_name)
    assert parent_of(known, child("short", "unknown")) == table_key("n", "short")
    assert parent_of(known, {"metadata": {"namespace": "n", "name": "foreign"}}) is None


def test_a_table_made_again_under_its_name_answers_to_its_new_uid_only() -> None:
    known = KnownObjects(CONTROLLERS)
    key = table_key("n", "a")
    known.learn(key, table(uid="old"))
    assert known.learn(key, table(uid="new")) is not None
    assert parent_of(known, child("x", "old")) == table_key("n", "x"), "the old uid is nobody's any more"
    other = table_key("n", "b")
    known.learn(other, table("b", uid="old"))
    assert parent_of(known, child("x", "old")) == other
    assert parent_of(known, child("x", "new")) == key
    known.forget(key)
    assert known.of_kind(TABLE) == {other}


def job(**status: Any) -> dict[str, Any]:
    document = child("a", "u1")
    document["metadata"]["uid"] = "job-1"
    return {**document, "status": status}


def pod(phase: str, *, state: str = "running", reason: str | None = None, **more: Any) -> dict[str, Any]:
    document = child("a", "u1")
    document["metadata"]["uid"] = "pod-1"
    containers = [{"name": "driver", "state": {state: {"reason": reason}}}]
    return {**document, "status": {"phase": phase, "containerStatuses": containers, **more}}


COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}
LIVES: dict[str, tuple[list[tuple[str | None, dict[str, Any]]], list[bool]]] = {
    "a Job that starts, counts its pods and completes": (
        [
            ("ADDED", job()),
            ("MODIFIED", job(active=1)),
            ("MODIFIED", job(active=1, ready=1)),
            ("MODIFIED", job(**COMPLETE)),
        ],
        [True, False, False, True],
    ),
    "a Job that goes after its end": ([("MODIFIED", job(**COMPLETE)), ("DELETED", job(**COMPLETE))], [False, False]),
    "a Job that goes before its end": ([("ADDED", job()), ("DELETED", job())], [True, True]),
    "a listing of what is known": ([("ADDED", job(active=1)), (None, job(active=1))], [True, False]),
    "a listing that tells of an end that no event told of": ([(None, job()), (None, job(**COMPLETE))], [True, True]),
    "a listing of a Job that ended long ago": ([(None, job(**COMPLETE))], [False]),
    "a pod that waits for its image, runs and ends": (
        [
            ("ADDED", pod("Pending", state="waiting", reason="ContainerCreating")),
            ("MODIFIED", pod("Pending", state="waiting", reason="ImagePullBackOff")),
            ("MODIFIED", pod("Running")),
            ("MODIFIED", pod("Running", podIP="10.0.0.1", conditions=[{"type": "Ready", "status": "True"}])),
            ("MODIFIED", pod("Running", state="terminated", reason="Completed")),
            ("MODIFIED", pod("Succeeded", state="terminated", reason="Completed")),
        ],
        [True, True, True, False, True, True],
    ),
    "a pod that is evicted": (
        [
            ("ADDED", pod("Running")),
            ("MODIFIED", pod("Running", conditions=[{"type": "DisruptionTarget", "status": "True"}])),
        ],
        [True, True],
    ),
}


@pytest.mark.parametrize(("events", "reconciles"), LIVES.values(), ids=LIVES)
async def test_events_of_jobs_and_pods_call_for_a_reconcile_when_they_tell_something_new(
    events: list[tuple[str | None, dict[str, Any]]], reconciles: list[bool]
) -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    known = KnownObjects(CONTROLLERS)
    known.learn(table_key("n", "a"), table())
    informer = Informer(queue=queue, known=known)
    asked = []
    for kind, document in events:
        informer.child_event(TABLES, JOBS, {"type": kind, "object": document})
        asked.append(table_key("n", "a") in queue)
        queue.discard(table_key("n", "a"))
    assert asked == reconciles


async def test_nothing_is_kept_of_jobs_and_pods_that_are_gone() -> None:
    known = KnownObjects(CONTROLLERS)
    known.learn_child(TABLE, job())
    known.forget_child(TABLE, job())
    assert known._children == {}


async def test_a_finalizer_that_was_removed_by_hand_calls_for_a_reconcile_that_puts_it_back() -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    informer = Informer(queue=queue, known=KnownObjects(CONTROLLERS))
    held, bare = table(), table()
    held["metadata"]["finalizers"] = [FINALIZER]
    informer.object_event(TABLES, {"type": None, "object": bare})
    queue.discard(table_key("n", "a"))
    informer.object_event(TABLES, {"type": "MODIFIED", "object": held})
    assert queue.depth == 0
    informer.object_event(TABLES, {"type": "MODIFIED", "object": bare})
    assert queue.depth == 1
