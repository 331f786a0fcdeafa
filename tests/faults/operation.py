"""The life of an operation, from Pending to its end, and what must be true of it and its table whatever goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pytest
from tests.faults.arena import Arena
from tests.faults.driver import commit
from tests.faults.lifecycle import NAME, EndState, Scenario, comparable, created, ended, ingested, settled
from tests.faults.node import Ended
from tests.faults.operating import Journal, die_midway, operate

from hudi_jobs.contract import OperationKind, Service
from hudi_operator.api.status.operation_status import HudiOperationStatus
from hudi_operator.jobs.names import SERVICE_LABEL
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.transport import MERGE_PATCH
from hudi_operator.planning.facts.operations.kinds.operation_registry import may_be_left

BACK = "back"

Document = dict[str, Any]
OfOperation: TypeAlias = Callable[[Document], Awaitable[Ended]]


@dataclass(frozen=True)
class Operating:
    """The life of an operation of one kind: `asks` is what its resource asks for, once the table has two commits."""

    kind: OperationKind
    asks: Callable[[Arena], Document]
    version: int = 6
    """Table version that the table is made with."""

    def __str__(self) -> str:
        return self.kind

    async def begin(self, arena: Arena, of_operation: OfOperation, *, approved: bool) -> list[str]:
        """Make the table and ingest twice, declare the operation, and return the statuses of the table until then."""
        arena.node.work = working(of_operation, version=self.version)
        statuses = [await created(arena), await ingested(arena)]
        await declare(arena, self.asks(arena), approved=approved)
        return statuses

    async def approve_and_succeed(self, arena: Arena) -> EndState:
        """Carry the operation out once it is approved; then delete it, and the table."""
        statuses = await self.begin(arena, operate, approved=False)
        statuses.append(comparable(await reached(arena, "AwaitingApproval")))
        await approve(arena)
        statuses.append(comparable(await reached(arena, "Succeeded")))
        await arena.transport.request("DELETE", f"{arena.operations}/{BACK}")
        return await _finished(arena, statuses)

    async def delete_what_has_begun(self, arena: Arena) -> EndState:
        """Delete an operation whose driver was killed midway: it is finished first, and then it goes."""
        deleted = asyncio.Event()
        statuses = await self.begin(arena, killed_once(until=deleted), approved=True)

        async def begun() -> bool:
            return (await operation_status(arena)).begun

        await arena.eventually(begun, what="the operation has begun")
        await arena.transport.request("DELETE", f"{arena.operations}/{BACK}")
        deleted.set()
        return await _finished(arena, statuses)

    async def delete_what_may_be_left(self, arena: Arena) -> EndState:
        """Delete an operation whose driver was killed midway, where the table is whole: it goes, and the table on."""
        await arena.allow(retry={"initialDelay": "5m", "maxDelay": "5m"})  # no second run comes before
        statuses = await self.begin(arena, die_midway, approved=True)

        async def retrying() -> bool:
            return (await operation_status(arena)).reason == "Retrying"

        await arena.eventually(retrying, what="the operation is to be tried again")
        await arena.transport.request("DELETE", f"{arena.operations}/{BACK}")
        return await _finished(arena, statuses, is_done=False)


def killed_once(*, until: asyncio.Event) -> OfOperation:
    """Return a driver that is killed midway, and whose later runs carry the operation out once that has happened."""
    runs = iter([die_midway])

    async def work(pod: Document) -> Ended:
        if (run := next(runs, None)) is not None:
            return await run(pod)
        await until.wait()
        return await operate(pod)

    return work


def first_commit(arena: Arena) -> str:
    """The first commit of the table."""
    return arena.lake(NAME).commits()[0]


OPERATIONS: Mapping[OperationKind, Operating] = {
    one.kind: one
    for one in (
        Operating(OperationKind.RESTORE, lambda arena: {"restore": {"instant": first_commit(arena)}}),
        Operating(OperationKind.ROLLBACK, lambda arena: {"rollback": {"instant": arena.lake(NAME).commits()[-1]}}),
        Operating(OperationKind.RUN_SERVICE, lambda _: {"runService": {"service": "Cleaning"}}),
        Operating(OperationKind.REPAIR, lambda _: {"repair": {"rebuildMetadataTable": {}}}),
        Operating(OperationKind.UPGRADE, lambda _: {"upgrade": {"tableVersion": 8}}),
        Operating(OperationKind.DOWNGRADE, lambda _: {"downgrade": {"tableVersion": 6}}, version=8),
        Operating(OperationKind.ERASE, lambda _: {"erase": {"keys": [{"id": "4711"}]}}),
    )
}
"""One life for each kind that there is."""


def lives() -> dict[str, Scenario]:
    """Return what befalls operations of each kind, by its name: approved and done, and killed midway and deleted."""
    found: dict[str, Scenario] = {}
    for kind, one in OPERATIONS.items():
        deleted = one.delete_what_may_be_left if may_be_left(kind) else one.delete_what_has_begun
        found |= {f"{kind}: {life.__name__}": life for life in (one.approve_and_succeed, deleted)}
    return found


def working(of_operation: OfOperation, *, version: int = 6) -> OfOperation:
    """Return a driver that does this for operations, and makes tables of a version."""

    async def work(pod: Document) -> Ended:
        if pod["metadata"]["labels"][SERVICE_LABEL] == Service.OPERATION:
            return await of_operation(pod)
        return await commit(pod, version=version)

    return work


async def declare(arena: Arena, asked: Document | None = None, *, approved: bool, name: str = BACK) -> None:
    """Create a HudiOperation on the table, by default a restore to the first of its commits."""
    asked = asked or OPERATIONS[OperationKind.RESTORE].asks(arena)
    body = {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiOperation",
        "metadata": {"name": name},
        "spec": {"tableRef": {"name": NAME}, "approved": approved, **asked},
    }
    await arena.transport.request("POST", arena.operations, body=body)


async def approve(arena: Arena, name: str = BACK) -> None:
    """Approve an operation."""
    changes = {"spec": {"approved": True}}
    await arena.transport.request("PATCH", f"{arena.operations}/{name}", body=changes, content_type=MERGE_PATCH)


async def operation_of(arena: Arena, name: str = BACK) -> Document | None:
    """Return an operation, or None where it is gone."""
    try:
        return await arena.transport.request("GET", f"{arena.operations}/{name}")
    except NotFound:
        return None


async def operation_status(arena: Arena, name: str = BACK) -> HudiOperationStatus:
    """Return the status of an operation; the empty one where the operation is gone."""
    return HudiOperationStatus.model_validate((await operation_of(arena, name) or {}).get("status") or {})


async def reached(arena: Arena, state: str, name: str = BACK) -> Document:
    """Wait until an operation has come so far, and return its status; one that has failed comes no further."""

    async def look() -> Document | None:
        found = await operation_of(arena, name) or {}
        status: Document = found.get("status") or {}
        read = HudiOperationStatus.model_validate(status)
        if read.state == "Failed":
            pytest.fail(f"the operation {name} has failed: {read.reason}: {read.message}")
        is_told = status.get("observedGeneration") == found["metadata"]["generation"] and read.state == state
        return status if is_told else None

    status: Document = await arena.eventually(look, what=f"the operation {name} is {state}")
    return status


async def gone(arena: Arena, name: str = BACK) -> None:
    """Wait until an operation is gone."""

    async def look() -> bool:
        return await operation_of(arena, name) is None

    await arena.eventually(look, what=f"the operation {name} is gone")


async def _finished(arena: Arena, statuses: list[str], *, is_done: bool = True) -> EndState:
    """Wait until the operation is gone and its table at rest, and compare what it did with what it was to do."""
    await gone(arena)
    # The table forgets what is over once its resource is gone.
    statuses.append(await settled(arena, lambda table: not table["status"]["operations"], what="the table is at rest"))
    records = Journal(arena.folder / "lake" / NAME).read()
    wrong = [] if [(one["changes"], one["done"]) for one in records.values()] == [(1, is_done)] else [f"{records}"]
    # What was removed is no commit of a run any more.
    end = await ended(arena, statuses)
    return replace(end, left_behind=(*end.left_behind, *wrong))
