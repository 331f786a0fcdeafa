"""A table whose driver ingests continuously, as the operator sees it."""

from __future__ import annotations

from typing import Any

from tests.planning.world import (
    JOB,
    NOW,
    active,
    ago,
    at,
    done,
    job,
    minutes,
    observe,
    snapshot,
    status,
    story,
    table,
    table_class,
)

from hudi_jobs.contract import Progress, ProgressState
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.runs import ActiveJob, LiveStatus
from hudi_operator.planning.model import JobObservation, LaunchJob, Observation, StopJob, TimelineSnapshot
from hudi_operator.planning.model.healing import class_version_of
from hudi_operator.planning.outcome.plan import Plan

OFF = {"compaction": {"mode": "Disabled"}, "cleaning": {"mode": "Disabled"}, "archival": {"mode": "Disabled"}}
LOCK: dict[str, Any] = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
VERSION = class_version_of(table_class())
DUE_FOR_CLEANING = story(*(done("commit", 30 - one) for one in range(20)))


def a_table(*, annotations: dict[str, str] | None = None, generation: int = 1, **changes: Any) -> HudiTable:
    continuous = changes.pop("continuous", {})
    return table(
        ingestion={"mode": "Continuous", "schedule": {"every": "5m"}, "continuous": continuous},
        annotations=annotations,
        generation=generation,
        **{**OFF, **changes},
    )


def live(**changes: Any) -> LiveStatus:
    base = {"class_version": VERSION, "running_since": at(NOW - minutes(5)), "moved_at": at(NOW - minutes(1))}
    return LiveStatus.model_validate({**base, **changes})


def running(**changes: Any) -> ActiveJob:
    return active(**{"generation": 1, "live": live(), "pending": (), **changes})


def progress(sequence: int = 7, **changes: Any) -> Progress:
    given = {"state": ProgressState.WAITING, "written_at": at(NOW), "polled_at": at(NOW), "batches": 3, "rows_read": 40}
    return Progress.model_validate({"run": JOB, "sequence": sequence, **given, **changes})


def seen(
    one: HudiTable | None = None,
    *,
    known: ActiveJob | None = None,
    found: JobObservation | None = None,
    shows: TimelineSnapshot | None = None,
    memories: dict[str, Any] | None = None,
    **changes: Any,
) -> Observation:
    """A table whose driver runs."""
    one = one or a_table()
    state = status(active_jobs=(known or running(),), **(memories or {}))
    jobs = (found or job(class_version=VERSION, generation=1),)
    return observe(
        one.copy_with(status=state),
        jobs=jobs,
        snapshot=shows or snapshot((JOB, ago(2)), progress=progress()),
        **changes,
    )


def stops(plan: Plan) -> list[str]:
    return [action.job.state for action in plan.actions if isinstance(action, StopJob)]


def launches(plan: Plan) -> list[ActiveJob]:
    return [action.job for action in plan.actions if isinstance(action, LaunchJob)]
