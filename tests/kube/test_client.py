"""The client against a real API server: what its answers mean cannot be guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hudi_operator.control.class_reporter import ClassReporter
from hudi_operator.control.observation.recent import Namespaces
from hudi_operator.kube.api import add_finalizer, remove_finalizer
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import AlreadyExists, Conflict, NotFound, Rejected
from hudi_operator.kube.events import EventType
from hudi_operator.kube.keys import TABLE, class_key, table_key
from hudi_operator.kube.objects import JOB, POD, ObjectKey
from hudi_operator.kube.transport import MERGE_PATCH, Transport
from hudi_operator.planning.model import NamespaceObservation
from hudi_operator.runtime.controller import Trigger

pytestmark = pytest.mark.cluster

TABLES = "/apis/hudi-operator.io/v1beta1/namespaces/{}/huditables"
FINALIZER = "tests.hudi-operator.io/keep"
Document = dict[str, Any]
Eventually = Callable[..., Awaitable[Any]]


def status(message: str, **more: Any) -> Document:
    return {"observedGeneration": 1, "message": message, "conditions": [], "activeJobs": [], "history": [], **more}


def job(name: str, **labels: str) -> Document:
    container = {"name": "main", "image": "registry.invalid/never:1", "command": ["true"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"tests": "yes", **labels}},
        "spec": {
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


@pytest.fixture
def new_table(transport: Transport, namespace: str) -> Callable[[str], Awaitable[Document]]:
    async def create(name: str) -> Document:
        spec = {"basePath": f"s3a://lake/{namespace}/{name}", "type": "CopyOnWrite", "recordKey": ["id"]}
        document = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "spec": spec}
        return await transport.request("POST", TABLES.format(namespace), body={**document, "metadata": {"name": name}})

    return create


async def until_unopposed(
    kube: KubernetesClient, table: Document, write: Callable[[Document], Awaitable[Document | None]]
) -> Any:
    """Write as the operator does: read, write, and read again when somebody else was faster."""
    for _ in range(20):
        latest = await kube.get(table_key(table["metadata"]["namespace"], table["metadata"]["name"]))
        assert latest is not None
        try:
            return await write(latest)
        except Conflict:
            continue
    raise AssertionError("somebody else always writes first")


class TestTables:
    async def test_a_table_that_does_not_exist_is_none(self, kube: KubernetesClient, namespace: str) -> None:
        assert await kube.get(table_key(namespace, "nowhere")) is None
        assert await kube.get(table_key("no-such-namespace", "nowhere")) is None
        assert await kube.get(class_key("no-such-class")) is None

    async def test_tables_are_listed_by_namespace_and_cluster_wide(
        self, kube: KubernetesClient, namespace: str, new_table: Callable[[str], Awaitable[Document]]
    ) -> None:
        for name in ("a", "b"):
            await new_table(name)
        names = {table["metadata"]["name"] for table in await kube.list(TABLE, namespace)}
        everywhere = {(table["metadata"]["namespace"], table["metadata"]["name"]) for table in await kube.list(TABLE)}
        assert names == {"a", "b"}
        assert {(namespace, "a"), (namespace, "b")} <= everywhere

    async def test_a_new_status_replaces_the_old_one_with_the_fields_that_it_lacks(
        self, kube: KubernetesClient, new_table: Callable[[str], Awaitable[Document]]
    ) -> None:
        table = await new_table("a")
        first = status("first", services={"ingestion": {"due": False, "reason": "Waiting", "message": "m"}})
        written = await until_unopposed(kube, table, lambda latest: kube.replace_status(TABLE, latest, first))
        assert written["status"]["services"]["ingestion"]["reason"] == "Waiting"
        written = await until_unopposed(
            kube, table, lambda latest: kube.replace_status(TABLE, latest, status("second"))
        )
        assert written["status"]["message"] == "second"
        assert "services" not in written["status"]
        assert written["spec"] == table["spec"]
        assert written["metadata"]["generation"] == table["metadata"]["generation"]

    async def test_the_operator_writes_what_it_has_to_say_of_a_class_into_the_class(
        self, kube: KubernetesClient, transport: Transport, namespace: str
    ) -> None:
        path = "/apis/hudi-operator.io/v1beta1/huditableclasses"
        spec = {
            "allowedBasePaths": ["s3a://lake"],
            "allowedSparkConf": ["spark.jars"],
            "allowedNamespaces": {"names": [namespace]},
        }
        document = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTableClass", "spec": spec}
        await transport.request("POST", path, body={**document, "metadata": {"name": namespace}})
        try:
            for _ in range(2):
                await ClassReporter(kube).reconcile(class_key(namespace), Trigger.EVENT)
            found = await kube.get(class_key(namespace))
            assert found is not None
            assert found["status"]["namespaces"] == namespace
            assert found["status"]["observedGeneration"] == found["metadata"]["generation"] == 1
            kinds = [condition["type"] for condition in found["status"]["conditions"]]
            assert kinds == ["Ready", "UnsafeSettings"]
            assert found["spec"] == spec
        finally:
            await transport.request("DELETE", f"{path}/{namespace}")

    async def test_a_namespace_shows_its_labels_and_suspension_and_a_missing_namespace_has_neither(
        self, kube: KubernetesClient, transport: Transport, namespace: str
    ) -> None:
        body = {"metadata": {"annotations": {"hudi-operator.io/suspend": "maria: bucket moves"}}}
        path = f"/api/v1/namespaces/{namespace}"
        await transport.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        found = await Namespaces(kube).get(namespace)
        assert found is not None
        assert found.labels["kubernetes.io/metadata.name"] == namespace
        assert found.suspension == "maria: bucket moves"
        assert await Namespaces(kube).get("no-such-namespace") == NamespaceObservation()

    async def test_a_status_decided_on_an_old_view_is_refused(
        self, kube: KubernetesClient, new_table: Callable[[str], Awaitable[Document]]
    ) -> None:
        table = await new_table("a")
        await until_unopposed(kube, table, lambda latest: kube.replace_status(TABLE, latest, status("newer")))
        with pytest.raises(Conflict):
            await kube.replace_status(TABLE, table, status("older"))

    async def test_a_status_for_a_table_that_was_deleted_and_made_again_is_refused(
        self,
        kube: KubernetesClient,
        eventually: Eventually,
        transport: Transport,
        namespace: str,
        new_table: Callable[[str], Awaitable[Document]],
    ) -> None:
        table = await new_table("a")
        await until_unopposed(kube, table, lambda latest: _delete(kube, transport, latest))
        await eventually(lambda: _is_none(kube.get(table_key(namespace, "a"))))
        with pytest.raises(NotFound):
            await kube.replace_status(TABLE, table, status("for nobody"))
        again = await new_table("a")
        mixed = {**again, "metadata": {**again["metadata"], "uid": table["metadata"]["uid"]}}
        with pytest.raises(Conflict):
            await kube.replace_status(TABLE, mixed, status("for the old one"))

    async def test_the_same_status_is_not_written_again(
        self, kube: KubernetesClient, new_table: Callable[[str], Awaitable[Document]]
    ) -> None:
        table = await new_table("a")
        written = await until_unopposed(kube, table, lambda latest: kube.replace_status(TABLE, latest, status("x")))
        assert await kube.replace_status(TABLE, written, written["status"]) is written

    async def test_a_status_that_breaks_the_schema_is_rejected_and_not_taken_for_a_conflict(
        self, kube: KubernetesClient, new_table: Callable[[str], Awaitable[Document]]
    ) -> None:
        table = await new_table("a")
        with pytest.raises(Rejected, match="observedGeneration"):
            await until_unopposed(
                kube, table, lambda latest: kube.replace_status(TABLE, latest, {"observedGeneration": "one"})
            )

    async def test_a_finalizer_is_added_once_and_removed_without_touching_others(
        self, kube: KubernetesClient, new_table: Callable[[str], Awaitable[Document]]
    ) -> None:
        table = await new_table("a")
        other = "tests.hudi-operator.io/other"
        await until_unopposed(kube, table, lambda latest: add_finalizer(kube, TABLE, latest, other))
        added = await until_unopposed(kube, table, lambda latest: add_finalizer(kube, TABLE, latest, FINALIZER))
        assert {other, FINALIZER} <= set(added["metadata"]["finalizers"])
        assert await add_finalizer(kube, TABLE, added, FINALIZER) is added
        removed = await until_unopposed(kube, table, lambda latest: remove_finalizer(kube, TABLE, latest, FINALIZER))
        assert FINALIZER not in removed["metadata"]["finalizers"]
        assert other in removed["metadata"]["finalizers"]

    async def test_finalizers_of_an_old_view_are_refused_so_that_nobody_elses_is_lost(
        self, kube: KubernetesClient, new_table: Callable[[str], Awaitable[Document]]
    ) -> None:
        table = await new_table("a")
        await until_unopposed(
            kube, table, lambda latest: add_finalizer(kube, TABLE, latest, "tests.hudi-operator.io/other")
        )
        with pytest.raises(Conflict):
            await add_finalizer(kube, TABLE, table, FINALIZER)

    async def test_removing_the_last_finalizer_lets_a_deleted_table_go(
        self,
        kube: KubernetesClient,
        eventually: Eventually,
        transport: Transport,
        namespace: str,
        new_table: Callable[[str], Awaitable[Document]],
    ) -> None:
        table = await new_table("a")
        await until_unopposed(kube, table, lambda latest: add_finalizer(kube, TABLE, latest, FINALIZER))
        await transport.request("DELETE", f"{TABLES.format(namespace)}/a")
        held = await kube.get(table_key(namespace, "a"))
        assert held is not None
        assert held["metadata"]["deletionTimestamp"]
        await until_unopposed(kube, table, lambda latest: remove_finalizer(kube, TABLE, latest, FINALIZER))
        await eventually(lambda: _is_none(kube.get(table_key(namespace, "a"))))


class TestJobs:
    async def test_a_job_is_created_once_and_found_by_its_labels(self, kube: KubernetesClient, namespace: str) -> None:
        created = await kube.create(JOB, namespace, job("run", shape="round"))
        await kube.create(JOB, namespace, job("other"))
        with pytest.raises(AlreadyExists):
            await kube.create(JOB, namespace, job("run"))
        found = await kube.list(JOB, namespace, label_selector="tests=yes,shape=round")
        assert [one["metadata"]["uid"] for one in found] == [created["metadata"]["uid"]]
        assert (found[0]["kind"], found[0]["apiVersion"]) == ("Job", "batch/v1")
        everywhere = {one["metadata"]["uid"] for one in await kube.list(JOB, label_selector="tests=yes")}
        assert created["metadata"]["uid"] in everywhere

    async def test_a_job_is_deleted_only_by_its_uid_and_gone_is_no_error(
        self, kube: KubernetesClient, eventually: Eventually, namespace: str
    ) -> None:
        created = await kube.create(JOB, namespace, job("run"))
        with pytest.raises(Conflict):
            await kube.delete(ObjectKey(JOB, namespace, "run"), uid="00000000-0000-0000-0000-000000000000")
        assert await kube.get(ObjectKey(JOB, namespace, "run")) is not None
        assert await kube.delete(ObjectKey(JOB, namespace, "run"), uid=created["metadata"]["uid"]) is True
        await eventually(lambda: _is_none(kube.get(ObjectKey(JOB, namespace, "run"))))
        assert await kube.delete(ObjectKey(JOB, namespace, "run"), uid=created["metadata"]["uid"]) is False

    async def test_the_pods_of_a_deleted_job_go_with_it(
        self, kube: KubernetesClient, eventually: Eventually, namespace: str
    ) -> None:
        manifest = job("run")
        manifest["spec"]["suspend"] = False
        created = await kube.create(JOB, namespace, manifest)
        selector = "batch.kubernetes.io/job-name=run"
        await eventually(lambda: kube.list(POD, namespace, label_selector=selector))
        await kube.delete(ObjectKey(JOB, namespace, "run"), uid=created["metadata"]["uid"])
        await eventually(lambda: _is_empty(kube.list(POD, namespace, label_selector=selector)), seconds=60)

    async def test_a_job_that_the_api_server_refuses_says_why(self, kube: KubernetesClient, namespace: str) -> None:
        with pytest.raises(Rejected, match="restartPolicy"):
            await kube.create(JOB, namespace, {"metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}})

    async def test_a_job_in_a_namespace_that_does_not_exist_is_not_found(self, kube: KubernetesClient) -> None:
        with pytest.raises(NotFound, match="no-such-namespace"):
            await kube.create(JOB, "no-such-namespace", job("x"))


class TestClaims:
    async def test_only_one_of_many_gets_a_claim(self, kube: KubernetesClient) -> None:
        attempts = await asyncio.gather(
            *(kube.create_claim("path", holder=f"table-{number}") for number in range(10)), return_exceptions=True
        )
        winners = [attempt for attempt in attempts if isinstance(attempt, dict)]
        losers = [attempt for attempt in attempts if isinstance(attempt, AlreadyExists)]
        assert (len(winners), len(losers)) == (1, 9)
        held = await kube.get_claim("path")
        assert held is not None
        assert held["spec"]["holderIdentity"] == winners[0]["spec"]["holderIdentity"]

    async def test_a_claim_is_listed_and_released(self, kube: KubernetesClient) -> None:
        first = await kube.create_claim("path", holder="a", labels={"for": "tests"}, annotations={"path": "s3a://x"})
        assert [one["metadata"]["name"] for one in await kube.list_claims("for=tests")] == ["path"]
        assert first["metadata"]["annotations"] == {"path": "s3a://x"}
        with pytest.raises(Conflict):
            await kube.delete_claim("path", uid="00000000-0000-0000-0000-000000000000")
        assert await kube.delete_claim("path", uid=first["metadata"]["uid"]) is True
        assert await kube.delete_claim("path", uid=first["metadata"]["uid"]) is False
        assert await kube.get_claim("path") is None


class TestEvents:
    async def test_an_event_stands_with_its_object(
        self,
        kube: KubernetesClient,
        transport: Transport,
        namespace: str,
        new_table: Callable[[str], Awaitable[Document]],
    ) -> None:
        table = await new_table("a")
        await kube.create_event(table, kind=EventType.WARNING, reason="TestsFail", message="x" * 5000)
        events = [
            event
            async for event in transport.list_items(f"/api/v1/namespaces/{namespace}/events")
            if event["reason"] == "TestsFail"
        ]
        assert len(events) == 1
        assert events[0]["involvedObject"]["uid"] == table["metadata"]["uid"]
        assert events[0]["type"] == "Warning"
        assert len(events[0]["message"]) == 1024
        assert (events[0]["reportingComponent"], events[0]["reportingInstance"]) == ("hudi-operator", "tests")

    async def test_an_event_that_is_to_be_told_once_is_not_told_twice(
        self,
        kube: KubernetesClient,
        transport: Transport,
        namespace: str,
        new_table: Callable[[str], Awaitable[Document]],
    ) -> None:
        for name in ("a", "b"):
            table = await new_table(name)
            for reason in ("DataDeleted", "DataRetained", "DataDeleted"):
                await kube.create_event(table, kind=EventType.NORMAL, reason=reason, message="It ended.", once=True)
        events = [
            (event["involvedObject"]["name"], event["reason"])
            async for event in transport.list_items(f"/api/v1/namespaces/{namespace}/events")
        ]
        assert sorted(events) == sorted((name, reason) for name in "ab" for reason in ("DataDeleted", "DataRetained"))

    async def test_an_event_that_cannot_be_posted_harms_nothing(self, kube: KubernetesClient) -> None:
        about = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "namespace": "no-such-namespace"}}
        await kube.create_event(about, kind=EventType.NORMAL, reason="Lost", message="nobody sees this")

    async def test_the_warnings_about_one_object_are_read_by_its_uid(
        self, kube: KubernetesClient, namespace: str, new_table: Callable[[str], Awaitable[Document]]
    ) -> None:
        one, other = await new_table("a"), await new_table("b")
        await kube.create_event(one, kind=EventType.WARNING, reason="Refused", message="exceeded quota")
        await kube.create_event(one, kind=EventType.NORMAL, reason="Ended", message="It ended.")
        await kube.create_event(other, kind=EventType.WARNING, reason="Refused", message="another object's")
        found = await kube.warnings_about(namespace, one["metadata"]["uid"])
        assert found is not None
        assert [event["message"] for event in found] == ["exceeded quota"]
        assert await kube.warnings_about(namespace, "no-such-uid") == []

    async def test_a_pod_without_a_node_has_an_empty_log_and_a_pod_that_is_gone_none(
        self, kube: KubernetesClient, namespace: str
    ) -> None:
        containers = job("x")["spec"]["template"]["spec"]["containers"]
        spec = {"containers": containers, "schedulerName": "nobody"}
        await kube.create(POD, namespace, {"metadata": {"name": "placeless"}, "spec": spec})
        assert await kube.read_log(namespace, "placeless", "main", lines=10, most_bytes=1000) == b""
        with pytest.raises(Rejected, match="container other is not valid"):
            await kube.read_log(namespace, "placeless", "other", lines=10, most_bytes=1000)
        with pytest.raises(NotFound):
            await kube.read_log(namespace, "no-such-pod", "main", lines=10, most_bytes=1000)

    async def test_a_namespace_that_is_being_deleted_is_known_without_reading_or_changing_it(
        self,
        kube: KubernetesClient,
        transport: Transport,
        namespace: str,
        new_table: Callable[[str], Awaitable[Document]],
        eventually: Eventually,
    ) -> None:
        table = await add_finalizer(kube, TABLE, await new_table("a"), FINALIZER)
        assert not await kube.namespace_is_terminating(table)
        assert [item async for item in transport.list_items(f"/api/v1/namespaces/{namespace}/events")] == []

        await transport.request("DELETE", f"/api/v1/namespaces/{namespace}")
        assert await eventually(lambda: kube.namespace_is_terminating(table))


async def _delete(kube: KubernetesClient, transport: Transport, table: Document) -> Document | None:
    metadata = table["metadata"]
    for finalizer in metadata.get("finalizers") or ():
        table = await remove_finalizer(kube, TABLE, table, finalizer) or table
    await transport.request("DELETE", f"{TABLES.format(metadata['namespace'])}/{metadata['name']}")
    return None


async def _is_none(answer: Awaitable[Document | None]) -> bool:
    return await answer is None


async def _is_empty(answer: Awaitable[list[Document]]) -> bool:
    return not await answer
