"""An erasure that goes on to other tables, against a cluster in memory: from its resource to the end of the last."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
import structlog
from tests.control.test_erasures import KEY, process
from tests.control.test_operations import BACK, Process
from tests.control.test_reconciler import KEY as TABLE
from tests.planning.operations.told import state_and_reason, told_as

from hudi_jobs.contract import Outcome
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.control.observation.derived import derived_from, list_readings
from hudi_operator.kube.errors import Forbidden
from hudi_operator.kube.keys import operation_key, table_key
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.runtime.controller import Trigger

CASCADE = {"restore": None, "erase": {"keys": [{"id": KEY}], "cascade": True}}
DONE = {"phase": "Done", "verified": True, "erased": {"keys": 1, "rows": 1}}


def add_reader(one: Process, name: str = "totals", *, namespace: str = "team-a", **spec: Any) -> None:
    flights = one.cluster.tables["flights"]
    table = deepcopy(flights)
    table["metadata"] |= {"name": name, "uid": f"uid-of-{name}", "namespace": namespace}
    source = {"source": {"hudi": {"path": flights["spec"]["basePath"]}}}
    table["spec"] |= {"basePath": f"s3a://lake/{namespace}/{name}", "ingestion": source, **spec}
    (allows,) = one.cluster.classes.values()
    allows["spec"]["allowedSourcePaths"] = ["s3a://lake/{namespace}/"]
    table.pop("status", None)
    one.cluster.tables[name] = table


def child(one: Process) -> dict[str, Any]:
    (found,) = [each for name, each in one.operations.items() if name != "back"]
    return found


async def erased_here(one: Process) -> None:
    await one.begin(**CASCADE)
    assert set(one.operations) == {"back"}, "the table itself comes first"
    await one.end_job(Outcome.SUCCEEDED, operation=DONE, message="Erased.")


async def test_the_table_itself_is_erased_then_those_that_read_it_and_the_end_of_all_is_its_end() -> None:
    one = process()
    add_reader(one)
    await erased_here(one)
    made = child(one)
    assert made["spec"]["tableRef"] == {"name": "totals"}
    assert made["spec"]["erase"]["keys"] == [{"id": KEY}]
    assert state_and_reason(one.status) == ("Running", "Cascading")
    assert KEY not in json.dumps(one.status)
    await one.reconcile(BACK)
    assert len(one.operations) == 2

    made["status"] = told_as("Succeeded", message="Erased.").to_document()
    await one.reconcile(BACK)
    assert state_and_reason(one.status) == ("Succeeded", "Succeeded")
    assert (one.status["cascade"][0]["ready"], one.status["cascade"][0]["reason"]) == (True, "Succeeded")
    del one.operations[made["metadata"]["name"]]
    await one.reconcile(BACK)
    assert set(one.operations) == {"back"}, "it is made once"


async def test_cascade_does_not_begin_if_a_reader_has_other_keys() -> None:
    one = process()
    add_reader(one, recordKey=["day"])
    one.declare(**CASCADE)
    await one.work()
    await one.look()
    assert one.cluster.jobs == {}
    assert state_and_reason(one.status) == ("Failed", "OperationRefused")
    assert set(one.operations) == {"back"}


async def test_table_of_another_namespace_is_left_and_counted_without_its_name() -> None:
    one = process()
    add_reader(one, "copy", namespace="team-b")
    await erased_here(one)
    assert state_and_reason(one.status) == ("Succeeded", "Succeeded")
    assert "NOT erased from 1 table of other namespaces" in one.status["message"]
    assert "team-b" not in json.dumps(one.operations)
    assert set(one.operations) == {"back"}


def reads_raw(one: Process) -> None:
    """Have the table read a folder, and a table of another namespace say that it lies there and reads the table."""
    one.cluster.tables["flights"]["spec"]["ingestion"] = {"source": {"hudi": {"path": "s3a://lake/raw"}}}
    add_reader(one, "x", namespace="evil", basePath="s3a://lake/raw")
    (allows,) = one.cluster.classes.values()
    allows["spec"]["allowedSourcePaths"] = ["s3a://lake/"]


async def test_a_table_of_another_namespace_that_only_says_to_lie_in_a_folder_stops_no_erasure() -> None:
    one = process()
    reads_raw(one)
    await erased_here(one)
    assert state_and_reason(one.status) == ("Succeeded", "Succeeded")


async def test_a_circle_over_another_namespace_is_refused_and_only_the_log_names_the_other_table() -> None:
    one = process()
    reads_raw(one)
    await one.claim("x")
    one.declare(**CASCADE)
    with structlog.testing.capture_logs() as logged:
        await one.work()
        await one.look()
    assert state_and_reason(one.status) == ("Failed", "OperationRefused")
    assert "a table of another namespace read each other" in one.status["message"]
    assert "evil" not in json.dumps([one.operations, one.cluster.tables["flights"]["status"], one.cluster.events])
    assert ("team-a/flights", "evil/x") in [line["tables"] for line in logged if "tables" in line]


async def test_refused_operation_is_reported_and_tried_again() -> None:
    one = process()
    add_reader(one)
    await one.begin(**CASCADE)
    one.cluster.refusal = f"no more operations like that of {KEY}"
    await one.end_job(Outcome.SUCCEEDED, operation=DONE, message="Erased.")
    assert set(one.operations) == {"back"}
    assert "CascadeRefused" in [event[1] for event in one.cluster.events]
    assert KEY not in str(one.cluster.events)
    one.pass_minutes(10)
    assert await one._reconcile(BACK, Trigger.POLL) == pytest.approx(60, abs=9), (
        "one that is refused for long is tried less often"
    )
    one.cluster.refusal = None
    assert await one._reconcile(BACK, Trigger.POLL) == 5
    assert len(one.operations) == 2


async def test_a_table_that_comes_to_read_it_by_a_transform_meanwhile_is_named_and_loses_no_row() -> None:
    one = process()
    await one.begin(**CASCADE)
    add_reader(one)
    one.cluster.tables["totals"]["spec"]["ingestion"]["transform"] = {"sql": "SELECT md5(id) AS id FROM source"}
    await one.end_job(Outcome.SUCCEEDED, operation=DONE, message="Erased.")
    assert state_and_reason(one.status) == ("Failed", "CascadeFailed")
    assert "through a transform" in one.status["message"]
    assert set(one.operations) == {"back"}


async def test_many_that_wait_share_one_listing_of_the_tables() -> None:
    one = process()
    (allows,) = one.cluster.classes.values()
    allows["spec"]["operations"] = {"allowed": ["Restore"]}
    keys = [operation_key("team-a", f"waits-{number}") for number in range(8)]
    for key in keys:
        one.create(key.name, {"erase": CASCADE["erase"]})
    await one.work()
    assert one.cluster.calls.count("list HudiTable") <= 4, "not once for each"
    assert {state_and_reason(one.operations[key.name]["status"])[1] for key in keys} == {"OperationNotAllowed"}
    one.cluster.calls.clear()
    for key in keys:
        one.queue.add(key)
    await one.work()
    await one.reconcile(TABLE)
    assert one.cluster.calls.count("list HudiTable") == 1, "the table is looked at live, and for all of them at once"
    assert one.cluster.calls.count("get HudiOperation") == 2 * len(keys), "there is nothing to look for on other tables"


async def test_end_of_a_cascade_lists_readers_anew_so_that_no_new_reader_is_missed() -> None:
    one = process()
    await one.begin(**CASCADE)
    add_reader(one)
    await one.end_job(Outcome.SUCCEEDED, operation=DONE, message="Erased.")
    assert child(one)["spec"]["tableRef"] == {"name": "totals"}
    child(one)["status"] = told_as("Succeeded", message="Erased.").to_document()
    add_reader(one, "means")
    await one.reconcile(BACK)
    assert state_and_reason(one.status)[1] == "Cascading"
    assert [each["spec"]["tableRef"]["name"] for each in list(one.operations.values())[1:]] == ["totals", "means"]


async def wait_for(one: Process, table: str) -> ObjectKey:
    """Have the only operation of another table looked at by the operator; return its key."""
    key = operation_key("team-a", child(one)["metadata"]["name"])
    for _ in range(3):
        one.event("MODIFIED", key.name)
        one.queue.add(table_key("team-a", table))
        await one.work()
    return key


async def waiting_on_totals() -> tuple[Process, ObjectKey]:
    """Have an erasure done on its own table, while the one of the table that reads it waits; return the key of this."""
    one = process()
    add_reader(one)
    await one.begin(**CASCADE)
    one.cluster.tables["totals"]["spec"]["managementPolicy"] = "Observe"
    await one.end_job(Outcome.SUCCEEDED, operation=DONE, message="Erased.")
    return one, await wait_for(one, "totals")


@pytest.mark.parametrize("change", ["a transform", "another table of its name"])
async def test_waiting_erasure_of_an_unsuitable_reader_never_starts(change: str) -> None:
    one, waits = await waiting_on_totals()
    assert state_and_reason(one.operations[waits.name]["status"])[1] == "Blocked"

    if change == "a transform":
        one.cluster.tables["totals"]["spec"]["ingestion"]["transform"] = {"sql": "SELECT md5(id) AS id FROM source"}
    else:
        del one.cluster.tables["totals"]
        await one.reconcile(waits)
    await one.reconcile(BACK)
    assert state_and_reason(one.status) == ("Failed", "CascadeFailed")
    assert waits.name in one.status["message"]
    assert set(one.operations) == {"back"}, "it is not there any more to begin once nothing blocks the table"


async def test_waiting_erasure_does_not_continue_in_another_folder() -> None:
    one, waits = await waiting_on_totals()
    add_reader(one, basePath="s3a://lake/team-a/newer")
    one.cluster.tables["totals"]["metadata"] |= {"uid": "uid-of-newer", "resourceVersion": "1"}
    await wait_for(one, "totals")
    told = one.operations[waits.name]["status"]
    assert state_and_reason(told) == ("Failed", "TableNotFound")
    assert "was for another table, at s3a://lake/team-a/totals. Nothing was changed" in told["message"]
    assert len(one.cluster.jobs) == 1


async def test_cascade_ends_if_a_reader_is_removed_before_its_erasure_begins() -> None:
    one = process()
    add_reader(one)
    await erased_here(one)
    assert child(one)
    del one.cluster.tables["totals"]
    await one.reconcile(BACK)
    assert state_and_reason(one.status) == ("Failed", "CascadeFailed")
    assert "The HudiTable does not exist any more, or is not valid." in one.status["message"]


async def test_cascade_ends_although_its_own_table_is_gone_as_well() -> None:
    one = process()
    add_reader(one)
    await erased_here(one)
    one.cluster.tables.clear()
    await one.reconcile(BACK)
    assert state_and_reason(one.status) == ("Failed", "CascadeFailed")


async def test_a_table_that_has_gone_since_the_last_listing_stands_in_the_way_of_nothing() -> None:
    one = process()
    add_reader(one)
    readings = (await list_readings(one.cluster, (None,))).seen_from("team-a")
    flights = parse_table(one.cluster.tables["flights"])
    assert isinstance(flights, HudiTable)
    assert [each.name for each in (await derived_from(one.cluster, flights, readings)).tables] == ["totals"]
    del one.cluster.tables["totals"]
    assert (await derived_from(one.cluster, flights, readings)).tables == ()


async def test_a_namespace_that_may_not_be_listed_any_more_stops_no_erasure_in_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUDI_OPERATOR_WATCH_NAMESPACES", "team-b,team-a")
    one = process()
    one.cluster.refused = "team-b"
    add_reader(one)
    await erased_here(one)
    assert child(one)["spec"]["tableRef"] == {"name": "totals"}


async def test_where_the_own_namespace_may_not_be_listed_nobody_says_that_no_table_reads_it() -> None:
    one = process()
    one.cluster.refused = "team-a"
    listed = await list_readings(one.cluster, ("team-b", "team-a"))
    assert listed.seen_from("team-b")
    with pytest.raises(Forbidden):
        listed.seen_from("team-a")
