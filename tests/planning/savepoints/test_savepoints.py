"""What becomes of the savepoints that HudiSavepoints ask for: when they are made, refused, kept, lost and removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.savepoints.savepoints import (
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
from tests.planning.world import (
    NOW,
    again,
    ago,
    at,
    done,
    memory,
    minutes,
    outcome,
    plan_for,
    run,
    status_of,
    table_class,
)
from tests.planning.world import ended as job_ended

from hudi_jobs.contract import Outcome, SavepointWork, Service
from hudi_operator.api.resources import InvalidObject, ObjectMetadata
from hudi_operator.api.status.savepoints import HudiSavepointStatus, SavepointState
from hudi_operator.api.status.table_parts import Protection, TakeoverPhase, TakeoverStatus
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.outcome.life import refused
from hudi_operator.planning.outcome.status.savepoint_status import decide_savepoint
from hudi_operator.timeline import CleanSummary

KEPT, LOST, REFUSED, WAITING = SavepointState.KEPT, SavepointState.LOST, SavepointState.REFUSED, SavepointState.WAITING
REMOVED, REMOVING, RETAINED = SavepointState.REMOVED, SavepointState.REMOVING, SavepointState.RETAINED


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


def test_savepoint_that_the_driver_refuses_is_not_retried() -> None:
    told = over(Outcome.NOTHING_TO_DO, reason="SavepointRefused", message="It was cleaned.")
    seen = world(savepoint(instant=ago(10)), told={"active_jobs": (at_work(),)}, jobs=(told,))
    after = of(seen)
    assert (after.state, after.reason, after.message) == (REFUSED, "SavepointRefused", "It was cleaned.")
    stored = again(replace(seen, jobs=()), status_of(seen))
    assert (of(stored).state, works(stored, now=later(600))) == (REFUSED, [])


CLEANED = f"The clean {ago(5)} keeps files from commit"
UNKEEPABLE: list[tuple[str, str, dict[str, Any]]] = [
    ("InstantNotFound", "was archived or undone, or never existed", {"instant": ago(25)}),
    (
        "InstantPending",
        "a savepoint needs a commit that has completed",
        {"instant": ago(5), "files": (f"{ago(5)}.deltacommit.inflight",)},
    ),
    ("NotACommit", "is a clean, not a commit", {"instant": ago(5), "files": (done("clean", 5),)}),
    (
        "InstantCleaned",
        f"{CLEANED} {ago(20)} on: files of {ago(30)} may be gone",
        {"instant": ago(30), "files": (done("clean", 5),), "clean": CleanSummary(earliest_retained=ago(20))},
    ),
    (
        "InstantCleaned",
        f"{CLEANED} {ago(10)} on: files of {ago(20)} may be gone",
        {"instant": ago(20), "files": (done("clean", 5),), "clean": CleanSummary(last_completed_commit=ago(10))},
    ),
]


@pytest.mark.parametrize(("reason", "words", "changes"), UNKEEPABLE)
def test_impossible_savepoint_is_refused_before_a_job_and_names_possible_commits(
    reason: str, words: str, changes: dict[str, Any]
) -> None:
    instant, further = changes["instant"], {key: value for key, value in changes.items() if key != "instant"}
    seen = world(savepoint(instant=instant), **further)
    after = of(seen)
    assert (after.state, after.reason) == (REFUSED, reason)
    assert instant in after.message
    assert words in after.message
    assert works(seen) == []


def test_the_savepoint_on_a_pending_commit_that_was_refused_is_made_once_the_commit_completes() -> None:
    pending = status_of(world(savepoint(instant=ago(5)), files=(f"{ago(5)}.deltacommit.inflight",)))
    completed = world(savepoint(instant=ago(5)), files=(done("deltacommit", 5),), remembered=tuple(pending.savepoints))
    assert (of(completed).state, works(completed)) == (WAITING, [(SavepointWork.MAKE, ago(5))])


def test_a_commit_after_the_last_clean_can_be_kept_whatever_that_kept() -> None:
    clean: dict[str, Any] = {"files": (done("clean", 15),), "clean": CleanSummary(last_completed_commit=ago(20))}
    assert works(world(savepoint(instant=ago(10)), **clean)) == [(SavepointWork.MAKE, ago(10))]
    assert works(world(savepoint(instant=ago(20)), **clean)) == [(SavepointWork.MAKE, ago(20))]


def test_existing_savepoint_is_adopted_by_its_instant_without_a_job() -> None:
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


def test_first_of_two_resources_for_the_same_commit_gets_it() -> None:
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


def test_savepoint_removed_by_hand_is_reported_and_not_recreated() -> None:
    seen = world(savepoint(instant=ago(20)), remembered=(entry(instant=ago(20), since=at(NOW)),))
    assert (of(seen).state, works(seen)) == (LOST, [])
    by_itself = world(savepoint(status=HudiSavepointStatus(instant=ago(20), completed_at=at(NOW))))
    assert (of(by_itself).state, works(by_itself)) == (LOST, [])


def test_savepoint_waits_for_the_finalizer_of_its_resource() -> None:
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
def test_savepoint_waits_while_the_table_is_blocked(changes: dict[str, Any]) -> None:
    seen = world(savepoint(), **changes)
    assert works(seen) == []
    assert of(seen).state is WAITING
    assert "until spec.suspend" in of(seen).message or "Observe" in of(seen).message


def test_known_savepoints_stay_while_the_table_cannot_be_read() -> None:
    trouble = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="No answer.")
    remembered = (entry(instant=ago(20), since=at(NOW - minutes(5)), adopted=True),)
    seen = world(savepoint(instant=ago(20)), snapshot=trouble, remembered=remembered)
    after = of(seen)
    assert (after.state, after.since, after.adopted) == (KEPT, at(NOW - minutes(5)), True)


def test_savepoint_goes_after_a_due_ingestion_and_before_the_table_services() -> None:
    for commits in (2, 1):  # is due, and is three times as far as that
        cleaning = {"mode": "Async", "retainCommits": 1, "trigger": {"commits": commits}}
        due: dict[str, Any] = {"ingestion": {}, "cleaning": cleaning}
        started = [one.job.service for one in launches(world(savepoint(), **due))]
        assert started == [Service.INGESTION if commits == 2 else Service.SAVEPOINT]
        assert [one.job.service for one in launches(world(savepoint(), **{**due, "ingestion": None}))] == [
            Service.SAVEPOINT
        ]
        assert [one.job.service for one in launches(world(**{**due, "ingestion": None}))] == [Service.CLEANING]


def test_failing_savepoint_does_not_stop_the_others() -> None:
    bad, good = savepoint("bad", instant=ago(30)), savepoint("good", instant=ago(20), created=NOW)
    remembered = (entry("bad", instant=ago(30), state="Waiting", failures=3),)
    assert works(world(bad, good, remembered=remembered)) == [(SavepointWork.MAKE, ago(20))]


def test_a_job_that_the_api_server_refuses_is_a_failure_that_backs_off() -> None:
    seen = world(savepoint())
    plan = plan_for(seen)
    (launch,) = [one for one in plan.actions if isinstance(one, LaunchJob)]
    after = refused(plan, launch.job, message="quota", now=NOW)
    (known,) = after.savepoints
    assert (known.instant, known.failures) == (ago(10), 1)
    assert after.services.savepoint is not None
    assert after.services.savepoint.reason == "WaitingForRetry"


def test_savepoint_of_a_later_version_is_not_forgotten() -> None:
    unreadable = InvalidObject(metadata=ObjectMetadata(name="daily", uid="uid-of-daily"), message="no")
    known = entry(instant=ago(20), since=at(NOW))
    (kept,) = status_of(world(unreadable, files=(saved(20),), remembered=(known,))).savepoints
    assert kept.copy_with(blocks=None) == known


def test_a_table_without_any_shows_nothing_of_savepoints() -> None:
    document = status_of(world()).to_document()
    assert "savepoint" not in document["services"]
    assert "savepoints" not in document["memory"]


def test_retained_files_are_remembered_until_another_clean_reports() -> None:
    def cleaned(ended: int, size: int) -> Any:
        found = [
            {"instant": ago(20), "files": 3, "bytes": size, "missing": size // 200},
            {"instant": ago(30), "files": 9, "bytes": 9},
        ]
        name = f"flights-cleaning-{ended}"
        return job_ended(
            name,
            service=Service.CLEANING,
            outcome=outcome(Outcome.SUCCEEDED, heldBack=found, finishedAt=at(NOW - minutes(ended))),
        )

    seen = world(savepoint(instant=ago(20)), files=(saved(20),), jobs=(cleaned(2, 200), cleaned(1, 100)))
    held = of(seen).retained
    assert held is not None
    assert (held.files, held.bytes, held.as_of) == (3, 100, at(NOW - minutes(1)))
    later_on = again(replace(seen, jobs=()), status_of(seen))
    assert of(later_on).retained == held
    told = decide_savepoint(savepoint(instant=ago(20)), later_on.table, now=NOW).status
    assert told is not None
    assert told.retained == held
    assert [(one.type, one.status) for one in told.conditions][:2] == [("Ready", "True"), ("DataComplete", "True")]
    removed = again(seen, status_of(replace(seen, jobs=(cleaned(0, 400),))))
    stalled = decide_savepoint(savepoint(instant=ago(20)), removed.table, now=NOW).status
    assert stalled is not None
    assert {one.reason for one in stalled.conditions if one.status == "False"} == {"FilesMissing"}
    assert "did not find 2 files of the savepoint" in str(stalled.message)
    assert of(replace(later_on, jobs=(cleaned(-60, 5),))).retained == held.copy_with(bytes=5, as_of=at(NOW)), (
        "a clock that is ahead does not outlast the next clean"
    )
    assert of(world(savepoint(instant=ago(20)), files=(saved(20),))).retained is None


def test_status_shows_what_the_savepoint_blocks() -> None:
    seen = world(savepoint(instant=ago(20)), files=(saved(20),))
    assert of(seen).blocks == "Cleaning keeps its files, although 1 commit is newer."
    latest = world(savepoint(instant=ago(10)), files=(saved(10),))
    assert of(latest).blocks == "Cleaning keeps its files."
    many = [ago(9 - number / 30) for number in range(234)]
    old = world(savepoint(instant=ago(20)), files=(saved(20), *(f"{one}_{one[:-1]}9.commit" for one in many)))
    assert of(old).blocks == "Cleaning keeps its files, although at least 200 commits are newer."


def test_savepoint_and_archival_report_the_commits_that_the_savepoint_holds() -> None:
    newer = tuple(done("deltacommit", 9 - number / 8) for number in range(40))
    seen = world(savepoint(instant=ago(20)), files=(saved(20), *newer), archival={"minCommits": 20, "maxCommits": 30})
    held = f"Commits from {ago(20)} on stay: there is a savepoint."
    assert status_of(seen).services.archival.blocked_by == held
    assert of(seen).blocks == f"Cleaning keeps its files, although at least 40 commits are newer. Archival: {held}"


def test_a_commit_that_makes_no_sense_is_never_asked_for() -> None:
    odd = HudiSavepointStatus(instant="../../etc")
    assert works(world(savepoint(status=odd))) == [(SavepointWork.MAKE, ago(10))]
    assert works(world(savepoint(), remembered=(entry(instant="x" * 32),))) == [(SavepointWork.MAKE, ago(10))]
    strange = world(savepoint(), files=("999.commit",), remembered=())
    assert all(len(instant) == 17 for _, instant in works(strange))


def states_and_message(seen: Observation) -> tuple[list[str], str]:
    """Return the findings of a table, and whether the table is ready."""
    after = status_of(seen)
    return [one.code.value for one in after.findings], after.conditions[0].status.value


def test_savepoint_without_a_resource_has_not_failed() -> None:
    failed = run(Outcome.FAILED, service="Savepoint", reason="HudiError")
    known = memory(last_run=failed, failures=3, failures_generation=1)
    seen = world(told={"savepoint": known})
    plan = plan_for(seen)
    assert plan.services.savepoint is not None
    assert plan.services.savepoint.failures == 0
    assert states_and_message(seen) == ([], "True")
    asked = world(savepoint(), told={"savepoint": known}, remembered=(entry(instant=ago(10), failures=3),))
    assert plan_for(asked).services.of(Service.SAVEPOINT).failures == 3
    assert states_and_message(asked) == (["SavepointFailed"], "True")


def test_unreadable_resource_keeps_its_savepoint() -> None:
    unreadable = InvalidObject(metadata=ObjectMetadata(name="other", uid="uid-of-other"), message="no")
    known = entry("other", instant=ago(20), since=at(NOW))
    seen = world(unreadable, savepoint(instant=ago(20)), files=(saved(20),), remembered=(known,))
    assert (of(seen).state, of(seen).reason) == (REFUSED, "AlreadySavepointed")


def test_before_the_first_service_of_a_takeover_a_run_for_a_resource_makes_no_savepoint_but_its_own() -> None:
    taken = TakeoverStatus(phase=TakeoverPhase.DONE, protection=Protection.WANTED, since=at(NOW))
    (launch,) = launches(world(savepoint(), told={"takeover": taken}))
    assert (launch.job.service, launch.job.savepoint) == (Service.SAVEPOINT, None)
