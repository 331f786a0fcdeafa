"""The steps of "The table is stuck", taken from the page and followed with an operator, drivers and rows."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.docs.pages import blocks, part_of, section, table_rows
from tests.faults.arena import arena
from tests.faults.following import ask_first
from tests.faults.rows import RowTable, driving
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import Service
from hudi_jobs.table_services.client import write_client
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.api.spec.operation_kinds.repair import REPAIR_FIELDS
from hudi_operator.jobs.settings.hudi_options import owned_hudi_options

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

PAGE = "guides/repair.md"
ROWS = table_rows(section(PAGE, "stuck"))
AN_HOUR = 3_600

Document = dict[str, Any]


def test_the_table_of_the_page_has_a_row_for_every_repair() -> None:
    named = {word for row in ROWS for word in re.findall(r"`repair\.(\w+)`", row[2])}
    assert named == set(REPAIR_FIELDS.values())


def row(seen: str) -> list[str]:
    """The row that begins with what a person sees."""
    (found,) = (one for one in ROWS if one[0].startswith(seen))
    return found


def repair(table: RowTable, answer: str, **fields: str) -> Document:
    """What a row says to create, by the block of the page that shows how a step is written."""
    (field,) = re.findall(r"`repair\.(\w+)`", answer)
    shown = [part for block in blocks(PAGE, "yaml") if (part := part_of(block)) is not None]
    (spec,) = (part for kind, part in shown if kind == "HudiOperation" and "repair" in part)
    return {**spec, "tableRef": {"name": table.name}, "repair": {field: fields}}


@pytest.mark.usefixtures("cluster")
async def test_a_person_who_follows_the_page_gets_a_stuck_table_to_ingest_again(
    tmp_path: Path, spark: SparkSession
) -> None:
    async with arena(tmp_path / "stuck") as place:
        place.node.work = driving(spark)
        table = RowTable(place, spark, "stuck")
        table.deliver("first.csv", {"c1": "first", "c2": "first"})
        await table.declare(fileSizing={"smallFileLimit": "0"})  # a clustering takes two files at least
        await dead_tool(table)
        await plan_that_cannot_be_read(table)
        await plan_that_nothing_executes(table)
        expected = {"c1": "first", "c2": "behind the dead tool", "c3": "behind the plan", "c4": "at the end"}
        table.deliver("last.csv", {"c4": "at the end"})
        await table.ingest()
        assert await table.rows() == sorted(expected.items())
        assert place.unexpected() == []


@IN_FULL  # otherwise `tests/spark_jobs/operations/repair` has these steps, without an operator
@pytest.mark.usefixtures("cluster")
async def test_a_person_who_follows_the_page_mends_a_table_as_a_whole(tmp_path: Path, spark: SparkSession) -> None:
    async with arena(tmp_path / "mended") as place:
        place.node.work = driving(spark)
        table = RowTable(place, spark, "mended")
        table.deliver("first.csv", {"c1": "1", "c2": "1"})
        await table.declare(orderingFields=["name"])
        await doubled_rows(table)
        await file_of_no_commit(table)
        await damaged_properties(table)
        await lost_metadata_table(table)
        table.deliver("last.csv", {"c3": "3"})
        await table.ingest()
        assert await table.rows() == [("c1", "2"), ("c2", "1"), ("c3", "3")]
        assert place.unexpected() == []


async def doubled_rows(table: RowTable) -> None:
    """A write that looked up no keys has brought a newer row of a key, and the older one is there as well."""
    _, _, answer = row("several rows have the same key")
    await table.patch(ingestion={"operation": "BulkInsert"})
    table.deliver("doubled.csv", {"c1": "2"})
    await table.ingest()
    await table.patch(ingestion={"operation": "Upsert"})
    assert await table.rows() == [("c1", "1"), ("c1", "2"), ("c2", "1")]
    would, done = await ask_first(table.arena, repair(table, answer), name="doubled")
    assert (would["report"]["count"], done["report"]["count"]) == (1, 1)
    assert await table.rows() == [("c1", "2"), ("c2", "1")]


async def file_of_no_commit(table: RowTable) -> None:
    """A base file is there whose instant no timeline knows."""
    _, _, answer = row("the table has files that no commit names")
    file = orphan(table)
    would, done = await ask_first(table.arena, repair(table, answer, olderThan="1h"), name="orphans")
    assert (would["report"]["count"], done["report"]["count"], file.exists()) == (1, 1, False)


async def damaged_properties(table: RowTable) -> None:
    """A tool died while it wrote `hoodie.properties`: the operator reads the backup, and says so."""
    _, _, answer = row("`status.timeline.problems`: `hoodie.properties` is missing")
    properties = table.folder / ".hoodie/hoodie.properties"
    whole = properties.read_text()
    properties.with_name("hoodie.properties.backup").write_text(whole)
    properties.write_text(whole[: len(whole) // 2])
    properties.with_name(f".{properties.name}.crc").unlink(missing_ok=True)  # of local files alone
    made_old(table.folder)
    await table.shows(lambda status: bool(status["timeline"].get("problems")), what="it says what is damaged")
    await ask_first(table.arena, repair(table, answer), name="properties")
    assert sorted(properties.read_text().splitlines()) == sorted(whole.splitlines())
    await table.shows(lambda status: not status["timeline"].get("problems"), what="nothing is damaged any more")


async def lost_metadata_table(table: RowTable) -> None:
    """The folder of the metadata table was removed: runs fail, and it is made again."""
    _, _, answer = row("`TableMismatch`: there is no metadata table")
    await table.patch(metadataTable={"enabled": True})
    table.deliver("with-metadata.csv", {"c2": "1"})
    await table.ingest()
    folder = table.folder / ".hoodie/metadata"
    shutil.rmtree(folder)
    _, done = await ask_first(table.arena, repair(table, answer), name="metadata")
    assert (done["report"]["verified"], (folder / ".hoodie/hoodie.properties").exists()) == (True, True)


async def dead_tool(table: RowTable) -> None:
    """A tool has begun a write and died, with a file: what is due waits, and says for what."""
    _, _, answer = row("`WaitingForOther`")
    left = table.timeline.begin()
    file = half_written(table, left)
    made_old(table.folder)
    table.deliver("second.csv", {"c2": "behind the dead tool"})
    request = await table.ask_for_run()

    def waits(status: Document) -> bool:
        waiting = {one.get("reason") for one in status["services"].values() if isinstance(one, dict)}
        return "WaitingForOther" in waiting and left in {one["time"] for one in status["timeline"]["pending"]}

    await table.shows(waits, what="it says that it waits, and for which instant")
    would, done = await ask_first(table.arena, repair(table, answer, instant=left), name="dead-tool")
    assert (would["report"]["instant"], done["report"]["instant"]) == (left, left)
    assert done["report"]["verified"] is True
    assert not file.exists(), "what the dead tool had written is gone"
    await table.answered(request)
    assert await table.rows() == [("c1", "first"), ("c2", "behind the dead tool")]


async def plan_that_cannot_be_read(table: RowTable) -> None:
    """A plan was written halfway; the drivers of the table's services do not get by it."""
    _, _, answer = row("a service fails at each attempt")
    left = table.timeline.begin_action("compaction.requested", content=b"half a pl")
    made_old(table.folder)
    await table.shows(lambda status: left in pending(status), what="it names the plan")
    table.deliver("third.csv", {"c3": "behind the plan"})
    would, done = await ask_first(table.arena, repair(table, answer, instant=left), name="half-a-plan")
    assert (would["report"]["instant"], done["report"]["instant"]) == (left, left)
    await table.ingest()
    assert ("c3", "behind the plan") in await table.rows()


