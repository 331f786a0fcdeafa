"""A driver that goes on ingesting in the cluster: it follows the spec, gives table services their turns, is killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.e2e.stage import Document, Stage, Table, Tenant, live_of

pytestmark = pytest.mark.e2e

CLASS = "e2e-continuous"
CONTINUOUS = {"minInterval": "2s", "serviceInterval": "1m", "progressDeadline": "5m"}


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    stage.make_class(CLASS, job={"drainTimeout": "1m"})
    return stage.tenant("continuous")


@pytest.fixture
def declare(tenant: Tenant) -> Iterator[Callable[..., Table]]:
    """Makes tables, whose drivers end with the test: an idle one would take time from all others."""
    declared: list[Table] = []

    def one(name: str, **spec: Any) -> Table:
        ingestion = {"mode": "Continuous", "continuous": CONTINUOUS, "schedule": None}
        declared.append(tenant.table(name, tableClassName=CLASS, **{"ingestion": ingestion, **spec}))
        return declared[-1]

    yield one
    for table in declared:
        table.patch({"spec": {"suspend": True}})


def wait_for(table: Table, rows: int) -> Document:
    """Wait until the table holds so many rows, each once."""

    def complete(_status: Document) -> bool:
        return table.ids() == Counter(range(rows))

    return table.wait(complete, what=f"{rows} rows, each once")


def deliver(table: Table, *, batches: int) -> None:
    """Deliver ten rows again and again, each time when those before are in the table."""
    for batch in range(batches):
        table.deliver(range(batch * 10, batch * 10 + 10))
        wait_for(table, batch * 10 + 10)


def await_cleaning(table: Table, what: str) -> Document:
    return table.wait(
        lambda status: any(run["service"] == "Cleaning" for run in status.get("history") or ()), what=what
    )


def test_files_are_ingested_as_they_arrive_and_shown_while_the_driver_runs(declare: Callable[..., Table]) -> None:
    table = declare("arriving")
    deliver(table, batches=3)
    status = table.wait(lambda status: live_of(status).get("batches") == 3, what="three batches of one run")
    assert live_of(status)["rowsRead"] == 30
    assert table.condition("Ready")["reason"] == "Continuous"
    assert len(table.jobs()) == 1
    assert not [event for event in table.events() if event[0] == "Warning"]


def test_another_spec_ends_the_driver_between_two_batches_and_the_next_one_has_it(
    declare: Callable[..., Table],
) -> None:
    table = declare("edited")
    table.deliver(range(10))
    wait_for(table, 10)
    table.patch({"spec": {"ingestion": {"maxFilesPerRun": 5}}})
    status = table.wait(
        lambda status: any(run.get("reason") == "Drained" for run in status.get("history") or ()), what="drained"
    )
    assert not [run for run in status["history"] if run["outcome"] == "Failed"]
    table.deliver(range(10, 20))
    wait_for(table, 20)

    table.patch({"spec": {"suspend": True}})
    table.wait(lambda status: not status.get("activeJobs"), what="nothing runs while it is suspended")


def test_a_driver_that_is_killed_is_followed_by_another_and_no_row_is_there_twice(
    declare: Callable[..., Table],
) -> None:
    table = declare("killed")
    table.deliver(range(10))
    wait_for(table, 10)
    pod = table.running_pod()["metadata"]["name"]
    table.deliver(range(10, 20))
    table.kubectl("delete", "pod", pod, "--grace-period=0", "--force")
    wait_for(table, 20)
    table.deliver(range(20, 30))
    wait_for(table, 30)


def test_table_services_run_inside_the_driver_of_a_serialized_table_and_it_goes_on(
    declare: Callable[..., Table],
) -> None:
    table = declare("inside", cleaning={"retainCommits": 1, "trigger": {"commits": 1}})
    deliver(table, batches=4)
    status = await_cleaning(table, "a cleaning beside the driver")
    assert {run["service"] for run in status["history"]} == {"Cleaning"}, "the driver has not ended for it"
    assert not [run for run in status["history"] if run["outcome"] == "Failed"]
    table.deliver(range(40, 50))
    wait_for(table, 50)


def test_table_services_have_their_turn_on_a_serialized_table(declare: Callable[..., Table]) -> None:
    turns = {"mode": "Continuous", "continuous": {**CONTINUOUS, "services": "InTurns"}, "schedule": None}
    table = declare("served", ingestion=turns, cleaning={"retainCommits": 1, "trigger": {"commits": 1}})
    deliver(table, batches=4)
    status = await_cleaning(table, "a cleaning after the driver has had its turn")
    assert not [run for run in status["history"] if run["outcome"] == "Failed"]
    table.wait(live_of, what="a driver goes on after it")
    table.deliver(range(40, 50))
    wait_for(table, 50)
