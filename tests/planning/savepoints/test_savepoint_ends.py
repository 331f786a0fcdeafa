"""How savepoints of HudiSavepoints end: by deletion, by expiry, by somebody else, and what of them stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.operations import allowing, operation
from tests.planning.operations.told import told_as
from tests.planning.savepoints.savepoints import (
    JOB,
    at_work,
    entry,
    later,
    launches,
    of,
    over,
    saved,
    savepoint,
    works,
    world,
)
from tests.planning.world import NOW, again, ago, at, job, memory, minutes, plan_for, run, status_of

from hudi_jobs.contract import Outcome, SavepointWork, Service
from hudi_operator.api.resources import SAVEPOINTS, HudiOperation
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.savepoints import HudiSavepointStatus, SavepointState
from hudi_operator.planning.model import Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.model.observation import Related

KEPT, LOST, REFUSED, WAITING = SavepointState.KEPT, SavepointState.LOST, SavepointState.REFUSED, SavepointState.WAITING
REMOVED, REMOVING, RETAINED = SavepointState.REMOVED, SavepointState.REMOVING, SavepointState.RETAINED


@pytest.mark.parametrize(
    ("policy", "adopted", "work"),
    [
        ({}, False, [(SavepointWork.REMOVE, ago(20))]),
        ({}, True, []),
        ({"deletionPolicy": "Delete"}, True, [(SavepointWork.REMOVE, ago(20))]),
        ({"deletionPolicy": "Retain"}, False, []),
    ],
)
def test_its_deletion_removes_what_was_made_and_leaves_what_was_adopted(
    policy: dict[str, str], adopted: bool, work: list[Any]
) -> None:
    remembered = (entry(instant=ago(20), since=at(NOW), adopted=adopted),)
    seen = world(savepoint(deleted=NOW, **policy), files=(saved(20),), remembered=remembered)
    assert works(seen) == work
    assert of(seen).state is (REMOVING if work else RETAINED)


def test_resource_without_a_savepoint_removes_none() -> None:
    never = world(savepoint(deleted=NOW, deletionPolicy="Delete"), files=(saved(10),))
    assert (of(never).state, works(never)) == (REMOVED, [])
    refused_one = world(
        savepoint(instant=ago(20), deleted=NOW, deletionPolicy="Delete"),
        files=(saved(20),),
        remembered=(entry(instant=ago(20), state="Refused", reason="AlreadySavepointed"),),
    )
    assert (of(refused_one).state, works(refused_one)) == (REMOVED, [])


def test_resource_is_released_once_its_savepoint_is_gone() -> None:
    remembered = (entry(instant=ago(20), since=at(NOW), state="Removing", reason="Running"),)
    seen = world(
        savepoint(deleted=NOW),
        remembered=remembered,
        told={"active_jobs": (at_work("Remove", instant=ago(20)),)},
        jobs=(over(None),),
    )
    assert of(seen).state is REMOVED
    (run,) = plan_for(seen).finished
    assert run.outcome is Outcome.SUCCEEDED, "the timeline shows it, whatever became of the driver"


def test_half_removed_savepoint_of_a_killed_run_is_removed_first() -> None:
    remembered = (entry(instant=ago(20), since=at(NOW)),)
    seen = world(savepoint(deleted=NOW), files=(f"{ago(20)}.savepoint.inflight",), remembered=remembered)
    assert works(seen) == [(SavepointWork.REMOVE, ago(20))]


def test_a_job_at_work_is_waited_for() -> None:
    running = job(JOB, service=Service.SAVEPOINT)
    seen = world(savepoint(deleted=NOW), told={"active_jobs": (at_work(),)}, jobs=(running,))
    assert (of(seen).state, of(seen).reason) == (REMOVING, "Running")


def test_a_resource_that_nothing_can_serve_is_not_held_for_ever() -> None:
    remembered = (entry(instant=ago(20), since=at(NOW)),)
    seen = world(savepoint(deleted=NOW), files=(saved(20),), remembered=remembered, suspend=True)
    assert of(seen, now=later(9)).state is REMOVING
    assert of(seen, now=later(10)).state is RETAINED
    stored = again(seen, status_of(seen, now=later(10)))
    assert of(stored, now=later(11)).state is RETAINED
    busy = world(savepoint(deleted=NOW), files=(saved(20),), remembered=remembered)
    assert works(busy, now=later(60)) == [(SavepointWork.REMOVE, ago(20))], "what can be served is"


def test_a_savepoint_that_fails_to_be_removed_stays_in_the_end() -> None:
    remembered = (entry(instant=ago(20), since=at(NOW), state="Removing", failures=5),)
    seen = world(
        savepoint(deleted=NOW),
        files=(saved(20),),
        remembered=remembered,
        told={"active_jobs": (at_work("Remove", instant=ago(20)),)},
        jobs=(over(Outcome.FAILED, reason="HudiError", message="No."),),
    )
    assert of(seen, now=later(11)).state is RETAINED


def test_its_time_is_over_and_it_is_removed_though_the_resource_stays() -> None:
    young: dict[str, Any] = {
        "files": (saved(20),),
        "remembered": (entry(instant=ago(20), since=at(NOW), adopted=True),),
    }
    one = savepoint(expiresAfter="2h", created=NOW - minutes(60))
    assert works(world(one, **young)) == []
    assert works(world(one, **young), now=later(60)) == [(SavepointWork.REMOVE, ago(20))]
    gone = world(one, remembered=(entry(instant=ago(20), since=at(NOW)),))
    removed = of(gone, now=later(60))
    assert removed.state is REMOVED
    assert of(world(one, remembered=(removed,)), now=later(61)) == removed, "it says the same whenever it is looked at"
    never = world(savepoint(expiresAfter="2h", created=NOW - minutes(180)))
    assert (of(never).state, works(never)) == (REMOVED, []), "none is made after its time"


@pytest.mark.parametrize("restore", [{"savepoint": "daily"}, {"instant": ago(20)}], ids=["by-name", "by-commit"])
def test_expired_savepoint_stays_until_its_restore_is_over(restore: dict[str, str]) -> None:
    one = savepoint(expiresAfter="30m", created=NOW - minutes(60))
    known = entry(instant=ago(20), since=at(NOW - minutes(50)), data_complete="True")
    seen = world(one, files=(saved(20),), remembered=(known,))
    assert works(seen) == [(SavepointWork.REMOVE, ago(20))]

    def beside(asks: HudiOperation) -> Observation:
        return replace(seen, table_class=allowing(approval="Manual"), related=replace(seen.related, operations=(asks,)))

    waits = beside(operation(restore=restore))
    assert (of(waits).state, works(waits)) == (KEPT, [])
    assert "removed once HudiOperation back, which goes back to it, is over" in of(waits).message
    for done_with in ({"dryRun": True}, {"deleted": NOW}, {"status": told_as(OperationState.FAILED)}):
        assert of(beside(operation(restore=restore, **done_with))).state is REMOVING


def test_a_restore_begins_although_its_savepoint_is_to_be_removed_until_a_job_is_at_work_on_that() -> None:
    going = savepoint(deleted=NOW)
    known = entry(instant=ago(20), since=at(NOW), state="Removing", reason="Waiting")
    asks = operation(restore={"savepoint": "daily"})
    seen = replace(
        world(going, files=(saved(20),), remembered=(known,)),
        table_class=allowing(),
        related=Related.of({SAVEPOINTS: (going,)}),
    )
    seen = replace(seen, related=replace(seen.related, operations=(asks,)))
    (told,) = status_of(seen).operations
    assert (told.state, works(seen)) == (OperationState.DRAINING, [])


def test_an_intent_is_dropped_when_nobody_asks_for_it_any_more() -> None:
    intent = at_work().copy_with(uid=None, started_at=at(NOW), generation=1)
    assert [type(one).__name__ for one in plan_for(world(savepoint(), told={"active_jobs": (intent,)})).actions] == [
        "CreateJob"
    ]
    assert plan_for(world(told={"active_jobs": (intent,)})).actions == ()
    assert plan_for(world(savepoint(deleted=NOW), told={"active_jobs": (intent,)})).actions == ()


def test_table_is_reconciled_when_a_savepoint_expires_and_when_patience_ends() -> None:
    expiring = savepoint(expiresAfter="2h", created=NOW - minutes(60))
    kept: dict[str, Any] = {"files": (saved(10),), "remembered": (entry(instant=ago(10), since=at(NOW)),)}
    assert plan_for(world(expiring, **kept)).changes_in == 3600
    assert plan_for(world(savepoint(deleted=NOW - minutes(4)), suspend=True, **kept)).changes_in == 360


def over_and_saved_again(state: str, *, adopted: bool = True, **spec: Any) -> Observation:
    """A resource whose savepoint is gone, and somebody else's on the same commit."""
    known = entry(instant=ago(20), since=at(NOW - minutes(50)), state=state, adopted=adopted)
    return world(savepoint(instant=ago(20), **spec), files=(saved(20),), remembered=(known,))


