"""Approvals that are never taken back, and operations that only their own status says have begun."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.operations.operations import allowing, begun, entry, launches, of, operation, world
from tests.planning.operations.told import told_as
from tests.planning.world import NOW, again, ago, status_of, table_class

from hudi_jobs.contract import Service
from hudi_operator.api.status.operation_status import HudiOperationStatus, OperationState

AWAITING, RUNNING = OperationState.AWAITING_APPROVAL, OperationState.RUNNING
MANUAL: dict[str, Any] = {"table_class": allowing(approval="Manual")}
INGESTS: dict[str, Any] = {"ingestion": {}}


def claim(**changes: Any) -> HudiOperationStatus:
    """The status of an operation that says it has begun."""
    return told_as(changes.pop("state", "Pending"), **{"begun": True, "instant": ago(20), **changes})


CLAIMS: dict[str, HudiOperationStatus] = {
    "begun": claim(),
    "begun and running": claim(state="Running"),
    "begun with a time": claim(state="Running", started_at="2026-03-10T11:00:00Z"),
    "begun and awaiting approval": claim(state="AwaitingApproval"),
    "at work and not begun": told_as(RUNNING, instant=ago(20)),
    "verifying and not begun": told_as(OperationState.VERIFYING, instant=ago(20)),
    "begun without an instant": told_as(RUNNING, begun=True),
}


@pytest.mark.parametrize("told", CLAIMS.values(), ids=CLAIMS)
def test_an_operation_whose_status_says_that_it_has_begun_still_waits_for_approval(told: HudiOperationStatus) -> None:
    seen = world(operation(status=told), **MANUAL, **INGESTS)
    for _ in range(3):
        assert launches(seen) == []
        assert (of(seen).state, of(seen).reason) == (AWAITING, "AwaitingApproval")
        seen = again(seen, status_of(seen))
    approved = world(operation(status=told, approved=True), **MANUAL, remembered=status_of(seen).operations)
    if of(approved).job is None:
        assert (launches(approved), of(approved).reason) == ([], "Blocked")
        return
    (launch,) = launches(approved)
    assert launch.job.operation is not None
    assert launch.job.operation.only_recorded


def test_an_operation_whose_status_says_that_it_has_begun_needs_a_class_that_allows_it() -> None:
    seen = world(operation(status=claim()), table_class=table_class(), **INGESTS)
    seen = again(seen, status_of(seen))
    assert (launches(seen), of(seen).reason) == ([], "OperationNotAllowed")


def test_a_claim_on_an_optimistic_table_needs_the_word_that_others_have_stopped() -> None:
    seen = world(operation(status=claim()), concurrency={"mode": "Optimistic"})
    assert (launches(seen), of(seen).state, of(seen).reason) == ([], OperationState.FAILED, "OtherWriters")


def test_a_claim_that_is_deleted_before_its_approval_starts_nothing() -> None:
    seen = world(operation(status=claim(), deleted=NOW), **MANUAL)
    assert launches(again(seen, status_of(seen))) == []
    gone = world(remembered=status_of(seen).operations, **MANUAL)
    assert (launches(gone), status_of(gone).operations) == ([], ())


def test_operation_begun_by_the_table_goes_on_whatever_class_and_resource_say() -> None:
    for later in (MANUAL, {"table_class": table_class()}):
        (launch,) = launches(world(operation(), remembered=(begun(),), **later))
        assert launch.job.operation is not None
        assert not launch.job.operation.only_recorded


KINDS: dict[str, dict[str, Any]] = {
    "restore": {"restore": {"instant": ago(20)}},
    "rollback": {"rollback": {"instant": ago(10)}},
    "service": {"runService": {"service": "Cleaning"}},
    "repair": {"repair": {"removeOrphanFiles": {}}},
    "downgrade": {"downgrade": {"tableVersion": 6}},
    "erasure": {"erase": {"keys": [{"id": "1"}]}},
}


@pytest.mark.parametrize("spec", KINDS.values(), ids=KINDS)
def test_an_operation_that_was_to_be_approved_needs_it_also_under_an_automatic_class(spec: dict[str, Any]) -> None:
    seen = world(operation(**spec), **MANUAL)
    assert of(seen).state is AWAITING
    switched = world(operation(**spec), remembered=status_of(seen).operations)
    assert (launches(switched), of(switched).state) == ([], AWAITING)


def test_an_operation_that_waits_for_a_place_remembers_that_it_needs_approval() -> None:
    manual = allowing(approval="Manual", maxPerTable=1)
    seen = world(operation(), operation("later"), table_class=manual, remembered=(begun(),))
    assert of(seen, "later").reason == "TooManyOperations"
    remembered = tuple(one for one in status_of(seen).operations if one.resource == "later")
    later = world(operation("later"), remembered=remembered)
    assert (launches(later), of(later, "later").state) == ([], AWAITING)


def test_a_table_that_was_declared_again_with_another_class_asks_for_the_approval_that_the_resource_shows() -> None:
    told = told_as(AWAITING, "AwaitingApproval")
    seen = world(operation(status=told))
    assert (launches(again(seen, status_of(seen))), of(seen).state) == ([], AWAITING)


def test_an_approved_operation_starts_under_whichever_class() -> None:
    known = (entry(approval_required=True),)
    assert [one.job.service for one in launches(world(operation(approved=True), remembered=known))] == [
        Service.OPERATION
    ]
