"""Ends of tables for tests: what is seen of a deleted resource, and what a step says."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.planning.world import (
    NOW,
    active,
    as_declared,
    at,
    instant,
    job,
    minutes,
    run,
    table,
    table_class,
    timeline,
)

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType, find_condition
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.deletion.attempts import EndingObservation
from hudi_operator.planning.deletion.decide_ending import (
    PATIENCE,
)
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    JobObservation,
    LaunchJob,
    PodReference,
    Release,
    RemoveExecutors,
    StopJob,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.outcome.status.step import Step
from hudi_operator.planning.outcome.status.transitions import Transition

BASE_PATH = "s3a://lake/team-a/flights"
DELETION = "flights-deletion-0123456789"
EXECUTOR = PodReference(name="flights-ingestion-1-exec-1", uid="executor-uid")
BEGAN = NOW - minutes(1)
LATE = BEGAN + PATIENCE + minutes(1)
LONG_AGO = NOW - minutes(30)
GONE = TimelineSnapshot()
STILL_THERE = as_declared(TimelineSnapshot(timeline=timeline(instant("20260310115900000"))), table())
UNREACHABLE = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="The store does not answer.")
NO_CLASS = Blocker(reason=BlockerReason.CLASS_NOT_FOUND, message="HudiTableClass standard does not exist: create it.")


def ending(*, policy: DeletionPolicy = DeletionPolicy.DELETE, **changes: Any) -> EndingObservation:
    """A deleted table with nothing running; `spec` and `status` change the table, all else the observation."""
    status = changes.pop("status", HudiTableStatus())
    one = table(status=status, generation=2, deletionPolicy=policy.value, **changes.pop("spec", {}))
    metadata = one.metadata.copy_with(deletion_timestamp=at(BEGAN))
    base = EndingObservation(
        metadata=metadata,
        status=status,
        policy=policy,
        base_path=BASE_PATH,
        table=one.copy_with(metadata=metadata),
        table_class=table_class(),
    )
    return replace(base, **changes)


def remembering(*history: RunStatus, jobs: tuple[str, ...] = ()) -> HudiTableStatus:
    """A status that remembers these attempts, newest first, and these Jobs that remove the data."""
    return HudiTableStatus(
        history=history, active_jobs=tuple(active(name, service="Deletion", state="Running") for name in jobs)
    )


def attempt(kind: Outcome = Outcome.FAILED, **changes: Any) -> RunStatus:
    return run(kind, service="Deletion", job=DELETION, **changes)


REPORTED = attempt(Outcome.SUCCEEDED, message="Deleted 7 files, 12345 bytes.", finished_at=at(NOW))


def failures(number: int, *, last: datetime = LONG_AGO, **changes: Any) -> HudiTableStatus:
    return remembering(*[attempt(finished_at=at(last), **changes)] * number)


def deletion_job(**changes: Any) -> JobObservation:
    return job(DELETION, service=Service.DELETION, **changes)


def released(plan: Step) -> bool:
    return plan.releases


def end_of(plan: Step) -> Release:
    (release,) = (action for action in plan.actions if isinstance(action, Release))
    return release


def launched(plan: Step) -> bool:
    return any(isinstance(action, LaunchJob) for action in plan.actions)


def launch_of(plan: Step) -> ActiveJob:
    (launch,) = (action for action in plan.actions if isinstance(action, LaunchJob))
    return launch.job


def stopped(plan: Step) -> tuple[str, ...]:
    """Names of the Jobs that are asked to end, or whose executors are."""
    return tuple(action.job.name for action in plan.actions if isinstance(action, StopJob | RemoveExecutors))


def notice_of(plan: Step) -> Transition:
    (notice,) = plan.notices
    return notice


def reason(plan: Step) -> str:
    ready = find_condition(plan.status.conditions, ConditionType.READY)
    assert ready is not None
    assert ready.status is ConditionStatus.FALSE
    return ready.reason
