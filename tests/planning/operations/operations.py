"""HudiOperations of small worlds, each complete and each easily changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.planning.savepoints.savepoints import RESTING
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
    table_class,
)

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import OPERATION_FINALIZER, OPERATIONS, HudiOperation, HudiTableClass, parse_operation
from hudi_operator.api.spec.operation import OPERATION_FIELDS
from hudi_operator.api.status.operation_status import HudiOperationStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.model.observation import Related
from hudi_operator.timeline import CleanSummary

JOB = "flights-operation-0123456789"
UID = "uid-of-back"


def allowing(**changes: Any) -> HudiTableClass:
    """A class whose tables may have every operation."""
    return table_class(operations={"allowed": [*map(str, OPERATION_FIELDS)], **changes})


def operation(name: str = "back", **changes: Any) -> HudiOperation:
    """A HudiOperation that restores the table to its commit of 20 minutes ago; fields of the spec by their names."""
    parts = ("status", "created", "deleted", "held", "annotations")
    told = {key: changes.pop(key) for key in parts if key in changes}
    deleted, held = told.get("deleted"), told.get("held", True)
    is_given = not changes.keys().isdisjoint(OPERATION_FIELDS.values())
    what = {} if is_given else {"restore": {"instant": ago(20)}}
    parsed = parse_operation(
        {
            "metadata": {
                "name": name,
                "namespace": "team-a",
                "uid": f"uid-of-{name}",
                "generation": 1,
                "creationTimestamp": at(told.get("created", NOW - minutes(5))),
                "annotations": told.get("annotations", {}),
                "finalizers": [OPERATION_FINALIZER] if held else [],
                **({"deletionTimestamp": at(deleted)} if deleted is not None else {}),
            },
            "spec": {"tableRef": {"name": "flights"}, **what, **changes},
            "status": told.get("status", HudiOperationStatus()).to_document(),
        }
    )
    assert isinstance(parsed, HudiOperation), parsed
    return parsed


def decided(name: str = "back", **changes: Any) -> dict[str, Any]:
    """What the Jobs of one do."""
    return {"kind": "Restore", "instant": ago(20), "resource": name, "uid": f"uid-of-{name}", **changes}


def entry(name: str = "back", **changes: Any) -> TableOperation:
    """What a table remembers of one."""
    return TableOperation.model_validate(
        {"resource": name, "uid": f"uid-of-{name}", "kind": "Restore", "state": "Draining", **changes}
    )


def begun(name: str = "back", **changes: Any) -> TableOperation:
    """What a table remembers of one whose first run ended without having finished it."""
    return entry(name, **{"begun": True, "state": "Running", "job": decided(name), **changes})


def world(
    *operations: object,
    files: tuple[str, ...] = (),
    remembered: tuple[TableOperation, ...] = (),
    clean: CleanSummary | None = None,
    told: dict[str, Any] | None = None,
    **changes: Any,
) -> Observation:
    """A table with three commits, of 30, 20 and 10 minutes ago, that these HudiOperations name."""
    gone = changes.pop("gone", ())
    commits = tuple(done("commit", number) for number in (30, 20, 10) if number not in gone)
    runs = tuple((f"run-{number}", ago(number)) for number in (30, 20, 10) if number not in gone)
    more = {
        key: changes.pop(key) for key in ("jobs", "table_class", "blockers", "snapshot", "related") if key in changes
    }
    known = status(operations=remembered, **(told or {}))
    seen = observe(
        table(status=known, **{**RESTING, "type": "MergeOnRead", "compaction": {"mode": "Disabled"}, **changes}),
        table_class=allowing(),
        snapshot=TimelineSnapshot(timeline=story(*commits, *files, clean=clean), runs=runs),
        related=Related.of({OPERATIONS: operations}),
    )
    return replace(seen, **more)


def at_work(name: str = "back", **changes: Any) -> Any:
    """The Job of an operation as status remembers it."""
    return active(JOB, service="Operation", operation={**decided(name), **changes}, base_instant=ago(10))


def over(kind: Outcome | None = Outcome.SUCCEEDED, *, report: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The same Job when it has ended; without a kind its driver died."""
    told = None if kind is None else outcome(kind, **({"operation": report} if report else {}), **changes)
    return ended(JOB, service=Service.OPERATION, outcome=told, exit_code=None if kind is not None else 137)


def after_run(kind: Outcome | None, *, remembered: TableOperation | None = None, **changes: Any) -> Observation:
    """A table whose operation has just ended a run."""
    seen = {key: changes.pop(key) for key in ("files", "gone", "resource", "told", "job", "spec") if key in changes}
    return world(
        *seen.get("resource", (operation(),)),
        remembered=(remembered or entry(state="Running", job=decided()),),
        told={"active_jobs": (at_work(**seen.get("job", {})),), **seen.get("told", {})},
        jobs=(over(kind, **changes),),
        files=seen.get("files", ()),
        gone=seen.get("gone", ()),
        **seen.get("spec", {}),
    )


def launches(observation: Observation, **more: Any) -> list[LaunchJob]:
    return [one for one in plan_for(observation, **more).actions if isinstance(one, LaunchJob)]


def of(observation: Observation, name: str = "back", **more: Any) -> TableOperation:
    (found,) = [one for one in status_of(observation, **more).operations if one.resource == name]
    return found
