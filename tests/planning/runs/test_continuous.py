"""A continuous ingestion: when it starts, what ends it, what is told of it while it runs, and how it ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from tests.planning.continuous_world import (
    DUE_FOR_CLEANING,
    LOCK,
    VERSION,
    a_table,
    launches,
    live,
    progress,
    running,
    seen,
    stops,
)
from tests.planning.world import (
    JOB,
    NOW,
    active,
    after_failures,
    ago,
    at,
    done,
    ended,
    failed,
    job,
    memory,
    minutes,
    observe,
    outcome,
    plan_for,
    run,
    snapshot,
    status,
    status_of,
    story,
)

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome, Service
from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType, find_condition
from hudi_operator.api.status.runs import LiveStatus
from hudi_operator.api.status.table_operations import DecisionsStatus
from hudi_operator.planning.decide import requeue_after
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    JobObservation,
    JobPhase,
    NamespaceObservation,
    StopJob,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.outcome.plan import Plan


def test_continuous_ingestion_is_due_whenever_no_driver_runs() -> None:
    plan = plan_for(observe(a_table(status=status(ingestion=memory(last_run=run())))))
    assert [one.service for one in launches(plan)] == [Service.INGESTION]
    assert launches(plan)[0].live == LiveStatus(class_version=VERSION)


def test_continuous_ingestion_is_not_due_while_a_driver_runs() -> None:
    plan = plan_for(seen())
    assert plan.actions == ()
    ingestion = plan.services.ingestion
    assert (ingestion.due, ingestion.reason) == (False, "Continuous")


def test_a_batch_run_of_the_spec_before_is_waited_for() -> None:
    plan = plan_for(seen(a_table(generation=2), known=active(generation=1), found=job(generation=1)))
    assert plan.actions == ()


def test_failures_back_off_and_a_request_does_not_wait() -> None:
    known = status(ingestion=after_failures(3, finished_at=at(NOW)))
    assert launches(plan_for(observe(a_table(status=known)))) == []
    asked = a_table(status=known, annotations={REQUESTED_AT_ANNOTATION: "now"})
    assert len(launches(plan_for(observe(asked)))) == 1


def test_a_request_is_answered_by_the_driver_that_runs() -> None:
    plan = plan_for(seen(a_table(annotations={REQUESTED_AT_ANNOTATION: "now"})))
    assert (plan.answered, plan.actions) == ("now", ())


def test_a_request_beside_a_driver_that_ends_is_answered_by_the_next() -> None:
    plan = plan_for(seen(a_table(annotations={REQUESTED_AT_ANNOTATION: "now"}, generation=2)))
    assert (plan.answered, stops(plan)) == (None, ["Draining"])


UNREADABLE = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="down")
BLOCKED = (Blocker(reason=BlockerReason.SIZE_NOT_ALLOWED, message="It is too large."),)


@pytest.mark.parametrize(
    ("case", "drains"),
    [
        ({"one": a_table(generation=2)}, True),
        ({"one": a_table(suspend=True)}, True),
        ({"one": a_table(annotations={"hudi-operator.io/suspend": "maria"})}, True),
        ({"namespace": NamespaceObservation(suspension="maria")}, True),
        ({"one": a_table(suspend=True), "shows": UNREADABLE}, True),
        ({"one": a_table(managementPolicy="Observe")}, True),
        ({"blockers": BLOCKED}, True),
        ({"found": job(class_version=VERSION, generation=1, image="other:2")}, True),
        ({"known": running(live=live(class_version="other"))}, True),
        ({"memories": {"decisions": DecisionsStatus(rescans=("read#1",))}}, True),
        ({"found": job(class_version=VERSION, generation=1, phase=JobPhase.STARTING)}, False),
        ({"one": a_table(generation=2), "found": job(class_version=VERSION, phase=JobPhase.STARTING)}, True),
        ({"one": a_table(generation=2), "found": job(class_version=VERSION, phase=JobPhase.SUSPENDED)}, True),
        ({"one": a_table(generation=2), "found": job(class_version=VERSION, phase=JobPhase.ENDING)}, False),
        ({"shows": UNREADABLE}, False),
        ({"known": running(circumstances="other")}, False),
    ],
)
def test_reasons_that_end_a_driver_at_the_boundary_of_a_batch(case: dict[str, Any], drains: bool) -> None:
    plan = plan_for(seen(**case))
    assert stops(plan) == (["Draining"] if drains else [])
    assert launches(plan) == []
    assert [one.name for one in plan.active_jobs] == [JOB], "it is remembered until its pod is gone"


def test_a_foreign_commit_on_a_serialized_table_ends_it() -> None:
    others = story(done("deltacommit", 3), done("deltacommit", 1))
    shows = TimelineSnapshot(
        timeline=others, runs=((JOB, ago(3)),), unmarked=(others.instants[-1],), operations=((ago(1), "UPSERT"),)
    )
    plan = plan_for(seen(a_table(type="MergeOnRead"), shows=shows))
    assert plan.foreign
    assert stops(plan) == ["Draining"]


def test_ending_driver_is_asked_once_and_nothing_starts() -> None:
    first = seen(a_table(generation=2))
    stored = status_of(first)
    orphan = replace(first.jobs[0], phase=JobPhase.ENDING, class_version=None)
    after = replace(first, table=first.table.copy_with(status=stored), jobs=(orphan,))
    plan = plan_for(after)
    assert plan.actions == ()
    assert plan.active_jobs[0].state == "Draining"


@pytest.mark.parametrize(
    ("found", "committed", "expected"),
    [
        (None, True, (Outcome.SUCCEEDED, "Drained")),
        (None, False, (Outcome.NOTHING_TO_DO, "Drained")),
        (ended(exit_code=137), True, (Outcome.SUCCEEDED, "Drained")),
        (ended(outcome=failed(FailureReason.INTERRUPTED), exit_code=1), True, (Outcome.SUCCEEDED, "Drained")),
        (ended(outcome=failed(), exit_code=1), True, (Outcome.FAILED, "SourceNotFound")),
    ],
)
def test_a_driver_that_was_drained_has_not_failed(
    found: JobObservation | None, committed: bool, expected: tuple[Outcome, str]
) -> None:
    shows = snapshot((JOB, ago(1)), progress=progress()) if committed else snapshot(("other", ago(9)))
    known = running(state="Draining", message="The spec has changed.")
    before = seen(a_table(generation=2), known=known, shows=shows)
    plan = plan_for(replace(before, jobs=() if found is None else (found,)))
    [told] = plan.finished
    assert (told.outcome, told.reason) == expected
    assert told.instant == (ago(1) if committed else None)
    assert (told.batches, told.rows_read) == ((3, 40) if committed else (0, 0))
    assert len(launches(plan)) == 1, "the next one works by the new spec"


def finished(found: JobObservation | None, *, shows: TimelineSnapshot | None = None, **memories: Any) -> Plan:
    before = seen(shows=shows, memories=memories)
    return plan_for(replace(before, jobs=() if found is None else (found,)))


def result(kind: Outcome, **changes: Any) -> JobOutcome:
    return outcome(kind, **changes)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (ended(outcome=result(Outcome.SUCCEEDED, batches=3, instant=ago(2)), exit_code=0), (Outcome.SUCCEEDED, None)),
        (ended(outcome=result(Outcome.NOTHING_TO_DO, batches=0), exit_code=0), (Outcome.SUCCEEDED, None)),
        (ended(outcome=failed(), exit_code=1), (Outcome.FAILED, "SourceNotFound")),
        (ended(outcome=result(Outcome.CONFLICT, reason="Conflict"), exit_code=0), (Outcome.CONFLICT, "Conflict")),
        (ended(exit_code=137), (Outcome.FAILED, "DriverDied")),
        (None, (Outcome.FAILED, "JobLost")),
    ],
)
def test_a_commit_does_not_make_a_failure_a_success(
    found: JobObservation | None, expected: tuple[Outcome, str | None]
) -> None:
    [told] = finished(found).finished
    assert (told.outcome, told.reason, told.instant) == (*expected, ago(2))


def test_a_commit_that_the_timeline_does_not_hold_is_not_believed() -> None:
    claims = ended(outcome=result(Outcome.SUCCEEDED, batches=3, instant=ago(1)), exit_code=0)
    [told] = finished(claims, shows=snapshot(("other", ago(9)))).finished
    assert (told.outcome, told.reason) == (Outcome.FAILED, "NotConfirmed")


def test_a_run_that_got_further_than_those_before_it_counts_as_the_first_failure() -> None:
    after = finished(ended(exit_code=1), ingestion=after_failures(4)).services.ingestion
    assert (after.failures, after.reason) == (1, "WaitingForRetry")
    assert after.last_run is not None
    assert after.last_run.batches == 3


def test_failures_without_a_batch_between_them_add_up() -> None:
    shows = snapshot(("other", ago(9)))
    known = running(live=live(batches=0))
    before = seen(known=known, shows=shows, memories={"ingestion": after_failures(4)})
    after = plan_for(replace(before, jobs=(ended(exit_code=1),))).services.ingestion
    assert after.failures == 5


def test_a_driver_that_works_is_ready_whatever_earlier_ones_failed_for() -> None:
    found = status_of(seen(memories={"ingestion": after_failures(4)}))
    ready = find_condition(found.conditions, ConditionType.READY)
    assert ready is not None
    assert (ready.status, ready.reason) == (ConditionStatus.TRUE, "Continuous")
    assert ready.message == f"Ingests continuously: 3 batches with 40 rows in this run, the newest at {ago(2)}."
    assert (found.services.ingestion.reason, found.services.ingestion.failures) == ("Continuous", 0)


def test_a_driver_that_has_not_looked_at_its_source_yet_makes_nothing_ready() -> None:
    found = status_of(seen(shows=snapshot(("other", ago(9))), memories={"ingestion": after_failures(4)}))
    ready = find_condition(found.conditions, ConditionType.READY)
    assert ready is not None
    assert ready.status is ConditionStatus.FALSE


def test_status_shows_the_work_of_a_run_while_it_runs() -> None:
    told = status_of(seen()).active_jobs[0].live
    assert told is not None
    assert (told.batches, told.rows_read, told.instant, told.state) == (3, 40, ago(2), "Waiting")


def test_the_document_of_another_run_says_nothing() -> None:
    told = status_of(seen(shows=snapshot((JOB, ago(2)), progress=progress(run="another")))).active_jobs[0].live
    assert told is not None
    assert (told.batches, told.state, told.instant) == (0, None, ago(2))


def stands_still(*, moved: datetime, shows: TimelineSnapshot, before: TimelineSnapshot, **changes: Any) -> Plan:
    """The plan where the driver was last seen to move then, and `before` is what was seen."""
    first = plan_for(seen(shows=before, known=running(live=live(moved_at=None))), now=moved)
    return plan_for(seen(known=first.active_jobs[0], shows=shows, **changes))


STILL = snapshot((JOB, ago(20)), progress=progress())


@pytest.mark.parametrize(
    ("since", "shows", "stopped"),
    [
        (14, STILL, False),
        (15, STILL, True),
        (600, STILL, True),
        (600, snapshot((JOB, ago(20)), progress=progress(8)), False),
        (600, snapshot((JOB, ago(1)), (JOB, ago(20)), progress=progress()), False),
        (600, UNREADABLE, False),
        (600, snapshot((JOB, ago(20))), False),  # the document has gone, which is a change as any other
    ],
)
def test_a_driver_of_which_nothing_moves_is_stopped(since: float, shows: TimelineSnapshot, stopped: bool) -> None:
    plan = stands_still(moved=NOW - minutes(since), shows=shows, before=STILL)
    assert stops(plan) == (["NoProgress"] if stopped else [])


def test_time_without_a_running_pod_does_not_count() -> None:
    waits = job(class_version=VERSION, phase=JobPhase.SUSPENDED)
    plan = stands_still(moved=NOW - minutes(600), shows=STILL, before=STILL, found=waits)
    assert stops(plan) == []
    assert plan.active_jobs[0].live is not None
    assert plan.active_jobs[0].live.moved_at == at(NOW)


def test_a_run_that_made_no_progress_is_a_failed_run_with_its_own_reason() -> None:
    known = running(state="NoProgress", message="The driver has made no progress.")
    before = seen(known=known)
    plan = plan_for(replace(before, jobs=()))
    [told] = plan.finished
    assert (told.outcome, told.reason, told.batches) == (Outcome.FAILED, "NoProgress", 3)
    assert plan.services.ingestion.failures == 1
    assert launches(plan) == [], "it backs off"


def test_a_sign_of_life_alone_is_written_a_few_times_within_the_deadline() -> None:
    known = status_of(seen()).active_jobs[0]
    later = seen(known=known, shows=snapshot((JOB, ago(2)), progress=progress(8, polled_at=at(NOW + minutes(1)))))
    assert plan_for(later, now=NOW + minutes(1)).active_jobs[0] == known
    renewed = plan_for(later, now=NOW + minutes(3)).active_jobs[0].live
    assert renewed is not None
    assert renewed.moved_at == at(NOW + minutes(3))


def served(interval: str, since: float, **changes: Any) -> Plan:
    one = a_table(
        type="CopyOnWrite", continuous={"serviceInterval": interval}, cleaning={"retainCommits": 2}, **changes
    )
    timeline = replace(DUE_FOR_CLEANING)
    shows = TimelineSnapshot(timeline=timeline, runs=tuple((JOB, each.time) for each in timeline.completed))
    return plan_for(seen(one, known=running(live=live(running_since=at(NOW - minutes(since)))), shows=shows))


def test_driver_of_a_serialized_table_ends_for_due_services_after_its_turn() -> None:
    assert stops(served("30m", 29)) == []
    plan = served("30m", 30)
    assert stops(plan) == ["Draining"]
    assert "Cleaning is due" in plan.active_jobs[0].message


def test_then_what_is_due_goes_first_and_ingestion_after_it() -> None:
    timeline = DUE_FOR_CLEANING
    one = a_table(type="CopyOnWrite", cleaning={"retainCommits": 2}, status=status(ingestion=memory(last_run=run())))
    shows = TimelineSnapshot(timeline=timeline, runs=tuple((JOB, each.time) for each in timeline.completed))
    assert [job.service for job in launches(plan_for(observe(one, snapshot=shows)))] == [Service.CLEANING]


def test_however_much_is_due_ingestion_has_its_turn() -> None:
    timeline = DUE_FOR_CLEANING
    known = status(ingestion=memory(last_run=run(), passed_over=10))
    one = a_table(type="CopyOnWrite", cleaning={"retainCommits": 2}, status=known)
    shows = TimelineSnapshot(timeline=timeline, runs=tuple((JOB, each.time) for each in timeline.completed))
    assert [job.service for job in launches(plan_for(observe(one, snapshot=shows)))] == [Service.INGESTION]


def test_services_beside_an_optimistic_driver_have_jobs_of_their_own() -> None:
    plan = served("1m", 600, **LOCK)
    assert stops(plan) == []
    assert [job.service for job in launches(plan)] == [Service.CLEANING]


def write(minutes_ago: float) -> tuple[str, str]:
    return f"{ago(minutes_ago)}.deltacommit.requested", f"{ago(minutes_ago)}.deltacommit.inflight"


@pytest.mark.parametrize(("told", "taken"), [("", "It is claimed."), ("-entry-taken", None)])
def test_driver_stops_when_the_claim_on_the_catalog_entry_changes(told: str, taken: str | None) -> None:
    observation = replace(seen(known=running(live=live(class_version=VERSION + told))), entry_taken=taken)
    (stop,) = [action for action in plan_for(observation).actions if isinstance(action, StopJob)]
    assert stop.job.message == "The claim on the catalog entry has changed."
    following = launches(plan_for(replace(observation, jobs=(), table=a_table())))
    expected = VERSION if taken is None else f"{VERSION}-entry-taken"
    assert [job.live and job.live.class_version for job in following] == [expected]


def test_instant_left_by_a_driver_killed_within_its_last_batch_is_its_own() -> None:
    shows = TimelineSnapshot(timeline=story(done("deltacommit", 4), *write(1)), runs=((JOB, ago(4)),))
    known = running(state="Draining", message="The spec has changed.")
    before = seen(a_table(generation=2, type="MergeOnRead"), known=known, shows=shows)
    plan = plan_for(replace(before, jobs=()))
    assert plan.left_behind == (ago(1),)


def test_a_driver_that_was_drained_before_it_ran_has_left_nothing() -> None:
    """Else the write of a stranger would be rolled back under its hands, on a table without a lock."""
    shows = TimelineSnapshot(timeline=story(done("deltacommit", 9), *write(1)), runs=(("earlier", ago(9)),))
    known = running(state="Draining", message="The spec has changed.", live=live(running_since=None))
    before = seen(a_table(generation=2, type="MergeOnRead"), known=known, shows=shows)
    plan = plan_for(replace(before, jobs=()))
    assert plan.left_behind == ()
    assert launches(plan) == []


def test_a_write_that_is_older_than_a_commit_of_the_run_is_not_its_own() -> None:
    """Its batches come one after another; beside a driver that runs for hours another tool's dead write is seen."""
    shows = TimelineSnapshot(timeline=story(*write(6), done("deltacommit", 4), *write(1)), runs=((JOB, ago(4)),))
    one = a_table(type="MergeOnRead", **LOCK)
    plan = plan_for(replace(seen(one, known=running(live=live()), shows=shows), jobs=(ended(exit_code=1),)))
    assert plan.left_behind == (ago(1),)


