"""The life of an operation, from Pending to its end, and what must be true of it and its table whatever goes wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.faults.arena import Arena
from tests.faults.driver import commit
from tests.faults.lifecycle import NAME, EndState, comparable, created, ended, ingested, settled
from tests.faults.node import Ended
from tests.faults.operating import Journal, die_while_restoring, operate

from hudi_jobs.contract import Service
from hudi_operator.jobs.names import SERVICE_LABEL
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.transport import MERGE_PATCH

BACK = "back"

Document = dict[str, Any]


async def approve_and_succeed(arena: Arena) -> EndState:
    """Restore a table to its first commit once that is approved; then delete the operation, and the table."""
    arena.node.work = working(operate)
    statuses = [await created(arena), await ingested(arena)]
    await declare(arena, approved=False)
    statuses.append(comparable(await reached(arena, "AwaitingApproval")))
    await approve(arena)
    statuses.append(comparable(await reached(arena, "Succeeded")))
    await arena.transport.request("DELETE", f"{arena.operations}/{BACK}")
    return await _finished(arena, statuses)


async def delete_what_has_begun(arena: Arena) -> EndState:
    """Delete an operation whose driver was killed while it restored: it is finished first, and then it goes."""
    arena.node.work = working(die_while_restoring)
    statuses = [await created(arena), await ingested(arena)]
    await declare(arena, approved=True)

    async def begun() -> bool:
        return bool((await _operation(arena) or {}).get("status", {}).get("begun"))

    await arena.eventually(begun, what="the operation has begun")
    await arena.transport.request("DELETE", f"{arena.operations}/{BACK}")
    arena.node.work = working(operate)
    return await _finished(arena, statuses)


def working(of_operation: Any) -> Any:
    async def work(pod: Document) -> Ended:
        labels = pod["metadata"]["labels"]
        ended_as: Ended = await (of_operation if labels[SERVICE_LABEL] == Service.OPERATION else commit)(pod)
        return ended_as

    return work


async def declare(arena: Arena, *, approved: bool) -> None:
    (first, _) = arena.lake(NAME).commits()
    spec = {"tableRef": {"name": NAME}, "restore": {"instant": first}, "approved": approved}
    body = {
        "apiVersion": "hudi-operator.io/v1alpha1",
        "kind": "HudiOperation",
        "metadata": {"name": BACK},
        "spec": spec,
    }
    await arena.transport.request("POST", arena.operations, body=body)


async def approve(arena: Arena, name: str = BACK) -> None:
    """Approve an operation."""
    changes = {"spec": {"approved": True}}
    await arena.transport.request("PATCH", f"{arena.operations}/{name}", body=changes, content_type=MERGE_PATCH)


async def _operation(arena: Arena, name: str = BACK) -> Document | None:
    try:
        return await arena.transport.request("GET", f"{arena.operations}/{name}")
    except NotFound:
        return None


async def reached(arena: Arena, phase: str, name: str = BACK) -> Document:
    """Wait until an operation has come so far, and return its status."""

    async def look() -> Document | None:
        found = await _operation(arena, name) or {}
        status: Document = found.get("status") or {}
        is_told = status.get("observedGeneration") == found["metadata"]["generation"] and status.get("phase") == phase
        return status if is_told else None

    status: Document = await arena.eventually(look, what=f"the operation {name} is {phase}")
    return status


async def _finished(arena: Arena, statuses: list[str]) -> EndState:
    """Wait until the operation is gone and its table at rest, and compare what it did with what it was to do."""

    async def gone() -> bool:
        return await _operation(arena) is None

    await arena.eventually(gone, what="the operation is gone")
    # The table forgets what is over once its resource is gone.
    statuses.append(await settled(arena, lambda table: not table["status"]["operations"], what="the table is at rest"))
    records = Journal(arena.folder / "lake" / NAME).read()
    wrong = [] if [(one["changes"], one["done"]) for one in records.values()] == [(1, True)] else [f"{records}"]
    # What was removed is no commit of a run any more.
    end = await ended(arena, statuses)
    return replace(end, left_behind=(*end.left_behind, *wrong))
