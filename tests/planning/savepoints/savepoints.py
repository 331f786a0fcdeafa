"""HudiSavepoints of small worlds, each complete and each easily changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.planning.world import (
    NOW,
    active,
    ago,
    at,
    done,
    ended,
    minutes,
    observe,
    outcome,
    plan_for,
    status,
    status_of,
    story,
    table,
)

from hudi_jobs.contract import Outcome, SavepointWork, Service
from hudi_operator.api.resources import SAVEPOINT_FINALIZER, SAVEPOINTS, HudiSavepoint, parse_savepoint
from hudi_operator.api.status.savepoints import HudiSavepointStatus, TableSavepoint
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.model.observation import Related
from hudi_operator.timeline import CleanSummary

JOB = "flights-savepoint-0123456789"
RESTING: dict[str, Any] = {"ingestion": None, "cleaning": {"mode": "Disabled"}, "archival": {"mode": "Disabled"}}
"""A table of which nothing else is due."""


def savepoint(name: str = "daily", **changes: Any) -> HudiSavepoint:
    """A HudiSavepoint that keeps the latest commit for ever; fields of the spec are given by their names."""
    told = {key: changes.pop(key) for key in ("status", "created", "deleted", "held") if key in changes}
    created, deleted, held = told.get("created", NOW - minutes(60)), told.get("deleted"), told.get("held", True)
    kept = {} if "expiresAfter" in changes else {"keepForever": True}
    which = {} if "instant" in changes else {"latest": True}
    parsed = parse_savepoint(
        {
            "metadata": {
                "name": name,
                "namespace": "team-a",
                "uid": f"uid-of-{name}",
                "generation": 1,
                "creationTimestamp": at(created),
                "finalizers": [SAVEPOINT_FINALIZER] if held else [],
                **({"deletionTimestamp": at(deleted)} if deleted is not None else {}),
            },
            "spec": {"tableRef": {"name": "flights"}, **kept, **which, **changes},
            "status": told.get("status", HudiSavepointStatus()).to_document(),
        }
    )
    assert isinstance(parsed, HudiSavepoint), parsed
    return parsed


def entry(name: str = "daily", **changes: Any) -> TableSavepoint:
    """What a table remembers of one."""
    return TableSavepoint.model_validate({"resource": name, "uid": f"uid-of-{name}", **changes})


def saved(commit: float, made: float | None = None) -> str:
    """The file of a savepoint on the commit of so many minutes ago."""
    completed = ago(commit / 2 if made is None else made)
    return f"{ago(commit)}_{completed}.savepoint"


def world(
    *savepoints: object,
    files: tuple[str, ...] = (),
    remembered: tuple[TableSavepoint, ...] = (),
    clean: CleanSummary | None = None,
    told: dict[str, Any] | None = None,
    **changes: Any,
) -> Observation:
    """A table with three commits, of 30, 20 and 10 minutes ago, that these HudiSavepoints name."""
    commits = tuple(done("commit", number) for number in (30, 20, 10))
    runs = tuple((f"run-{number}", ago(number)) for number in (30, 20, 10))
    timeline = story(*commits, *files, clean=clean)
    more = {key: changes.pop(key) for key in ("jobs", "table_class", "blockers", "snapshot") if key in changes}
    known = status(savepoints=remembered, **(told or {}))
    seen = observe(
        table(status=known, **{**RESTING, "type": "MergeOnRead", "compaction": {"mode": "Disabled"}, **changes}),
        snapshot=TimelineSnapshot(timeline=timeline, runs=runs),
        related=Related.of({SAVEPOINTS: savepoints}),
    )
    return replace(seen, **more)


def at_work(work: str = "Make", *, instant: str | None = None, name: str = "daily") -> Any:
    """The Job of a savepoint as status remembers it."""
    named = {
        "work": work,
        "instant": instant or ago(10),
        "resource": name,
        "uid": f"uid-of-{name}",
    }
    return active(JOB, service="Savepoint", named_savepoint=named, base_instant=ago(10))


def over(kind: Outcome | None = Outcome.SUCCEEDED, **changes: Any) -> Any:
    """The same Job when it has ended."""
    told = None if kind is None else outcome(kind, **changes)
    return ended(JOB, service=Service.SAVEPOINT, outcome=told, exit_code=None if kind is not None else 137)


def later(number: float) -> datetime:
    """So many minutes after now."""
    return NOW + minutes(number)


def launches(observation: Observation, **more: Any) -> list[LaunchJob]:
    return [one for one in plan_for(observation, **more).actions if isinstance(one, LaunchJob)]


def works(observation: Observation, **more: Any) -> list[tuple[SavepointWork, str]]:
    named = [one.job.named_savepoint for one in launches(observation, **more)]
    return [(one.work, one.instant) for one in named if one is not None]


def of(observation: Observation, name: str = "daily", **more: Any) -> TableSavepoint:
    (found,) = [one for one in status_of(observation, **more).savepoints if one.resource == name]
    return found
