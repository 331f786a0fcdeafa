"""The lives of an erasure that goes on to a table which reads its own, and from there to the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.faults.arena import Arena
from tests.faults.lifecycle import NAME, EndState, Scenario, comparable, created, ended, settled
from tests.faults.node import Ended
from tests.faults.operating import Journal, operate
from tests.faults.operation import (
    BACK,
    OfOperation,
    approve,
    declare,
    killed_once,
    operation_of,
    operation_status,
    reached,
    working,
)

from hudi_jobs.contract import JobRequest
from hudi_operator.jobs.names import REQUEST_ANNOTATION

COPY, BEHIND = "copy", "behind"
TABLES = (NAME, COPY, BEHIND)
CASCADE = {"erase": {"keys": [{"id": "4711"}], "cascade": True}}

Document = dict[str, Any]


async def cascade_to_the_end(arena: Arena) -> EndState:
    """Erase from all three tables: each has one operation, which erases once; they go with the first."""
    statuses = await _begin(arena, operate, approved=False)
    statuses.append(comparable(await reached(arena, "AwaitingApproval")))
    await approve(arena)
    statuses.append(comparable(await reached(arena, "Succeeded")))
    found = {one["spec"]["tableRef"]["name"]: one for one in await arena.items(arena.operations)}
    assert found.keys() == set(TABLES)
    statuses += [comparable(found[name]["status"]) for name in (COPY, BEHIND)]
    await arena.transport.request("DELETE", f"{arena.operations}/{BACK}")
    return await _finished(arena, statuses, done=TABLES)


async def cascade_is_deleted(arena: Arena) -> EndState:
    """Delete the first operation while the second has begun: that is finished, and none is made for the third."""
    deleted = asyncio.Event()
    statuses = await _begin(arena, _on(COPY, killed_once(until=deleted)), approved=True)

    async def going_on() -> str | None:
        if (await operation_status(arena)).reason != "Cascading":
            return None
        for one in await arena.items(arena.operations):
            name = str(one["metadata"]["name"])
            if one["spec"]["tableRef"]["name"] == COPY and (await operation_status(arena, name)).begun:
                return name
        return None

    second = await arena.eventually(going_on, what=f"the erasure from {COPY} has begun")
    await arena.transport.request("DELETE", f"{arena.operations}/{BACK}")

    async def going() -> bool:
        return "deletionTimestamp" in ((await operation_of(arena, second)) or {"metadata": {}})["metadata"]

    await arena.eventually(going, what="the second operation is deleted with the first")
    deleted.set()
    return await _finished(arena, statuses, done=(NAME, COPY))


async def _begin(arena: Arena, of_operation: OfOperation, *, approved: bool) -> list[str]:
    """Make the three tables, and declare the erasure."""
    arena.node.work = working(of_operation)
    await arena.allow(allowedSourcePaths=[f"file://{arena.folder}/{name}" for name in ("landing", "lake")])
    statuses = [await created(arena)]
    for name, read in ((COPY, NAME), (BEHIND, COPY)):
        source = {"hudi": {"path": f"file://{arena.folder}/lake/{read}"}}
        ingestion = {"source": source, "operation": "Upsert", "schedule": {"every": "24h"}}
        statuses.append(await created(arena, name, ingestion=ingestion))
    await declare(arena, CASCADE, approved=approved)
    return statuses


def _on(table: str, work: OfOperation) -> OfOperation:
    """Return a driver that does this on one table, and simply operates on the others."""

    async def chosen(pod: Document) -> Ended:
        request = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])
        return await (work if request.tasks[0].table.name == table else operate)(pod)

    return chosen


async def _finished(arena: Arena, statuses: list[str], *, done: tuple[str, ...]) -> EndState:
    """Wait until the operations are gone and the tables at rest, and see that each was changed once, or not at all."""

    async def gone() -> bool:
        return not await arena.items(arena.operations)

    await arena.eventually(gone, what="the operations are gone")
    statuses += [await settled(arena, _is_over, what=f"the table {name} is at rest", name=name) for name in TABLES]
    wrong = []
    for name in TABLES:
        records = Journal(arena.folder / "lake" / name).read().values()
        if [(one["changes"], one["done"]) for one in records] != [(1, True)] * (name in done):
            wrong.append(f"{name}: {records}")
    end = await ended(arena, statuses, tables=TABLES)
    return replace(end, left_behind=(*end.left_behind, *wrong))


def _is_over(table: Document) -> bool:
    return not table["status"]["operations"]


CASCADES: Mapping[str, Scenario] = {
    f"Cascade: {life.__name__}": life for life in (cascade_to_the_end, cascade_is_deleted)
}
"""What befalls such an erasure, by its name."""
