"""The decision for one table: what starts, what does not, and what a person reads about it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    CREATED,
    JOB,
    NOW,
    active,
    after_failures,
    again,
    at,
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
    succeeded,
    table,
)
from tests.planning.world import table_class as a_class

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    CreateJob,
    JobPhase,
    LaunchJob,
    Observation,
    PodTrouble,
    StopJob,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.outcome.plan import Plan

REQUEST = {"hudi-operator.io/requested-at": "2026-03-10T11:59:30Z"}
BLOCKER = Blocker(reason=BlockerReason.PATH_CLAIMED, message="Taken by team-b/flights.")
COMMITTED = snapshot((JOB, "20260310115900000"))


def launched(plan: Plan) -> list[str]:
    return [action.job.name for action in plan.actions if isinstance(action, LaunchJob)]


def recently() -> Any:
    return memory(last_run=run(started_at=at(NOW - minutes(1))))


def test_a_new_table_starts_its_first_run_at_once() -> None:
    plan = plan_for(observe())

    (launch,) = plan.actions
    assert isinstance(launch, LaunchJob)
    assert plan.active_jobs == (launch.job,)
    assert launch.job.model_dump(exclude={"name", "circumstances"}, mode="json") == {
        "service": "Ingestion",
        "uid": None,
        "stopped_at": None,
        "attempt": 1,
        "started_at": "2026-03-10T12:00:00Z",
        "generation": 1,
        "base_instant": None,
        "pending": [],
        "abandoned": [],
        "left_behind": None,
        "dead": None,
        "instant": None,
        "run_mode": None,
        "plan_bytes": None,
        "plan_groups": None,
        "savepoint": None,
        "taken_over_at": None,
        "named_savepoint": None,
        "operation": None,
        "driver_memory": "2Gi",
        "inside": None,
        "live": None,
        "look": None,
        "cores": {"driver": 1000, "executor": 0, "executors": 0},
        "running_since": None,
        "progress": None,
        "progress_at": None,
        "state": "Decided",
        "message": "",
    }
    assert launch.job.name.startswith("flights-ingestion-")
    assert plan.changes_in is None, "a Job that has started changes nothing by time"


def test_the_same_observation_always_gives_the_same_plan() -> None:
    assert plan_for(observe()) == plan_for(observe())


def test_a_run_starts_from_the_newest_completed_instant() -> None:
    plan = plan_for(observe(snapshot=snapshot(("other", "20260310110000000"), ("older", "20260310100000000"))))
    assert plan.active_jobs[0].base_instant == "20260310110000000"


def test_another_attempt_another_base_and_another_time_have_other_names() -> None:
    names = {
        *launched(plan_for(observe())),
        *launched(plan_for(observe(snapshot=COMMITTED))),
        *launched(plan_for(observe(table(created=CREATED + minutes(1))))),
        *launched(plan_for(observe(table(annotations=REQUEST)))),
        *launched(plan_for(observe(table(status=status(ingestion=after_failures(1)))))),
        *launched(plan_for(observe(table(status=status(ingestion=after_failures(1, generation=7)))))),
    }
    assert len(names) == 6


NOTHING_STARTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "a job runs": ({"jobs": (job(),)}, {}, {}, "Running"),
    "a job starts": ({"jobs": (job(phase=JobPhase.STARTING),)}, {}, {}, "Running"),
    "a job of somebody else's memory ends": ({"jobs": (job("x", phase=JobPhase.ENDING),)}, {}, {}, "Running"),
    "an intent waits for its job": ({}, {"active_jobs": (active(uid=None),)}, {}, "Running"),
    "an end cannot be confirmed": (
        {"snapshot": TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="Down.")},
        {"active_jobs": (active(),)},
        {},
        "Running",
    ),
    "it is suspended": ({}, {}, {"suspend": True}, "Suspended"),
    "it is only observed": ({}, {}, {"managementPolicy": "Observe"}, "Observed"),
    "something stands in its way": ({"blockers": (BLOCKER,)}, {}, {}, "Blocked"),
    "its class is gone": ({"blockers": (BLOCKER,), "table_class": None}, {}, {}, "Blocked"),
    "the store denies access": (
        {"snapshot": TimelineSnapshot(trouble=TimelineTrouble.ACCESS_DENIED, message="No.")},
        {},
        {},
        "StorageAccessDenied",
    ),
    "its timeline is corrupt": (
        {"snapshot": TimelineSnapshot(trouble=TimelineTrouble.CORRUPT, message="No.")},
        {},
        {},
        "TimelineCorrupt",
    ),
    "its class is busy": (
        {"table_class": a_class(jobQuota={"runningJobs": 3}), "running_in_class": 3},
        {},
        {},
        "ClassQuotaReached",
    ),
    "its namespace is busy": (
        {"table_class": a_class(jobQuota={"runningJobsPerNamespace": 1}), "running_in_namespace": 1},
        {},
        {},
        "NamespaceQuotaReached",
    ),
}


@pytest.mark.parametrize("case", NOTHING_STARTS)
@pytest.mark.parametrize("annotations", [{}, REQUEST], ids=["by schedule", "by request"])
def test_no_job_starts_while(case: str, annotations: dict[str, str]) -> None:
    changes, remembered, spec, reason = NOTHING_STARTS[case]
    one = table(status=status(**remembered), annotations=annotations, **spec)
    plan = plan_for(observe(one, **changes))

    assert launched(plan) == []
    assert plan.services.ingestion.reason == reason
    assert plan.changes_in is None or plan.changes_in > 0


@pytest.mark.parametrize(
    ("limits", "counts"),
    [
        ({"runningJobs": 3}, {"running_in_class": 2}),
        ({"runningJobsPerNamespace": 3}, {"running_in_class": 99, "running_in_namespace": 2}),
        ({}, {"running_in_class": 10**6, "running_in_namespace": 10**6}),
    ],
)
def test_a_run_starts_below_the_limits(limits: dict[str, int], counts: dict[str, Any]) -> None:
    assert launched(plan_for(observe(table_class=a_class(jobQuota=limits), **counts)))


def test_blocker_of_a_run_is_reported_beside_why_the_run_is_due() -> None:
    plan = plan_for(observe(table(suspend=True)))
    assert plan.services.ingestion.due
    assert plan.services.ingestion.message == (
        "Scheduled every 5m, due since 2026-03-10T11:00:00Z. "
        "The table is suspended: no new job starts until spec.suspend is false."
    )


def test_running_jobs_go_on_when_the_table_is_suspended_blocked_or_observed() -> None:
    for spec, changes in (
        ({"suspend": True}, {}),
        ({"managementPolicy": "Observe"}, {}),
        ({}, {"blockers": (BLOCKER,)}),
        ({}, {"blockers": (BLOCKER,), "table_class": None}),
    ):
        one = table(status=status(active_jobs=(active(),)), **spec)
        plan = plan_for(observe(one, jobs=(job(),), **changes))
        assert [kept.name for kept in plan.active_jobs] == [JOB]
        assert plan.actions == ()


def test_a_job_that_ends_makes_room_for_the_next_one_in_the_same_reconcile() -> None:
    one = table(status=status(active_jobs=(active(started_at=at(NOW - minutes(9))),)))
    plan = plan_for(observe(one, jobs=(ended(outcome=succeeded()),), snapshot=COMMITTED))

    assert [done.outcome for done in plan.finished] == [Outcome.SUCCEEDED]
    assert len(launched(plan)) == 1
    assert launched(plan) != [JOB]
    assert len(plan.active_jobs) == 1


def test_a_table_never_has_two_jobs_when_one_ends_and_another_is_adopted() -> None:
    one = table(status=status(active_jobs=(active(started_at=at(NOW - minutes(9))),)))
    jobs = (ended(outcome=succeeded()), job("flights-ingestion-adopted"))
    plan = plan_for(observe(one, jobs=jobs, snapshot=COMMITTED))
    assert launched(plan) == []
    assert [kept.name for kept in plan.active_jobs] == ["flights-ingestion-adopted"]


def test_an_intent_that_was_never_carried_out_is_carried_out_and_nothing_else() -> None:
    intent = active(uid=None)
    plan = plan_for(observe(table(status=status(active_jobs=(intent,)))))
    assert plan.actions == (CreateJob(job=intent),)


def test_a_job_that_cannot_start_is_stopped_and_no_other_starts_before_it_is_gone() -> None:
    stuck = job(phase=JobPhase.STARTING, trouble=PodTrouble.UNSCHEDULABLE, created_at=NOW - minutes(10))
    plan = plan_for(observe(table(status=status(active_jobs=(active(),))), jobs=(stuck,)))
    assert [type(action) for action in plan.actions] == [StopJob]


def finish(observed: Any, *, seen: TimelineSnapshot = COMMITTED, remembered: Any = None, **spec: Any) -> Plan:
    """Decide with one remembered Job that was just seen to end, one minute after its start."""
    one = table(status=status(ingestion=remembered, active_jobs=(active(),)), **spec)
    return plan_for(observe(one, jobs=(observed,), snapshot=seen))


def test_a_run_that_succeeded_is_remembered_and_the_next_one_waits_for_the_schedule() -> None:
    plan = finish(ended(outcome=succeeded()))
    assert launched(plan) == []
    assert (plan.services.ingestion.due, plan.services.ingestion.reason) == (False, "WaitingForSchedule")
    assert plan.services.ingestion.next_run_at == at(NOW + minutes(4))
    assert plan.services.ingestion.next_attempt_at is None
    assert [done.instant for done in plan.history] == ["20260310115900000"]


def test_a_run_that_left_input_behind_is_followed_by_another_at_once() -> None:
    assert len(launched(finish(ended(outcome=succeeded(more_input=True))))) == 1


def test_a_table_goes_on_run_after_run_while_messages_are_left_and_then_waits_for_its_schedule() -> None:
    topics = {"bootstrapServers": ["a:9092"], "topics": ["orders"]}
    nightly = {"source": {"kafka": topics}, "schedule": {"cron": "0 3 * * *"}}
    remembered, went_on = None, list[bool]()
    for said in (succeeded(more_input=True), None, succeeded(more_input=True), succeeded(more_input=False)):
        plan = finish(ended(outcome=said), remembered=remembered, ingestion=nightly)
        went_on.append(len(launched(plan)) == 1)
        remembered = plan.services.ingestion
    # The second run committed, and its driver died before it could say what it had left.
    assert went_on == [True, True, True, False]
    assert remembered is not None
    assert remembered.reason == "WaitingForSchedule"


def test_a_run_that_had_nothing_to_do_makes_no_history_and_no_second_run() -> None:
    plan = finish(ended(outcome=outcome(Outcome.NOTHING_TO_DO)), remembered=memory(more_input=True))
    assert plan.history == ()
    assert launched(plan) == []
    assert not plan.services.ingestion.more_input


def test_a_run_that_failed_is_tried_again_after_its_delay_with_the_next_attempt() -> None:
    plan = finish(ended(outcome=failed()), seen=TimelineSnapshot())
    assert launched(plan) == []
    assert (plan.services.ingestion.reason, plan.services.ingestion.failures) == ("WaitingForRetry", 1)
    assert plan.services.ingestion.next_attempt_at == at(NOW + minutes(10 / 60))
    assert plan.services.ingestion.next_run_at is None
    assert plan.changes_in == 10

    later = plan_for(observe(table(status=status(ingestion=plan.services.ingestion))), now=NOW + minutes(10 / 60))
    assert [kept.attempt for kept in later.active_jobs] == [2]


def test_a_failed_run_that_committed_nothing_keeps_its_place_in_a_bounded_history() -> None:
    old = tuple(run(Outcome.FAILED, job=f"job-{number}") for number in range(10))
    one = table(status=status(active_jobs=(active(),), history=old))
    plan = plan_for(observe(one, jobs=(ended(outcome=failed()),)))
    assert [done.job for done in plan.history] == [JOB, *(f"job-{number}" for number in range(9))]


def test_a_bad_request_is_tried_again_when_the_spec_changes_and_else_after_an_hour() -> None:
    plan = finish(ended(outcome=failed(FailureReason.INVALID_REQUEST)), seen=TimelineSnapshot())
    later = NOW + minutes(59)

    same = plan_for(observe(table(status=status(ingestion=plan.services.ingestion))), now=later)
    changed = plan_for(observe(table(generation=2, status=status(ingestion=plan.services.ingestion))), now=later)
    much_later = plan_for(observe(table(status=status(ingestion=plan.services.ingestion))), now=NOW + minutes(60))

    assert launched(same) == []
    assert same.services.ingestion.reason == "WaitingForSpecChange"
    assert same.services.ingestion.next_attempt_at == at(NOW + minutes(60))
    assert [kept.attempt for kept in changed.active_jobs] == [1]
    assert [kept.attempt for kept in much_later.active_jobs] == [2]


@pytest.mark.parametrize("reason", [FailureReason.INVALID_REQUEST, FailureReason.SOURCE_NOT_FOUND])
def test_a_spec_that_changed_while_a_run_failed_is_tried_at_once(reason: FailureReason) -> None:
    one = table(generation=2, status=status(active_jobs=(active(generation=1),)))
    plan = plan_for(observe(one, jobs=(ended(outcome=failed(reason)),)))

    assert [done.outcome for done in plan.finished] == [Outcome.FAILED]
    assert plan.services.ingestion.failures == 0
    assert [kept.attempt for kept in plan.active_jobs] == [1]
    assert len(launched(plan)) == 1


def test_a_failure_of_the_spec_of_today_counts() -> None:
    one = table(generation=2, status=status(active_jobs=(active(generation=2),)))
    plan = plan_for(observe(one, jobs=(ended(outcome=failed()),)))
    assert (plan.services.ingestion.failures, launched(plan)) == (1, [])


def test_a_driver_that_ran_out_of_memory_gets_more_next_time() -> None:
    plan = finish(ended(trouble=PodTrouble.OUT_OF_MEMORY), seen=TimelineSnapshot())
    assert plan.services.ingestion.driver_memory == "3072Mi"

    later = plan_for(observe(table(status=status(ingestion=plan.services.ingestion))), now=NOW + minutes(1))
    assert [kept.driver_memory for kept in later.active_jobs] == ["3072Mi"]


def test_a_driver_that_ran_out_of_memory_after_its_commit_has_succeeded() -> None:
    plan = finish(ended(trouble=PodTrouble.OUT_OF_MEMORY))
    assert (plan.services.ingestion.failures, plan.services.ingestion.driver_memory) == (0, None)


def test_a_request_starts_a_run_now_and_is_answered_once() -> None:
    one = observe(table(annotations=REQUEST, status=status(ingestion=recently())), snapshot=COMMITTED)
    plan, after = plan_for(one), status_of(one)

    assert len(launched(plan)) == 1
    assert after.last_handled_reconcile_at == REQUEST["hudi-operator.io/requested-at"]
    done = status(ingestion=recently(), last_handled_reconcile_at=after.last_handled_reconcile_at)
    assert launched(plan_for(observe(table(annotations=REQUEST, status=done)))) == []


def test_a_request_waits_while_something_hinders_it() -> None:
    waiting = status_of(observe(table(annotations=REQUEST, suspend=True)))
    assert waiting.last_handled_reconcile_at is None


def test_a_request_to_a_table_without_ingestion_is_answered_at_once() -> None:
    after = status_of(observe(table(annotations=REQUEST, ingestion=None)))
    assert after.last_handled_reconcile_at == REQUEST["hudi-operator.io/requested-at"]


def test_an_endless_request_is_answered_like_any_other() -> None:
    one = observe(table(annotations={"hudi-operator.io/requested-at": "x" * 4000}))
    after = status_of(one)
    assert launched(plan_for(one))
    assert after.last_handled_reconcile_at == "x" * 128
    assert plan_for(again(one, after)).services.ingestion.reason != "Requested"


@pytest.mark.parametrize("annotation", ["", " "])
def test_an_empty_request_asks_for_nothing_twice(annotation: str) -> None:
    one = observe(table(annotations={"hudi-operator.io/requested-at": annotation}, status=status(ingestion=recently())))
    after = again(one, status_of(one))
    assert launched(plan_for(after)) == []


def test_the_checkpoint_is_the_one_of_the_timeline_and_outlasts_trouble() -> None:
    remembered = status(ingestion=memory(checkpoint="old"))
    one = table(status=remembered)
    fresh = snapshot(("r", "20260310110000000"), checkpoint="new")
    assert plan_for(observe(one, snapshot=fresh)).services.ingestion.checkpoint == "new"
    assert plan_for(observe(one)).services.ingestion.checkpoint is None
    trouble = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE)
    assert plan_for(observe(one, snapshot=trouble)).services.ingestion.checkpoint == "old"


@pytest.mark.parametrize(
    ("remembered", "expected"),
    [
        (memory(last_run=run(started_at=at(NOW - minutes(4.9)))), 6.0),
        (memory(last_run=run(started_at=at(NOW - minutes(1)))), 240.0),
        (after_failures(1, finished_at=at(NOW)), 10.0),
        (after_failures(1, reason="InvalidRequest"), 3540.0),
    ],
)
def test_time_changes_something_when_the_next_run_is_due(remembered: Any, expected: float) -> None:
    assert plan_for(observe(table(status=status(ingestion=remembered)))).changes_in == expected


@pytest.mark.parametrize("hindered", [{"suspend": True}, {"managementPolicy": "Observe"}, {"ingestion": None}])
def test_time_alone_changes_nothing_where_nothing_may_start_or_is_to(hindered: dict[str, Any]) -> None:
    assert plan_for(observe(table(**hindered))).changes_in is None


@pytest.mark.parametrize("length", [1024, 5000])
@pytest.mark.parametrize("changes", [{}, {"table_class": None}])
def test_an_endless_blocker_is_cut_to_what_the_status_can_hold(length: int, changes: dict[str, Any]) -> None:
    endless = (Blocker(reason=BlockerReason.CLASS_INVALID, message="x" * length),)
    assert len(plan_for(observe(blockers=endless, **changes)).services.ingestion.message) <= 1024


def test_a_table_goes_through_its_life_with_one_job_at_a_time() -> None:
    """Follow a table for two hours: runs start, are seen, end, fail and are repeated, and never overlap."""
    world, moment, ran = observe(), NOW, list[RunStatus]()
    for step in range(240):
        plan, after = plan_for(world, now=moment), status_of(world, now=moment)
        assert len(plan.active_jobs) <= 1
        ran += plan.finished
        running = tuple(
            job(one.name, uid=f"uid-{one.name}", created_at=moment, phase=_phase(step)) for one in plan.active_jobs
        )
        finished = tuple(
            ended(one.name, uid=one.uid, outcome=failed() if step % 3 else succeeded())
            for one in running
            if one.phase is JobPhase.OVER
        )
        runs = tuple((one.name, "20260310115900000") for one in finished if step % 3 == 0)
        still = tuple(one for one in running if one.phase is not JobPhase.OVER)
        world = _with(
            again(world, after), jobs=(*finished, *still), seen=snapshot(*runs) if runs else TimelineSnapshot()
        )
        moment += minutes(0.5)
    assert {one.outcome for one in ran} == {Outcome.SUCCEEDED, Outcome.FAILED}
    assert len({one.job for one in ran}) == len(ran) > 10


def _phase(step: int) -> JobPhase:
    return (JobPhase.STARTING, JobPhase.RUNNING, JobPhase.RUNNING, JobPhase.ENDING, JobPhase.OVER)[step % 5]


def _with(world: Observation, *, jobs: Any, seen: TimelineSnapshot) -> Observation:
    return observe(world.table, jobs=jobs, snapshot=seen)
