"""What becomes of the savepoints that HudiSavepoints ask for: when they are made, refused, kept, lost and removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.savepoints import JOB, at_work, entry, later, over, saved, savepoint, world
from tests.planning.world import NOW, again, ago, at, done, job, memory, minutes, plan_for, run, status_of, table_class

from hudi_jobs.contract import Outcome, SavepointWork, Service
from hudi_operator.api.resources import InvalidObject, ObjectMetadata
from hudi_operator.api.status.savepoint import HudiSavepointStatus
from hudi_operator.api.status.table_savepoints import SavepointState, TableSavepoint
from hudi_operator.api.status.takeover import Protection, TakeoverPhase, TakeoverStatus
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.refusal import refused
from hudi_operator.timeline import CleanSummary

KEPT, LOST, REFUSED, WAITING = SavepointState.KEPT, SavepointState.LOST, SavepointState.REFUSED, SavepointState.WAITING
REMOVED, REMOVING, RETAINED = SavepointState.REMOVED, SavepointState.REMOVING, SavepointState.RETAINED


def launches(observation: Observation, **more: Any) -> list[LaunchJob]:
    return [one for one in plan_for(observation, **more).actions if isinstance(one, LaunchJob)]


def works(observation: Observation, **more: Any) -> list[tuple[SavepointWork, str]]:
    named = [one.job.named_savepoint for one in launches(observation, **more)]
    return [(one.work, one.instant) for one in named if one is not None]


def of(observation: Observation, name: str = "daily", **more: Any) -> TableSavepoint:
    (found,) = [one for one in status_of(observation, **more).savepoints if one.resource == name]
    return found


def test_the_latest_commit_is_decided_and_remembered_with_the_job_that_keeps_it() -> None:
    seen = world(savepoint(comment="before the move"))
    (launch,) = launches(seen)
    named = launch.job.named_savepoint
    assert launch.job.service is Service.SAVEPOINT
    assert named is not None
    assert (named.work, named.instant, named.comment) == (SavepointWork.MAKE, ago(10), "before the move")
    after = of(seen)
    assert (after.state, after.instant, after.reason) == (WAITING, ago(10), "Running")


def test_a_retry_keeps_the_commit_that_was_decided_although_another_has_come() -> None:
    failed = over(Outcome.FAILED, reason="HudiError", message="No.")
    remembered = (entry(instant=ago(10), state="Waiting", reason="Running"),)
    seen = world(
        savepoint(),
        files=(done("commit", 2),),
        remembered=remembered,
        told={"active_jobs": (at_work(),)},
        jobs=(failed,),
    )
    after = of(seen)
    assert (after.state, after.instant, after.failures) == (WAITING, ago(10), 1)
    assert works(seen) == [], "it backs off"
    ended = again(replace(seen, jobs=()), status_of(seen))
    assert works(ended, now=later(5)) == [(SavepointWork.MAKE, ago(10))]


def test_its_own_status_is_enough_to_remember_the_commit() -> None:
    seen = world(savepoint(status=HudiSavepointStatus(instant=ago(20))))
    assert works(seen) == [(SavepointWork.MAKE, ago(20))]


def test_a_run_that_was_killed_after_the_savepoint_has_succeeded() -> None:
    remembered = (entry(instant=ago(10), state="Waiting", reason="Running"),)
    seen = world(
        savepoint(),
        files=(saved(10),),
        remembered=remembered,
        told={"active_jobs": (at_work(),)},
        jobs=(over(None),),
    )
    after = of(seen)
    assert (after.state, after.adopted, after.since, after.failures) == (KEPT, False, at(NOW), 0)
    (run,) = plan_for(seen).finished
    assert (run.outcome, run.instant) == (Outcome.SUCCEEDED, None), "the instant is its commit's"
    assert works(seen) == []


def test_success_that_the_timeline_does_not_show_is_none() -> None:
    seen = world(savepoint(), told={"active_jobs": (at_work(),)}, jobs=(over(),))
    (run,) = plan_for(seen).finished
    assert (run.outcome, run.reason) == (Outcome.FAILED, "NotConfirmed")


def test_what_the_driver_refuses_is_not_tried_again() -> None:
    told = over(Outcome.NOTHING_TO_DO, reason="SavepointRefused", message="It was cleaned.")
    seen = world(savepoint(), told={"active_jobs": (at_work(),)}, jobs=(told,))
    after = of(seen)
    assert (after.state, after.reason, after.message) == (REFUSED, "SavepointRefused", "It was cleaned.")
    stored = again(replace(seen, jobs=()), status_of(seen))
    assert (of(stored).state, works(stored, now=later(600))) == (REFUSED, [])


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("InstantNotFound", {"instant": ago(25)}),
        ("InstantPending", {"instant": ago(5), "files": (f"{ago(5)}.deltacommit.inflight",)}),
        ("NotACommit", {"instant": ago(5), "files": (done("clean", 5),)}),
        (
            "InstantCleaned",
            {"instant": ago(30), "files": (done("clean", 5),), "clean": CleanSummary(earliest_retained=ago(20))},
        ),
        (
            "InstantCleaned",
            {"instant": ago(20), "files": (done("clean", 5),), "clean": CleanSummary(last_completed_commit=ago(10))},
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_before_a_job_is_made(reason: str, changes: dict[str, Any]) -> None:
    instant = changes.pop("instant")
    seen = world(savepoint(instant=instant), **changes)
    after = of(seen)
    assert (after.state, after.reason) == (WAITING if reason == "InstantPending" else REFUSED, reason)
    assert works(seen) == []


def test_a_commit_after_the_last_clean_can_be_kept_whatever_that_kept() -> None:
    clean: dict[str, Any] = {"files": (done("clean", 15),), "clean": CleanSummary(last_completed_commit=ago(20))}
    assert works(world(savepoint(instant=ago(10)), **clean)) == [(SavepointWork.MAKE, ago(10))]
    assert works(world(savepoint(instant=ago(20)), **clean)) == [(SavepointWork.MAKE, ago(20))]


def test_one_that_the_table_has_is_adopted_by_its_instant_without_a_job() -> None:
    alone = status_of(world(files=(saved(20),))).savepoints
    assert [(one.instant, one.resource, one.state) for one in alone] == [(ago(20), None, KEPT)]
    seen = world(savepoint(instant=ago(20)), files=(saved(20),), suspend=True)
    after = of(seen)
    assert (after.state, after.adopted, works(seen)) == (KEPT, True, [])
    assert [one.resource for one in status_of(seen).savepoints] == ["daily"]


def test_the_newest_commit_is_not_adopted_by_whoever_asks_for_the_latest() -> None:
    seen = world(savepoint(), files=(saved(10),))
    assert (of(seen).state, of(seen).reason, works(seen)) == (WAITING, "AlreadySavepointed", [])
    newer = world(savepoint(), files=(saved(10), done("commit", 2)))
    assert works(newer) == [(SavepointWork.MAKE, ago(2))]


def test_of_two_that_ask_for_one_commit_the_first_has_it() -> None:
    both = (savepoint("late", instant=ago(20), created=NOW - minutes(1)), savepoint("early", instant=ago(20)))
    seen = world(*both)
    assert [one.job.named_savepoint.resource for one in launches(seen) if one.job.named_savepoint] == ["early"]
    assert of(seen, "late").reason == "AlreadySavepointed"
    there = world(*both, files=(saved(20),), remembered=(entry("late", instant=ago(20), since=at(NOW)),))
    assert (of(there, "late").state, of(there, "early").state) == (KEPT, REFUSED), "who has it keeps it"


def test_two_that_ask_for_the_latest_do_not_get_the_same_commit() -> None:
    first, second = savepoint("first"), savepoint("second", created=NOW - minutes(1))
    seen = world(first, second)
    stored = again(seen, status_of(seen))
    assert of(stored, "second").reason == "AlreadySavepointed"


def test_the_operators_own_of_a_takeover_belongs_to_no_resource() -> None:
    own = TakeoverStatus(phase=TakeoverPhase.DONE, protection=Protection.KEPT, savepoint=ago(20), since=at(NOW))
    seen = world(savepoint(instant=ago(20)), files=(saved(20),), told={"takeover": own})
    assert (of(seen).state, of(seen).reason) == (REFUSED, "AlreadySavepointed")


def test_one_that_somebody_removed_is_told_and_not_made_again() -> None:
    seen = world(savepoint(instant=ago(20)), remembered=(entry(instant=ago(20), since=at(NOW)),))
    assert (of(seen).state, works(seen)) == (LOST, [])
    by_itself = world(savepoint(status=HudiSavepointStatus(instant=ago(20), completed_at=at(NOW))))
    assert (of(by_itself).state, works(by_itself)) == (LOST, [])


def test_nothing_is_made_for_a_resource_that_may_go_unnoticed() -> None:
    seen = world(savepoint(held=False))
    assert (of(seen).state, works(seen)) == (WAITING, [])


@pytest.mark.parametrize("limit", [0, 1])
def test_the_class_bounds_the_savepoints_of_a_table(limit: int) -> None:
    bound = table_class(savepoints={"maxPerTable": limit})
    seen = world(savepoint(), files=(saved(20),), table_class=bound)
    assert (of(seen).state, of(seen).reason, works(seen)) == (REFUSED, "TooManySavepoints", [])
    adopted = world(savepoint(instant=ago(20)), files=(saved(20),), table_class=bound)
    assert of(adopted).state is KEPT


@pytest.mark.parametrize("changes", [{"suspend": True}, {"managementPolicy": "Observe"}], ids=["suspended", "observed"])
def test_nothing_is_made_while_nothing_may_start(changes: dict[str, Any]) -> None:
    seen = world(savepoint(), **changes)
    assert works(seen) == []
    assert of(seen).state is WAITING
    assert "until spec.suspend" in of(seen).message or "Observe" in of(seen).message


def test_while_the_table_cannot_be_read_what_is_known_stays() -> None:
    trouble = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="No answer.")
    remembered = (entry(instant=ago(20), since=at(NOW - minutes(5)), adopted=True),)
    seen = world(savepoint(instant=ago(20)), snapshot=trouble, remembered=remembered)
    after = of(seen)
    assert (after.state, after.since, after.adopted) == (KEPT, at(NOW - minutes(5)), True)


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


def test_who_has_no_savepoint_removes_none() -> None:
    never = world(savepoint(deleted=NOW, deletionPolicy="Delete"), files=(saved(10),))
    assert (of(never).state, works(never)) == (REMOVED, [])
    refused_one = world(
        savepoint(instant=ago(20), deleted=NOW, deletionPolicy="Delete"),
        files=(saved(20),),
        remembered=(entry(instant=ago(20), state="Refused", reason="AlreadySavepointed"),),
    )
    assert (of(refused_one).state, works(refused_one)) == (REMOVED, [])


def test_once_it_is_gone_from_the_table_the_resource_may_go() -> None:
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


def test_what_a_killed_run_has_left_half_removed_is_removed_first() -> None:
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
    assert of(gone, now=later(60)).state is REMOVED
    never = world(savepoint(expiresAfter="2h", created=NOW - minutes(180)))
    assert (of(never).state, works(never)) == (REMOVED, []), "none is made after its time"


def test_it_goes_after_an_ingestion_that_is_due_and_before_the_table_services() -> None:
    for commits in (2, 1):  # is due, and is three times as far as that
        cleaning = {"mode": "Async", "retainCommits": 1, "trigger": {"commits": commits}}
        due: dict[str, Any] = {"ingestion": {}, "cleaning": cleaning}
        started = [one.job.service for one in launches(world(savepoint(), **due))]
        assert started == [Service.INGESTION if commits == 2 else Service.SAVEPOINT]
        assert [one.job.service for one in launches(world(savepoint(), **{**due, "ingestion": None}))] == [
            Service.SAVEPOINT
        ]
        assert [one.job.service for one in launches(world(**{**due, "ingestion": None}))] == [Service.CLEANING]


def test_one_that_always_fails_does_not_stop_the_others() -> None:
    bad, good = savepoint("bad", instant=ago(30)), savepoint("good", instant=ago(20), created=NOW)
    remembered = (entry("bad", instant=ago(30), state="Waiting", failures=3),)
    assert works(world(bad, good, remembered=remembered)) == [(SavepointWork.MAKE, ago(20))]


def test_a_job_that_the_api_server_refuses_is_a_failure_that_backs_off() -> None:
    seen = world(savepoint())
    plan = plan_for(seen)
    (launch,) = [one for one in plan.actions if isinstance(one, LaunchJob)]
    after = refused(plan, launch.job, observation=seen, message="quota", now=NOW)
    (known,) = after.savepoints
    assert (known.instant, known.failures) == (ago(10), 1)
    assert after.services.savepoint is not None
    assert after.services.savepoint.reason == "WaitingForRetry"


def test_an_intent_is_dropped_when_nobody_asks_for_it_any_more() -> None:
    intent = at_work().model_copy(update={"uid": None, "started_at": at(NOW), "generation": 1})
    assert [type(one).__name__ for one in plan_for(world(savepoint(), told={"active_jobs": (intent,)})).actions] == [
        "CreateJob"
    ]
    assert plan_for(world(told={"active_jobs": (intent,)})).actions == ()
    assert plan_for(world(savepoint(deleted=NOW), told={"active_jobs": (intent,)})).actions == ()


def test_what_a_later_version_wrote_is_not_forgotten() -> None:
    unreadable = InvalidObject(metadata=ObjectMetadata(name="daily", uid="uid-of-daily"), message="no")
    known = entry(instant=ago(20), since=at(NOW))
    (kept,) = status_of(world(unreadable, files=(saved(20),), remembered=(known,))).savepoints
    assert kept.model_copy(update={"blocks": None}) == known


def test_a_table_without_any_shows_nothing_of_savepoints() -> None:
    document = status_of(world()).to_document()
    assert "savepoint" not in document["services"]
    assert document.get("savepoints") == []


def test_what_it_blocks_is_told() -> None:
    seen = world(savepoint(instant=ago(20)), files=(saved(20),))
    assert of(seen).blocks == "Cleaning keeps its files, although 1 commit is newer."
    latest = world(savepoint(instant=ago(10)), files=(saved(10),))
    assert of(latest).blocks == "Cleaning keeps its files."
    many = [ago(9 - number / 30) for number in range(234)]
    old = world(savepoint(instant=ago(20)), files=(saved(20), *(f"{one}_{one[:-1]}9.commit" for one in many)))
    assert of(old).blocks == "Cleaning keeps its files, although at least 200 commits are newer."


def test_many_are_bounded_and_those_that_go_come_first() -> None:
    many = [savepoint(f"s{number:03}", instant=ago(20)) for number in range(60)]
    gone = savepoint("zz", instant=ago(20), deleted=NOW)
    names = [one.resource for one in status_of(world(*many, gone)).savepoints if one.resource]
    assert (len(names), names[0]) == (50, "zz")


def test_a_table_is_looked_at_when_a_savepoint_expires_and_when_patience_with_one_is_over() -> None:
    expiring = savepoint(expiresAfter="2h", created=NOW - minutes(60))
    kept: dict[str, Any] = {"files": (saved(10),), "remembered": (entry(instant=ago(10), since=at(NOW)),)}
    assert plan_for(world(expiring, **kept)).changes_in == 3600
    assert plan_for(world(savepoint(deleted=NOW - minutes(4)), suspend=True, **kept)).changes_in == 360


def test_a_commit_that_makes_no_sense_is_never_asked_for() -> None:
    odd = HudiSavepointStatus(instant="../../etc")
    assert works(world(savepoint(status=odd))) == [(SavepointWork.MAKE, ago(10))]
    assert works(world(savepoint(), remembered=(entry(instant="x" * 32),))) == [(SavepointWork.MAKE, ago(10))]
    strange = world(savepoint(), files=("999.commit",), remembered=())
    assert all(len(instant) == 17 for _, instant in works(strange))


def test_what_nobody_asks_for_any_more_has_not_failed() -> None:
    failed = run(Outcome.FAILED, service="Savepoint", reason="HudiError")
    known = memory(last_run=failed, failures=3, failures_generation=1)
    seen = world(told={"savepoint": known})
    plan = plan_for(seen)
    assert plan.services.savepoint is not None
    assert plan.services.savepoint.failures == 0
    told = {one.type.value: one.status for one in status_of(seen).conditions}
    assert (told["Savepointed"], told["Ready"]) == ("True", "True")
    asked = world(savepoint(), told={"savepoint": known}, remembered=(entry(instant=ago(10), failures=3),))
    assert plan_for(asked).services.of(Service.SAVEPOINT).failures == 3
    failing = {one.type.value: one.status for one in status_of(asked).conditions}
    assert (failing["Savepointed"], failing["Ready"]) == ("False", "True")


def over_and_saved_again(state: str, *, adopted: bool = True, **spec: Any) -> Observation:
    """A resource whose savepoint is gone, and somebody else's on the same commit."""
    known = entry(instant=ago(20), since=at(NOW - minutes(50)), state=state, adopted=adopted)
    return world(savepoint(instant=ago(20), **spec), files=(saved(20),), remembered=(known,))


