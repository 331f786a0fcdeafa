"""Savepoints in the cluster: from the creation of a HudiSavepoint to its expiry, beside a driver, and by a schedule."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.e2e.savepoint import Savepoint, saved
from tests.e2e.stage import PATIENCE, Document, Stage, Tenant, condition_of, live_of
from tests.spark_jobs.trials import IN_FULL

pytestmark = pytest.mark.e2e

CLASS = "e2e-savepoints"


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    stage.make_class(CLASS, job={"drainTimeout": "1m"})
    return stage.tenant("savepoints")


@IN_FULL  # otherwise the schedule makes some and removes one
def test_a_savepoint_is_made_stays_on_its_commit_and_is_removed_when_it_expires(tenant: Tenant) -> None:
    table = tenant.filled("kept", tableClassName=CLASS)
    savepoint = Savepoint(table, "before-the-move")
    savepoint.apply(latest=True, expiresAfter="1h", comment="Before the move")
    status = savepoint.wait("Ready", "True")
    assert saved(table) == [status["instant"]] == table.commits()
    assert condition_of(status, "DataComplete")["status"] == "True"

    table.deliver(range(10, 20))
    assert table.ingest_now()["outcome"] == "Succeeded"
    assert savepoint.status()["instant"] == table.commits()[0], "another commit changes nothing"
    savepoint.patch(expiresAfter="1m")  # since its creation, which is about as long ago
    status = savepoint.wait("Expired", "True")
    assert {one["type"] for one in status["conditions"]} == {"Expired"}
    assert saved(table) == []
    assert table.ids() == Counter(range(20))
    table.wait_ready()


@IN_FULL
def test_a_continuous_driver_gives_a_savepoint_its_turn_and_loses_no_row(tenant: Tenant) -> None:
    continuous = {"minInterval": "2s", "serviceInterval": "1m", "progressDeadline": "5m"}
    table = tenant.table(
        "continuous",
        tableClassName=CLASS,
        ingestion={"mode": "Continuous", "continuous": continuous, "schedule": None},
    )
    table.deliver(range(10))
    table.wait(lambda _status: table.ids() == Counter(range(10)), what="the first rows")
    savepoint = Savepoint(table, "beside")
    savepoint.apply(latest=True, keepForever=True)
    status = savepoint.wait("Ready", "True")
    assert saved(table) == [status["instant"]]
    table.wait(live_of, what="a driver goes on after it")
    table.deliver(range(10, 20))
    table.wait(lambda _status: table.ids() == Counter(range(20)), what="the later rows, each once")
    savepoint.delete()
    assert saved(table) == []
    table.wait(live_of, what="a driver goes on after the removal")
    assert not [run for run in table.status()["history"] if run["outcome"] == "Failed"]
    table.patch({"spec": {"suspend": True}})


def test_a_schedule_keeps_the_newest_savepoint_and_removes_the_one_before_with_its_resource(tenant: Tenant) -> None:
    table = tenant.filled("scheduled", tableClassName=CLASS, savepoints={"schedule": {"every": "1m"}, "keepLast": 1})

    def newest_alone_is_kept(_status: Document) -> bool:
        return saved(table) == table.commits()[-1:] and len(scheduled()) == 1

    def scheduled() -> list[str]:
        found = table.stage.cluster.items("hudisavepoints", namespace=tenant.name)
        return [name for one in found if (name := one["metadata"]["name"]).startswith("scheduled-")]

    def await_newest_alone() -> None:
        # A minute, and a Job each for the new one and the old one, behind those of other tests.
        table.wait(newest_alone_is_kept, what="a savepoint on the newest commit alone", seconds=2 * PATIENCE)

    await_newest_alone()
    table.deliver(range(10, 20))
    assert table.ingest_now()["outcome"] == "Succeeded"
    await_newest_alone()
    assert len(table.commits()) == 2
    table.patch({"spec": {"suspend": True}})
