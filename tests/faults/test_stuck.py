"""The steps of "The table is stuck", taken from the page and followed with an operator and a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import blocks, part_of, section, table_rows
from tests.faults.arena import Arena, arena
from tests.faults.following import ask_first, condition
from tests.faults.lifecycle import NAME, created, ingested, settled
from tests.faults.operating import operate
from tests.faults.operation import working

from hudi_operator.api.spec.operation_kinds.repair import REPAIR_FIELDS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

PAGE = "operations.md"
ROWS = table_rows(section(PAGE, "stuck"))
CLUSTER = b'{"operationType": "CLUSTER"}'

Document = dict[str, Any]


def test_the_table_of_the_page_has_a_row_for_every_repair() -> None:
    named = {word for row in ROWS for word in re.findall(r"`repair\.(\w+)`", row[2])}
    assert named == set(REPAIR_FIELDS.values())


def row(seen: str) -> list[str]:
    """The row that begins with what a person sees."""
    (found,) = (one for one in ROWS if one[0].startswith(seen))
    return found


def repair(answer: str, instant: str) -> Document:
    """What a row says to create, by the block of the page that shows how a step is written."""
    (field,) = re.findall(r"`repair\.(\w+)` with the instant", answer)
    shown = [part for block in blocks(PAGE, "yaml") if (part := part_of(block)) is not None]
    (spec,) = (part for kind, part in shown if kind == "HudiOperation" and "repair" in part)
    return {**spec, "repair": {field: {"instant": instant}}}


@pytest.mark.usefixtures("cluster")
async def test_a_person_who_follows_the_page_gets_a_stuck_table_to_work_again(tmp_path: Path) -> None:
    async with arena(tmp_path / "stuck") as place:
        place.node.work = working(operate)
        await created(place)
        await dead_tool(place)
        await plan_that_cannot_be_read(place)
        await plan_that_nothing_executes(place)
        await ingested(place)
        assert place.unexpected() == []


async def dead_tool(place: Arena) -> None:
    """A tool has begun a write and died: what is due waits, and says for what."""
    _, _, answer = row("`WaitingForOther`")
    left = place.lake(NAME).begin()
    await place.patch(NAME, {"metadata": {"annotations": {"hudi-operator.io/requested-at": "stuck"}}})

    async def waits() -> bool:
        status = ((await place.get(NAME)) or {})["status"]
        waiting = {one.get("reason") for one in status["services"].values() if isinstance(one, dict)}
        return "WaitingForOther" in waiting and left in {one["time"] for one in status["timeline"]["pending"]}

    await place.eventually(waits, what="the table says that it waits, and for which instant")
    would, done = await ask_first(place, repair(answer, left), name="dead-tool")
    assert (would["instant"], done["instant"], done["verified"]) == (left, left, True)
    await at_rest(place)
    assert len(place.lake(NAME).commits()) == 2, "what was due has run"


async def plan_that_cannot_be_read(place: Arena) -> None:
    """A plan was written halfway; the drivers of the table's services do not get by it."""
    _, _, answer = row("a service fails at each attempt")
    left = place.lake(NAME).begin_action("compaction.requested", content=b"half a pl")

    async def shown() -> bool:
        status = ((await place.get(NAME)) or {})["status"]
        return left in {one["time"] for one in status["timeline"]["pending"]}

    await place.eventually(shown, what="the status names the plan")
    would, done = await ask_first(place, repair(answer, left), name="half-a-plan")
    assert (would["instant"], done["instant"]) == (left, left)
    await at_rest(place)


async def plan_that_nothing_executes(place: Arena) -> None:
    """A plan of a service that the table has as Disabled is run once."""
    _, cause, answer = row("a plan is pending and nothing executes it")
    assert ("`Disabled`" in cause, "`runService`" in answer) == (True, True)
    left = place.lake(NAME).begin_action("replacecommit.requested", content=CLUSTER)

    async def shown() -> bool:
        status = ((await place.get(NAME)) or {})["status"]
        return left in {one["time"] for one in status["timeline"]["pending"]}

    await place.eventually(shown, what="the status names the plan")
    would, done = await ask_first(place, {"runService": {"service": "Clustering"}}, name="finish-the-plan")
    assert (would["instant"], done["instant"]) == (left, left)
    await at_rest(place)


async def at_rest(place: Arena) -> None:
    """Nothing is pending, and the table is ready."""

    def works(table: Document) -> bool:
        status = table["status"]
        return not status["timeline"]["pending"] and status.get("lastHandledReconcileAt") == "stuck"

    await settled(place, works, what="the table works again")
    assert (await condition(place))["status"] == "True"