@pytest.mark.parametrize("adopted", [True, False])
def test_one_that_has_expired_removes_nothing_that_somebody_else_keeps_afterwards(adopted: bool) -> None:
    seen = over_and_saved_again("Removed", adopted=adopted, expiresAfter="30m")
    assert (of(seen).state, works(seen)) == (REMOVED, [])
    assert [one.resource for one in status_of(seen).savepoints if one.instant == ago(20)] == ["daily", None]
    gone = over_and_saved_again("Removed", adopted=adopted, expiresAfter="30m", deletionPolicy="Delete", deleted=NOW)
    assert (of(gone).state, works(gone)) == (REMOVED, [])


@pytest.mark.parametrize("deleted", [None, NOW])
def test_one_that_was_lost_takes_no_other_for_its_own(deleted: Any) -> None:
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
def test_one_that_is_over_keeps_no_other_resource_from_its_commit(state: str) -> None:
    known = entry("old", instant=ago(20), since=at(NOW - minutes(50)), state=state)
    old = savepoint("old", instant=ago(20), expiresAfter="30m", created=NOW - minutes(60))
    new = savepoint("new", instant=ago(20), created=NOW)
    assert works(world(old, new, remembered=(known,))) == [(SavepointWork.MAKE, ago(20))]
    there = world(old, new, remembered=(known,), files=(saved(20),))
    assert (of(there, "new").state, works(there)) == (KEPT, [])


