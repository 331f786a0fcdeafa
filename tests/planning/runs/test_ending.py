"""The end of a table: each reconcile of a deleted resource, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.planning.endings import (
    BASE_PATH,
    BEGAN,
    DELETION,
    EXECUTOR,
    GONE,
    LATE,
    NO_CLASS,
    REPORTED,
    STILL_THERE,
    UNREACHABLE,
    deletion_job,
    end_of,
    ending,
    failures,
    launch_of,
    launched,
    notice_of,
    reason,
    released,
    remembering,
    stopped,
)
from tests.planning.world import (
    NOW,
    at,
    ended,
    job,
    minutes,
    outcome,
    table_class,
)

from hudi_jobs.contract import FailureReason, Outcome, Service
from hudi_operator.api.resources import SUSPEND_ANNOTATION, ObjectMetadata
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.deletion.attempts import EndingObservation
from hudi_operator.planning.deletion.decide_ending import (
    ATTEMPTS,
    PATIENCE,
    awaits_confirmation,
    decide_ending,
    refused_ending,
)
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    JobObservation,
    JobPhase,
    NamespaceObservation,
    PodTrouble,
    RemoveExecutors,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.model.reasons import EndingEvent, EndingReason


def suspended_by(text: str) -> ObjectMetadata:
    return ending().metadata.copy_with(annotations={SUSPEND_ANNOTATION: text})


# What ends the table at once

ENDINGS = {
    "the data stays by default": (ending(policy=DeletionPolicy.RETAIN), False, "stays."),
    "no class is needed to keep the data": (
        ending(policy=DeletionPolicy.RETAIN, table_class=None, blockers=(NO_CLASS,)),
        False,
        "stays.",
    ),
    "a suspended table starts no job": (ending(spec={"suspend": True}), True, "suspended by spec.suspend"),
    "a table suspended by its annotation starts no job": (
        ending(metadata=suspended_by("maria"), table=None),
        True,
        'suspended by the annotation hudi-operator.io/suspend of the table ("maria")',
    ),
    "a suspended namespace starts no job": (
        ending(namespace=NamespaceObservation(suspension="")),
        True,
        "suspended by the annotation hudi-operator.io/suspend of namespace team-a",
    ),
    "a namespace that may not be read may be suspended": (ending(namespace=None), True, "namespace cannot be read"),
    "an observed table is not touched": (ending(spec={"managementPolicy": "Observe"}), True, "observed"),
    "a folder that is not claimed is somebody else's": (ending(claim_held=False), True, "claim"),
    "a bucket is never deleted": (ending(base_path="s3a://lake/"), True, "below a bucket"),
    "a volume is never deleted": (ending(base_path="file:///data"), True, "below a bucket"),
    "a namespace that is being deleted starts no job": (
        ending(namespace_terminating=True, table_class=None, blockers=(NO_CLASS,)),
        True,
        "namespace is being deleted",
    ),
    "the folder holds another table": (
        ending(status=failures(1, reason="TableMismatch", message="Another table.")),
        True,
        "Another table.",
    ),
    "the folder holds a table that is not as declared": (
        ending(snapshot=STILL_THERE, spec={"tableName": "trips", "recordKey": ["key"]}),
        True,
        "differs from the spec (tableName, recordKey)",
    ),
    "the attempts are used up": (ending(status=failures(ATTEMPTS)), True, "5 attempts failed"),
}


@pytest.mark.parametrize(("seen", "warning", "words"), ENDINGS.values(), ids=ENDINGS)
def test_the_data_is_retained_and_the_event_says_why(seen: EndingObservation, warning: bool, words: str) -> None:
    plan = decide_ending(seen, now=NOW)
    assert end_of(plan).reason is EndingEvent.DATA_RETAINED
    assert end_of(plan).warning is warning
    assert words in end_of(plan).message
    assert seen.base_path in end_of(plan).message
    assert not launched(plan)
    assert stopped(plan) == ()


LATE_ENDINGS = {
    "the class is gone": (ending(table_class=None, blockers=(NO_CLASS,)), "standard does not exist"),
    "the spec cannot be read": (
        ending(
            table=None, table_class=None, blockers=(Blocker(reason=BlockerReason.INVALID_SPEC, message="Bad type."),)
        ),
        "Bad type.",
    ),
    "an attempt has failed": (ending(status=failures(1)), "It is not there."),
}


def test_the_last_batch_of_a_continuous_ingestion_takes_nothing_of_the_time_for_attempts() -> None:
    """An attempt that fails right after it, by the lease of a driver that was killed, is followed by others."""
    slow = table_class(job={"drainTimeout": "20m"})
    drained = BEGAN + minutes(21)
    spec = {"ingestion": {"mode": "Continuous"}}
    known = failures(1, last=drained)
    seen = ending(status=known, spec=spec, table_class=slow)
    assert launched(decide_ending(seen, now=drained + minutes(5)))
    assert released(decide_ending(ending(status=known, table_class=slow), now=drained + minutes(5)))
    assert released(decide_ending(seen, now=BEGAN + PATIENCE + minutes(21)))


@pytest.mark.parametrize(("seen", "words"), LATE_ENDINGS.values(), ids=LATE_ENDINGS)
def test_deletion_waits_for_an_obstacle_and_then_retains_the_data(seen: EndingObservation, words: str) -> None:
    assert not released(decide_ending(seen, now=NOW))
    plan = decide_ending(seen, now=LATE)
    assert end_of(plan).reason is EndingEvent.DATA_RETAINED
    assert end_of(plan).warning
    assert words in end_of(plan).message


def test_a_deletion_that_is_noticed_late_gets_its_attempt_all_the_same() -> None:
    assert launched(decide_ending(ending(), now=LATE))


# Jobs that still run

STOPPED = {
    "a starting job": job(phase=JobPhase.STARTING),
    "a running job": job(),
    "the removal of data that is to stay now": deletion_job(),
}


@pytest.mark.parametrize("one", STOPPED.values(), ids=STOPPED)
def test_a_job_is_stopped(one: JobObservation) -> None:
    policy = DeletionPolicy.RETAIN if one.service is Service.DELETION else DeletionPolicy.DELETE
    plan = decide_ending(ending(policy=policy, jobs=(one,)), now=NOW)
    assert stopped(plan) == (one.name,)
    assert reason(plan) == EndingReason.STOPPING_JOBS
    assert plan.status.summary is not None
    assert (plan.status.message or "").startswith((plan.status.summary.message or "?").removesuffix("..."))
    assert [active.name for active in plan.status.active_jobs] == [one.name]
    assert not released(plan)


def test_a_driver_that_ends_is_waited_for_however_long_it_takes() -> None:
    plan = decide_ending(ending(policy=DeletionPolicy.RETAIN, jobs=(job(phase=JobPhase.ENDING),)), now=LATE)
    assert stopped(plan) == ()
    assert not released(plan)
    assert reason(plan) == EndingReason.STOPPING_JOBS


def test_two_drivers_of_one_name_are_one_job_in_the_status() -> None:
    earlier = replace(job(phase=JobPhase.ENDING), uid="an earlier one")
    plan = decide_ending(ending(jobs=(job(), earlier)), now=NOW)
    assert [one.name for one in plan.status.active_jobs] == [job().name]
    assert stopped(plan) == (job().name,)
    assert not released(plan)


def test_executors_that_outlive_their_driver_are_waited_for() -> None:
    left = job(phase=JobPhase.ENDING, message="flights-ingestion-1-exec-1 runs.", executors=(EXECUTOR,))
    for policy in DeletionPolicy:
        plan = decide_ending(ending(policy=policy, jobs=(left,)), now=NOW)
        assert [one.pods for one in plan.actions if isinstance(one, RemoveExecutors)] == [(EXECUTOR,)]
        assert stopped(plan) == (left.name,)
        assert not launched(plan)
        assert not released(plan)
        assert "flights-ingestion-1-exec-1" in (plan.status.message or "")
    told = replace(left, executors=())
    assert stopped(decide_ending(ending(jobs=(told,)), now=LATE)) == ()
    assert not released(decide_ending(ending(jobs=(told,)), now=LATE))


def test_a_run_that_only_the_containers_of_others_keep_is_removed_before_the_end() -> None:
    kept = deletion_job(phase=JobPhase.OVER, outcome=outcome(Outcome.SUCCEEDED), remains=True)
    first = decide_ending(ending(jobs=(kept,), status=remembering(jobs=(DELETION,))), now=NOW)
    assert [run.outcome for run in first.finished] == [Outcome.SUCCEEDED]
    assert stopped(first) == (), "its end is written down first"
    second = decide_ending(ending(jobs=(kept,), status=first.status, snapshot=GONE), now=NOW)
    assert stopped(second) == (kept.name,)
    assert not released(second)
    assert released(decide_ending(ending(status=second.status, snapshot=GONE), now=NOW))


@pytest.mark.parametrize("phase", [JobPhase.STARTING, JobPhase.SUSPENDED])
def test_a_removal_that_does_not_start_is_given_up_and_counted_as_what_it_was(phase: JobPhase) -> None:
    waiting = deletion_job(phase=phase, message="container driver waits: ContainerCreating.", created_at=NOW)
    early = decide_ending(ending(jobs=(waiting,), status=remembering(jobs=(DELETION,))), now=NOW + minutes(4))
    assert stopped(early) == ()
    late = decide_ending(ending(jobs=(waiting,), status=remembering(jobs=(DELETION,))), now=LATE)
    assert stopped(late) == (waiting.name,)
    gone = decide_ending(ending(status=late.status), now=LATE)
    assert [(run.reason, "ContainerCreating" in run.message) for run in gone.finished] == [("StartTimeout", True)]


def test_a_job_that_is_over_stands_in_nobodys_way() -> None:
    assert launched(decide_ending(ending(jobs=(ended(),)), now=NOW))


def test_the_removal_of_the_data_is_left_to_run() -> None:
    plan = decide_ending(ending(jobs=(deletion_job(),), status=remembering(jobs=(DELETION,))), now=LATE)
    assert stopped(plan) == ()
    assert not launched(plan)
    assert reason(plan) == EndingReason.DELETING_DATA


UNSTARTABLE = {
    "gone": PodTrouble.IMAGE_PULL_FAILED,
    "without its Secret": PodTrouble.CONFIGURATION,
    "without room": PodTrouble.UNSCHEDULABLE,
}


@pytest.mark.parametrize("trouble", UNSTARTABLE.values(), ids=UNSTARTABLE)
def test_a_pod_that_cannot_start_is_given_up_when_its_time_or_that_of_the_deletion_is_over(trouble: PodTrouble) -> None:
    one = deletion_job(phase=JobPhase.STARTING, trouble=trouble, message="No.", created_at=NOW)
    seen = ending(jobs=(one,))
    assert stopped(decide_ending(seen, now=NOW + minutes(4))) == ()
    assert stopped(decide_ending(seen, now=NOW + minutes(6))) == (one.name,)
    fresh = ending(jobs=(replace(one, created_at=LATE),))
    assert len(stopped(decide_ending(fresh, now=LATE))) == 1


# The attempts at removing the data


def test_the_first_attempt_is_recorded_before_it_is_made() -> None:
    plan = decide_ending(ending(), now=NOW)
    assert launch_of(plan).service is Service.DELETION
    assert launch_of(plan).attempt == 1
    assert plan.status.active_jobs == (launch_of(plan),)
    assert reason(plan) == EndingReason.DELETING_DATA


def test_a_recorded_attempt_without_a_job_is_made_again_under_its_name() -> None:
    first = decide_ending(ending(), now=NOW)
    second = decide_ending(ending(status=first.status), now=NOW + minutes(30))
    assert launch_of(second).name == launch_of(first).name


def test_each_attempt_has_a_name_of_its_own() -> None:
    names = {launch_of(decide_ending(ending(status=failures(n)), now=NOW)).name for n in range(ATTEMPTS)}
    assert len(names) == ATTEMPTS


def test_a_successor_of_the_same_name_has_other_jobs() -> None:
    seen = ending()
    successor = replace(seen, metadata=seen.metadata.copy_with(uid="another"))
    first, second = launch_of(decide_ending(seen, now=NOW)), launch_of(decide_ending(successor, now=NOW))
    assert first.name != second.name


FAILED_JOBS = {
    "the store does not answer": (
        deletion_job(phase=JobPhase.OVER, outcome=outcome(Outcome.FAILED, reason=FailureReason.STORAGE_UNAVAILABLE)),
        "StorageUnavailable",
    ),
    "the driver died": (deletion_job(phase=JobPhase.OVER, exit_code=137), "DriverDied"),
    "the Job vanished": (None, "JobLost"),
}


@pytest.mark.parametrize(("found", "word"), FAILED_JOBS.values(), ids=FAILED_JOBS)
def test_a_failed_attempt_is_counted_once_and_tried_again(found: JobObservation | None, word: str) -> None:
    seen = ending(jobs=(found,) if found else (), status=remembering(jobs=(DELETION,)))
    plan = decide_ending(seen, now=NOW)
    assert [one.reason for one in plan.finished] == [word]
    assert plan.status.history == plan.finished
    assert plan.status.active_jobs == ()
    assert reason(plan) == EndingReason.DELETION_FAILED
    assert notice_of(plan).warning

    after = decide_ending(replace(seen, status=plan.status), now=NOW + timedelta(seconds=1))
    assert after.finished == ()
    assert not launched(after)
    assert after.notices == ()

    due = decide_ending(replace(seen, status=after.status), now=NOW + timedelta(seconds=11))
    assert launch_of(due).attempt == 2


def test_a_limit_of_the_class_is_waited_for_without_end() -> None:
    seen = ending(table_class=table_class(jobQuota={"runningJobs": 1}), running_in_class=1)
    plan = decide_ending(seen, now=LATE)
    assert not launched(plan)
    assert not released(plan)


def test_a_blocker_is_reported_once() -> None:
    seen = ending(table_class=None, blockers=(NO_CLASS,))
    plan = decide_ending(seen, now=NOW)
    assert notice_of(plan).reason == EndingReason.DELETION_BLOCKED
    again = decide_ending(replace(seen, status=plan.status), now=NOW + minutes(1))
    assert again.notices == ()
    assert again.status == plan.status


def test_a_refused_job_is_a_failed_attempt() -> None:
    seen = ending()
    plan = decide_ending(seen, now=NOW)
    after = refused_ending(seen, launch_of(plan), message="exceeded quota", now=NOW)
    assert after.status.active_jobs == ()
    assert [one.reason for one in after.status.history] == ["JobRefused"]
    assert not released(decide_ending(replace(seen, status=after.status), now=NOW))


# The confirmation


@pytest.mark.parametrize("kind", [Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO])
def test_a_run_that_reports_success_is_confirmed_by_another_reconcile(kind: Outcome) -> None:
    done = deletion_job(phase=JobPhase.OVER, outcome=outcome(kind, message="Deleted 7 files."))
    plan = decide_ending(ending(jobs=(done,), status=remembering(jobs=(DELETION,))), now=NOW)
    assert [one.outcome for one in plan.finished] == [kind]
    assert not released(plan)
    assert reason(plan) == EndingReason.CONFIRMING_DELETION
    assert awaits_confirmation(plan.status)


def test_data_that_is_gone_is_reported_with_what_the_run_counted() -> None:
    plan = decide_ending(ending(status=remembering(REPORTED), snapshot=GONE), now=NOW)
    assert end_of(plan).reason is EndingEvent.DATA_DELETED
    assert not end_of(plan).warning
    assert BASE_PATH in end_of(plan).message
    assert "Deleted 7 files, 12345 bytes." in end_of(plan).message


@pytest.mark.parametrize("change", [{"policy": DeletionPolicy.RETAIN}, {"claim_held": False}])
def test_data_that_is_gone_is_reported_whatever_the_spec_says_by_now(change: dict[str, Any]) -> None:
    plan = decide_ending(ending(status=remembering(REPORTED), snapshot=GONE, **change), now=NOW)
    assert end_of(plan).reason is EndingEvent.DATA_DELETED


LEFTOVERS = {
    "the table is there": STILL_THERE,
    "half of it is there": TimelineSnapshot(trouble=TimelineTrouble.NOT_FOUND, message="No properties."),
}


@pytest.mark.parametrize("snapshot", LEFTOVERS.values(), ids=LEFTOVERS)
def test_a_report_that_the_store_contradicts_is_a_failed_attempt(snapshot: TimelineSnapshot) -> None:
    seen = ending(status=remembering(REPORTED), snapshot=snapshot)
    plan = decide_ending(seen, now=NOW)
    assert not released(plan)
    assert [(one.outcome, one.reason) for one in plan.status.history] == [(Outcome.FAILED, "NotConfirmed")]
    retry = decide_ending(ending(status=plan.status), now=NOW + timedelta(seconds=11))
    assert launch_of(retry).attempt == 2


def test_a_store_that_cannot_be_read_is_asked_again_and_not_for_ever() -> None:
    seen = ending(status=remembering(REPORTED), snapshot=UNREACHABLE)
    waiting = decide_ending(seen, now=NOW + minutes(9))
    assert not released(waiting)
    assert reason(waiting) == EndingReason.CONFIRMING_DELETION
    over = decide_ending(seen, now=NOW + minutes(11))
    assert end_of(over).reason is EndingEvent.DELETION_NOT_CONFIRMED
    assert end_of(over).warning


def test_other_conditions_stay_as_they_were() -> None:
    healthy = Condition(
        type=ConditionType.HEALTHY,
        status=ConditionStatus.TRUE,
        observed_generation=1,
        last_transition_time=at(NOW - minutes(60)),
        reason="NoFindings",
        message="Nothing needs a person's attention.",
    )
    stalled = healthy.copy_with(type=ConditionType.STALLED)
    plan = decide_ending(ending(status=HudiTableStatus(conditions=(healthy, stalled))), now=NOW)
    kinds = [condition.type for condition in plan.status.conditions]
    assert kinds == [ConditionType.READY, ConditionType.RECONCILING, ConditionType.HEALTHY]
    assert healthy in plan.status.conditions
