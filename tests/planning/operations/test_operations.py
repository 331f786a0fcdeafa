"""When an operation begins: whom it waits for, what it keeps from starting, and when it has the table to itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.continuous_world import running
from tests.planning.operations.operations import (
    JOB,
    UID,
    allowing,
    at_work,
    begun,
    decided,
    entry,
    launches,
    of,
    operation,
    over,
    world,
)
from tests.planning.operations.told import told_as
from tests.planning.savepoints.savepoints import savepoint
from tests.planning.world import (
    NOW,
    active,
    again,
    ago,
    at,
    done,
    job,
    maintenance,
    minutes,
    plan_for,
    status_of,
    table_class,
)

from hudi_jobs.contract import OperationKind, Outcome, Service
from hudi_jobs.contract.operator_folder import OperationTold
from hudi_operator.api.resources import InvalidObject, ObjectMetadata, parse_operation
from hudi_operator.api.spec.operation import OPERATION_FIELDS
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.planning.facts.operations.kinds.operation_registry import KINDS
from hudi_operator.planning.model import LaunchJob, StopJob, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.outcome.life import refused
from hudi_operator.services.registry import SERVICES
from hudi_operator.timeline import CleanSummary

DRAINING, PENDING, RUNNING = OperationState.DRAINING, OperationState.PENDING, OperationState.RUNNING
FAILED, AWAITING = OperationState.FAILED, OperationState.AWAITING_APPROVAL
INGESTS: dict[str, Any] = {"ingestion": {}}


def test_an_operation_is_recorded_before_its_job_is_decided() -> None:
    seen = world(operation())
    assert launches(seen) == [], "its deletion could cross the decision"
    assert of(seen).state is DRAINING
    assert plan_for(seen).changes_in == 1
    (launch,) = launches(again(seen, status_of(seen)))
    assert launch.job.service is Service.OPERATION
    assert launch.job.operation is not None
    assert (launch.job.operation.kind, launch.job.operation.instant) == (OperationKind.RESTORE, ago(20))


def test_decided_work_is_remembered_with_the_job() -> None:
    seen = world(operation(), remembered=(entry(),))
    after = of(seen)
    assert (after.state, after.started_at) == (RUNNING, "2026-03-10T12:00:00Z")
    assert after.job is not None
    assert after.job.instant == ago(20)


def test_operation_without_the_finalizer_never_starts() -> None:
    assert launches(world(operation(held=False), remembered=(entry(),))) == []


def test_operation_deleted_before_it_has_begun_is_forgotten() -> None:
    seen = world(operation(deleted=NOW), remembered=(entry(),))
    assert launches(seen) == []
    assert status_of(seen).operations == ()


def test_no_class_allows_an_operation_unless_it_says_so() -> None:
    seen = world(operation(), table_class=table_class(), **INGESTS)
    assert (of(seen).state, of(seen).reason) == (PENDING, "OperationNotAllowed")
    assert [one.job.service for one in launches(seen)] == [Service.INGESTION], "it blocks nothing"


def test_a_class_allows_operations_by_their_kind() -> None:
    seen = world(operation(), table_class=allowing(allowed=["Rollback"]), remembered=(entry(),))
    assert of(seen).reason == "OperationNotAllowed"


def test_an_operation_waits_for_approval_and_blocks_nothing_meanwhile() -> None:
    seen = world(operation(), table_class=allowing(approval="Manual"), remembered=(entry(),), **INGESTS)
    assert (of(seen).state, of(seen).reason) == (AWAITING, "AwaitingApproval")
    assert [one.job.service for one in launches(seen)] == [Service.INGESTION]
    approved = world(operation(approved=True), table_class=allowing(approval="Manual"), remembered=(entry(),))
    assert [one.job.service for one in launches(approved)] == [Service.OPERATION]


def test_a_dry_run_needs_no_approval() -> None:
    seen = world(operation(dryRun=True), table_class=allowing(approval="Manual"), remembered=(entry(),))
    (launch,) = launches(seen)
    assert launch.job.operation is not None
    assert launch.job.operation.dry_run


def test_on_an_optimistic_table_somebody_has_to_say_that_the_others_have_stopped() -> None:
    shared: dict[str, Any] = {"concurrency": {"mode": "Optimistic"}}
    seen = world(operation(), remembered=(entry(),), **shared)
    assert (of(seen).state, of(seen).reason, launches(seen)) == (FAILED, "OtherWriters", [])
    accepted = world(operation(acceptOtherWriters=True), remembered=(entry(),), **shared)
    assert [one.job.service for one in launches(accepted)] == [Service.OPERATION]


def test_failed_operation_stays_failed_whatever_is_changed_later() -> None:
    seen = world(operation(), remembered=(entry(state="Failed", reason="OtherWriters", message="No."),))
    assert (of(seen).state, launches(seen)) == (FAILED, [])


def test_operation_finished_by_its_own_status_never_begins_again() -> None:
    told = told_as(OperationState.SUCCEEDED, "Succeeded", begun=True, instant=ago(20))
    seen = world(operation(status=told))
    assert launches(again(seen, status_of(seen))) == []
    assert of(seen).state is OperationState.SUCCEEDED


def test_operation_begun_by_its_own_status_finishes_only_recorded_work() -> None:
    told = told_as(RUNNING, "Retrying", begun=True, instant=ago(20))
    seen = world(operation(status=told), gone=(20,), **INGESTS)
    assert launches(seen) == [], "the table has to remember it first, and starts nothing else meanwhile"
    (launch,) = launches(again(seen, status_of(seen)))
    assert launch.job.operation is not None
    assert (launch.job.operation.instant, launch.job.operation.only_recorded) == (ago(20), True)


def test_operation_with_a_job_before_its_table_forgot_it_counts_as_begun() -> None:
    told = told_as(RUNNING, "Running", instant=ago(20))
    for one, begun_again in ((operation(status=told), True), (operation(status=told, dryRun=True), False)):
        assert of(world(one)).begun is begun_again
    assert status_of(world(operation(status=told, deleted=NOW))).operations == (), "it has not begun, and was forgotten"


def test_operation_begun_in_another_folder_is_over() -> None:
    told = told_as(RUNNING, begun=True, instant=ago(20), base_path="s3a://lake/team-a/other")
    seen = world(operation(status=told), **INGESTS)
    assert (of(seen).state, of(seen).reason, of(seen).finished_at) == (FAILED, "TableNotFound", at(NOW))
    assert [one.job.service for one in launches(seen)] == [Service.INGESTION]


@pytest.mark.parametrize(
    "path", [f"{scheme}://lake/team-a/flights{end}" for scheme in ("s3a", "s3") for end in ("", "/")]
)
def test_begun_operation_is_finished_on_a_table_declared_again_in_the_same_folder(path: str) -> None:
    told = told_as(RUNNING, begun=True, instant=ago(20), base_path=path)
    seen = world(operation(status=told))
    assert [one.job.service for one in launches(again(seen, status_of(seen)))] == [Service.OPERATION]


REFUSED = {
    "a commit that is not there": ({"restore": {"instant": ago(25)}}, {}, "InstantNotFound"),
    "a clean": ({"restore": {"instant": ago(15)}}, {"files": (done("clean", 15),)}, "NotACommit"),
    "a rollback of an older commit": ({"rollback": {"instant": ago(20)}}, {}, "NotLatest"),
    "a commit whose files are gone": (
        {},
        {"files": (done("clean", 5),), "clean": CleanSummary(earliest_retained=ago(10), last_completed_commit=ago(10))},
        "InstantCleaned",
    ),
}


@pytest.mark.parametrize(("spec", "changes", "reason"), REFUSED.values(), ids=REFUSED)
def test_impossible_operation_is_refused_before_anything_stops(
    spec: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    seen = world(operation(**spec), remembered=(entry(),), **changes, **INGESTS)
    assert (of(seen).state, of(seen).reason) == (FAILED, reason)
    assert of(seen).finished_at is not None
    assert [one.job.service for one in launches(seen)] == [Service.INGESTION]


def test_the_latest_commit_is_rolled_back() -> None:
    (launch,) = launches(world(operation(rollback={"instant": ago(10)}), remembered=(entry(),)))
    assert launch.job.operation is not None
    assert (launch.job.operation.kind, launch.job.operation.instant) == (OperationKind.ROLLBACK, ago(10))


def test_the_latest_commit_is_that_which_completed_last() -> None:
    compacted: dict[str, Any] = {"files": (done("commit", 15, 1),)}
    rolled_back = operation(rollback={"instant": ago(15)})
    (launch,) = launches(world(rolled_back, remembered=(entry(),), **compacted))
    assert launch.job.operation is not None
    assert launch.job.operation.instant == ago(15)
    seen = world(operation(rollback={"instant": ago(10)}), remembered=(entry(),), **compacted)
    assert (of(seen).reason, launches(seen)) == ("NotLatest", [])
    assert f"The latest commit is {ago(15)}" in of(seen).message
    older = seen.snapshot.timeline
    assert older is not None
    untold = replace(older, instants=tuple(one._replace(completed_at=None) for one in older.instants))
    assert launches(replace(seen, snapshot=replace(seen.snapshot, timeline=untold))), (
        "before version 8 the driver tells"
    )


ALL_DUE: dict[str, Any] = {
    **INGESTS,
    "compaction": {},
    "clustering": {"mode": "Async"},
    "cleaning": {},
    "archival": {},
    "files": tuple(done("deltacommit", 9 - number / 8) for number in range(40)),
}


def test_no_other_job_starts_while_an_operation_is_to_begin() -> None:
    seen = world(operation(), **ALL_DUE)
    seen = replace(seen, related=replace(seen.related, savepoints=(savepoint(),)))
    assert launches(seen) == []
    after = status_of(seen)
    for service in set(SERVICES) - {Service.OPERATION, Service.CATALOG}:
        memory = after.services.of(service)
        assert (memory.due, memory.reason) == (True, "Maintenance"), service
        assert "Blocked by HudiOperation back" in memory.message, service
    assert maintenance(after) is not None
    ready = find_condition(after.conditions, ConditionType.READY)
    assert ready is not None
    assert ready.reason == "Maintenance"


def test_a_run_that_is_under_way_comes_to_its_end_first() -> None:
    seen = world(operation(), remembered=(entry(),), told={"active_jobs": (active(),)}, jobs=(job(),), **INGESTS)
    plan = plan_for(seen)
    assert plan.actions == ()
    assert "waiting for flights-ingestion-0123456789 to end" in of(seen).message
    assert of(seen).state is DRAINING


@pytest.mark.parametrize("mode", ["Serialized", "Optimistic"])
def test_a_continuous_driver_ends_between_two_batches(mode: str) -> None:
    ingestion = {"mode": "Continuous", "schedule": {"every": "5m"}}
    seen = world(
        operation(acceptOtherWriters=True),
        remembered=(entry(),),
        told={"active_jobs": (running(),)},
        jobs=(job(generation=1),),
        ingestion=ingestion,
        concurrency={"mode": mode},
    )
    (stop,) = plan_for(seen).actions
    assert isinstance(stop, StopJob)
    assert "HudiOperation back" in stop.job.message


@pytest.mark.parametrize("mode", ["Serialized", "Optimistic"])
def test_no_job_starts_beside_an_operation_at_work(mode: str) -> None:
    seen = world(
        operation(acceptOtherWriters=True),
        remembered=(entry(state="Running", job=decided()),),
        told={"active_jobs": (at_work(),)},
        jobs=(replace(over(None), phase=job().phase),),
        concurrency={"mode": mode},
        **INGESTS,
    )
    assert launches(seen) == []
    assert (of(seen).state, of(seen).reason) == (RUNNING, "Running")


def test_a_restore_that_has_completed_is_being_verified() -> None:
    seen = world(
        operation(),
        remembered=(entry(state="Running", job=decided()),),
        files=(done("restore", 1),),
        gone=(10,),
        told={"active_jobs": (at_work(),)},
        jobs=(replace(over(None), phase=job().phase),),
    )
    assert of(seen).state is OperationState.VERIFYING


def test_a_dry_run_has_its_driver_look_where_a_clean_may_have_removed_files() -> None:
    cleaned: dict[str, Any] = {
        "files": (done("clean", 5),),
        "clean": CleanSummary(earliest_retained=ago(10), last_completed_commit=ago(10)),
    }
    assert of(world(operation(), remembered=(entry(),), **cleaned)).reason == "InstantCleaned"
    (launch,) = launches(world(operation(dryRun=True), remembered=(entry(dry_run=True),), **cleaned))
    assert launch.job.operation is not None
    assert (launch.job.operation.instant, launch.job.operation.dry_run) == (ago(20), True)


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({"phase": "Verifying"}, OperationState.VERIFYING),
        ({"phase": "Running"}, RUNNING),
        ({"phase": "Verifying", "uid": "uid-of-another"}, RUNNING),
        ({"phase": "Verifying", "run": "flights-operation-earlier"}, RUNNING),
    ],
    ids=["it compares", "it works", "another operation compared", "an earlier run compared"],
)
def test_an_operation_of_any_kind_is_verifying_once_its_driver_says_so(
    said: dict[str, Any], state: OperationState
) -> None:
    seen = world(
        operation(repair={"rebuildMetadataTable": {}}),
        remembered=(entry(kind="Repair", state="Running"),),
        told={"active_jobs": (at_work(kind="Repair", instant=None),)},
        jobs=(replace(over(None), phase=job().phase),),
    )
    document = OperationTold.model_validate({"uid": UID, "run": JOB, **said})
    seen = replace(seen, snapshot=replace(seen.snapshot, told=document))
    assert of(seen).state is state


def test_older_of_two_operations_goes_first() -> None:
    younger = operation("later", created=NOW - minutes(1))
    seen = world(younger, operation(), remembered=(entry(), entry("later")))
    (launch,) = launches(seen)
    assert launch.job.operation is not None
    assert launch.job.operation.resource == "back"
    assert (of(seen, "later").state, of(seen, "later").message) == (PENDING, "Waiting for HudiOperation back.")


def test_operation_awaiting_approval_keeps_no_later_operation_waiting() -> None:
    younger = operation("later", created=NOW - minutes(1), approved=True)
    seen = world(operation(), younger, table_class=allowing(approval="Manual"), remembered=(entry(), entry("later")))
    (launch,) = launches(seen)
    assert launch.job.operation is not None
    assert launch.job.operation.resource == "later"


def test_approved_operation_says_so_while_it_waits_for_its_turn() -> None:
    later = [operation(name, created=NOW - minutes(1), **spec) for name, spec in APPROVALS.items()]
    remembered = (begun(), *(entry(name) for name in APPROVALS))
    seen = world(operation(approved=True), *later, table_class=allowing(approval="Manual"), remembered=remembered)
    assert {name: of(seen, name).state.value for name in APPROVALS} == {
        "approved": "Approved",
        "dry": "Pending",
        "asks": "AwaitingApproval",
    }
    automatic = replace(seen, table_class=allowing())
    assert {of(automatic, name).state for name in APPROVALS} == {PENDING}
    blocked = world(
        operation(approved=True), table_class=allowing(approval="Manual"), files=(f"{ago(1)}.commit.requested",)
    )
    assert (of(blocked).state.value, of(blocked).reason) == ("Approved", "Blocked")


APPROVALS: dict[str, dict[str, Any]] = {"approved": {"approved": True}, "dry": {"dryRun": True}, "asks": {}}


def test_a_suspended_table_can_be_restored() -> None:
    seen = world(operation(), remembered=(entry(),), suspend=True, **INGESTS)
    assert [one.job.service for one in launches(seen)] == [Service.OPERATION]
    (launch,) = launches(seen)
    again_asked = world(
        operation(),
        remembered=(entry(state="Running", job=decided()),),
        told={"active_jobs": (launch.job,)},
        suspend=True,
    )
    assert len(plan_for(again_asked).actions) == 1, "the Job whose intent is recorded is created"


HELD: dict[str, dict[str, Any]] = {
    "a table that is only observed": {"managementPolicy": "Observe"},
    "a store that does not answer": {
        "snapshot": TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="It is down.")
    },
}


@pytest.mark.parametrize("changes", HELD.values(), ids=HELD)
def test_no_operation_begins_on_a_blocked_table(changes: dict[str, Any]) -> None:
    seen = world(operation(), remembered=(entry(),), **changes)
    assert launches(seen) == []
    assert of(seen).state is PENDING


RESTORING = (f"{ago(2)}.restore.requested", f"{ago(2)}.restore.inflight")


@pytest.mark.parametrize("dry_run", [False, True])
def test_beside_a_restore_that_is_pending_only_another_restore_begins(*, dry_run: bool) -> None:
    """Its driver finishes one that an operation which is gone has left, and refuses any other."""
    kept: dict[str, Any] = {"files": RESTORING, **INGESTS}
    for other in (operation(rollback={"instant": ago(10)}), operation(repair={"rebuildMetadataTable": {}})):
        seen = world(other, remembered=(entry(kind=other.spec.kind),), **kept)
        assert launches(seen) == []
        assert "another HudiOperation that restores to the same commit" in of(seen).message
    (launch,) = launches(world(operation(dryRun=dry_run), remembered=(entry(dry_run=dry_run),), **kept))
    assert launch.job.operation is not None
    assert (launch.job.operation.instant, launch.job.operation.dry_run) == (ago(20), dry_run)
    assert launches(world(operation(), remembered=(entry(),), managementPolicy="Observe", **kept)) == []


def test_begun_operation_finishes_its_own_restore() -> None:
    seen = world(operation(), remembered=(begun(),), files=RESTORING, gone=(10,), **INGESTS)
    assert [one.job.service for one in launches(seen)] == [Service.OPERATION]
    ready = find_condition(status_of(seen).conditions, ConditionType.READY)
    assert ready is not None
    assert ready.reason == "Maintenance", "the restore is its own"


@pytest.mark.parametrize("changes", [{"managementPolicy": "Observe"}, {"table_class": None}])
def test_begun_operation_waits_while_no_job_of_its_table_may_run(changes: dict[str, Any]) -> None:
    seen = world(operation(), remembered=(begun(),), **changes)
    assert (launches(seen), of(seen).state, of(seen).reason, of(seen).begun) == ([], RUNNING, "Blocked", True)


GONE: dict[str, tuple[object, ...]] = {
    "is gone": (),
    "goes": (operation(deleted=NOW),),
    "cannot be read": (InvalidObject(metadata=ObjectMetadata(name="back", uid="uid-of-back"), message="Odd."),),
    "is allowed no more": (operation(),),
}


@pytest.mark.parametrize("resources", GONE.values(), ids=GONE)
def test_begun_operation_is_finished_although_its_resource(resources: tuple[object, ...]) -> None:
    seen = world(*resources, remembered=(begun(),), table_class=table_class(), **INGESTS)
    assert [one.job.service for one in launches(seen)] == [Service.OPERATION]


@pytest.mark.parametrize(("name", "only"), [(name, name in {"is gone", "goes"}) for name in GONE])
def test_unwanted_operation_is_finished_only_if_a_run_has_recorded_it(name: str, *, only: bool) -> None:
    for told in (False, True):
        remembered = begun(job=decided(only_recorded=told))
        (launch,) = launches(world(*GONE[name], remembered=(remembered,), table_class=table_class()))
        assert launch.job.operation is not None
        assert launch.job.operation.only_recorded is only, "it is asked anew for each run"


def test_begun_operation_is_finished_before_the_table_goes() -> None:
    seen = world(operation(), operation("later"), remembered=(begun(), entry("later")), **INGESTS)
    going = seen.table.metadata.copy_with(deletion_timestamp="2026-03-10T11:59:00Z")
    seen = replace(seen, table=seen.table.copy_with(metadata=going))
    (launch,) = launches(seen)
    assert launch.job.operation is not None
    assert (launch.job.operation.resource, launch.job.operation.only_recorded) == ("back", True)
    assert [one.resource for one in status_of(seen).operations] == ["back"], "no other one begins"


def test_a_refused_job_is_tried_again_later() -> None:
    seen = world(operation(), remembered=(entry(),))
    plan = plan_for(seen)
    (launch,) = [one for one in plan.actions if isinstance(one, LaunchJob)]
    after = refused(plan, launch.job, message="No quota.", now=NOW)
    (left,) = after.operations
    assert (left.state, left.failures, left.infrastructure_failures, left.begun) == (DRAINING, 0, 1, False)
    assert left.retry_at is not None


def test_without_operations_a_table_says_nothing_of_them() -> None:
    after = status_of(world())
    assert (after.operations, after.services.operation) == ((), None)
    assert maintenance(after) is None


def test_a_job_that_nobody_asks_for_any_more_is_not_created_late() -> None:
    (launch,) = launches(world(operation(), remembered=(entry(),)))
    told = {"active_jobs": (launch.job,)}
    assert plan_for(world(operation(deleted=NOW), remembered=(entry(),), told=told)).actions == ()
    assert len(plan_for(world(operation(), remembered=(entry(),), told=told)).actions) == 1


def test_success_without_a_count_of_rows_is_success() -> None:
    seen = world(
        operation(), remembered=(entry(job=decided()),), told={"active_jobs": (at_work(),)}, jobs=(over(),), gone=(10,)
    )
    assert of(seen).state is OperationState.SUCCEEDED
    (run,) = plan_for(seen).finished
    assert run.outcome is Outcome.SUCCEEDED


def test_every_kind_that_can_be_asked_for_is_known_to_the_decision() -> None:
    assert set(OPERATION_FIELDS) == set(KINDS)


def test_a_kind_of_a_newer_release_is_no_operation_of_this_one() -> None:
    document = {"metadata": {"name": "back", "uid": "u"}, "spec": {"tableRef": {"name": "flights"}, "newer": {}}}
    parsed = parse_operation(document)
    assert isinstance(parsed, InvalidObject)
    assert "exactly one operation or decision that this release knows must be set" in parsed.message
