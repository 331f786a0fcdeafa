"""Decisions against a cluster in memory: from the resource to what the table remembers and runs are asked."""

from __future__ import annotations

from typing import Any

from tests.control.process import RestingTable
from tests.control.test_reconciler import KEY
from tests.planning.operations.told import state_and_reason
from tests.planning.world import done
from tests.whole_status import whole

from hudi_operator.control.observation.related import rank_of_operation
from hudi_operator.control.operations import OPERATIONS
from hudi_operator.kube.keys import operation_key

FILES = tuple(done("commit", number) for number in (30, 20, 10))
TIMES = tuple(one.partition("_")[0] for one in FILES)


def process(**classes: Any) -> RestingTable:
    """A table with three commits, whose class allows no operation."""
    one = RestingTable(OPERATIONS)
    (kind,) = one.cluster.classes.values()
    kind["spec"].pop("operations", None)
    kind["spec"] |= classes
    one.shows(*FILES)
    return one


async def test_decision_is_recorded_by_its_table_and_shown_by_its_resource() -> None:
    one = process()
    one.create("accept", {"acceptCommits": {"upTo": TIMES[1]}})
    await one.work()
    await one.look()
    told = one.resources["accept"]
    assert state_and_reason(told["status"]) == ("Succeeded", "Succeeded")
    assert told["metadata"]["annotations"] == {"hudi-operator.io/operation-uid": "uid-of-accept"}
    known = whole(one.cluster.tables["flights"])["decisions"]
    assert known["acceptedUpTo"] > TIMES[1]
    assert "Maintenance" not in {each["reason"] for each in one.cluster.tables["flights"]["status"]["conditions"]}
    assert one.cluster.jobs == {}
    await one.look()
    after = whole(one.cluster.tables["flights"])["decisions"]
    assert after.get("answers") in (None, [])
    assert after["acceptedUpTo"] == known["acceptedUpTo"]


async def test_a_decision_that_names_nothing_there_is_stalled_with_an_event() -> None:
    one = process()
    one.create("accept", {"acceptCommits": {"upTo": "20200101000000000"}})
    one.create("again", {"rescan": {}})
    await one.work()
    assert state_and_reason(one.resources["again"]["status"]) == ("Failed", "OperationRefused")
    assert any(reason == "OperationFailed" for _, reason, _ in one.cluster.events)


async def test_a_decision_that_is_deleted_is_let_go() -> None:
    one = process()
    one.create("accept", {"acceptCommits": {"upTo": TIMES[1]}})
    await one.work()
    one.delete("accept")
    await one.work()
    assert "hudi-operator.io/operation" not in one.resources.get("accept", {}).get("metadata", {}).get("finalizers", [])


async def test_a_decision_is_read_before_operations_that_wait() -> None:
    waits = {"spec": {"tableRef": {"name": "flights"}, "rollback": {"instant": TIMES[2]}}}
    decisions: tuple[dict[str, Any], ...] = (
        {"rescan": {}},
        {"acceptCommits": {"upTo": "1"}},
        {"takeOver": {"owner": "x"}},
    )
    for spec in decisions:
        assert (rank_of_operation({"spec": spec}), rank_of_operation(waits)) == (0, 2)
    one = process(operations={"allowed": ["Rollback"], "approval": "Manual"})
    for number in range(60):
        one.create(f"a-{number:02}", {"rollback": {"instant": TIMES[2]}})
    one.create("z", {"acceptCommits": {"upTo": TIMES[1]}})
    await one.reconcile(KEY)
    await one.reconcile(operation_key("team-a", "z"))
    assert state_and_reason(one.resources["z"]["status"]) == ("Succeeded", "Succeeded")
