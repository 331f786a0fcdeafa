"""The steps of "Bad data since 14:00, go back", taken from the page and followed with an operator and a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.pages import blocks, part_of, resources
from tests.faults.arena import arena
from tests.faults.lifecycle import NAME, created, ingested
from tests.faults.operating import operate
from tests.faults.operation import approve, reached, working

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.usefixtures("cluster")]


async def test_a_person_who_follows_the_page_sees_what_would_go_and_has_the_table_back(tmp_path: Path) -> None:
    asked, policy = blocks("operations.md", "yaml")[:2]
    (question,), part = list(resources(asked)), part_of(policy)
    assert part is not None
    async with arena(tmp_path / "go-back") as place:
        place.node.work = working(operate)
        await created(place)
        await ingested(place)
        good, bad = place.lake(NAME).commits()
        await place.allow(**part[1])

        preview = question["metadata"]["name"]
        question["metadata"]["namespace"] = place.namespace
        question["spec"] |= {"tableRef": {"name": NAME}, "restore": {"instant": good}}
        await place.transport.request("POST", place.operations, body=question)
        status = await reached(place, "Succeeded", preview)
        assert (status["report"]["removed"], place.lake(NAME).commits()) == ([bad], [good, bad])

        question["metadata"]["name"] = "go-back"
        assert question["spec"].pop("dryRun") is True
        await place.transport.request("POST", place.operations, body=question)
        await reached(place, "AwaitingApproval", "go-back")
        await approve(place, "go-back")
        status = await reached(place, "Succeeded", "go-back")
        assert place.lake(NAME).commits() == [good]
        assert [one["status"] for one in status["conditions"] if one["type"] == "Ready"] == ["True"]
        assert place.unexpected() == []
