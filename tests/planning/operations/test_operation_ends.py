"""What follows from the end of an operation's run: it is over, it is tried again, or a person must look at it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.operations import UID, after_run, begun, decided, entry, launches, of, operation, world
from tests.planning.world import (
    NOW,
    again,
    ago,
    at,
    done,
    finding,
    maintenance,
    memory,
    minutes,
    plan_for,
    run,
    status_of,
)

from hudi_jobs.contract import Outcome
from hudi_jobs.contract.operator_folder import OperationTold
from hudi_operator.api.resources import OPERATIONS
from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType, find_condition
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_parts import Protection, TakeoverPhase, TakeoverStatus
from hudi_operator.planning.facts.runs.failures import attempts
from hudi_operator.planning.model import Observation, Undoing
from hudi_operator.planning.model.observation import Related
from hudi_operator.planning.outcome.life import step_of
from hudi_operator.planning.outcome.status.operation_status import decide_operation
from hudi_operator.planning.outcome.status.transitions import transitions
from hudi_operator.timeline import Action, Instant, State

SUCCEEDED, FAILED, RUNNING = OperationState.SUCCEEDED, OperationState.FAILED, OperationState.RUNNING
DONE: dict[str, Any] = {
    "phase": "Done",
    "target": ago(20),
    "removedCount": 1,
    "removed": [ago(10)],
    "rowsBefore": 30,
    "rowsExpected": 20,
    "rowsAfter": 20,
    "verified": True,
    "restore": ago(1),
}
RESTORED: dict[str, Any] = {"files": (done("restore", 1),), "gone": (10,)}


def test_success_ends_it_and_its_report_is_shown() -> None:
    seen = after_run(Outcome.SUCCEEDED, report=DONE, message="Restored.", **RESTORED)
    after = of(seen)
    assert (after.state, after.begun, after.finished_at) == (SUCCEEDED, True, at(NOW))
    assert after.report is not None
    assert (after.report.removed_count, after.report.rows_after, after.report.verified) == (1, 20, True)
    assert maintenance(status_of(seen)) is None
    assert launches(again(replace(seen, jobs=()), status_of(seen))) == [], "it is finished once"


PARTITION: dict[str, Any] = {"rows": 20, "rowsAfter": 20, "checksum": "-7", "checksumAfter": "-7", "equal": True}


def with_comparison(seen: Observation, uid: str = UID) -> Observation:
    comparison = {"checksumAfter": "-7", "different": 0, "listed": [{"path": "day=1", **PARTITION}], "leftOut": 3}
    document = {"uid": uid, "run": "some-run", "phase": "Verifying", "comparison": comparison}
    return replace(seen, snapshot=replace(seen.snapshot, told=OperationTold.model_validate(document)))


def test_the_rows_of_each_partition_are_shown_until_the_resource_says_them_itself() -> None:
    seen = with_comparison(after_run(Outcome.SUCCEEDED, report=DONE, **RESTORED))
    told = of(seen).report
    assert told is not None
    assert told.verification is not None
    assert (told.verification.different, told.verification.left_out) == (0, 3)
    assert [one.model_dump(by_alias=True) for one in told.verification.partitions] == [{"path": "day=1", **PARTITION}]

    asked = decide_operation(operation(), again(seen, status_of(seen)).table, now=NOW).status
    assert asked is not None
    assert asked.report == told
    later = again(replace(seen, jobs=(), related=Related.of({OPERATIONS: (operation(status=asked),)})), status_of(seen))
    kept = of(later).report
    assert kept is not None
    assert kept.verification is not None
    assert (kept.verification.different, kept.verification.partitions) == (0, ())


def test_comparison_of_another_operation_is_not_this_operations() -> None:
    told = of(with_comparison(after_run(Outcome.SUCCEEDED, report=DONE, **RESTORED), "uid-of-another")).report
    assert told is not None
    assert told.verification is None


def test_the_table_tells_of_its_end_and_it_is_counted_once() -> None:
    seen = after_run(Outcome.SUCCEEDED, report=DONE, message="Restored.", **RESTORED)
    step = step_of(plan_for(seen))
    assert "OperationSucceeded" in [one.reason for one in step.notices]
    assert [one.resource for one in step.operations] == ["back"]
    later = again(replace(seen, jobs=()), step.status)
    assert step_of(plan_for(later)).operations == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"files": (f"{ago(1)}.restore.requested", f"{ago(1)}.restore.inflight"), "gone": (10,)},
        {"files": (done("restore", 1),), "gone": ()},
    ],
    ids=["a restore is pending", "a commit that is removed is there"],
)
def test_success_that_the_timeline_denies_is_none(changes: dict[str, Any]) -> None:
    seen = after_run(Outcome.SUCCEEDED, report=DONE, **changes)
    (ended,) = plan_for(seen).finished
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, "NotConfirmed")
    assert (of(seen).state, of(seen).begun) == (RUNNING, True)


def test_a_commit_of_its_run_is_not_the_whole_of_it() -> None:
    seen = after_run(None, **RESTORED)
    marked = replace(seen.snapshot, runs=((seen.jobs[0].name, ago(20)), *seen.snapshot.runs))
    assert of(replace(seen, snapshot=marked)).state is RUNNING


def test_operation_refused_by_its_check_has_changed_nothing_and_is_over() -> None:
    seen = after_run(
        Outcome.FAILED, reason="OperationRefused", message="No. Nothing was changed.", report={"phase": "Checking"}
    )
    after = of(seen)
    assert (after.state, after.reason, after.begun) == (FAILED, "OperationRefused", False)
    assert "Nothing was changed" in after.message
    assert maintenance(status_of(seen)) is None


def test_a_run_that_was_killed_while_it_checked_does_not_hold_a_table_whose_operation_is_refused_then() -> None:
    """A driver that finds a record of an earlier run says so: one that only came to check has found none."""
    killed = after_run(None)
    assert of(killed).begun
    report = {"phase": "Checking"}
    seen = after_run(
        Outcome.FAILED,
        reason="OperationRefused",
        message="No. Nothing was changed.",
        report=report,
        remembered=of(killed),
    )
    assert (of(seen).state, of(seen).begun) == (FAILED, False)
    assert maintenance(status_of(seen)) is None


def test_report_of_a_job_with_only_the_same_name_is_ignored() -> None:
    """Else an operation that is halfway would count as one that has only been checked, and could be forgotten."""
    seen = after_run(
        Outcome.FAILED, reason="OperationRefused", message="No. Nothing was changed.", report={"phase": "Checking"}
    )
    job = seen.table.status.active_jobs[0].copy_with(uid="uid-of-its-own")
    known = seen.table.status.copy_with(active_jobs=(job,))
    others = replace(seen.jobs[0], uid="uid-of-another")
    after = of(replace(seen, table=seen.table.copy_with(status=known), jobs=(others,)))
    assert (after.state, after.begun) == (RUNNING, True)


UNFINISHED: dict[str, dict[str, Any]] = {
    "a driver that died": {"kind": None},
    "a failure while it ran": {"kind": Outcome.FAILED, "reason": "HudiError", "report": {"phase": "Running"}},
    "a failure while it verified": {"kind": Outcome.FAILED, "reason": "HudiError", "report": {"phase": "Verifying"}},
    "a refusal after it had begun": {"kind": Outcome.FAILED, "reason": "OperationRefused", "remembered": begun()},
}


@pytest.mark.parametrize("changes", UNFINISHED.values(), ids=UNFINISHED)
def test_possibly_begun_operation_is_retried_until_it_is_finished(changes: dict[str, Any]) -> None:
    seen = after_run(**changes)
    after = of(seen)
    assert (after.state, after.begun, after.failures, after.reason) == (RUNNING, True, 1, "Retrying")
    assert launches(seen) == [], "it backs off"
    ended = again(replace(seen, jobs=()), status_of(seen))
    assert maintenance(status_of(ended)) is not None
    (launch,) = launches(ended, now=NOW + minutes(1))
    assert launch.job.operation is not None
    assert launch.job.operation.instant == ago(20)


def test_begun_operation_is_retried_however_often_it_fails() -> None:
    seen = after_run(None, remembered=begun(failures=500))
    assert of(seen).state is RUNNING
    wait = (plan_for(again(replace(seen, jobs=()), status_of(seen))).changes_in or 0) / 60
    assert 0 < wait <= 10, "not longer than retry.maxDelay"


NOT_BEGUN: dict[str, dict[str, Any]] = {
    "a store that was down when it checked": {"reason": "StorageUnavailable", "report": {"phase": "Checking"}},
    "a result without a report": {"reason": "ClockBehind"},
}


@pytest.mark.parametrize("changes", NOT_BEGUN.values(), ids=NOT_BEGUN)
def test_operation_that_has_not_begun_is_retried_and_can_be_deleted(changes: dict[str, Any]) -> None:
    seen = after_run(Outcome.FAILED, message="No.", **changes)
    after = of(seen)
    assert (after.state, after.begun, attempts(after)) == (OperationState.DRAINING, False, 1)
    gone = after_run(Outcome.FAILED, message="No.", resource=(operation(deleted=NOW),), **changes)
    assert status_of(gone).operations == ()


def test_operation_that_never_begins_ends_after_as_many_runs_as_the_class_allows() -> None:
    tried = entry(state="Running", job=decided(), failures=9)
    seen = after_run(Outcome.FAILED, remembered=tried, reason="HudiError", message="No.", report={"phase": "Checking"})
    assert (of(seen).state, of(seen).reason, of(seen).begun) == (FAILED, "HudiError", False)


def test_operation_without_its_source_ends_after_so_many_runs_and_not_at_once() -> None:
    """Until then it had begun, by its record, and had failed so often as the budget allows."""
    recorded = {"phase": "Checking", "target": ago(20), "rowsExpected": 20}
    gone = {"reason": "SourceUnavailable", "message": "No broker.", "report": recorded}
    seen = after_run(Outcome.FAILED, remembered=begun(infrastructure_failures=500, failures=500), **gone)
    assert (of(seen).state, of(seen).begun, attempts(of(seen))) == (OperationState.DRAINING, False, 1)
    tried = entry(state="Running", job=decided(), infrastructure_failures=RetrySettings().max_infrastructure_attempts)
    seen = after_run(Outcome.FAILED, remembered=tried, **gone)
    assert (of(seen).state, of(seen).reason) == (FAILED, "SourceUnavailable")


def test_runs_that_die_in_turn_with_runs_that_fail_their_check_use_up_the_budget_together() -> None:
    """A run that dies without a word counts as begun, which is doubt alone until a record shows it."""
    known, checking = entry(state="Running", job=decided()), {"phase": "Checking", "target": ago(20)}
    for number in range(1, 11):
        died = after_run(None, remembered=known)
        failed = after_run(Outcome.FAILED, remembered=known, reason="HudiError", message="No.", report=checking)
        known = of(failed if number % 2 == 0 else died)
        assert attempts(known) == number % 10, "the end forgets them"
    assert (known.state, known.begun) == (FAILED, False)
    assert known.message.startswith("10 runs failed before they changed anything.")


def test_a_report_that_was_too_long_for_the_outcome_says_nothing() -> None:
    seen = after_run(Outcome.FAILED, reason="HudiError")
    (ended,) = seen.jobs
    assert ended.outcome is not None
    cut = replace(ended, outcome=ended.outcome.copy_with(truncated=True))
    assert of(replace(seen, jobs=(cut,))).begun


def test_a_driver_that_says_nothing_of_the_table_does_not_speak_for_one_before_it() -> None:
    for had_others, report in ((False, None), (True, None), (True, {"phase": "Checking"})):
        seen = after_run(Outcome.FAILED, reason="ClockBehind", report=report)
        ended = replace(seen.jobs[0], had_others=had_others, has_run=True)
        assert of(replace(seen, jobs=(ended,))).begun is (had_others and report is None)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": Outcome.FAILED, "reason": "NotVerified"},
        {"kind": Outcome.SUCCEEDED},
    ],
    ids=["the driver says so", "the report says so"],
)
def test_rows_that_are_not_as_expected_stop_the_table_until_a_person_has_looked(changes: dict[str, Any]) -> None:
    report = {**DONE, "rowsAfter": 19, "verified": False}
    seen = after_run(report=report, message="19 rows.", **changes, **RESTORED)
    after = status_of(seen)
    assert (of(seen).state, of(seen).reason, of(seen).begun) == (FAILED, "NotVerified", True)
    assert of(seen).message.startswith("19 rows. Nothing starts on the table until"), "the driver alone says why"
    ready = find_condition(after.conditions, ConditionType.READY)
    assert ready is not None
    assert (ready.status, ready.reason) == (ConditionStatus.FALSE, "NotVerified")
    assert find_condition(after.conditions, ConditionType.STALLED) is not None
    found = [one for one in transitions(seen.table.status, after) if one.reason == "OperationNotVerified"]
    assert [one.warning for one in found] == [True]


def test_ingestion_waits_until_the_unverified_operation_is_deleted() -> None:
    left = entry(state="Failed", reason="NotVerified", begun=True, message="19 rows.", finished_at=at(NOW))
    blocked = world(operation(), remembered=(left,), ingestion={}, gone=(10,))
    assert launches(blocked) == []
    assert status_of(blocked).services.ingestion.reason == "Maintenance"
    for acknowledged in ((operation(deleted=NOW),), ()):
        assert len(launches(world(*acknowledged, remembered=(left,), ingestion={}, gone=(10,)))) == 1


def test_another_operation_may_repair_the_leftovers() -> None:
    left = entry(state="Failed", reason="NotVerified", begun=True, finished_at=at(NOW))
    further = operation("further", restore={"instant": ago(30)})
    seen = world(operation(), further, remembered=(left, entry("further")), gone=(10,))
    (launch,) = launches(seen)
    assert launch.job.operation is not None
    assert launch.job.operation.resource == "further"


def test_a_dry_run_ends_with_its_report_and_never_begins() -> None:
    asked = operation(dryRun=True)
    report = {"phase": "Checking", "target": ago(20), "removedCount": 1}
    known = entry(state="Running", dry_run=True, job=decided(dry_run=True))
    seen = after_run(Outcome.SUCCEEDED, report=report, remembered=known, resource=(asked,))
    assert (of(seen).state, of(seen).begun) == (SUCCEEDED, False)
    died = after_run(None, remembered=known, resource=(asked,))
    assert not of(died).begun


def test_nothing_starts_on_a_deleted_table_once_its_operation_is_over() -> None:
    seen = after_run(Outcome.SUCCEEDED, report=DONE, **RESTORED)
    going = seen.table.metadata.copy_with(deletion_timestamp=at(NOW))
    spec = world(ingestion={}).table.spec
    seen = replace(seen, table=seen.table.copy_with(metadata=going, spec=spec))
    assert of(seen).state is SUCCEEDED
    assert launches(seen) == []


def undone() -> Undoing:
    return Undoing(instant=Instant(ago(1), Action.RESTORE, State.COMPLETED, ago(0.9)), targets=(ago(10),))


def test_its_restore_is_not_taken_for_somebody_elses() -> None:
    ingested = memory(last_run=run(job="run-10", instant=ago(10)))
    seen = after_run(Outcome.SUCCEEDED, report=DONE, **RESTORED, told={"ingestion": ingested})
    before = status_of(world(ingestion={}))
    known = seen.table.status.copy_with(timeline=before.timeline)
    seen = replace(
        seen,
        table=seen.table.copy_with(status=known),
        snapshot=replace(seen.snapshot, undoings=(undone(),)),
    )
    after = status_of(seen)
    assert after.timeline is not None
    assert [(one.action, one.owner) for one in after.timeline.acts or ()] == [("restore", "ThisTable")]
    assert "Restored" not in [one.reason for one in transitions(known, after)]
    last = after.services.ingestion.last_run
    assert last is not None
    assert last.undone_by == ago(1), "the run is known to be undone"
    assert finding(after, FindingCode.FOREIGN_WRITER) is None


@pytest.mark.parametrize("known", [(), (begun(state="Failed"),)], ids=["no operation", "one that is over"])
def test_a_restore_of_somebody_else_is_told_of_as_ever(known: tuple[TableOperation, ...]) -> None:
    before = status_of(world())
    seen = world(remembered=known, told={"timeline": before.timeline}, **RESTORED)
    seen = replace(seen, snapshot=replace(seen.snapshot, undoings=(undone(),)))
    assert "Restored" in [one.reason for one in transitions(seen.table.status, status_of(seen))]


def test_services_count_from_the_restored_state() -> None:
    idle = memory(last_no_op_instant=ago(10))
    seen = after_run(Outcome.SUCCEEDED, report=DONE, **RESTORED, told={"clustering": idle})
    assert status_of(seen).services.clustering.last_no_op_instant is None


def test_the_savepoint_of_a_takeover_that_a_restore_removed_is_made_again() -> None:
    protected = TakeoverStatus(
        phase=TakeoverPhase.DONE, since=at(NOW - minutes(60)), protection=Protection.KEPT, savepoint=ago(10)
    )
    seen = after_run(Outcome.SUCCEEDED, report=DONE, **RESTORED, told={"takeover": protected})
    after = status_of(seen).takeover
    assert after is not None
    assert (after.protection, after.savepoint) == (Protection.WANTED, None)
