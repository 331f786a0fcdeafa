"""Tables of a tenant beside hundreds of tables of another, counted in turns and calls, without a clock."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from tests.control.memory_cluster import MemoryCluster

from hudi_jobs.contract.table.location import canonical_path
from hudi_operator.api.resources import HudiTable, ObjectMetadata
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.control.claims import Claims
from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.process import OperatorProcess
from hudi_operator.kube.api import WatchedApi
from hudi_operator.kube.keys import TABLE, TableKey, table_key
from hudi_operator.runtime.controller import Trigger
from hudi_operator.runtime.informer import Informer, KnownObjects

Document = dict[str, Any]
MANY, ONE = "many", "one"


def document(namespace: str, name: str) -> Document:
    metadata = {"namespace": namespace, "name": name, "uid": f"{namespace}-{name}", "generation": 1}
    return {"metadata": metadata, "spec": {"tableClassName": "standard"}}


async def turns(events: list[Document], *, workers: int) -> list[TableKey]:
    """Return the keys in the order in which the operator's own queue hands them out after these events."""
    known = KnownObjects(CONTROLLERS)
    order: list[TableKey] = []
    all_taken = asyncio.Event()

    async def reconcile(key: TableKey, _trigger: Trigger) -> None:
        order.append(key)
        if len(order) == len(events):
            all_taken.set()
        for _ in range(len(order) % 3):
            await asyncio.sleep(0)

    process = OperatorProcess(
        settings=Settings(spark_image="unused"),
        kube=cast("WatchedApi", MemoryCluster()),
        controllers=CONTROLLERS,
        known=known,
        reconcile=reconcile,
    )
    informer = Informer(queue=process.queue, known=known)
    (tables,) = (one for one in CONTROLLERS if one.kind == TABLE)
    for event in events:
        informer.object_event(tables, {"type": "ADDED", "object": event})
    working = asyncio.create_task(process.queue.run(workers=workers, handler=reconcile))
    await asyncio.wait_for(all_taken.wait(), 60)
    await process.queue.stop(grace_seconds=1)
    await working
    return order


@pytest.mark.parametrize("many", [0, 3, 300, 3000])
@pytest.mark.parametrize("workers", [1, 2, 32])
async def test_table_of_one_tenant_waits_as_long_beside_3000_new_tables_of_another_as_beside_3(
    many: int, workers: int
) -> None:
    events = [*(document(MANY, f"t{number}") for number in range(many)), document(ONE, "orders")]
    order = await turns(events, workers=workers)
    assert order.index(table_key(ONE, "orders")) <= 1
    assert len(order) == len(set(order)) == many + 1


async def test_tenants_with_many_tables_each_share_the_turns_equally() -> None:
    order = await turns([document(f"n{number % 5}", f"t{number}") for number in range(500)], workers=8)
    for begin in range(0, 500, 100):
        part = [key.namespace for key in order[begin : begin + 100]]
        assert all(18 <= part.count(f"n{number}") <= 22 for number in range(5))


class SlowClaims(MemoryCluster):
    """A cluster that never answers the creation of a claim below `/many/`."""

    async def create_claim(self, name: str, **claim: Any) -> Document:
        if "/many/" in claim["annotations"]["hudi-operator.io/base-path"]:
            await asyncio.Event().wait()
        return await super().create_claim(name, **claim)


def table(namespace: str, path: str) -> HudiTable:
    metadata = ObjectMetadata(name="t", namespace=namespace, uid=f"uid-{path}")
    spec = HudiTableSpec.model_validate({"basePath": path, "type": "CopyOnWrite", "recordKey": ["id"]})
    return HudiTable(metadata=metadata, spec=spec)


async def test_claim_on_a_path_does_not_wait_for_claims_on_other_paths() -> None:
    claims = Claims(SlowClaims())
    waiting = [asyncio.create_task(claims.ensure(table(MANY, f"s3a://lake/many/{number}"))) for number in range(300)]
    await asyncio.sleep(0)
    assert await claims.ensure(table(ONE, "s3a://lake/one/orders")) is None
    assert not any(one.done() for one in waiting)
    for one in waiting:
        one.cancel()


async def test_claims_on_nested_paths_wait_for_each_other_and_only_the_first_gets_its_path() -> None:
    class Hesitating(MemoryCluster):
        async def create_claim(self, name: str, **claim: Any) -> Document:
            await asyncio.sleep(0.01)
            return await super().create_claim(name, **claim)

        async def get(self, key: Any) -> Document | None:
            return {"metadata": {"uid": "uid-s3a://lake/a/b"}} if key.kind == TABLE else await super().get(key)

    claims = Claims(Hesitating())
    paths = ("s3a://lake/a/b", "s3a://lake/a", "s3a://lake/a/b/c", "s3a://lake/a/x")
    found = await asyncio.gather(*(claims.ensure(table(MANY, path)) for path in paths))
    assert [rival is None for rival in found] == [True, False, False, True]
    assert [canonical_path(path) for path in paths if claims.remembers(table(MANY, path))] == [
        canonical_path(path) for path in ("s3a://lake/a/b", "s3a://lake/a/x")
    ]
