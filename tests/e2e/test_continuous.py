"""A driver that goes on ingesting in the cluster: it loses executors, is killed and drained, and gives services turns.

The tests share one table, whose driver starts anew where a test is about that alone. It has executors until services
take turns with it, each of which would start some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.e2e.processes import DriverProcess, require_node
from tests.e2e.savepoint import Savepoint, saved
from tests.e2e.stage import Document, Stage, Table, live_of

pytestmark = pytest.mark.e2e

CLASS = "e2e-continuous"
CONTINUOUS = {"minInterval": "2s", "serviceInterval": "1m", "progressDeadline": "5m"}
POD = {"cpu": "200m", "memory": "1536Mi"}
IN_CLUSTER = {"mode": "Cluster", "driver": POD, "executor": {"instances": 1, **POD}}


@dataclass
class Feed:
    """A continuous table, and how many rows it was given."""

    table: Table
    rows: int = 0

    def deliver(self) -> None:
        """Deliver ten more rows."""
        self.table.deliver(range(self.rows, self.rows + 10))
        self.rows += 10

    def await_rows(self) -> None:
        """Wait until the table holds all rows, each once."""
        wanted = Counter(range(self.rows))
        self.table.wait(lambda _status: self.table.ids() == wanted, what=f"{self.rows} rows, each once")

    def feed(self, *, batches: int = 1) -> None:
        """Deliver ten rows again and again, each time when those before are in the table."""
        for _ in range(batches):
            self.deliver()
            self.await_rows()


@pytest.fixture(scope="module")
def fed(stage: Stage) -> Iterator[Feed]:
    """A table that is cleaned after every commit; its driver ends with the tests: an idle one would take time."""
    stage.make_class(CLASS, job={"drainTimeout": "1m"})
    tenant = stage.tenant("continuous")
    stage.make_service_accounts(tenant.name)
    table = tenant.table(
        "arriving",
        tableClassName=CLASS,
        execution=IN_CLUSTER,
        ingestion={"mode": "Continuous", "continuous": CONTINUOUS, "schedule": None},
        cleaning={"retainCommits": 1, "trigger": {"commits": 1}},
    )
    yield Feed(table)
    table.patch({"spec": {"suspend": True}})


def failed(status: Document) -> list[Document]:
    """The runs that have failed."""
    return [run for run in status.get("history") or () if run["outcome"] == "Failed"]


def jobs_of(table: Table, service: str) -> set[str]:
    """The names of a service's Jobs: that of one inside a driver hands it over."""
    jobs = [job["metadata"] for job in table.jobs()]
    return {job["name"] for job in jobs if job["labels"]["hudi-operator.io/service"] == service}


def is_cleaned(table: Table, status: Document) -> bool:
    """Whether there is nothing to clean after the newest instant, and nothing runs but the driver."""
    timeline = status["timeline"]
    completed = [one["time"] for one in timeline["instants"] if one["state"] == "COMPLETED"]
    is_current = max(completed) >= table.commits()[-1]
    is_clean = status["services"]["cleaning"].get("counted") == 0
    return is_current and is_clean and len(status.get("activeJobs") or ()) == 1


def pods_of(table: Table, role: str) -> set[str]:
    """The names of the pods that ingest, as drivers or as executors, and are not on their way out."""
    labels = {"hudi-operator.io/service": "Ingestion", "hudi-operator.io/role": role}
    living = [pod["metadata"] for pod in table.pods() if pod["status"].get("phase") not in {"Succeeded", "Failed"}]
    return {one["name"] for one in living if labels.items() <= one["labels"].items() and "deletionTimestamp" not in one}


def kill(table: Table, pod: str) -> None:
    """End the processes of a pod at once."""
    table.kubectl("delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")


def test_files_are_ingested_as_they_arrive_and_shown_while_the_driver_runs(fed: Feed) -> None:
    fed.feed(batches=3)
    status = fed.table.wait(lambda status: live_of(status).get("batches") == 3, what="three batches of one run")
    assert live_of(status)["rowsRead"] == 30
    assert fed.table.condition("Ready")["reason"] == "Continuous"
    assert len(jobs_of(fed.table, "Ingestion")) == 1
    # A driver may wait for those of other tests, which share the node.
    assert {event for event in fed.table.events() if event[0] == "Warning"} <= {("Warning", "Unschedulable")}


def test_table_services_run_inside_the_driver_of_a_serialized_table_and_it_goes_on(fed: Feed) -> None:
    while len(fed.table.commits()) < 4:
        fed.feed()
    status = fed.table.wait(
        lambda status: any(run["service"] == "Cleaning" for run in status.get("history") or ()),
        what="a cleaning beside the driver",
    )
    assert {run["service"] for run in status["history"]} == {"Cleaning"}, "the driver has not ended for it"
    assert failed(status) == []
    fed.feed()


def test_an_executor_and_a_driver_that_are_killed_cost_no_row_and_put_none_there_twice(fed: Feed) -> None:
    require_node()
    table = fed.table
    fed.feed()
    [driver], [executor] = pods_of(table, "driver"), pods_of(table, "executor")
    fed.deliver()
    kill(table, executor)
    fed.await_rows()
    fed.feed()
    assert pods_of(table, "driver") == {driver}, "the driver has another executor and goes on"
    assert executor not in pods_of(table, "executor") != set()
    assert failed(table.status()) == []

    # Else a cleaning waits for the dead driver, and then ends the next one for a Job of its own.
    table.wait(lambda status: is_cleaned(table, status), what="no service is due")
    process = DriverProcess(table.stage, table)
    fed.deliver()
    process.kill()
    fed.await_rows()
    fed.feed()
    # One becomes due all the same if the driver committed the rows just before it died.
    table.wait(lambda _status: driver not in pods_of(table, "driver") != set(), what="another driver goes on")
    assert {run["reason"] for run in failed(table.status())} == {"DriverDied"}


def test_a_suspended_table_has_no_driver_and_no_executor_and_by_another_spec_services_and_a_savepoint_have_their_turn(
    fed: Feed,
) -> None:
    table = fed.table
    fed.feed()
    turns = {"ingestion": {"continuous": {"services": "Alternating"}}}
    table.patch({"spec": {"suspend": True, "execution": None, **turns}})
    status = table.wait(
        lambda status: (
            not status.get("activeJobs") and any(run.get("reason") == "Drained" for run in status["history"])
        ),
        what="the driver has ended between two batches, and nothing runs",
    )
    assert {run["reason"] for run in failed(status)} == {"DriverDied"}
    assert pods_of(table, "driver") | pods_of(table, "executor") == set()
    inside = jobs_of(table, "Cleaning")
    savepoint = Savepoint(table, "beside")
    savepoint.apply(latest=True, keepForever=True)
    table.patch({"spec": {"suspend": False}})
    fed.feed()

    instant = savepoint.wait("Ready", "True")["instant"]
    assert saved(table) == [instant]
    table.wait(lambda _status: jobs_of(table, "Cleaning") - inside, what="a cleaning after the driver has had its turn")
    status = table.wait(live_of, what="a driver goes on after it")
    assert {run["reason"] for run in failed(status)} <= {"DriverDied"}
    fed.feed()
