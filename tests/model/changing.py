"""What operations of other kinds than a restore do to a table: one instant of one action, or nothing that shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.model import drivers
from tests.model.lake import Entry, Record
from tests.model.world import Run, World

from hudi_jobs.contract import OperationKind
from hudi_operator.api.status.table_operations import NamedOperationJob

ACTIONS: Mapping[OperationKind, str | None] = {
    OperationKind.ERASE: "deltacommit",
    OperationKind.RUN_SERVICE: "clean",
    OperationKind.REPAIR: None,
}
"""A write that a killed run has left is rolled back and made again, anything else is finished."""


def change(world: World, run: Run, operation: NamedOperationJob, record: Record) -> None:
    """Begin the instant, and complete it: whoever did the step before."""
    action, entry = ACTIONS[operation.kind], world.lake.entries.get(record.restore)
    if action is not None and not record.restore:
        _begin(world, run, operation, record, action)
    elif entry is None or entry.state == "completed":
        world.lake.journal[operation.uid] = replace(record, phase="verifying")
    elif entry.action == "deltacommit" and entry.writer != run.uid:
        drivers.roll_back(world, entry.time)
        world.lake.journal[operation.uid] = replace(record, restore="")
    else:
        _complete(world, run, entry)


def _begin(world: World, run: Run, operation: NamedOperationJob, record: Record, action: str) -> None:
    drivers.roll_back_dead_writes(world, run)
    time = world.stamp(drivers.clock(world, run))
    generation = world.lake.clusterings
    world.lake.put(Entry(time, action, "inflight", writer=run.uid, planner=operation.uid, generation=generation))
    world.lake.journal[operation.uid] = replace(record, restore=time)
    if sum(one.planner == operation.uid for one in world.lake.entries.values()) > 1:
        world.wrong("an operation changes the table twice")


def _complete(world: World, run: Run, entry: Entry) -> None:
    world.lake.change(
        entry.time,
        state="completed",
        completed=world.stamp(drivers.clock(world, run)),
        run=run.decided.name,
        operator=drivers.mark_of(world, run),
    )
    if entry.action == "clean":
        newest = max((one.time for one in world.lake.commits), default="")
        world.lake.cleaned = (newest, world.lake.cleaned[1] if world.lake.cleaned else "")
    drivers.compare(world)