@pytest.mark.parametrize("adopted", [True, False])
def test_expired_resource_leaves_a_later_savepoint_of_another_owner(adopted: bool) -> None:
    seen = over_and_saved_again("Removed", adopted=adopted, expiresAfter="30m")
    assert (of(seen).state, works(seen)) == (REMOVED, [])
    assert [one.resource for one in status_of(seen).savepoints if one.instant == ago(20)] == ["daily", None]
    gone = over_and_saved_again("Removed", adopted=adopted, expiresAfter="30m", deletionPolicy="Delete", deleted=NOW)
    assert (of(gone).state, works(gone)) == (REMOVED, [])


@pytest.mark.parametrize("deleted", [None, NOW])
def test_lost_savepoint_takes_no_other_savepoint_for_its_own(deleted: Any) -> None:
    seen = over_and_saved_again("Lost", deletionPolicy="Delete", deleted=deleted)
    assert (of(seen).state, works(seen)) == (LOST if deleted is None else REMOVED, [])
    told = HudiSavepointStatus.model_validate(
        {
            "instant": ago(20),
            "completedAt": at(NOW),
            "conditions": [
                {
                    "type": "Ready",
                    "status": "False",
                    "reason": "SavepointLost",
                    "message": "",
                    "lastTransitionTime": at(NOW),
                    "observedGeneration": 1,
                }
            ],
        }
    )
    by_itself = world(savepoint(instant=ago(20), status=told), files=(saved(20),))
    assert (of(by_itself).state, works(by_itself)) == (LOST, [])


