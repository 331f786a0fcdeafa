"""The lives of savepoints: kept and deleted, handed from one resource to another, expired, and made by a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.faults.arena import Arena
from tests.faults.lifecycle import NAME, EndState, Scenario, comparable, created, ended, ingested, settled
from tests.faults.operating import Journal
from tests.faults.saving import keep, killed_once, working

from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.transport import MERGE_PATCH

Document = dict[str, Any]

LATEST = {"latest": True, "keepForever": True}
EVERY_MINUTE = {"schedule": {"cron": "* * * * *"}, "keepLast": 1}


async def keep_and_delete(arena: Arena) -> EndState:
    """Make a savepoint, where the driver is killed midway; the deletion of its resource removes it."""
    arena.node.work = working(killed_once())
    statuses = [await created(arena)]
    await declare(arena, "saved", **LATEST)
    statuses += [await is_condition(arena, "saved", "Ready"), await _seen(arena)]
    await delete(arena, "saved")
    statuses.append(await settled(arena, _has_none, what="the savepoint is gone"))
    return await _finished(arena, statuses, made=1, removed=1)


async def hand_over(arena: Arena) -> EndState:
    """Retain what was made, adopt it and leave it, adopt it again and remove it: no second one is ever made."""
    arena.node.work = working(keep)
    statuses = [await created(arena)]
    await declare(arena, "maker", **LATEST, deletionPolicy="Retain")
    statuses.append(await is_condition(arena, "maker", "Ready"))
    await delete(arena, "maker")
    (instant,) = arena.lake(NAME).savepoints()
    for name, policy in (("adopter", {}), ("taker", {"deletionPolicy": "Delete"})):
        statuses.append(await settled(arena, _is_of_nobody, what=f"the savepoint is of nobody before {name}"))
        await declare(arena, name, instant=instant, keepForever=True, **policy)
        statuses.append(await is_condition(arena, name, "Ready"))
        await delete(arena, name)
    statuses.append(await settled(arena, _has_none, what="the savepoint is gone"))
    return await _finished(arena, statuses, made=1, removed=1)


async def expire(arena: Arena) -> EndState:
    """Let the time of a savepoint end: it is removed, and its resource stays until it is deleted."""
    arena.node.work = working(keep)
    statuses = [await created(arena)]
    await declare(arena, "short", **LATEST)
    statuses.append(await is_condition(arena, "short", "Ready"))
    # It counts from the creation on: set before, it could end before a killed operator has had it made.
    await _change(arena, "short", keepForever=None, expiresAfter="1m")
    statuses.append(await is_condition(arena, "short", "Expired"))
    statuses.append(await _seen(arena))
    await delete(arena, "short")
    statuses.append(await settled(arena, _has_none, what="the table forgets the savepoint"))
    return await _finished(arena, statuses, made=1, removed=1)


async def schedule(arena: Arena) -> EndState:
    """Have one savepoint by a schedule, and after the next commit another in its place."""
    arena.node.work = working(keep)
    statuses = [await created(arena)]
    await arena.patch(NAME, {"spec": {"savepoints": EVERY_MINUTE}})
    first = await _scheduled(arena)
    statuses.append(await is_condition(arena, first, "Ready"))
    await ingested(arena)  # when the minute ends is not told: what the table says then is not compared
    second = await _scheduled(arena, but=first)
    statuses += [await is_condition(arena, second, "Ready"), await _seen(arena)]
    await arena.patch(NAME, {"spec": {"savepoints": None}})
    statuses.append(await _seen(arena))
    await delete(arena, second)
    statuses.append(await settled(arena, _has_none, what="the savepoint is gone"))
    return await _finished(arena, statuses, made=2, removed=2)


async def declare(arena: Arena, name: str, **spec: Any) -> None:
    """Create a HudiSavepoint of the table."""
    body = {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiSavepoint",
        "metadata": {"name": name},
        "spec": {"tableRef": {"name": NAME}, **spec},
    }
    await arena.transport.request("POST", arena.savepoints, body=body)


async def _change(arena: Arena, name: str, **spec: Any) -> None:
    body = {"spec": spec}
    await arena.transport.request("PATCH", f"{arena.savepoints}/{name}", body=body, content_type=MERGE_PATCH)


async def delete(arena: Arena, name: str) -> None:
    """Delete a HudiSavepoint, and wait until it is gone."""
    await arena.transport.request("DELETE", f"{arena.savepoints}/{name}")

    async def gone() -> bool:
        return await _savepoint(arena, name) is None

    await arena.eventually(gone, what=f"the savepoint {name} is gone")


async def is_condition(arena: Arena, name: str, kind: str) -> str:
    """Wait until a condition of a HudiSavepoint is true, and return its status in comparable form."""

    async def look() -> Document | None:
        status: Document = (await _savepoint(arena, name) or {}).get("status") or {}
        found = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
        return status if kind in found and "Reconciling" not in found else None

    return comparable(await arena.eventually(look, what=f"the savepoint {name} is {kind}"))


async def _savepoint(arena: Arena, name: str) -> Document | None:
    try:
        return await arena.transport.request("GET", f"{arena.savepoints}/{name}")
    except NotFound:
        return None


async def _scheduled(arena: Arena, *, but: str | None = None) -> str:
    """Wait until there is one HudiSavepoint, and not this one, and return its name."""

    async def look() -> str | None:
        names = [str(one["metadata"]["name"]) for one in await arena.items(arena.savepoints)]
        return names[0] if len(names) == 1 and names[0] != but else None

    name: str = await arena.eventually(look, what="there is one savepoint of the schedule")
    return name


async def _seen(arena: Arena) -> str:
    return await settled(arena, _has_one, what="the table is at rest, and has one savepoint")


def _has_one(table: Document) -> bool:
    return len(table["status"].get("savepoints") or ()) == 1


def _has_none(table: Document) -> bool:
    return not table["status"].get("savepoints")


def _is_of_nobody(table: Document) -> bool:
    return ["resource" in one for one in table["status"].get("savepoints") or ()] == [False]


async def _finished(arena: Arena, statuses: Sequence[str], *, made: int, removed: int) -> EndState:
    """Delete the table, and compare what drivers did with what they were to do."""
    records = Journal(arena.folder / "lake" / NAME).read().values()
    did = tuple(sum(one.get(what, 0) for one in records) for what in ("made", "removed"))
    left = (*(f"savepoint {one}" for one in arena.lake(NAME).savepoints()),)
    wrong = () if did == (made, removed) else (f"{did} savepoints were made and removed: {records}",)
    end = await ended(arena, statuses)
    return replace(end, left_behind=(*end.left_behind, *left, *wrong))


SAVEPOINTS: Mapping[str, Scenario] = {
    f"Savepoint: {life.__name__}": life for life in (keep_and_delete, hand_over, expire, schedule)
}
"""What befalls savepoints, by its name."""

LONG = frozenset({f"Savepoint: {life.__name__}" for life in (expire, schedule)})
"""Those in which a minute passes."""
