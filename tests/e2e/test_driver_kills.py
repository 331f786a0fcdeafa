"""A driver that is killed: nothing is lost, nothing is done twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.processes import DriverProcess, image_that_stops_at, remove_images
from tests.e2e.stage import METADATA_TABLE, WITHOUT_SERVICES, Stage, Table
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.phases import Phase

pytestmark = pytest.mark.e2e

CLASS = "e2e-killed"
WRITING = "writing"
"""While Hudi writes, the first time: what is then in the store is not committed."""

MOMENTS = (Phase.STARTED, Phase.READ, WRITING, Phase.AFTER_COMMIT, Phase.BEFORE_OUTCOME)
COMMITTED = {Phase.AFTER_COMMIT, Phase.BEFORE_OUTCOME}


@pytest.fixture(autouse=True)
def _forget_images() -> Iterator[None]:
    yield
    remove_images()


@IN_FULL  # otherwise `tests/spark_jobs/writers/test_kill.py` kills drivers at each moment, without pods
def test_a_driver_killed_at_any_moment_leaves_every_row_exactly_once(stage: Stage) -> None:
    # Insert: a file that is read twice would double its rows.
    stage.make_class(CLASS, **image_for(MOMENTS[0]))
    table = stage.tenant("killed").table(
        "killed", tableClassName=CLASS, metadataTable=METADATA_TABLE, **WITHOUT_SERVICES
    )
    table.deliver(range(100))
    committed = failed = 0
    for moment, following in zip(MOMENTS, (*MOMENTS[1:], None), strict=True):
        if committed:
            table.deliver(range(committed * 100, committed * 100 + 100))
            table.kubectl("annotate", "ht", table.name, f"hudi-operator.io/requested-at={moment}", "--overwrite")
        committed, failed = committed + (moment in COMMITTED), failed + (moment not in COMMITTED)
        kill_at(moment, table, then=following, failed=failed)
        assert table.ids() == Counter(range(committed * 100)), moment

    assert table.ingest_now()["outcome"] == "NothingToDo"
    assert table.ids() == Counter(range(committed * 100))
    status = table.wait_ready()
    assert status["timeline"]["pendingCount"] == 0
    outcomes = Counter((run["outcome"], run.get("reason")) for run in status["history"])
    assert outcomes == {("Failed", "DriverDied"): failed, ("Succeeded", None): committed}
    assert len(table.jobs()) == len(MOMENTS) + 1


def image_for(moment: str | None) -> dict[str, str]:
    """What a class says of the image of drivers that stop at a moment, where they do so by themselves."""
    return {"sparkImage": image_that_stops_at(Phase(moment))} if moment not in {None, WRITING} else {}


def kill_at(moment: str, table: Table, *, then: str | None, failed: int) -> None:
    """Kill the driver where its image stops it, or while Hudi writes; `then` is when the next one is killed."""
    driver = DriverProcess(table.stage, table)
    if moment == WRITING:
        freeze_while_hudi_writes(table, driver)
    else:
        driver.await_stop()
    kill(table, driver, then=then, failed=failed)


def freeze_while_hudi_writes(table: Table, driver: DriverProcess) -> None:
    """Stop the driver when the store shows an instant that is inflight, the first of the table."""
    timeline = f"{table.folder}/.hoodie/timeline/"
    table.stage.eventually(
        lambda: any(file.endswith(".inflight") for file in table.stage.store.files(timeline)),
        what="an instant is inflight",
        pause=0.01,
        explain=table.explain,
    )
    driver.freeze()
    assert table.commits() == [], "the driver was faster than the test: it had committed before it was killed"


def kill(table: Table, driver: DriverProcess, *, then: str | None, failed: int) -> None:
    """Kill the driver, and wait until the operator has drawn its conclusion."""
    table.stage.make_class(CLASS, **image_for(then))
    driver.kill()

    def concluded(status: dict[str, Any]) -> bool:
        return any(run["job"] == driver.job for run in status.get("history") or ())

    status = table.wait(concluded, what=f"the end of {driver.job} is noticed")
    # Each kill comes with another image, and a class that has changed gives a table all its attempts again.
    assert status["services"]["ingestion"]["failures"] == 0
    assert sum(run["outcome"] == "Failed" for run in status["history"]) == failed