@pytest.mark.parametrize("state", ["Removed", "Lost"])
def test_ended_savepoint_leaves_its_commit_to_another_resource(state: str) -> None:
    known = entry("old", instant=ago(20), since=at(NOW - minutes(50)), state=state)
    old = savepoint("old", instant=ago(20), expiresAfter="30m", created=NOW - minutes(60))
    new = savepoint("new", instant=ago(20), created=NOW)
    assert works(world(old, new, remembered=(known,))) == [(SavepointWork.MAKE, ago(20))]
    there = world(old, new, remembered=(known,), files=(saved(20),))
    assert (of(there, "new").state, works(there)) == (KEPT, [])


def test_savepoint_of_a_failed_run_counts_as_made_and_the_driver_checks_its_owner() -> None:
    known = entry(instant=ago(10), state="Waiting", failures=1)
    seen = world(savepoint(), files=(saved(10),), remembered=(known,))
    assert (of(seen).state, of(seen).adopted) == (KEPT, False)
    gone = world(savepoint(deleted=NOW), files=(saved(10),), remembered=(known,))
    (launch,) = launches(gone, now=later(5))
    named = launch.job.named_savepoint
    assert named is not None
    assert (named.work, named.instant, named.adopted) == (SavepointWork.REMOVE, ago(10), False)


def test_decided_latest_savepoint_is_removed_although_its_run_ended_unknown() -> None:
    decided = HudiSavepointStatus(instant=ago(20))
    there = world(savepoint(status=decided), files=(saved(20),))
    assert (of(there).state, of(there).adopted) == (KEPT, False)
    gone = world(savepoint(status=decided, deleted=NOW), files=(saved(20),))
    assert works(gone) == [(SavepointWork.REMOVE, ago(20))]
    begun = world(savepoint(status=decided, deleted=NOW))
    assert (of(begun).state, works(begun)) == (REMOVED, [])


def test_possibly_made_savepoint_is_not_released_while_the_table_is_unreadable() -> None:
    trouble = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="No answer.")
    known = entry(instant=ago(10), state="Waiting", failures=1)
    seen = world(savepoint(deleted=NOW), snapshot=trouble, remembered=(known,))
    assert of(seen).state is REMOVING
    never = world(savepoint(deleted=NOW), snapshot=trouble)
    assert of(never).state is REMOVED


def test_request_says_that_the_savepoint_to_remove_was_adopted() -> None:
    known = entry(instant=ago(20), since=at(NOW), adopted=True)
    (launch,) = launches(
        world(savepoint(deleted=NOW, deletionPolicy="Delete"), files=(saved(20),), remembered=(known,))
    )
    assert launch.job.named_savepoint is not None
    assert launch.job.named_savepoint.adopted


def test_ended_resources_held_by_another_controller_take_no_place() -> None:
    over_long_ago = [savepoint(f"s{number:03}", deleted=NOW, held=False) for number in range(60)]
    assert works(world(*over_long_ago, savepoint("new"))) == [(SavepointWork.MAKE, ago(10))]


@pytest.mark.parametrize("policy", [{}, {"deletionPolicy": "Delete"}, {"expiresAfter": "30m"}])
def test_resource_that_never_had_a_savepoint_retains_none(policy: dict[str, str]) -> None:
    for one in (savepoint(deleted=NOW, **policy), savepoint(instant=ago(20), deleted=NOW, **policy)):
        assert (of(world(one)).state, of(world(one)).message[-20:]) == (REMOVED, "it had no savepoint.")


def test_savepoint_removed_by_hand_is_not_reported_as_retained() -> None:
    known = entry(instant=ago(20), since=at(NOW), adopted=True)
    assert of(world(savepoint(deleted=NOW), remembered=(known,))).state is REMOVED
    assert of(world(savepoint(deleted=NOW), files=(saved(20),), remembered=(known,))).state is RETAINED


def test_runs_that_failed_to_make_it_delay_no_removal() -> None:
    known = entry(instant=ago(10), state="Waiting", failures=9, retry_at=at(later(60)))
    failed = memory(last_run=run(Outcome.FAILED, service="Savepoint", reason="HudiError"), failures=9)
    told = {"savepoint": failed.copy_with(failures_generation=1)}
    seen = world(savepoint(deleted=NOW), files=(saved(10),), remembered=(known,), told=told)
    assert works(seen) == [(SavepointWork.REMOVE, ago(10))]
    assert of(seen).failures == 0
