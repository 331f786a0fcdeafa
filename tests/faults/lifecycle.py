"""The life of one table, from its creation to its deletion, and what must be true of it whatever goes wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults.arena import Arena
from tests.faults.driver import never_end

NAME = "life"

Document = dict[str, Any]

_TIMES = frozenset({"lastTransitionTime", "startedAt", "finishedAt", "completedAt", "nextRunAt", "nextAttemptAt"})
_MEASURED = frozenset({"cost", "costs"})
"""What runs cost, which depends on how long each of them took."""

_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\b\d{17}\b"), "INSTANT"),
    (re.compile(r"-\d{14}\b"), "-MOMENT"),
    (re.compile(r"-[0-9a-f]{10}\b"), "-HASH"),
    (re.compile(r"faults-[0-9a-f]{8}"), "NAMESPACE"),
    (re.compile(r"file:///\S+/lake/"), "FOLDER/"),
)


@dataclass(frozen=True, kw_only=True)
class EndState:
    """What a scenario leaves, without times, uids and names that differ between any two runs of it."""

    statuses: tuple[str, ...]
    """The status of the table after each step."""

    jobs: int
    commits: int
    runs: int
    """Different runs among the commits."""

    left_behind: tuple[str, ...]
    overlaps: tuple[str, ...]
    """Drivers that started while another one of the same table ran."""

    errors: tuple[str, ...]
    """What the operator logged as its own error."""

    def wrong(self) -> list[str]:
        """Return what must not be, whatever has happened."""
        found = [*self.left_behind, *self.overlaps, *self.errors]
        if not self.jobs >= self.runs == self.commits:
            found.append(f"{self.commits} commits by {self.runs} runs of {self.jobs} Jobs")
        return found


Scenario = Callable[[Arena], Awaitable[EndState]]


async def live(arena: Arena) -> EndState:
    """Create, ingest, update, suspend, resume and delete a table, and return what there is to compare."""
    statuses = [await created(arena), await ingested(arena)]
    statuses.append(await _changed(arena, {"spec": {"ingestion": {"source": {"files": {"maxFilesPerRun": 7}}}}}))
    statuses.append(await _changed(arena, {"spec": {"suspend": True}}))
    statuses.append(await _changed(arena, {"spec": {"suspend": False}}))
    return await ended(arena, statuses)


async def delete_while_running(arena: Arena) -> EndState:
    """Create a table and delete it while its first run is under way."""
    arena.node.work = never_end
    await arena.declare(NAME)

    async def running() -> bool:
        jobs = ((await arena.get(NAME) or {}).get("status") or {}).get("activeJobs") or ()
        return any(job["state"] == "Running" for job in jobs)

    await arena.eventually(running, what="the first run is under way, and status says so")
    return await ended(arena, ())


async def ended(arena: Arena, statuses: Sequence[str], *, tables: Sequence[str] = (NAME,)) -> EndState:
    """Delete the tables, and return what there is to compare then."""
    jobs = await arena.jobs()
    await _delete(arena, tables)
    runs = [run for name in tables for run in arena.lake(name).runs()]
    return EndState(
        statuses=tuple(statuses),
        jobs=len(jobs),
        commits=len(runs),
        runs=len(set(runs)),
        left_behind=tuple(await _left_behind(arena)),
        overlaps=tuple(arena.node.overlaps),
        errors=tuple(arena.unexpected()),
    )


async def created(arena: Arena, name: str = NAME, **spec: Any) -> str:
    """Create a table, and return its status once the first run has succeeded."""
    await arena.declare(name, **spec)
    return await settled(arena, lambda table: _succeeded(table) >= 1, what=f"the first run of {name}", name=name)


async def ingested(arena: Arena) -> str:
    await arena.patch(NAME, {"metadata": {"annotations": {"hudi-operator.io/requested-at": "now"}}})

    def ended(table: Document) -> bool:
        return table["status"].get("lastHandledReconcileAt") == "now" and _succeeded(table) >= 2

    return await settled(arena, ended, what="the run that was asked for")


async def _changed(arena: Arena, changes: Document) -> str:
    await arena.patch(NAME, changes)
    return await settled(arena, lambda _: True, what=f"the change {changes}")


async def _delete(arena: Arena, tables: Sequence[str]) -> None:
    """Delete the tables and wait until they are gone, with all that belonged to them."""
    for name in tables:
        await arena.transport.request("DELETE", f"{arena.tables}/{name}")

    async def gone() -> bool:
        return not await arena.items(arena.tables) and not await _left_behind(arena)

    await arena.eventually(gone, what="the tables and all that belongs to them are gone")


async def _left_behind(arena: Arena) -> list[str]:
    """Return what is there although no table is."""
    found = {"job": await arena.jobs(), "pod": await arena.pods(), "claim": await arena.claims()}
    return [f"{kind} {one['metadata']['name']}" for kind, ones in found.items() for one in ones]


async def settled(arena: Arena, until: Callable[[Document], bool], *, what: str, name: str = NAME) -> str:
    """Wait until the status speaks of the present spec and nothing is under way, and return it in comparable form."""

    async def look() -> Document | None:
        table = await arena.get(name)
        status = (table or {}).get("status") or {}
        if table is None or status.get("observedGeneration") != table["metadata"]["generation"]:
            return None
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status["conditions"])
        return status if ready and not status.get("activeJobs") and until(table) else None

    return comparable(await arena.eventually(look, what=what))


def comparable(status: Document) -> str:
    """Return a status without what differs between any two runs of a scenario."""
    text = json.dumps(_without_times(status), indent=1, sort_keys=True)
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(one) for key, one in value.items() if key not in _TIMES | _MEASURED}
    return [_without_times(one) for one in value] if isinstance(value, list) else value


def _succeeded(table: Document) -> int:
    return sum(run["outcome"] == "Succeeded" for run in table["status"].get("history") or ())
