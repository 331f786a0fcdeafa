"""Operations against a cluster in memory: the resource, its table and the Job between them, from beginning to end."""

from __future__ import annotations

from typing import Any

import pytest
from tests.control.process import RestingTable
from tests.planning.operations.operations import decided
from tests.planning.operations.told import state_and_reason, told_as
from tests.planning.world import IMAGE, active, done, observe, table
from tests.whole_status import whole

from hudi_jobs.contract import JobOutcome, Outcome, TaskResult
from hudi_operator.api.resources import OPERATION_UID_ANNOTATION
from hudi_operator.control.operations import OPERATIONS
from hudi_operator.jobs.decided_job import JobRefused, build_manifest
from hudi_operator.kube.keys import TABLE, operation_key
from hudi_operator.planning.model.times import format_time
from hudi_operator.telemetry.metrics import metrics

Document = dict[str, Any]
BACK = operation_key("team-a", "back")
FILES = tuple(done("commit", number) for number in (30, 20, 10))
TIMES = tuple(one.partition("_")[0] for one in FILES)
TARGET = TIMES[1]
RESTORE = done("restore", 1)
REPORT: Document = {
    "phase": "Done",
    "target": TARGET,
    "removedCount": 1,
    "removed": [TIMES[2]],
    "rowsAfter": 20,
    "verified": True,
}


