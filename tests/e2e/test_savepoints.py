"""Savepoints in the cluster: from the creation of a HudiSavepoint to its end, beside a driver, and by a schedule."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import pytest
from tests.e2e.stage import PATIENCE, Document, Stage, Table, Tenant, condition_of, live_of

pytestmark = pytest.mark.e2e

CLASS = "e2e-savepoints"
_SAVEPOINT = re.compile(r"/(?P<instant>\d{17})_\d{17}\.savepoint$")


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    stage.make_class(CLASS, job={"drainTimeout": "1m"})
    return stage.tenant("savepoints")


@dataclass
class Savepoint:
    """One HudiSavepoint of a table."""

    table: Table
    name: str

    def apply(self, **spec: object) -> None:
        self.table.stage.cluster.apply(
            {
                "apiVersion": "hudi-operator.io/v1alpha1",
                "kind": "HudiSavepoint",
                "metadata": {"name": self.name, "namespace": self.table.namespace},
                "spec": {"tableRef": {"name": self.table.name}, **spec},
            }
        )

    def status(self) -> Document:
        return self.document().get("status") or {}

    def document(self) -> Document:
        return self.table.stage.cluster.get("hudisavepoints", self.name, namespace=self.table.namespace) or {}

    def wait(self, kind: str, status: str) -> Document:
        def look() -> Document | None:
            found = self.status()
            return found if condition_of(found, kind).get("status") == status else None

        what = f"{self.name}: {kind}={status}"
        found: Document = self.table.stage.eventually(look, what=what, explain=self.table.explain)
        return found

    def delete(self) -> None:
        """Delete the resource and wait until it is gone."""
        self.table.kubectl("delete", "hsp", self.name, "--wait=false")
        self.table.stage.eventually(
            lambda: not self.document(), what=f"{self.name} is gone", explain=self.table.explain
        )


def saved(table: Table) -> list[str]:
    """The commits with a savepoint, read from the store."""
    files = table.stage.store.files(f"{table.folder}/.hoodie/timeline/")
    return sorted(match["instant"] for file in files if (match := _SAVEPOINT.search(file)))


def test_a_savepoint_is_made_kept_from_cleaning_and_removed_with_its_resource(tenant: Tenant) -> None:
    table = tenant.table("kept", tableClassName=CLASS, cleaning={"retainCommits": 1, "trigger": {"commits": 1}})
    table.deliver(range(10))
    table.wait_ready(runs=1)
    savepoint = Savepoint(table, "before-the-move")
    savepoint.apply(latest=True, keepForever=True, comment="Before the move")
    status = savepoint.wait("Ready", "True")
    assert saved(table) == [status["instant"]] == table.commits()
    assert condition_of(status, "DataComplete")["status"] == "True"

    table.deliver(range(10, 20))
    assert table.ingest_now()["outcome"] == "Succeeded"
    assert savepoint.status()["instant"] == table.commits()[0], "another commit changes nothing"
    savepoint.delete()
    assert saved(table) == []
    assert table.ids() == Counter(range(20))
    table.wait_ready()


def test_one_that_expires_is_removed_and_its_resource_says_so(tenant: Tenant) -> None:
    table = tenant.table("expiring", tableClassName=CLASS)
    table.deliver(range(10))
    table.wait_ready(runs=1)
    savepoint = Savepoint(table, "short")
    savepoint.apply(latest=True, expiresAfter="3m")
    savepoint.wait("Ready", "True")
    status = savepoint.wait("Expired", "True")
    assert {one["type"] for one in status["conditions"]} == {"Expired"}
    assert saved(table) == []


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


def test_a_schedule_keeps_the_newest_savepoint_and_removes_the_one_before(tenant: Tenant) -> None:
    table = tenant.table("scheduled", tableClassName=CLASS, savepoints={"schedule": {"every": "1m"}, "keepLast": 1})

    def newest_alone_is_kept(_status: Document) -> bool:
        return saved(table) == table.commits()[-1:] and len(scheduled()) == 1

    def scheduled() -> list[str]:
        found = table.stage.cluster.items("hudisavepoints", namespace=tenant.name)
        return [name for one in found if (name := one["metadata"]["name"]).startswith("scheduled-")]

    for batch in range(2):
        table.deliver(range(batch * 10, batch * 10 + 10))
        table.ingest_now()  # finds nothing to do where the first run of the table has read the file by then
        assert len(table.commits()) == batch + 1
        # A minute, and a Job each for the new one and the old one, behind those of other tests.
        table.wait(newest_alone_is_kept, what="a savepoint on the newest commit alone", seconds=2 * PATIENCE)
    table.patch({"spec": {"suspend": True}})
