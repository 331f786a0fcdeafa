"""A move to another namespace against a real API server, with a small operator that answers for both."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.command import Done, command
from tests.cli.person import tenant_of
from tests.cli.running_operator import Eventually, running_operator
from tests.cli.small_operator import SmallOperator
from tests.cli.tables import recorded

from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.cli.move import steps
from hudi_operator.cli.move.moved_objects import MOVED_FROM_ANNOTATION, leaving
from hudi_operator.cli.move.places import Route
from hudi_operator.kube.errors import AlreadyExists, NotFound
from hudi_operator.kube.keys import OPERATION, SAVEPOINT, TABLE
from hudi_operator.kube.objects import LEASE, Kind, collection_path
from hudi_operator.kube.person import PersonClient
from hudi_operator.kube.transport import MERGE_PATCH, Transport

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
SAVED: Document = {
    "apiVersion": "hudi-operator.io/v1beta1",
    "kind": "HudiSavepoint",
    "metadata": {"name": "daily"},
    "spec": {"tableRef": {"name": "orders"}, "instant": "20260310115400000", "keepForever": True},
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_POLL_SECONDS", 0.02)


CLASS: Document = {
    "apiVersion": "hudi-operator.io/v1beta1",
    "kind": "HudiTableClass",
    "spec": {"allowedBasePaths": ["s3a://lake"], "allowedSourcePaths": ["s3a://landing"]},
}
CLASSES = "/apis/hudi-operator.io/v1beta1/huditableclasses"


async def declare_class(transport: Transport, name: str) -> None:
    with suppress(AlreadyExists):
        await transport.request("POST", CLASSES, body={**CLASS, "metadata": {"name": name}})


@pytest.fixture
async def other(transport: Transport) -> AsyncIterator[str]:
    """A second namespace."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    await transport.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
    yield name
    await transport.request("DELETE", f"/api/v1/namespaces/{name}")


async def declare(transport: Transport, namespace: str, **metadata: Any) -> Document:
    await declare_class(transport, "moving")
    document = recorded()["orders"]
    document["spec"]["tableClassName"] = "moving"
    document["metadata"] = {"name": "orders", "labels": {"tier": "gold"}, **metadata}
    document.pop("status")
    return dict(await transport.request("POST", collection_path(TABLE, namespace), body=document))


async def found(transport: Transport, kind: Kind, namespace: str, name: str) -> Document | None:
    try:
        return dict(await transport.request("GET", f"{collection_path(kind, namespace)}/{name}"))
    except NotFound:
        return None


async def hudi(*arguments: str) -> Done:
    return await asyncio.to_thread(command, *arguments)


async def test_table_moves_with_its_labels_and_savepoints_and_no_data_goes(
    transport: Transport, namespace: str, other: str
) -> None:
    given = await declare(transport, namespace)
    await transport.request("POST", collection_path(SAVEPOINT, namespace), body=SAVED)
    operator = SmallOperator(transport, namespace, other)
    async with operator.at_work():
        done = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes")
    assert done.returncode == 0, done.stderr
    steps_taken = [line.split(maxsplit=2)[2] for line in done.stdout.splitlines()]
    # What the old table writes after the new one exists would count as another writer's.
    assert steps_taken[:2] == ["suspended", "created, suspended"]
    assert steps_taken[-1] == "has moved"
    assert await found(transport, TABLE, namespace, "orders") is None
    assert await found(transport, SAVEPOINT, namespace, "daily") is None
    assert set(operator.released) == {"HudiTable Retain", "HudiSavepoint Retain"}
    new, saved = [await found(transport, kind, other, name) for kind, name in ((TABLE, "orders"), (SAVEPOINT, "daily"))]
    assert new is not None
    assert saved is not None
    assert (new["spec"], new["metadata"]["labels"]) == (given["spec"], {"tier": "gold"})
    assert "annotations" not in new["metadata"]
    assert saved["spec"]["instant"] == SAVED["spec"]["instant"]
    assert "annotations" not in saved["metadata"]


async def test_operator_itself_hands_the_folder_over(
    transport: Transport, namespace: str, other: str, eventually: Eventually
) -> None:
    """The new table waits as `BasePathClaimed`; nothing of it needs the store."""
    await declare(transport, namespace)
    async with running_operator(namespace, other, eventually=eventually):
        done = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes", "--timeout", "2m")
        assert done.returncode == 0, done.stderr
        claims = [one async for one in transport.list_items(collection_path(LEASE, namespace))]
    holders = {one["metadata"].get("annotations", {}).get("hudi-operator.io/table") for one in claims} - {None}
    assert holders <= {f"{other}/orders"}
    new = await found(transport, TABLE, other, "orders")
    assert new is not None
    assert "annotations" not in new["metadata"]