def test_what_a_run_that_failed_may_have_made_counts_as_made_and_the_driver_looks_whose_it_is() -> None:
    known = entry(instant=ago(10), state="Waiting", failures=1)
    seen = world(savepoint(), files=(saved(10),), remembered=(known,))
    assert (of(seen).state, of(seen).adopted) == (KEPT, False)
    gone = world(savepoint(deleted=NOW), files=(saved(10),), remembered=(known,))
    (launch,) = launches(gone, now=later(5))
    named = launch.job.named_savepoint
    assert named is not None
    assert (named.work, named.instant, named.adopted) == (SavepointWork.REMOVE, ago(10), False)


def test_the_latest_that_was_decided_is_removed_although_nothing_says_how_its_run_ended() -> None:
    decided = HudiSavepointStatus(instant=ago(20))
    there = world(savepoint(status=decided), files=(saved(20),))
    assert (of(there).state, of(there).adopted) == (KEPT, False)
    gone = world(savepoint(status=decided, deleted=NOW), files=(saved(20),))
    assert works(gone) == [(SavepointWork.REMOVE, ago(20))]
    begun = world(savepoint(status=decided, deleted=NOW))
    assert (of(begun).state, works(begun)) == (REMOVED, [])


def test_one_that_may_have_been_made_is_not_let_go_before_the_table_can_be_read() -> None:
    trouble = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="No answer.")
    known = entry(instant=ago(10), state="Waiting", failures=1)
    seen = world(savepoint(deleted=NOW), snapshot=trouble, remembered=(known,))
    assert of(seen).state is REMOVING
    never = world(savepoint(deleted=NOW), snapshot=trouble)
    assert of(never).state is REMOVED


