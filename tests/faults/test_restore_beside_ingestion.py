"""A restore over every boundary of a timeline, while files arrive and services run, at which the operator is killed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.faults.arena import Arena, arena
from tests.faults.following import ask
from tests.faults.lifecycle import NAME
from tests.faults.node import Ended, Work
from tests.faults.rows import RowTable, driving
from tests.faults.rules import KILLS, at_write
from tests.faults.savepoint import declare, is_condition
from tests.spark_jobs.services.test_services import NEW_FILES, SMALL
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import Service
from hudi_operator.jobs.names import SERVICE_LABEL

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800), pytest.mark.usefixtures("cluster")]

OFTEN = {
    "orderingFields": ["name"],  # a run may read several files
    "clustering": {"mode": "Async", "trigger": {"commits": 3}, **SMALL["clustering"]},
    "cleaning": {"retainCommits": 1},
    "archival": {"minCommits": 2, "maxCommits": 3},
    **NEW_FILES,
}
"""Services that are due after a few commits; each commit has new files, so that there is something to cluster."""

COMPACTION = {"compaction": {"trigger": {"deltaCommits": 2}}}
FIRST_WRITES = range(1, 16)
"""Which write after the request for the restore meets the fault: about those until it has succeeded."""

Document = dict[str, Any]


def batch(number: int) -> dict[str, str]:
    """The rows of one file: a new one, and new values of some that older files have."""
    keys = (f"new{number}", *(f"c{(number + step) % 10}" for step in (0, 3, 6)))
    return dict.fromkeys(keys, f"{number:04}")


def merged(batches: int) -> list[tuple[str, str]]:
    """The rows of a table that has read so many files, one after the other."""
    return sorted({key: value for number in range(batches) for key, value in batch(number).items()}.items())


@asynccontextmanager
async def delivering(table: RowTable) -> AsyncIterator[list[str]]:
    """Deliver the next file whenever an ingestion has read one, and yield the instants of those that have."""
    read: list[str] = []
    table.deliver("0.csv", batch(0))

    async def deliver() -> None:
        while True:
            await asyncio.sleep(0.5)
            status = (await table.arena.get(table.name) or {}).get("status") or {}
            run = status.get("services", {}).get("ingestion", {}).get("lastRun") or {}
            if run.get("instant") and run["instant"] not in read[-1:]:
                read.append(run["instant"])
                table.deliver(f"{len(read)}.csv", batch(len(read)))

    task = asyncio.create_task(deliver())
    try:
        yield read
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def held(work: Work, table: RowTable, compared: asyncio.Event) -> Work:
    """Return a container whose drivers, but for those of operations, wait after a restore until it was looked at."""

    async def wait(pod: Document) -> Ended:
        is_restored = any(
            file for folder in (".hoodie", ".hoodie/timeline") for file in (table.folder / folder).glob("*.restore")
        )
        if is_restored and pod["metadata"]["labels"][SERVICE_LABEL] != Service.OPERATION:
            await compared.wait()
        return await work(pod)

    return wait


async def saved(place: Arena, name: str) -> str:
    """Make a savepoint on the latest commit, and return that."""
    await declare(place, name, latest=True, keepForever=True)
    await is_condition(place, name, "Ready")
    found = {one["metadata"]["name"]: one for one in await place.items(place.savepoints)}
    return str(found[name]["status"]["instant"])


async def crossed(table: RowTable, actions: list[str], after: str = "") -> None:
    """Wait until each action has completed that was requested after an instant."""
    for action in actions:

        def has_completed(status: Document, action: str = action) -> bool:
            return any(
                one["action"] == action and one["state"] == "COMPLETED" and one["time"] > after
                for one in status.get("timeline", {}).get("instants", ())
            )

        await table.shows(has_completed, what=f"a {action} after {after or 'its creation'}")


def has_archived(status: Document) -> bool:
    """Whether a run has moved instants to the archive."""
    return any((run["service"], run["outcome"]) == ("Archival", "Succeeded") for run in status["history"])


@IN_FULL
@pytest.mark.parametrize(("kind", "version"), [("MergeOnRead", 9), ("CopyOnWrite", 6)], ids=str)
async def test_a_restore_beside_running_ingestion_comes_to_the_rows_of_its_target_and_no_input_is_lost(
    kind: str, version: int, tmp_path: Path, spark: SparkSession, seed: int
) -> None:
    draw, compared = random.Random(seed), asyncio.Event()
    actions = ["clean", "replacecommit", *(["commit"] if kind == "MergeOnRead" else [])]
    services: Document = {**OFTEN, **(COMPACTION if kind == "MergeOnRead" else {})}
    async with arena(tmp_path / "restore") as place:
        table = RowTable(place, spark, NAME)
        place.node.work = held(driving(spark), table, compared)
        async with delivering(table) as read:
            await table.create(every="1s", type=kind, tableVersion=version, metadataTable={"enabled": True}, **services)
            await crossed(table, actions)
            await table.shows(has_archived, what="older commits are archived")
            target = await saved(place, "kept")
            await crossed(table, actions, after=target)
            assert await saved(place, "newer") > target
            expected = merged(sum(instant <= target for instant in read))

            place.proxy.rule = at_write(len(place.proxy.writes) + draw.choice(FIRST_WRITES), draw.choice(KILLS))
            asked = {"restore": {"savepoint": "kept", "newerSavepoints": "Remove"}, "tableRef": {"name": NAME}}
            report = (await ask(place, asked, name="back"))["report"]
            assert (report["target"], report["verified"], report["rowsAfter"]) == (target, True, len(expected))
            assert report["rowsBefore"] > len(expected)
            assert await table.rows() == expected
            compared.set()
            before = len(read)
            await table.shows(lambda _: len(read) > before, what="ingestion goes on")
        stopped = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

        def has_read_all(status: Document) -> bool:
            last = status["services"]["ingestion"].get("lastRun") or {}
            return last.get("outcome") == "NothingToDo" and last["startedAt"] > stopped

        await table.shows(has_read_all, what="nothing is left to read")
        await table.patch(suspend=True)
        await table.shows(lambda status: not status.get("activeJobs"), what="no driver runs")
        assert await table.rows() == merged(len(read) + 1), "as if nothing had been removed"
        assert place.unexpected() == []
