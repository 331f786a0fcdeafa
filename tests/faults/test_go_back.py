"""The steps of "Bad data since 14:00, go back", taken from the page and followed with an operator, drivers and rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.docs.pages import blocks, part_of, resources, section
from tests.faults.arena import arena
from tests.faults.following import ask_first, typed
from tests.faults.rows import RowTable, driving

from hudi_operator.cli.main import execute

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.usefixtures("cluster")]

PAGE = "guides/restore.md"
TEXT = section(PAGE, "go-back")
GOOD = {f"c{number}": "as it was" for number in range(8)}
BAD = {"c6": "overwritten", "c7": "overwritten", "c8": "invented"}
MENDED = {"c7": "newer", "c9": "new"}


async def test_a_person_who_follows_the_page_has_the_good_rows_back_and_no_bad_one(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, policy = blocks(PAGE, "yaml", text=TEXT)
    (question,), part = list(resources(asked)), part_of(policy)
    assert part is not None
    async with arena(tmp_path / "go-back") as place:
        place.node.work = driving(spark)
        await place.allow(**part[1])
        table = RowTable(place, spark, question["spec"]["tableRef"]["name"])
        table.deliver("before-14.csv", GOOD)
        await table.declare()
        bad_file = table.deliver("since-14.csv", BAD)
        await table.ingest()
        assert await table.rows() == sorted({**GOOD, **BAD}.items())

        bad_file.unlink()
        await table.patch(suspend=True)
        status = await table.shows(lambda status: len(status["timeline"]["instants"]) == 2, what="it shows the commits")
        good, bad = (one["time"] for one in status["timeline"]["instants"])
        assert execute(["timeline", str(table.folder)]) == 0
        printed = capsys.readouterr().out
        assert (good in printed, bad in printed) == (True, True)

        spec = question["spec"] | {"restore": {"instant": good}}
        assert spec["dryRun"] is True
        would, done = await ask_first(place, spec, name="go-back", dry=question["metadata"]["name"])
        assert would["report"]["removed"] == [bad]
        listed, _ = await typed(place, PAGE, TEXT)
        assert {"before-the-bad-data", "go-back"} <= {line.split()[0] for line in listed.splitlines()[1:]}
        assert (done["report"]["verified"], done["report"]["rowsAfter"]) == (True, len(GOOD))
        assert await table.rows() == sorted(GOOD.items())

        table.deliver("since-14-mended.csv", MENDED)
        await table.patch(suspend=False)
        await table.ingest()
        assert await table.rows() == sorted({**GOOD, **MENDED}.items())
        assert place.unexpected() == []
