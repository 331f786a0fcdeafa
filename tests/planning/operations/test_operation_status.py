"""What the status of a HudiOperation says, and when its resource may go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.operations import decided, entry, operation, world
from tests.planning.operations.told import told_as
from tests.planning.world import NOW, ago, at, minutes, status, status_of, table

from hudi_operator.api.resources import HudiOperation, HudiTable, InvalidObject, ObjectMetadata, parse_operation
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType, find_condition
from hudi_operator.api.status.operation_status import HudiOperationStatus, OperationState
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.planning.outcome.status.operation_status import decide_operation, moved_operations

READY, STALLED, RECONCILING = ConditionType.READY, ConditionType.STALLED, ConditionType.RECONCILING
REPORT: dict[str, Any] = {"target": ago(20), "removedCount": 1, "rowsAfter": 20, "verified": True}


def saying(*entries: TableOperation) -> HudiTable:
    return table(status=status(operations=entries))


def status_of_operation(asked: HudiOperation, one: HudiTable | InvalidObject | None) -> HudiOperationStatus:
    found = decide_operation(asked, one, now=NOW).status
    assert found is not None
    return found


def test_operation_shows_the_report_of_its_table() -> None:
    known = entry(state="Running", reason="Running", message="Job x.", begun=True, job=decided(), started_at=at(NOW))
    after = status_of_operation(operation(), saying(known))
    assert (after.state, after.reason, after.message) == (OperationState.RUNNING, "Running", "Job x.")
    assert (after.instant, after.begun, after.started_at) == (ago(20), True, at(NOW))
    reconciling = find_condition(after.conditions, RECONCILING)
    assert reconciling is not None
    assert reconciling.status is ConditionStatus.TRUE


@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        ("Pending", "Pending", {"Ready": ("False", "Pending"), "Reconciling": ("True", "Pending")}),
        ("Pending", "Blocked", {"Ready": ("False", "Blocked"), "Reconciling": ("True", "Pending")}),
        (
            "Pending",
            "OperationNotAllowed",
            {"Ready": ("False", "OperationNotAllowed"), "Stalled": ("True", "OperationNotAllowed")},
        ),
        (
            "AwaitingApproval",
            "AwaitingApproval",
            {"Ready": ("False", "AwaitingApproval"), "Reconciling": ("True", "AwaitingApproval")},
        ),
        ("Approved", "Pending", {"Ready": ("False", "Approved"), "Reconciling": ("True", "Approved")}),
        ("Approved", "Blocked", {"Ready": ("False", "Blocked"), "Reconciling": ("True", "Approved")}),
        ("Draining", "Draining", {"Ready": ("False", "Draining"), "Reconciling": ("True", "Draining")}),
        ("Running", "Running", {"Ready": ("False", "Running"), "Reconciling": ("True", "Running")}),
        ("Running", "Retrying", {"Ready": ("False", "Retrying"), "Reconciling": ("True", "Running")}),
        ("Verifying", "Verifying", {"Ready": ("False", "Verifying"), "Reconciling": ("True", "Verifying")}),
        ("Succeeded", "Succeeded", {"Ready": ("True", "Succeeded")}),
        ("Failed", "NotVerified", {"Ready": ("False", "NotVerified"), "Stalled": ("True", "NotVerified")}),
    ],
)
def test_the_state_of_an_operation_is_shown_by_its_conditions_and_read_back_from_them(
    state: str, reason: str, shown: dict[str, tuple[str, str]]
) -> None:
    found = status_of_operation(operation(), saying(entry(state=state, reason=reason)))
    assert {one.type.value: (one.status.value, one.reason) for one in found.conditions} == shown
    stored = parse_operation({"metadata": {"name": "back"}, "spec": {}, "status": found.to_document()})
    assert isinstance(stored, InvalidObject)
    assert (stored.operation.state, stored.operation.reason) == (state, shown["Ready"][1])


@pytest.mark.parametrize(
    ("state", "reason"), [("Running", "Retrying"), ("Running", "Cascading"), ("Pending", "Blocked")]
)
def test_an_operation_that_cannot_be_read_is_stalled_and_forgets_nothing(state: str, reason: str) -> None:
    before = told_as(state, reason, begun=state == "Running", started_at=at(NOW) if state == "Running" else None)
    document = {"metadata": {"name": "back", "generation": 2}, "spec": {"later": {}}, "status": before.to_document()}
    after = decide_operation(parse_operation(document), None, now=NOW).status
    assert after is not None
    assert (after.state, after.begun, after.observed_generation) == (state, before.begun, 2)
    stalled = find_condition(after.conditions, STALLED)
    assert stalled is not None
    assert stalled.reason == "InvalidSpec"
    assert (after.reason == "Cascading") is (reason == "Cascading"), "nothing else says that its own part is done"
    assert decide_operation(parse_operation({**document, "status": after.to_document()}), None, now=NOW).status == after


@pytest.mark.parametrize(("state", "reason"), [("Succeeded", "Succeeded"), ("Failed", "NotVerified")])
def test_the_end_of_an_operation_that_cannot_be_read_any_more_stays(state: str, reason: str) -> None:
    before = told_as(state, reason, observed_generation=2)
    document = {"metadata": {"name": "back", "generation": 2}, "spec": {"later": {}}, "status": before.to_document()}
    assert decide_operation(parse_operation(document), None, now=NOW).status == before


def test_operation_waits_without_a_table_and_without_its_answer() -> None:
    assert (status_of_operation(operation(), None).state, status_of_operation(operation(), None).reason) == (
        OperationState.PENDING,
        "TableNotFound",
    )
    assert status_of_operation(operation(), saying()).reason == "Pending"


def test_finished_operation_stays_finished_when_its_table_has_forgotten_it() -> None:
    over = told_as(OperationState.SUCCEEDED, "Succeeded", finished_at=at(NOW), begun=True)
    assert status_of_operation(operation(status=over), saying()).state is OperationState.SUCCEEDED
    assert status_of_operation(operation(status=over), None).state is OperationState.SUCCEEDED


def test_end_of_an_operation_posts_one_event() -> None:
    done = saying(entry(state="Succeeded", reason="Succeeded", message="Done."))
    step = decide_operation(operation(), done, now=NOW)
    assert step.notice is not None
    assert (step.notice.reason, step.notice.warning) == ("OperationSucceeded", False)
    assert step.status is not None
    assert decide_operation(operation(status=step.status), done, now=NOW).notice is None


def test_rows_that_are_not_as_expected_are_a_warning_of_their_own() -> None:
    left = saying(entry(state="Failed", reason="NotVerified", begun=True))
    notice = decide_operation(operation(), left, now=NOW).notice
    assert notice is not None
    assert (notice.reason, notice.warning) == ("OperationNotVerified", True)


def test_finished_operation_keeps_its_finalizer() -> None:
    assert decide_operation(operation(held=False), saying(), now=NOW).hold
    assert decide_operation(operation(held=False), saying(entry(state="Succeeded")), now=NOW).hold


def test_operation_that_had_a_job_says_so_until_its_table_knows_it_again() -> None:
    told = told_as(OperationState.RUNNING, "Running", instant=ago(20))
    after = decide_operation(operation(status=told), saying(), now=NOW).status
    assert after is not None
    assert (after.state, after.instant) == (OperationState.RUNNING, ago(20))


def test_deleted_operation_that_has_not_begun_goes_once_its_table_forgot_it() -> None:
    gone = operation(deleted=NOW)
    assert decide_operation(gone, saying(entry()), now=NOW).released is None
    assert decide_operation(gone, saying(), now=NOW).released is not None


def test_deleted_begun_operation_is_held_until_it_is_over() -> None:
    begun = told_as(OperationState.RUNNING, begun=True)
    gone = operation(deleted=NOW, status=begun)
    for known in (saying(entry(begun=True)), saying()):
        assert decide_operation(gone, known, now=NOW).released is None
    assert decide_operation(gone, saying(entry(begun=True, state="Succeeded")), now=NOW).released is not None


def test_deleted_operation_without_a_table_goes_and_says_what_it_leaves() -> None:
    begun = told_as(OperationState.RUNNING, begun=True)
    step = decide_operation(operation(deleted=NOW, status=begun), None, now=NOW)
    assert step.notice is not None
    assert (step.notice.reason, step.notice.warning) == ("OperationIncomplete", True)
    assert decide_operation(operation(deleted=NOW), None, now=NOW).notice is None


AT_WORK = told_as(OperationState.RUNNING, "Running", instant=ago(20))


def test_operation_may_have_begun_if_its_table_goes_while_its_job_is_at_work() -> None:
    after = status_of_operation(operation(status=AT_WORK), None)
    assert (after.state, after.reason, after.begun) == (OperationState.PENDING, "TableNotFound", True)
    (known,) = status_of(world(operation(status=after))).operations
    assert known.begun, "its table was declared again"
    assert not status_of_operation(operation(status=AT_WORK, dryRun=True), None).begun


def test_operation_deleted_with_its_table_during_its_job_says_what_it_leaves() -> None:
    for after in (AT_WORK, status_of_operation(operation(status=AT_WORK), None)):
        step = decide_operation(operation(deleted=NOW, status=after), None, now=NOW)
        assert step.notice is not None
        assert step.notice.reason == "OperationIncomplete"
    assert decide_operation(operation(deleted=NOW, status=AT_WORK, dryRun=True), None, now=NOW).notice is None


def test_unreadable_begun_operation_is_reported_and_held() -> None:
    metadata = ObjectMetadata(name="back", uid="uid-of-back", finalizers=("hudi-operator.io/operation",))
    odd = InvalidObject(metadata=metadata, message="Odd.")
    found = decide_operation(odd, None, now=NOW).status
    assert found is not None
    assert "Odd." in (found.message or "")
    gone = replace(odd, metadata=metadata.copy_with(deletion_timestamp=at(NOW)))
    assert decide_operation(gone, saying(entry(begun=True)), now=NOW).released is None
    assert decide_operation(gone, saying(), now=NOW).released is not None


def test_a_table_that_cannot_be_read_holds_only_what_has_begun() -> None:
    metadata = ObjectMetadata(name="flights", uid="uid-of-flights")
    waits = InvalidObject(metadata=metadata, message="Odd.", status=status(operations=(entry(),)))
    assert decide_operation(operation(deleted=NOW), waits, now=NOW).released is not None
    begun = InvalidObject(metadata=metadata, message="Odd.", status=status(operations=(entry(begun=True),)))
    assert decide_operation(operation(deleted=NOW), begun, now=NOW).released is None


def test_operation_expires_after_its_end_unless_a_person_must_check_it() -> None:
    ended = {"state": "Succeeded", "reason": "Succeeded", "finished_at": at(NOW - minutes(9))}
    kept = operation(ttlAfterFinished="10m")
    assert decide_operation(kept, saying(entry(**ended)), now=NOW).requeue == 61
    assert decide_operation(kept, saying(entry(**ended)), now=NOW + minutes(1)).expires
    for reason in ("NotVerified", "CascadeFailed"):
        left = entry(**{**ended, "state": "Failed", "reason": reason})
        assert not decide_operation(kept, saying(left), now=NOW + minutes(60)).expires


def test_a_table_names_the_operations_of_which_it_says_something_else() -> None:
    before, after = status(operations=(entry(), entry("other"))), status(operations=(entry(state="Running"),))
    assert moved_operations(before, after) == ("back", "other")
    assert moved_operations(before, before) == ()


def test_operation_that_waits_or_goes_for_long_is_looked_at_less_often() -> None:
    ages = (0, 1, 10, 600)
    waits = [decide_operation(operation(created=NOW - minutes(age)), saying(), now=NOW).requeue for age in ages]
    assert waits == [30, 30, 60, 300]
    begun = saying(entry(begun=True, state="Running"))
    goes = [decide_operation(operation(deleted=NOW - minutes(age)), begun, now=NOW).requeue for age in ages]
    assert goes == [5, 6, 60, 300]