async def test_dry_run_and_a_question_without_a_terminal_change_nothing(
    transport: Transport, namespace: str, other: str
) -> None:
    before = await declare(transport, namespace)
    move = ("move", "orders", "-n", namespace, "--to-namespace", other)
    planned = await hudi(*move, "--dry-run")
    assert (planned.returncode, f"Create {other}/orders, suspended" in planned.stdout) == (0, True), planned.stderr
    assert (await hudi(*move)).returncode == 2
    printed = yaml.safe_load((await hudi(*move, "-o", "yaml")).stdout)["items"]
    assert [one["metadata"]["namespace"] for one in printed] == [other]
    assert await found(transport, TABLE, other, "orders") is None
    after = await found(transport, TABLE, namespace, "orders")
    assert after is not None
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


class Killed(BaseException):
    """The process ends here."""


class KilledClient(PersonClient):
    """A person's client whose process is killed at a write: before the request, or after the API server has it."""

    writes_left = 0
    after = False

    async def _kill(self, write: Any) -> Any:
        self.writes_left -= 1
        if self.writes_left < 0 and not self.after:
            write.close()
            raise Killed
        done = await write
        if self.writes_left < 0:
            raise Killed
        return done

    async def create(self, *arguments: Any, **options: Any) -> Any:
        write = super().create(*arguments, **options)
        return await (write if options.get("dry_run") else self._kill(write))

    async def patch(self, *arguments: Any, **options: Any) -> Any:
        return await self._kill(super().patch(*arguments, **options))

    async def delete(self, *arguments: Any, **options: Any) -> Any:
        return await self._kill(super().delete(*arguments, **options))


def mover(client: PersonClient, source: str, target: str) -> steps.Mover:
    route = Route(name="orders", source=source, target=target)
    return steps.Mover(client=client, route=route, longest=timedelta(seconds=20), say=lambda _: None)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_move_that_is_killed_at_any_write_goes_on_when_it_is_repeated(
    transport: Transport, namespace: str, other: str, *, after: bool
) -> None:
    """The folder changes hands once, whatever is killed: the scripted operator sees who holds it."""
    places = [namespace, other]
    await declare(transport, namespace)
    await transport.request("POST", collection_path(SAVEPOINT, namespace), body=SAVED)
    operator, kills = SmallOperator(transport, namespace, other), 0
    async with (
        operator.at_work(),
        await PersonClient.connect(kubeconfig=None, context=None, timeout_seconds=20) as person,
    ):
        for writes in range(20):
            source, target = places
            client = KilledClient(person._transport, namespace=source)
            client.writes_left, client.after = writes, after
            try:
                await mover(client, source, target).run()
            except Killed:
                kills += 1
                await _finish(person, source, target)
            else:
                break
            places.reverse()
            assert await found(transport, TABLE, source, "orders") is None
        async with asyncio.timeout(20):
            while operator.held[-1] != target:  # noqa: ASYNC110 - the operator works beside this test
                await asyncio.sleep(0.02)
    assert kills >= 6
    changes = [one for one, before in zip(operator.held[1:], operator.held, strict=False) if one != before]
    assert len(changes) == kills + 1
    assert {one.split()[1] for one in operator.released} == {"Retain"}


async def _finish(client: PersonClient, source: str, target: str) -> None:
    """Repeat the command; a move that had ended but for the last word has nothing left."""
    route = Route(name="orders", source=source, target=target)
    old, new = await client.get(route.old), await client.get(route.new)
    if old is None and new is not None and MOVED_FROM_ANNOTATION not in new["metadata"].get("annotations", {}):
        return
    await mover(client, source, target).run()


async def test_table_that_the_class_refuses_there_stays_as_it_was(
    transport: Transport, namespace: str, other: str
) -> None:
    before = await declare(transport, namespace)
    async with SmallOperator(transport, namespace, other, refuses=other).at_work():
        done = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes")
        assert (done.returncode, "ClassNotAllowed" in done.stderr) == (1, True)
        async with asyncio.timeout(20):
            while await found(transport, TABLE, other, "orders") is not None:  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.02)
    after = await found(transport, TABLE, namespace, "orders")
    assert after is not None
    assert after["metadata"].get("annotations") == before["metadata"].get("annotations")