def test_a_driver_that_status_has_forgotten_is_adopted_and_followed() -> None:
    forgotten = seen(shows=snapshot((JOB, ago(2)), progress=progress()))
    empty = replace(forgotten, table=forgotten.table.copy_with(status=status()))
    plan = plan_for(empty)
    assert plan.actions == ()
    adopted = plan.active_jobs[0].live
    assert adopted is not None
    assert (adopted.class_version, adopted.batches, adopted.moved_at) == (VERSION, 3, at(NOW))


def test_a_table_with_nothing_but_its_driver_is_seen_whole_once_a_minute() -> None:
    observation = seen()
    assert requeue_after(plan_for(observation), poll=10.0) == 60.0


def test_a_rescan_that_the_driver_has_committed_is_served_before_it_ends() -> None:
    shows = snapshot((JOB, ago(2)), progress=progress(rescan="read#1"))
    found = status_of(seen(memories={"decisions": DecisionsStatus(rescans=("read#1",))}, shows=shows))
    assert found.rescan is not None
    assert found.rescan.state == "Served"


def test_a_hidden_table_ends_its_driver() -> None:
    observation = seen(blockers=(Blocker(reason=BlockerReason.PATH_NOT_ALLOWED, message="No."),))
    plan = plan_for(replace(observation, snapshot=TimelineSnapshot.forbidden(observation.blockers)))
    assert stops(plan) == ["Draining"]


def test_a_driver_runs_on_while_commits_of_a_pause_are_checked() -> None:
    observation = seen(shows=snapshot((JOB, ago(2)), progress=progress(), read_up_to=ago(2)))
    assert stops(plan_for(observation)) == []