def test_a_run_is_told_that_it_removes_one_of_somebody_else_where_that_was_adopted() -> None:
    known = entry(instant=ago(20), since=at(NOW), adopted=True)
    (launch,) = launches(
        world(savepoint(deleted=NOW, deletionPolicy="Delete"), files=(saved(20),), remembered=(known,))
    )
    assert launch.job.named_savepoint is not None
    assert launch.job.named_savepoint.adopted


def test_those_that_another_controller_holds_after_their_end_take_no_place() -> None:
    over_long_ago = [savepoint(f"s{number:03}", deleted=NOW, held=False) for number in range(60)]
    assert works(world(*over_long_ago, savepoint("new"))) == [(SavepointWork.MAKE, ago(10))]


def test_one_that_this_version_cannot_read_keeps_its_savepoint() -> None:
    unreadable = InvalidObject(metadata=ObjectMetadata(name="other", uid="uid-of-other"), message="no")
    known = entry("other", instant=ago(20), since=at(NOW))
    seen = world(unreadable, savepoint(instant=ago(20)), files=(saved(20),), remembered=(known,))
    assert (of(seen).state, of(seen).reason) == (REFUSED, "AlreadySavepointed")


def test_before_the_first_service_of_a_takeover_a_run_for_a_resource_makes_no_savepoint_but_its_own() -> None:
    taken = TakeoverStatus(phase=TakeoverPhase.DONE, protection=Protection.WANTED, since=at(NOW))
    (launch,) = launches(world(savepoint(), told={"takeover": taken}))
    assert (launch.job.service, launch.job.savepoint) == (Service.SAVEPOINT, None)


@pytest.mark.parametrize("policy", [{}, {"deletionPolicy": "Delete"}, {"expiresAfter": "30m"}])
def test_one_that_never_had_a_savepoint_retains_none(policy: dict[str, str]) -> None:
    for one in (savepoint(deleted=NOW, **policy), savepoint(instant=ago(20), deleted=NOW, **policy)):
        assert (of(world(one)).state, of(world(one)).message[-20:]) == (REMOVED, "it had no savepoint.")


def test_one_that_somebody_removed_is_not_told_to_stay() -> None:
    known = entry(instant=ago(20), since=at(NOW), adopted=True)
    assert of(world(savepoint(deleted=NOW), remembered=(known,))).state is REMOVED
    assert of(world(savepoint(deleted=NOW), files=(saved(20),), remembered=(known,))).state is RETAINED