class Process(RestingTable):
    """Its table has three commits, and its class allows a restore."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(OPERATIONS)
        self.operations = self.resources
        (kind,) = self.cluster.classes.values()
        kind["spec"]["operations"] = {"allowed": ["Restore"], **settings}
        self.shows(*FILES)

    def declare(self, **spec: Any) -> None:
        self.create("back", {"restore": {"instant": TARGET}, **spec})

    async def begin(self, **spec: Any) -> None:
        """Declare an operation, and let its Job be created."""
        self.declare(**spec)
        await self.work()
        await self.look()
        assert len(self.cluster.jobs) == 1
        self.cluster.kubelet()
        await self.look()

    async def end_job(self, outcome: Outcome | None, **changes: Any) -> None:
        """Let the Job end with this report, and the operator see it."""
        named = {"id": "team-a/flights/operation", "outcome": outcome, **changes}
        result = None if outcome is None else TaskResult.model_validate(named)
        terminated: Document = {"exitCode": 137 if result is None else 0 if outcome is Outcome.SUCCEEDED else 1}
        if result is not None:
            terminated["message"] = JobOutcome(results=(result,)).model_dump_json(by_alias=True, exclude_none=True)
        job = list(self.cluster.jobs.values())[-1]
        for pod in self.cluster.pods.values():
            if pod["metadata"]["labels"].get("batch.kubernetes.io/job-name") == job["metadata"]["name"]:
                pod["status"] = {
                    "phase": "Failed",
                    "containerStatuses": [{"name": "driver", "state": {"terminated": terminated}}],
                }
        job["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
        await self.look()

    def hold(self, *, generation: int) -> Document:
        """Have a queue hold the only Job, which it has changed as often as the generation says."""
        (job,) = self.cluster.jobs.values()
        job["metadata"] |= {"generation": generation, "resourceVersion": "1"}
        job["spec"]["suspend"] = True
        return job

    @property
    def status(self) -> Document:
        found: Document = self.operations["back"]["status"]
        return found

    @property
    def requests(self) -> list[Document]:
        """What the Jobs were asked to do."""
        return self.asked("operation")


def counted() -> float:
    """How many restores this process has counted as done."""
    name, labels = "hudi_operator_operations_total", {"kind": "Restore", "outcome": "Succeeded"}
    return metrics.registry.get_sample_value(name, labels) or 0


async def test_operation_seen_before_its_finalizer_begins_once_it_has_the_finalizer() -> None:
    process = Process()
    process.declare()
    process.queue.discard(BACK)  # as where the finalizer is refused at first
    await process.work()
    assert len(process.cluster.jobs) == 1


async def test_an_operation_is_held_carried_out_told_of_and_let_go() -> None:
    process = Process()
    await process.begin()
    metadata = process.operations["back"]["metadata"]
    assert metadata["finalizers"] == ["hudi-operator.io/operation"]
    assert metadata["annotations"] == {"hudi-operator.io/operation-uid": "uid-of-back"}
    assert process.requests == [
        {
            "kind": "Restore",
            "instant": TARGET,
            "resource": "team-a/back",
            "uid": "uid-of-back",
            "dryRun": False,
            "onlyRecorded": False,
            "newerSavepoints": "Refuse",
            "reingest": True,
        }
    ]
    assert (state_and_reason(process.status), process.status["instant"]) == (("Running", "Running"), TARGET)

    before = counted()
    process.shows(*FILES[:2], RESTORE)
    await process.end_job(Outcome.SUCCEEDED, operation=REPORT, message="Restored.")
    assert (state_and_reason(process.status)[0], process.status["report"]["verified"]) == ("Succeeded", True)
    assert counted() == before + 1
    told = [event[:2] for event in process.cluster.events]
    assert ("Normal", "OperationSucceeded") in told

    process.delete("back")
    await process.work()
    assert "back" not in process.operations


def restore_from_backup(process: Process) -> None:
    """Create the operation as a backup has it: with another uid, its annotation of before, and no status."""
    process.declare()
    process.operations["back"]["metadata"]["annotations"] = {OPERATION_UID_ANNOTATION: "uid-from-before"}


@pytest.mark.parametrize("alone_first", [False, True], ids=["in the order of the queue", "before there is its table"])
async def test_operation_from_a_backup_is_refused_at_every_reconcile_of_its_table(alone_first: bool) -> None:
    process = Process()
    tables = dict(process.cluster.tables)
    if alone_first:
        process.cluster.tables.clear()
    restore_from_backup(process)
    await process.work()
    process.cluster.tables.update(tables)
    process.queue.add(BACK)
    await process.work()
    await process.look()
    assert (state_and_reason(process.status), process.cluster.jobs) == (("Failed", "CopiedOperation"), {})
    metadata = process.operations["back"]["metadata"]
    assert metadata["annotations"] == {OPERATION_UID_ANNOTATION: "uid-from-before"}
    assert metadata["finalizers"] == ["hudi-operator.io/operation"]


async def test_finished_operation_gets_its_uid_back_for_a_backup() -> None:
    process = Process()
    process.declare()
    process.operations["back"]["status"] = told_as("Succeeded").to_document()
    await process.work()
    assert process.operations["back"]["metadata"]["annotations"] == {OPERATION_UID_ANNOTATION: "uid-of-back"}


async def test_operation_waits_for_its_approval() -> None:
    process = Process(approval="Manual")
    process.declare()
    await process.work()
    await process.look()
    assert (state_and_reason(process.status), process.cluster.jobs) == (("AwaitingApproval", "AwaitingApproval"), {})
    process.operations["back"]["spec"]["approved"] = True
    process.operations["back"]["metadata"]["generation"] = 2
    process.event("MODIFIED", "back")
    await process.work()
    await process.look()
    assert len(process.requests) == 1


async def test_deleted_operation_that_has_not_begun_is_just_removed() -> None:
    process = Process(approval="Manual")
    process.declare()
    await process.work()
    process.delete("back")
    await process.work()
    assert "back" not in process.operations
    assert "operations" not in {key for key, value in whole(process.cluster.tables["flights"]).items() if value}


async def held(*, generation: int = 1) -> Process:
    """A process whose only Job a queue holds, by default since it was created."""
    process = Process()
    process.declare()
    await process.work()
    await process.look()
    process.hold(generation=generation)
    await process.look()
    assert whole(process.cluster.tables["flights"])["activeJobs"][0]["state"] == "Suspended"
    return process


async def test_a_job_that_a_queue_has_held_since_it_was_created_goes_with_its_operation() -> None:
    process = await held()
    process.delete("back")
    await process.work()
    await process.look()
    assert (process.cluster.jobs, "back" in process.operations) == ({}, False)
    status = whole(process.cluster.tables["flights"])
    assert not status.get("operations")
    assert not status.get("activeJobs")
    assert [run["reason"] for run in status["history"]] == ["OperationWithdrawn"]
    assert not process.cluster.pods


async def test_a_job_that_a_queue_has_held_since_it_was_created_goes_with_its_table() -> None:
    process = await held()
    metadata = process.cluster.tables["flights"]["metadata"]
    metadata["deletionTimestamp"] = format_time(process.cluster.now())
    for _ in range(3):
        await process.look()
    assert (process.cluster.tables, process.cluster.jobs) == ({}, {})


@pytest.mark.parametrize("uid", [None, "uid-2"], ids=["nothing", "another"])
async def test_a_job_that_a_queue_has_held_goes_where_there_is_no_such_operation_any_more(uid: str | None) -> None:
    process = await held()
    (job,) = process.cluster.jobs
    if uid is None:
        del process.operations["back"]
        process.known.forget(BACK)
    else:
        process.declare()
        process.operations["back"]["metadata"]["uid"] = uid
        process.event("MODIFIED", "back")
    for _ in range(2):
        await process.look()
    assert job not in process.cluster.jobs
    assert "uid-of-back" not in {one["uid"] for one in whole(process.cluster.tables["flights"])["operations"]}


async def test_an_operation_whose_held_job_is_removed_goes_also_where_its_table_may_not_be_read() -> None:
    process = await held()
    process.cluster.classes.clear()
    process.pass_minutes(30)
    process.delete("back")
    await process.work()
    await process.look()
    status = whole(process.cluster.tables["flights"])
    assert ("back" in process.operations, process.cluster.jobs, status["activeJobs"]) == (False, {}, [])


async def test_an_operation_whose_job_came_and_went_while_nobody_looked_is_finished_by_another_run() -> None:
    process = Process()
    process.declare()
    await process.work()
    await process.look()
    process.cluster.jobs.clear()
    process.shows(*FILES, f"{RESTORE.partition('_')[0]}.restore.inflight")
    process.pass_minutes(90)
    process.delete("back")
    await process.look()
    assert (process.status["begun"], state_and_reason(process.status)[1]) == (True, "Retrying")
    process.pass_minutes(5)
    await process.look()
    assert [one["uid"] for one in process.requests] == ["uid-of-back"]


async def test_a_job_that_a_queue_has_let_go_once_may_have_begun_its_operation() -> None:
    process = await held(generation=3)
    process.delete("back")
    await process.look()
    assert (len(process.cluster.jobs), "back" in process.operations) == (1, True)


async def test_deleted_begun_operation_is_held_and_finished_by_another_run() -> None:
    process = Process()
    await process.begin()
    await process.end_job(None)
    assert (state_and_reason(process.status), process.status["begun"]) == (("Running", "Retrying"), True)
    process.delete("back")
    await process.work()
    assert "back" in process.operations
    process.pass_minutes(5)
    await process.look()
    assert [one["uid"] for one in process.requests] == ["uid-of-back", "uid-of-back"]
    process.shows(*FILES[:2], RESTORE)
    process.cluster.kubelet()
    await process.end_job(Outcome.SUCCEEDED, operation=REPORT)
    assert "back" not in process.operations


async def test_the_deletion_of_a_table_waits_for_what_has_begun() -> None:
    process = Process()
    await process.begin()
    await process.end_job(None)
    metadata = process.cluster.tables["flights"]["metadata"]
    metadata["deletionTimestamp"] = format_time(process.cluster.now())
    process.pass_minutes(5)
    await process.look()
    assert "flights" in process.cluster.tables
    assert len(process.requests) == 2
    newest = list(process.cluster.jobs.values())[-1]
    assert "ownerReferences" not in newest["metadata"], "a deletion in the foreground would take it away"
    process.shows(*FILES[:2], RESTORE)
    process.cluster.kubelet()
    await process.end_job(Outcome.SUCCEEDED, operation=REPORT)
    await process.look()
    assert "flights" not in process.cluster.tables


async def test_finished_operation_is_deleted_after_its_time() -> None:
    process = Process()
    await process.begin(ttlAfterFinished="1m")
    process.shows(*FILES[:2], RESTORE)
    await process.end_job(Outcome.SUCCEEDED, operation=REPORT)
    assert "back" in process.operations
    process.pass_minutes(2)
    process.queue.add(BACK)
    await process.work()
    metadata = process.operations.get("back", {}).get("metadata", {"deletionTimestamp": "gone"})
    assert metadata.get("deletionTimestamp") is not None


def test_a_job_whose_status_makes_no_sense_is_refused() -> None:
    target = observe(table())
    plan = '{"service":"Clustering","clustering":{"plan":{"partitions":{"names":["/,/"]}}}}'
    services = ("", "[]", '{"service":"Ingestion"}', plan)
    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"operation": decided(instant="../..")},
        *(
            {"operation": decided(kind="RunService", service={"service": "Clustering", "asked": one})}
            for one in services
        ),
    )
    for changes in wrong:
        with pytest.raises(JobRefused):
            build_manifest(target, active(service="Operation", **changes), default_image=IMAGE)


def test_an_operation_names_a_table_of_its_own_namespace() -> None:
    document = {"metadata": {"namespace": "team-a"}, "spec": {"tableRef": {"name": "flights"}}}
    found = OPERATIONS.reference(document)
    assert found is not None
    assert (found.kind, found.namespace, found.name) == (TABLE, "team-a", "flights")
    assert OPERATIONS.reference({"spec": {"tableRef": 7}}) is None