async def plan_that_nothing_executes(table: RowTable) -> None:
    """A plan of a service that the table has as Disabled is run once."""
    _, cause, answer = row("a plan is pending and nothing executes it")
    assert ("`Disabled`" in cause, "`runService`" in answer) == (True, True)
    before = await table.rows()
    await plan_a_clustering(table)
    status = await table.shows(lambda status: bool(pending(status)), what="it names the plan")
    (left,) = pending(status)
    spec = {"tableRef": {"name": table.name}, "runService": {"service": "Clustering"}}
    would, done = await ask_first(table.arena, spec, name="finish-the-plan")
    assert (would["report"]["instant"], done["report"]["count"]) == (left, 2)
    await table.works(lambda status: not pending(status), what="nothing is pending any more")
    assert await table.rows() == before


def pending(status: Document) -> list[str]:
    """The pending instants that a status shows."""
    return [one["time"] for one in status["timeline"].get("pending") or ()]


def half_written(table: RowTable, instant: str) -> Path:
    """Put a base file where a dead writer leaves one, with the marker by which Hudi knows it; return the file."""
    name = f"{'0' * 8}-0000-0000-0000-{'0' * 12}-0_0-0-0_{instant}.parquet"
    source = next(table.folder.glob("*.parquet"))
    shutil.copy(source, table.folder / name)
    marker = table.folder / ".hoodie/.temp" / instant / f"{name}.marker.CREATE"
    marker.parent.mkdir(parents=True)
    marker.touch()
    return table.folder / name


def orphan(table: RowTable) -> Path:
    """Put a base file there, an hour old, whose instant no timeline knows; return the file."""
    left = table.timeline.begin()
    file = half_written(table, left)
    for named in table.folder.glob(f".hoodie/**/{left}.*"):
        named.unlink()
    made_old(table.folder)
    return file


def made_old(folder: Path) -> None:
    """Date all files of a table an hour back: what has just been written may be somebody's work."""
    then = time.time() - AN_HOUR
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


async def plan_a_clustering(table: RowTable) -> None:
    """Leave a plan as a tool does that makes one and executes none: it names no run of the operator."""
    resource = parse_table(await table.arena.get(table.name) or {})
    assert isinstance(resource, HudiTable)
    options = owned_hudi_options(resource, Service.CLUSTERING)

    def plan() -> str | None:
        with write_client(table.spark, f"file://{table.folder}", options) as client:
            return client.schedule_clustering({})

    assert await asyncio.to_thread(plan)
