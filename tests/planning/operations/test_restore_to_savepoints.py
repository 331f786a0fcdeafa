"""A restore to the commit of a savepoint: which commit that is, and that a later clean has not taken it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.operations.operations import allowing, entry, launches, of, operation, world
from tests.planning.savepoints.savepoints import entry as savepoint_entry
from tests.planning.savepoints.savepoints import saved
from tests.planning.world import ago, done

from hudi_jobs.contract import Service
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.timeline import CleanSummary

PENDING, FAILED, AWAITING = OperationState.PENDING, OperationState.FAILED, OperationState.AWAITING_APPROVAL
INGESTS: dict[str, Any] = {"ingestion": {}}


def test_a_restore_goes_to_the_commit_of_a_savepoint() -> None:
    asked = operation(restore={"savepoint": "daily", "newerSavepoints": "Remove", "reingest": False})
    kept = savepoint_entry(instant=ago(30), state="Kept")
    seen = world(asked, remembered=(entry(),), told={"savepoints": (kept,)})
    (launch,) = launches(seen)
    named = launch.job.operation
    assert named is not None
    assert (named.instant, named.newer_savepoints, named.reingest) == (ago(30), "Remove", False)


@pytest.mark.parametrize("approved", [False, True])
def test_a_restore_is_done_to_the_commit_that_was_shown_for_approval_or_not_at_all(*, approved: bool) -> None:
    """Who may make savepoints may make another of the name, and must not choose what another person has approved."""
    asks: dict[str, Any] = {"table_class": allowing(approval="Manual")}
    to_named = operation(restore={"savepoint": "daily"})

    def kept(number: float) -> dict[str, Any]:
        return {"savepoints": (savepoint_entry(instant=ago(number), state="Kept"),)}

    first = world(to_named, told=kept(20), **asks)
    shown = of(first)
    assert (shown.state, shown.job and shown.job.instant) == (AWAITING, ago(20))
    let = operation(restore={"savepoint": "daily"}, approved=approved)
    same = world(let, remembered=(shown,), told=kept(20), **asks)
    assert [one.job.operation and one.job.operation.instant for one in launches(same)] == [ago(20)] * approved
    other = world(let, remembered=(shown,), told=kept(10), **asks)
    assert (of(other).state, of(other).reason, launches(other)) == (FAILED, "TargetChanged", [])


def test_a_restore_waits_for_a_savepoint_that_is_not_there() -> None:
    seen = world(operation(restore={"savepoint": "daily"}), remembered=(entry(),), **INGESTS)
    assert (of(seen).state, of(seen).reason) == (PENDING, "SavepointNotFound")
    assert [one.job.service for one in launches(seen)] == [Service.INGESTION]


@pytest.mark.parametrize("restore", [{"instant": ago(30)}, {"savepoint": "daily"}], ids=["instant", "savepoint"])
def test_a_restore_goes_to_a_commit_that_a_savepoint_kept_from_a_later_clean(restore: dict[str, Any]) -> None:
    cleaned = CleanSummary(earliest_retained=ago(10), last_completed_commit=ago(10))

    def asked_beside(*savepoints: str) -> Any:
        told = {"savepoints": (savepoint_entry(instant=ago(30), state="Kept"),)}
        files = (done("clean", 5), *savepoints)
        return world(operation(restore=restore), remembered=(entry(),), files=files, clean=cleaned, told=told)

    (launch,) = launches(asked_beside(saved(30)))
    assert launch.job.operation is not None
    assert launch.job.operation.instant == ago(30)
    for nothing in ((), (saved(20),)):
        seen = asked_beside(*nothing)
        assert launches(seen) == [], "the clean may have taken it"
        assert (of(seen).state, of(seen).reason) == (FAILED, "InstantCleaned")