async def test_running_job_and_an_operation_hold_the_move(transport: Transport, namespace: str, other: str) -> None:
    await declare(transport, namespace)
    asked = {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiOperation",
        "metadata": {"name": "back"},
        "spec": {"tableRef": {"name": "orders"}, "runService": {"service": "Compaction"}},
    }
    await transport.request("POST", collection_path(OPERATION, namespace), body=asked)
    done = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes")
    assert (done.returncode, "HudiOperation back" in done.stderr) == (1, True)
    await transport.request("DELETE", f"{collection_path(OPERATION, namespace)}/back")
    # Nobody answers for the tables.
    late = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes", "--timeout", "1s")
    assert (late.returncode, "still waits for the operator to see" in late.stderr) == (1, True)
    assert await found(transport, TABLE, other, "orders") is None


TRACKED = {"annotations": {"argocd.argoproj.io/tracking-id": "lake:x"}}
LABELLED = {"labels": {"app.kubernetes.io/instance": "lake"}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spec": {"deletionPolicy": "Delete"}}, "the move would delete the data"),
        ({"metadata": TRACKED}, "Argo CD keeps HudiTable orders"),
        ({"metadata": LABELLED}, "Argo CD keeps HudiTable orders"),
    ],
)
async def test_move_that_would_delete_or_be_undone_is_refused(
    transport: Transport, namespace: str, other: str, change: Document, said: str
) -> None:
    await declare(transport, namespace)
    path = f"{collection_path(TABLE, namespace)}/orders"
    await transport.request("PATCH", path, body=change, content_type=MERGE_PATCH)
    done = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes")
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert await found(transport, TABLE, other, "orders") is None
    if "metadata" in change:
        (printed,) = yaml.safe_load(done.stdout)["items"]
        assert (printed["metadata"].get("annotations"), printed["metadata"]["labels"]) == (None, {"tier": "gold"})


async def test_table_of_this_name_at_the_new_place_is_left_alone(
    transport: Transport, namespace: str, other: str
) -> None:
    await declare(transport, namespace)
    await declare(transport, other)
    done = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes")
    assert (done.returncode, "already has a HudiTable orders" in done.stderr) == (1, True)
    nobody = await hudi("move", "nobody", "-n", namespace, "--to-namespace", other, "--yes")
    assert (nobody.returncode, "There is no HudiTable nobody" in nobody.stderr) == (1, True)
    nowhere = await hudi("move", "orders", "-n", namespace, "--to-namespace", "no-such-place", "--yes")
    assert nowhere.returncode == 1, nowhere.stderr


async def test_person_without_rights_at_the_new_place_changes_nothing(
    transport: Transport, namespace: str, other: str, tmp_path: Path
) -> None:
    before = await declare(transport, namespace)
    kubeconfig = await tenant_of(transport, namespace, tmp_path)
    done = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes", "--kubeconfig", kubeconfig)
    assert done.returncode == 3, done.stderr
    assert other in done.stderr
    after = await found(transport, TABLE, namespace, "orders")
    assert after is not None
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_another_class_is_one_field_and_takes_no_step(transport: Transport, namespace: str) -> None:
    await declare(transport, namespace)
    missing = await hudi("move", "orders", "-n", namespace, "--to-class", "no-such-class", "--yes")
    assert (missing.returncode, "There is no HudiTableClass no-such-class" in missing.stderr) == (1, True)
    await declare_class(transport, "gold")
    done = await hudi("move", "orders", "-n", namespace, "--to-class", "gold", "--yes")
    assert done.returncode == 0, done.stderr
    after = await found(transport, TABLE, namespace, "orders")
    assert after is not None
    assert after["spec"]["tableClassName"] == "gold"
    assert SUSPEND_ANNOTATION not in after["metadata"].get("annotations", {})
    assert leaving(namespace) not in str(after)


async def test_old_table_that_was_resumed_in_the_middle_is_not_moved(
    transport: Transport, namespace: str, other: str
) -> None:
    await declare(transport, namespace)
    async with SmallOperator(transport, namespace, other).at_work():
        client = KilledClient(transport, namespace=namespace)
        client.writes_left = 2
        with pytest.raises(Killed):
            await mover(client, namespace, other).run()
        await hudi("resume", "orders", "-n", namespace)
        done = await hudi("move", "orders", "-n", namespace, "--to-namespace", other, "--yes")
    assert (done.returncode, "was resumed during its move" in done.stderr) == (1, True)
    assert await found(transport, TABLE, namespace, "orders") is not None
