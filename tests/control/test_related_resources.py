"""Which resources are read with a table: all that its status names, and of very many those that still matter."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from tests.control.process import RestingTable
from tests.control.test_operations import BACK, FILES, REPORT, RESTORE, TARGET, Process, counted
from tests.control.test_reconciler import KEY
from tests.planning.operations.operations import decided
from tests.planning.operations.told import state_and_reason, told_as
from tests.planning.world import active, done, status
from tests.whole_status import whole

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.observation.related import rank_of_operation, rank_of_savepoint, remembered
from hudi_operator.control.savepoints import SAVEPOINTS
from hudi_operator.kube.keys import operation_key
from hudi_operator.planning.model.observation import MOST_RELATED

Document = dict[str, Any]
BEGUN: Document = {"resource": "back", "uid": "uid-of-back", "kind": "Erase", "begun": True, "state": "Running"}


def ready(process: RestingTable) -> tuple[str, str]:
    """What the table says of itself."""
    conditions = process.cluster.tables["flights"]["status"]["conditions"]
    (found,) = [one for one in conditions if one["type"] == "Ready"]
    return found["status"], found["reason"]


def operations(process: RestingTable) -> dict[str, Document]:
    """What the table remembers of its operations."""
    return {one["resource"]: one for one in whole(process.cluster.tables["flights"])["operations"]}


def forget(process: RestingTable) -> None:
    """What another process knows that has listed nothing yet."""
    for controller in CONTROLLERS:
        for key in process.known.of_kind(controller.kind):
            process.known.forget(key)
            process.queue.discard(key)


async def erasing() -> Process:
    """An erasure that has begun, between two runs, before a process that has not listed it."""
    process = Process()
    process.create("back", {"erase": {"keys": [{"id": "4711"}]}})
    await process.work()
    job = {"kind": "Erase", "resource": "back", "uid": "uid-of-back"}
    process.cluster.tables["flights"]["status"]["memory"] |= {"operations": [BEGUN | {"job": job}], "activeJobs": []}
    process.operations["back"]["status"] |= told_as("Running", "Retrying", begun=True).to_document()
    forget(process)
    return process


async def test_begun_operation_goes_on_before_its_resource_is_listed() -> None:
    process = await erasing()
    await process.reconcile(KEY)
    assert operations(process)["back"]["state"] == "Running"


def _unreadable(resource: Document) -> None:
    resource["spec"] = {"tableRef": 7}


def _of_another_uid(resource: Document) -> None:
    resource["metadata"]["uid"] = "uid-2"
    resource["status"] = {}


def _gone(resource: Document) -> None:
    resource["metadata"]["namespace"] = "nowhere"


@pytest.mark.parametrize(("change", "is_there"), [(_unreadable, True), (_of_another_uid, False), (_gone, False)])
async def test_the_keys_of_what_has_begun_are_lost_only_with_its_resource(
    change: Callable[[Document], None], is_there: bool
) -> None:
    process = await erasing()
    change(process.operations["back"])
    if change is _gone:
        del process.operations["back"]
    await process.reconcile(KEY)
    found = operations(process)["back"]
    assert (found["state"], found["reason"] == "KeysLost") == (("Running", False) if is_there else ("Failed", True))


async def not_verified(process: Process) -> None:
    """Let the newest operation end with rows that are not as expected."""
    await process.begin()
    process.shows(*FILES[:2], RESTORE)
    report = {**REPORT, "verified": False}
    await process.end_job(Outcome.FAILED, reason="NotVerified", operation=report, message="Rows differ.")
    assert ready(process) == ("False", "NotVerified")


async def test_rows_that_differ_hold_the_table_before_the_resource_is_listed() -> None:
    process = Process()
    await not_verified(process)
    forget(process)
    await process.reconcile(KEY)
    assert ready(process) == ("False", "NotVerified")
    process.operations["back"]["spec"]["tableRef"] = 7
    await process.reconcile(KEY)
    assert ready(process) == ("False", "NotVerified"), "also where this version cannot read it"


async def test_a_savepoint_is_remembered_before_its_resource_is_listed() -> None:
    process = RestingTable(SAVEPOINTS, suspend=True)
    process.shows(*FILES, f"{TARGET}_{done('commit', 20)[18:35]}.savepoint")
    process.create("daily", {"instant": TARGET, "keepForever": True})
    await process.work()
    before = whole(process.cluster.tables["flights"])["savepoints"]
    assert [one["resource"] for one in before] == ["daily"]
    forget(process)
    await process.reconcile(KEY)
    assert whole(process.cluster.tables["flights"])["savepoints"] == before


def finished(process: Process, number: int, **changes: Any) -> None:
    """Create resources of operations that have ended, one a minute."""
    for each in range(number):
        name = f"a-{each:03}"
        process.create(name, {"restore": {"instant": TARGET}})
        process.operations[name]["status"] = {
            **told_as("Succeeded", message="Done.", begun=True, observed_generation=1).to_document(),
            "finishedAt": f"2026-01-01T{each // 60:02}:{each % 60:02}:00Z",
            **changes,
        }
        process.event("MODIFIED", name)


async def test_rows_that_differ_hold_the_table_however_many_operations_have_finished() -> None:
    process = Process()
    finished(process, MOST_RELATED + 10)
    await process.work()
    await not_verified(process)
    for _ in range(3):
        await process.look()
        assert ready(process) == ("False", "NotVerified")
    process.cluster.tables["flights"]["status"]["memory"].pop("operations")
    await process.look()
    assert ready(process) == ("False", "NotVerified"), "also where the table remembers none"
    process.delete("back")
    await process.work()
    await process.look()
    assert ready(process)[1] != "NotVerified"


async def test_an_operation_begins_however_many_have_finished() -> None:
    process = Process()
    finished(process, 75)
    await process.work()
    await process.begin()
    assert state_and_reason(process.status)[0] == "Running"


@pytest.mark.parametrize("remembers", [False, True])
async def test_a_table_with_very_many_finished_operations_says_the_same_at_each_look(remembers: bool) -> None:
    process = Process()
    finished(process, 75)
    if remembers:
        known = [
            {"resource": name, "uid": f"uid-of-{name}", "kind": "Restore", "state": "Succeeded", "begun": True}
            for name in (f"a-{number:03}" for number in range(0, 40, 2))
        ]
        process.cluster.tables["flights"]["status"] = {"operations": known}
    await process.work()
    before, told = deepcopy(process.cluster.tables["flights"]["status"]), counted()
    number = len(operations(process))
    assert number == (20 if remembers else 0)
    process.cluster.calls.clear()
    for _ in range(3):
        await process.look()
        assert process.cluster.tables["flights"]["status"] == before
    assert counted() == told
    assert process.cluster.calls.count("get HudiOperation") == 3 * number


async def test_of_very_many_that_wait_each_is_told_why_it_is_not_considered() -> None:
    process = Process(maxPerTable=1)
    for number in range(70):
        process.create(f"a-{number:03}", {"restore": {"instant": TARGET}, "dryRun": True})
    await process.work()
    await process.look()
    before = operations(process)
    await process.look()
    assert (list(operations(process)), len(before)) == (list(before), 20)
    process.queue.add(operation_key("team-a", "a-069"))
    await process.work()
    told = process.operations["a-069"]["status"]
    assert state_and_reason(told)[1] == "TooManyOperations"
    assert told["message"] == (
        "The table considers 20 operations at once, and this operation waits until another of them finishes. If you "
        "no longer want a waiting operation, delete it: a-019, for example."
    )
    assert {one["type"] for one in told["conditions"]} == {"Ready", "Reconciling"}, "nobody has to act"


async def test_approved_operation_is_read_however_many_wait_for_approval() -> None:
    process = Process(approval="Manual")
    for number in range(70):
        process.create(f"a-{number:03}", {"restore": {"instant": TARGET}})
    await process.work()
    await process.look()
    assert process.cluster.jobs == {}
    process.operations["a-069"]["spec"]["approved"] = True
    process.operations["a-069"]["metadata"]["generation"] = 2
    process.event("MODIFIED", "a-069")
    await process.work()
    await process.look()
    assert [asked["resource"] for asked in process.requests] == ["team-a/a-069"]


def test_the_status_of_a_table_names_what_is_read() -> None:
    named = active(service="Operation", operation=decided())
    names = ("daily", "..", "", "a/b", "A", "x" * 253)
    known = HudiTableStatus.model_validate({"savepoints": [{"resource": name, "uid": "u"} for name in names]})
    found = remembered("team-a", status(active_jobs=(named,)))
    assert [(one.key, one.uid) for one in found] == [(BACK, "uid-of-back")], "also what a Job alone remembers"
    assert [one.key.name for one in remembered("team-a", known)] == ["daily", "x" * 253]


@pytest.mark.parametrize(
    ("changes", "rank"),
    [
        ({}, 2),
        ({"spec": {"approved": True}}, 1),
        ({"spec": {"approved": "true"}}, 2),
        ({"status": None}, 2),
        ({"status": {"conditions": [{"type": ["Ready"], "reason": {}}, "Ready"], "finishedAt": []}}, 2),
        ({"status": told_as("Running").to_document()}, 2),
        ({"status": told_as("Failed", "KeysLost").to_document()}, None),
        ({"status": told_as("Succeeded").to_document()}, None),
        ({"status": told_as("Running", "Cascading").to_document()}, None),
        ({"status": told_as("Failed", "NotVerified").to_document()}, 0),
        ({"metadata": {"deletionTimestamp": "now", "finalizers": ["theirs"]}}, 3),
        ({"metadata": {"deletionTimestamp": "now", "finalizers": ["hudi-operator.io/operation"]}}, 2),
    ],
)
def test_operations_are_ranked_by_what_is_left_to_do(changes: Document, rank: int | None) -> None:
    assert rank_of_operation({"metadata": {}, **changes}) == rank


@pytest.mark.parametrize(
    ("changes", "told", "rank"),
    [
        ({}, {}, 1),
        ({}, {"conditions": [{"reason": "Expired"}]}, 1),
        ({}, {"observedGeneration": 1, "conditions": [3, {"reason": []}]}, 1),
        ({}, {"observedGeneration": 1, "conditions": [{"reason": "Expired"}]}, 2),
        ({}, {"observedGeneration": 1, "conditions": [{"reason": "SavepointLost"}]}, 2),
        ({"deletionTimestamp": "now", "finalizers": ["theirs"]}, {}, 2),
        ({"deletionTimestamp": "now", "finalizers": ["hudi-operator.io/savepoint"]}, {}, 0),
    ],
)
def test_savepoints_are_ranked_by_what_is_left_to_do(changes: Document, told: Document, rank: int) -> None:
    assert rank_of_savepoint({"metadata": {"generation": 1, **changes}, "status": told}) == rank
