"""Jobs that were decided earlier, compared with those that exist."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import (
    IMAGE,
    JOB,
    NOW,
    active,
    as_declared,
    at,
    ended,
    job,
    minutes,
    observe,
    snapshot,
    status,
    succeeded,
    table,
)
from tests.planning.world import table_class as a_class

from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.planning.facts.runs.tracking import Tracked, track
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    CreateJob,
    JobObservation,
    JobPhase,
    NamespaceObservation,
    PodReference,
    PodTrouble,
    RemoveExecutors,
    StopJob,
    TimelineSnapshot,
    TimelineTrouble,
)

EXECUTOR = PodReference(name=f"{JOB}-exec-1", uid="executor-uid")
DECIDED = active(uid=None, state="Decided")
BEFORE = snapshot(("flights-ingestion-before", "20260310115900000"))


def tracked(
    remembered: tuple[ActiveJob, ...] = (), jobs: tuple[JobObservation, ...] = (), *, image: str = IMAGE, **changes: Any
) -> Tracked:
    spec = changes.pop("spec", {})
    observation = observe(table(status=status(active_jobs=remembered), **spec), jobs=jobs, **changes)
    return track(observation, desired_image=image, now=NOW)


def names(found: Tracked) -> list[str]:
    return [one.name for one in found.active]


def test_a_table_without_jobs_has_nothing_to_track() -> None:
    assert tracked() == Tracked(active=(), finished=(), actions=())


def test_a_job_whose_intent_is_recorded_is_created_when_it_does_not_exist() -> None:
    found = tracked((DECIDED,))
    assert found.actions == (CreateJob(job=DECIDED),)
    assert found.active == (DECIDED,)


@pytest.mark.parametrize(
    "changes",
    [
        {"blockers": (Blocker(reason=BlockerReason.PATH_CLAIMED, message="Taken."),)},
        {"spec": {"suspend": True}},
        {"namespace": NamespaceObservation(suspension="maria")},
        {"spec": {"managementPolicy": "Observe"}},
    ],
    ids=["blocked", "suspended", "suspended by its namespace", "only observed"],
)
def test_an_intent_is_dropped_when_nothing_may_start_any_more(changes: dict[str, Any]) -> None:
    found = tracked((DECIDED,), **changes)
    assert found == Tracked(active=(), finished=(), actions=())


@pytest.mark.parametrize(("age", "created"), [(0, True), (1.9, True), (2, False), (600, False)])
def test_an_intent_is_dropped_when_it_is_older_than_two_minutes(age: float, *, created: bool) -> None:
    intent = DECIDED.copy_with(started_at=at(NOW - minutes(age)))
    found = tracked((intent,))
    assert bool(found.actions) is created
    assert bool(found.active) is created


def test_an_intent_whose_time_cannot_be_read_is_dropped() -> None:
    poisoned = DECIDED.copy_with(started_at="yesterday")
    assert tracked((poisoned,)) == Tracked(active=(), finished=(), actions=())


@pytest.mark.parametrize("phase", [JobPhase.STARTING, JobPhase.RUNNING, JobPhase.ENDING])
def test_an_intent_whose_job_exists_learns_its_uid_and_state(phase: JobPhase) -> None:
    found = tracked((DECIDED,), (job(phase=phase),))
    assert found.actions == ()
    assert [(one.uid, one.state) for one in found.active] == [("job-uid", phase.value)]


def test_a_job_that_runs_but_is_not_remembered_is_adopted() -> None:
    found = tracked((), (job(attempt=3, base_instant="20260310110000000", driver_memory="4Gi"),))
    assert found.active == (
        active(attempt=3, base_instant="20260310110000000", driver_memory="4Gi", started_at=at(NOW - minutes(1))),
    )


def test_a_job_that_is_over_and_not_remembered_was_consumed_before() -> None:
    assert tracked((), (ended(outcome=succeeded()),)) == Tracked(active=(), finished=(), actions=())


def test_a_remembered_job_that_is_over_ends_once() -> None:
    found = tracked((active(),), (ended(outcome=succeeded()),), snapshot=snapshot((JOB, "20260310115900000")))
    assert found.active == ()
    assert [one.job for one in found.finished] == [JOB]


@pytest.mark.parametrize("jobs", [(ended(outcome=succeeded()),), ()], ids=["over", "vanished"])
def test_a_job_stays_active_while_the_timeline_cannot_confirm_its_end(jobs: tuple[JobObservation, ...]) -> None:
    found = tracked((active(),), jobs, snapshot=TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE))
    assert names(found) == [JOB]
    assert found.finished == ()


def test_a_job_that_vanished_after_it_was_seen_has_ended() -> None:
    found = tracked((active(),))
    assert found.active == ()
    assert [(one.outcome.value, one.reason) for one in found.finished] == [("Failed", "JobLost")]


def test_a_job_without_uid_that_is_over_has_ended_and_is_not_created_again() -> None:
    found = tracked((DECIDED,), (ended(outcome=succeeded()),), snapshot=snapshot((JOB, "20260310115900000")))
    assert found.actions == ()
    assert len(found.finished) == 1


START_TROUBLES = [
    PodTrouble.IMAGE_PULL_FAILED,
    PodTrouble.UNSCHEDULABLE,
    PodTrouble.CONFIGURATION,
    PodTrouble.FORBIDDEN,
    PodTrouble.START_TIMEOUT,
]


@pytest.mark.parametrize("trouble", START_TROUBLES)
@pytest.mark.parametrize(("age", "stopped"), [(4.9, False), (5.1, True)])
def test_a_job_that_cannot_start_is_stopped_after_the_timeout_of_its_class(
    trouble: PodTrouble, age: float, *, stopped: bool
) -> None:
    stuck = job(phase=JobPhase.STARTING, trouble=trouble, message="why", created_at=NOW - minutes(age))
    found = tracked((active(),), (stuck,))

    assert [one.state for one in found.active] == [trouble.value]
    assert [one.message for one in found.active] == ["why"]
    assert found.actions == ((StopJob(job=found.active[0], uid="job-uid"),) if stopped else ())


def test_the_start_timeout_is_the_one_of_the_class() -> None:
    stuck = job(phase=JobPhase.STARTING, trouble=PodTrouble.UNSCHEDULABLE, created_at=NOW - minutes(6))
    patient = a_class(job={"startTimeout": "1h"})
    assert tracked((active(),), (stuck,), table_class=patient).actions == ()


def test_a_job_that_cannot_start_is_stopped_at_once_when_its_image_has_been_corrected() -> None:
    stuck = job(phase=JobPhase.STARTING, trouble=PodTrouble.IMAGE_PULL_FAILED, image="typo")
    assert [type(action) for action in tracked((active(),), (stuck,)).actions] == [StopJob]


def test_a_job_without_a_class_is_still_stopped_when_it_cannot_start() -> None:
    stuck = job(phase=JobPhase.STARTING, trouble=PodTrouble.UNSCHEDULABLE, created_at=NOW - minutes(6))
    assert [type(one) for one in tracked((active(),), (stuck,), table_class=None).actions] == [StopJob]


@pytest.mark.parametrize("phase", [JobPhase.RUNNING, JobPhase.ENDING])
def test_a_job_that_has_started_is_never_stopped(phase: JobPhase) -> None:
    old = job(phase=phase, image="another", created_at=NOW - minutes(600))
    assert tracked((active(),), (old,)).actions == ()


@pytest.mark.parametrize(("age", "state"), [(4.9, "Starting"), (5.1, "StartTimeout")])
def test_a_job_that_does_not_start_for_no_known_reason_is_given_up_as_well(age: float, state: str) -> None:
    message = "container driver waits: ContainerCreating."
    slow = job(phase=JobPhase.STARTING, message=message, created_at=NOW - minutes(age))
    found = tracked((active(),), (slow,))
    assert [(one.state, one.message) for one in found.active] == [(state, message)]
    assert found.actions == ((StopJob(job=found.active[0], uid="job-uid"),) if state == "StartTimeout" else ())

    gone = tracked(found.active)
    expected = ("StartTimeout", True) if state == "StartTimeout" else ("JobLost", False)
    assert [(one.reason, "ContainerCreating" in one.message) for one in gone.finished] == [expected]


def test_the_time_to_start_begins_when_the_queue_lets_the_job_go() -> None:
    freed = job(phase=JobPhase.STARTING, created_at=NOW - minutes(600), waiting_since=NOW - minutes(4))
    assert tracked((active(),), (freed,)).actions == ()
    late = replace(freed, waiting_since=NOW - minutes(6))
    assert [type(one) for one in tracked((active(),), (late,)).actions] == [StopJob]


def test_a_job_that_a_queue_holds_is_left_alone_for_as_long_as_that_takes() -> None:
    queued = job(phase=JobPhase.SUSPENDED, image="another", created_at=NOW - minutes(6000), message="A queue holds it.")
    found = tracked((active(),), (queued,))
    assert [(one.state, one.message) for one in found.active] == [("Suspended", "A queue holds it.")]
    assert found.actions == ()


def test_executors_that_outlive_their_driver_are_removed_and_waited_for() -> None:
    left = job(phase=JobPhase.ENDING, trouble=PodTrouble.OUT_OF_MEMORY, executors=(EXECUTOR,))
    found = tracked((active(),), (left,))
    assert names(found) == [JOB]
    assert found.actions == (RemoveExecutors(job=found.active[0], pods=(EXECUTOR,)),)

    told = replace(left, executors=())
    assert tracked(found.active, (told,)).actions == ()
    assert names(tracked(found.active, (told,))) == [JOB]
    assert [one.reason for one in tracked(found.active, (replace(told, phase=JobPhase.OVER),)).finished] == [
        "OutOfMemory"
    ]


def test_executors_of_a_run_that_status_has_forgotten_are_removed_as_well() -> None:
    left = job(uid="", phase=JobPhase.ENDING, executors=(EXECUTOR,))
    found = tracked((), (left,))
    assert names(found) == [JOB]
    assert [type(one) for one in found.actions] == [RemoveExecutors]


def test_a_job_that_only_the_containers_of_others_keep_ends_and_is_then_removed() -> None:
    kept = ended(outcome=succeeded(), remains=True)
    found = tracked((active(),), (kept,), snapshot=snapshot((JOB, "20260310115900000")))
    assert [one.outcome for one in found.finished] == ["Succeeded"]
    assert found.active == ()
    assert [(type(one), one.uid) for one in found.actions if isinstance(one, StopJob)] == [(StopJob, "job-uid")]
    again = tracked((), (kept,), snapshot=snapshot((JOB, "20260310115900000")))
    assert [type(one) for one in again.actions] == [StopJob], "also when the operator died in between"


def test_ended_job_stays_while_the_timeline_cannot_be_read() -> None:
    kept = ended(outcome=succeeded(), remains=True)
    found = tracked((active(),), (kept,), snapshot=TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE))
    assert (names(found), found.actions) == ([JOB], ())


def test_two_forgotten_jobs_of_one_name_are_remembered_as_one() -> None:
    assert names(tracked((), (job(), job(uid="earlier", phase=JobPhase.ENDING)))) == [JOB]


def test_no_more_jobs_are_remembered_than_a_status_holds() -> None:
    assert len(tracked((active(),), tuple(job(f"job-{number}") for number in range(50))).active) == 8


@pytest.mark.parametrize("trouble", START_TROUBLES)
def test_a_job_that_was_stopped_ends_with_the_trouble_that_it_was_stopped_for(trouble: PodTrouble) -> None:
    stuck = active(state=trouble.value, message="why.")
    ending = tracked((stuck,), (job(phase=JobPhase.ENDING),))
    gone = tracked(ending.active)

    assert ending.active == (stuck,)
    assert [one.reason for one in gone.finished] == [trouble.value]


def test_a_job_that_starts_after_all_loses_its_trouble() -> None:
    stuck = active(state=PodTrouble.UNSCHEDULABLE.value, message="no node fits.")
    found = tracked((stuck,), (job(phase=JobPhase.RUNNING),))
    assert [(one.state, one.message) for one in found.active] == [("Running", "")]


def test_an_endless_message_of_a_pod_is_cut() -> None:
    stuck = job(phase=JobPhase.STARTING, trouble=PodTrouble.CONFIGURATION, message="x" * 5000)
    assert len(tracked((active(),), (stuck,)).active[0].message) <= 512


def test_every_job_is_tracked_by_its_own_name() -> None:
    one = table(status=status(active_jobs=(active("one"), active("two", uid=None), active("three"))))
    observation = observe(
        one,
        jobs=(job("one"), ended("three", outcome=succeeded()), job("four")),
        snapshot=as_declared(snapshot(("three", "20260310115900000")), one),
    )
    found = track(observation, desired_image=IMAGE, now=NOW)

    assert names(found) == ["one", "two", "four"]
    assert [one.job for one in found.finished] == ["three"]
    assert [type(action) for action in found.actions] == [CreateJob]


def test_an_adopted_job_that_cannot_start_says_so_at_once() -> None:
    stuck = job(phase=JobPhase.STARTING, trouble=PodTrouble.IMAGE_PULL_FAILED, message="why.")
    assert [(one.state, one.message) for one in tracked((), (stuck,)).active] == [("ImagePullFailed", "why.")]


def test_a_pod_of_an_earlier_job_of_the_same_name_keeps_the_next_run_waiting() -> None:
    left = job(uid="earlier", phase=JobPhase.ENDING, created_at=NOW - minutes(9))
    found = tracked((active(),), (left, ended(outcome=succeeded())), snapshot=snapshot((JOB, "20260310115900000")))
    assert names(found) == [JOB]
    assert found.finished == ()


OTHER_RUN = {"uid": "another", "decided_at": at(NOW - minutes(90))}


def test_a_finished_job_of_another_run_is_not_the_end_of_a_run_of_the_same_name() -> None:
    found = tracked((DECIDED,), (ended(outcome=succeeded(), **OTHER_RUN),), snapshot=BEFORE)
    assert found == Tracked(active=(), finished=(), actions=())


def test_a_job_that_runs_under_the_name_of_an_intent_takes_its_place() -> None:
    found = tracked((DECIDED,), (job(generation=7, **OTHER_RUN),))
    assert [(one.uid, one.started_at, one.generation) for one in found.active] == [
        ("another", at(NOW - minutes(90)), 7)
    ]
    assert found.actions == ()


def test_the_jobs_own_uid_tells_whose_end_it_is() -> None:
    found = tracked((active(),), (ended(outcome=succeeded(), uid="another"),), snapshot=BEFORE)
    assert [(one.outcome, one.reason) for one in found.finished] == [("Failed", "JobLost")]


def test_a_uid_that_is_known_is_never_exchanged() -> None:
    found = tracked((active(),), (job(uid="another"),))
    assert [one.uid for one in found.active] == ["job-uid"]
    assert found.finished == ()


def test_a_run_whose_job_came_and_went_unseen_is_told_by_the_timeline_and_not_started_again() -> None:
    found = tracked((DECIDED,), snapshot=snapshot((JOB, "20260310115900000")))
    assert [(one.outcome, one.instant) for one in found.finished] == [("Succeeded", "20260310115900000")]
    assert (found.active, found.actions) == ((), ())


@pytest.mark.parametrize(
    "changes",
    [{"generation": 2}, {"snapshot": TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE)}],
    ids=["the spec has changed", "the timeline cannot be read"],
)
def test_an_intent_whose_job_would_be_another_or_may_have_been_there_is_dropped(changes: dict[str, Any]) -> None:
    intent = DECIDED.copy_with(generation=1)
    spec = {"generation": changes.pop("generation", 1)}
    assert tracked((intent,), spec=spec, **changes) == Tracked(active=(), finished=(), actions=())


def test_a_job_that_status_has_forgotten_is_remembered_with_its_generation_and_the_time_of_its_decision() -> None:
    found = tracked((), (job(generation=3, decided_at=at(NOW - minutes(5))),))
    assert [(one.generation, one.started_at) for one in found.active] == [(3, at(NOW - minutes(5)))]


def without_executors(since: float, **changes: Any) -> JobObservation:
    return job(
        phase=JobPhase.RUNNING,
        trouble=PodTrouble.EXECUTORS_WAITING,
        message="No executor has started: no room.",
        created_at=NOW - minutes(60),
        executors_wait_since=NOW - minutes(since),
        **changes,
    )


@pytest.mark.parametrize(("since", "stopped"), [(4.9, False), (5.1, True)])
def test_a_run_without_executors_is_stopped_after_the_start_timeout(since: float, *, stopped: bool) -> None:
    found = tracked((active(),), (without_executors(since),))
    (after,) = found.active
    assert after.state == (PodTrouble.NO_EXECUTORS if stopped else PodTrouble.EXECUTORS_WAITING)
    assert after.message == "No executor has started: no room."
    assert [type(action) for action in found.actions] == ([StopJob] if stopped else [])
    assert found.late_at == (None if stopped else NOW + minutes(5 - since))


def test_a_run_stopped_for_its_executors_keeps_the_cause_while_it_ends() -> None:
    stopped = active(state=PodTrouble.NO_EXECUTORS, message="no room.")
    (after,) = tracked((stopped,), (job(phase=JobPhase.ENDING),)).active
    assert (after.state, after.message) == (PodTrouble.NO_EXECUTORS, "no room.")


def test_a_run_whose_executors_came_after_all_goes_on() -> None:
    waited = active(state=PodTrouble.EXECUTORS_WAITING, message="no room.")
    (after,) = tracked((waited,), (job(phase=JobPhase.RUNNING),)).active
    assert (after.state, after.message) == ("Running", "")
