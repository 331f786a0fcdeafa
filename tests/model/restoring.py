"""The driver of an operation: what `operations/run.py` does, one step at a time, each of which may be its last."""

from __future__ import annotations

from dataclasses import replace

from tests.model import drivers
from tests.model.changing import ACTIONS, change
from tests.model.lake import COMMITS, Entry, Record
from tests.model.world import Run, World

from hudi_jobs.contract import FailureReason, OperationKind, OperationPhase, OperationReport, Outcome
from hudi_operator.api.status.table_operations import NamedOperationJob


def step_operation(world: World, run: Run) -> None:
    """One step of a driver that carries out an operation; a dry run takes no lease."""
    operation = _operation(run)
    if run.step == "open":
        if operation.dry_run or (not drivers.is_stranger(world, run) and drivers.take_lease(world, run)):
            run.step = "work"
        return
    record = world.lake.journal.get(operation.uid)
    if record is None:
        _check(world, run, operation)
    elif record.phase == "done":
        drivers.end(world, run, Outcome.SUCCEEDED, operation=_report(record, OperationPhase.DONE))
    elif record.phase == "verifying":
        _compare(world, run, operation, record)
    elif operation.kind in ACTIONS:
        change(world, run, operation, record)
    else:
        _restore(world, run, operation, record)


def fail(world: World, run: Run) -> None:
    """End a run with an error, and say how far it came."""
    record = world.lake.journal.get(_operation(run).uid)
    phase = OperationPhase.CHECKING if record is None else OperationPhase.RUNNING
    report = OperationReport(phase=phase)
    drivers.end(world, run, Outcome.FAILED, reason=FailureReason.HUDI_ERROR, operation=report)


def _operation(run: Run) -> NamedOperationJob:
    assert run.decided.operation is not None
    return run.decided.operation


def _check(world: World, run: Run, operation: NamedOperationJob) -> None:
    """What `check.py` does: refuse, or record what is to be done before anything is changed."""
    if operation.kind in ACTIONS:
        _record(world, run, operation)
        return
    target = _target(world, operation)
    report = OperationReport(phase=OperationPhase.CHECKING, target=target.time if target else None)
    if target is None:
        drivers.end(world, run, Outcome.FAILED, reason=FailureReason.OPERATION_REFUSED, operation=report)
        return
    if operation.dry_run:
        drivers.end(world, run, Outcome.SUCCEEDED, operation=report)
        return
    if drivers.clock_is_behind(world, run):
        return
    if operation.uid in world.clusters[run.cluster].let_go:
        world.wrong("an operation begins whose resource was let go")
    gone = _after(world, target)
    is_there = not any(one.state == "completed" for one in gone)
    removed = tuple(sorted(one.time for one in gone))
    kept = replace(world.lake, entries={key: one for key, one in world.lake.entries.items() if key not in removed})
    world.lake.journal[operation.uid] = Record(
        phase="done" if is_there else "running",
        target=target.time,
        removed=removed,
        expected=tuple(kept.rows(updates=world.scenario.updates)),
    )


def _record(world: World, run: Run, operation: NamedOperationJob) -> None:
    """Record what is neither about a commit nor refused."""
    if drivers.clock_is_behind(world, run):
        return
    if operation.uid in world.clusters[run.cluster].let_go:
        world.wrong("an operation begins whose resource was let go")
    world.lake.journal[operation.uid] = Record(
        phase="running",
        target="",
        removed=(),
        expected=tuple(world.lake.rows(updates=world.scenario.updates)),
        may_be_left=operation.kind in {OperationKind.RUN_SERVICE, OperationKind.REPAIR},
        needs_resource=operation.kind is OperationKind.ERASE,
    )


def _target(world: World, operation: NamedOperationJob) -> Entry | None:
    """Return the commit that the table goes back to, or None where that is refused."""
    commits = sorted(world.lake.commits, key=lambda one: one.time)
    position = next((number for number, one in enumerate(commits) if one.time == operation.instant), None)
    if operation.kind is OperationKind.ROLLBACK and position is not None:
        position = position - 1 if position == len(commits) - 1 else None
    if position is None or position < 0:
        return None
    target = commits[position]
    is_cleaned = world.lake.cleaned is not None and target.time < world.lake.cleaned[1]
    overlapped = any(one.time < target.completed for one in commits[position + 1 :])
    at_work = not world.is_serialized and any(world.beats(one.writer) for one in world.lake.pending)
    return None if is_cleaned or overlapped or at_work or world.lake.plans("restore") else target


def _after(world: World, target: Entry) -> list[Entry]:
    return [one for one in world.lake.entries.values() if one.action in COMMITS and one.time > target.time]


def _restore(world: World, run: Run, operation: NamedOperationJob, record: Record) -> None:
    """Begin the restore, take away what it removes one after the other, complete it: whoever did the step before."""
    restore = world.lake.entries.get(record.restore)
    if restore is None:
        drivers.roll_back_dead_writes(world, run)
        time = world.stamp(drivers.clock(world, run))
        undone = frozenset(record.removed)
        world.lake.put(Entry(time, "restore", "inflight", writer=run.uid, planner=operation.uid, inputs=undone))
        world.lake.journal[operation.uid] = replace(record, restore=time)
        if sum(one.planner == operation.uid for one in world.lake.entries.values()) > 1:
            world.wrong("an operation changes the table twice")
        return
    left = sorted(time for time in record.removed if time in world.lake.entries)
    for time in left[-1:]:
        world.lake.entries.pop(time)
        kept = (*world.lake.archived, *world.lake.commits)
        world.acknowledged = frozenset(source for one in kept for source in one.sources)
    if not left and restore.state != "completed":
        world.lake.change(restore.time, state="completed", completed=world.stamp(drivers.clock(world, run)))
    elif not left:
        world.lake.journal[operation.uid] = replace(record, phase="verifying")


def _compare(world: World, run: Run, operation: NamedOperationJob, record: Record) -> None:
    found = tuple(world.lake.rows(updates=world.scenario.updates))
    if found != record.expected and operation.kind is not OperationKind.RUN_SERVICE:
        report = _report(record, OperationPhase.VERIFYING).copy_with(verified=False)
        drivers.end(world, run, Outcome.FAILED, reason=FailureReason.NOT_VERIFIED, operation=report)
        return
    world.lake.journal[operation.uid] = replace(record, phase="done")


def _report(record: Record, phase: OperationPhase) -> OperationReport:
    return OperationReport(
        phase=phase,
        target=record.target or None,
        removed_count=len(record.removed),
        removed=tuple(reversed(record.removed)),
        rows_expected=len(record.expected),
        verified=True if phase is OperationPhase.DONE else None,
        restore=(record.restore or None) if record.target else None,
    )
