"""A driver that is killed: nothing is lost, nothing is done twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.processes import DriverProcess, image_that_stops_at, remove_images
from tests.e2e.stage import METADATA_TABLE, WITHOUT_SERVICES, Stage, Table

from hudi_jobs.phases import Phase

pytestmark = pytest.mark.e2e

CLASS = "e2e-killed"


@pytest.fixture(autouse=True)
def _forget_images() -> Iterator[None]:
    yield
    remove_images()


def test_a_driver_killed_at_five_moments_leaves_every_row_exactly_once(stage: Stage) -> None:
    # Insert: a file that is read twice would double its rows.
    stage.make_class(CLASS, sparkImage=image_that_stops_at(Phase.STARTED))
    table = stage.tenant("killed").table(
        "killed", tableClassName=CLASS, metadataTable=METADATA_TABLE, **WITHOUT_SERVICES
    )
    table.deliver(range(100))

    kill_when_stopped(table, then=image_that_stops_at(Phase.READ), failed=1)
    kill_when_stopped(table, then=None, failed=2)
    assert table.commits() == []
    kill_while_hudi_writes(table, then=image_that_stops_at(Phase.AFTER_COMMIT), failed=3)
    assert table.commits() == []
    kill_when_stopped(table, then=image_that_stops_at(Phase.BEFORE_OUTCOME), failed=3)
    assert table.ids() == Counter(range(100))

    table.deliver(range(100, 200))
    table.kubectl("annotate", "ht", table.name, "hudi-operator.io/requested-at=now", "--overwrite")
    kill_when_stopped(table, then=None, failed=3)
    afterwards = table.ingest_now()

    assert afterwards["outcome"] == "NothingToDo"
    assert table.ids() == Counter(range(200))
    status = table.wait_ready()
    assert status["timeline"]["pendingCount"] == 0
    outcomes = Counter((run["outcome"], run.get("reason")) for run in status["history"])
    assert outcomes == {("Failed", "DriverDied"): 3, ("Succeeded", None): 2}
    assert len(table.jobs()) == 6


def kill_when_stopped(table: Table, *, then: str | None, failed: int) -> None:
    """Kill the driver where its image stops it; the next run has the image `then`, or the ordinary one."""
    driver = DriverProcess(table.stage, table)
    driver.await_stop()
    kill(table, driver, then=then, failed=failed)


def kill_while_hudi_writes(table: Table, *, then: str, failed: int) -> None:
    """Kill the driver when the store shows an instant that is inflight and not completed."""
    driver = DriverProcess(table.stage, table)
    timeline = f"{table.folder}/.hoodie/timeline/"
    table.stage.eventually(
        lambda: any(file.endswith(".inflight") for file in table.stage.store.files(timeline)),
        what="an instant is inflight",
        pause=0.01,
        explain=table.explain,
    )
    driver.freeze()
    assert table.commits() == [], "the driver was faster than the test: it had committed before it was killed"
    kill(table, driver, then=then, failed=failed)


def kill(table: Table, driver: DriverProcess, *, then: str | None, failed: int) -> None:
    """Kill the driver, and wait until the operator has drawn its conclusion."""
    table.stage.make_class(CLASS, **({"sparkImage": then} if then else {}))
    driver.kill()

    def concluded(status: dict[str, Any]) -> bool:
        return any(run["job"] == driver.job for run in status.get("history") or ())

    status = table.wait(concluded, what=f"the end of {driver.job} is noticed")
    # Each kill comes with another image, and a class that has changed gives a table all its attempts again.
    assert status["services"]["ingestion"]["failures"] == 0
    assert sum(run["outcome"] == "Failed" for run in status["history"]) == failed
