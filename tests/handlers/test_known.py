"""What a document leads to, whatever it holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from hudi_jobs.contract import Service
from hudi_operator.control.keys import TableKey
from hudi_operator.control.queue import KeyedQueue
from hudi_operator.handlers.documents import field, fingerprint, own_key, text
from hudi_operator.handlers.informer import Informer
from hudi_operator.handlers.known import KnownObjects
from hudi_operator.jobs.names import job_labels

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


@pytest.mark.parametrize("document", POISON)
def test_no_document_makes_the_reading_of_it_fail(document: Any) -> None:
    known = KnownObjects()
    field(document, "metadata", "name")
    text(document, "metadata", "name")
    fingerprint(document)
    own_key(document)
    known.learn_table(TableKey("n", "a"), document)
    known.learn_class("c", document)
    known.of_child(document)
    assert known.of_class("c") == [TableKey("n", "a")]


@pytest.mark.parametrize("document", POISON)
@pytest.mark.parametrize("kind", [None, "ADDED", "MODIFIED", "DELETED", "???", 3])
async def test_no_event_makes_a_handler_fail_and_the_next_event_is_heard(document: Any, kind: Any) -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    known = KnownObjects()
    informer = Informer(queue=queue, known=known)
    for event in (document, {"type": kind, "object": document}):
        informer.table_event(event)
        informer.class_event(event)
        informer.child_event("Job", event)
    before = queue.depth
    informer.table_event({"type": "ADDED", "object": table("good", uid="u9")})
    assert queue.depth == before + 1
    assert TableKey("n", "good") in known.tables


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        ({"resourceVersion": "2"}, False),
        ({"managedFields": [{"manager": "x"}]}, False),
        ({"generation": 2}, True),
        ({"uid": "u2"}, True),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        ({"finalizers": ["x"]}, True),
        ({"annotations": {"hudi-operator.io/requestedAt": "now"}}, True),
        ({"labels": {"team": "a"}}, True),
    ],
)
async def test_an_event_calls_for_a_look_when_the_declaration_changed(change: dict[str, Any], *, matters: bool) -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    informer = Informer(queue=queue, known=KnownObjects())
    informer.table_event({"type": None, "object": table()})
    assert queue.depth == 1
    queue.discard(TableKey("n", "a"))
    changed = table()
    changed["metadata"].update(change)
    changed["status"] = {"message": "written by the operator itself"}
    informer.table_event({"type": "MODIFIED", "object": changed})
    assert queue.depth == (1 if matters else 0)


def test_the_read_only_views_that_kopf_hands_out_are_read_as_well() -> None:
    def frozen(value: Any) -> Any:
        if isinstance(value, Mapping):
            return MappingProxyType({key: frozen(item) for key, item in value.items()})
        return value

    plain = table(annotations={"a": "b"})
    assert fingerprint(frozen(plain)) == fingerprint(plain)
    assert own_key(frozen(plain)) == TableKey("n", "a")


async def test_a_changed_class_concerns_its_tables_and_those_of_the_default_class() -> None:
    queue: KeyedQueue[TableKey] = KeyedQueue()
    known = KnownObjects()
    informer = Informer(queue=queue, known=known)
    for name, class_name in (("fast", "fast"), ("slow", "slow"), ("default", None)):
        informer.table_event({"type": None, "object": table(name, uid=name, class_name=class_name)})
    for key in known.tables:
        queue.discard(key)
    event = {"type": "ADDED", "object": {"metadata": {"name": "fast", "generation": 1}}}
    informer.class_event(event)
    assert queue.depth == 2
    for key in known.tables:
        queue.discard(key)
    informer.class_event({**event, "type": "MODIFIED"})
    assert queue.depth == 0
    informer.class_event({**event, "type": "DELETED"})
    assert queue.depth == 2
    assert set(known.of_class("fast")) == {TableKey("n", "fast"), TableKey("n", "default")}


def test_a_job_leads_to_its_table_even_when_the_name_is_longer_than_a_label() -> None:
    known = KnownObjects()
    long_name = "t" * 100
    known.learn_table(TableKey("n", long_name), table(long_name, uid="u1"))
    assert known.of_child(child(long_name, "u1")) == TableKey("n", long_name)
    assert known.of_child(child("short", "unknown")) == TableKey("n", "short")
    assert known.of_child({"metadata": {"namespace": "n", "name": "foreign"}}) is None


def test_a_table_made_again_under_its_name_answers_to_its_new_uid_only() -> None:
    known = KnownObjects()
    key = TableKey("n", "a")
    known.learn_table(key, table(uid="old"))
    assert known.learn_table(key, table(uid="new"))
    assert known.of_child(child("x", "old")) == TableKey("n", "x"), "the old uid is nobody's any more"
    other = TableKey("n", "b")
    known.learn_table(other, table("b", uid="old"))
    assert known.of_child(child("x", "old")) == other
    assert known.of_child(child("x", "new")) == key
    known.forget_table(key)
    assert known.tables == {other}
