"""Ingestion: what `ingestion/run.py` does, one step at a time."""

from __future__ import annotations

from collections.abc import Callable

from tests.model.drivers import (
    LATE_WINDOW,
    acknowledge,
    begin_write,
    clock,
    clock_is_behind,
    end,
    is_stranger,
    lost_to_another,
    mark_of,
    roll_back_dead_writes,
    take_lease,
    unread,
)
from tests.model.inside import gives_way
from tests.model.lake import Checkpoint
from tests.model.services import run_inline
from tests.model.world import Run, World

from hudi_jobs.contract import FailureReason, Outcome

MIN_INTERVAL = 40
POLL = 120
"""Seconds between two looks at a source without input; it is what a driver takes when it has nothing to do."""


def step_ingestion(world: World, run: Run) -> None:
    """One step of `ingestion/run.py`."""
    _INGESTION[run.step](world, run)


def _open(world: World, run: Run) -> None:
    if is_stranger(world, run):
        return
    if world.rules.ingestion_holds_lease and world.is_serialized and not take_lease(world, run):
        return
    run.step = "read"


def _read(world: World, run: Run) -> None:
    if any(begin <= world.now < end_ for begin, end_ in world.scenario.unreadable):
        end(world, run, Outcome.FAILED, reason=FailureReason.SOURCE_UNREADABLE)
        return
    checkpoint = world.lake.checkpoint(by_number=world.rules.orders_checkpoints)
    run.sources = unread(world, checkpoint)
    run.seen = checkpoint.number
    if run.continues and not run.sources:
        _look_around(world, run, "Waiting")
        return
    if not run.sources:
        end(world, run, Outcome.NOTHING_TO_DO, more=False)
        return
    run.step = "begin"


def _begin(world: World, run: Run) -> None:
    if clock_is_behind(world, run):
        return
    if world.rules.rereads_checkpoint:
        _read(world, run)
        if not run.is_alive:
            return
    if world.is_serialized:
        roll_back_dead_writes(world, run)
    if world.scenario.updates and world.lake.plans("clustering") and gives_way(world, run):
        return
    if world.scenario.updates and world.lake.plans("clustering"):
        end(world, run, Outcome.FAILED, reason=FailureReason.CONFLICT)  # with updates: Reject
        return
    run.instant = begin_write(world, run.uid, clock(world, run), sources=run.sources)
    if run.continues:
        _say(world, run, "Ingesting", made=run.instant)
    run.step = "complete"


def _complete(world: World, run: Run) -> None:
    entry = world.lake.entries.get(run.instant or "")
    if entry is None or entry.writer != run.uid:
        end(world, run, Outcome.FAILED, reason=FailureReason.HUDI_ERROR)
        return
    if lost_to_another(world, entry):
        end(world, run, Outcome.FAILED, reason=FailureReason.CONFLICT)
        return
    before = world.lake.checkpoint(by_number=world.rules.orders_checkpoints)
    known = before.read if world.rules.rereads_checkpoint else frozenset(before.read)
    newest = max(world.modified[number - 1] for number in run.sources)
    checkpoint = Checkpoint(
        number=run.seen + 1,
        read=known | set(run.sources),
        floor=max(before.floor, newest - LATE_WINDOW),
    )
    world.lake.change(
        entry.time,
        state="completed",
        completed=world.stamp(clock(world, run)),
        run=run.decided.name,
        operator=mark_of(world, run),
        checkpoint=checkpoint,
    )
    acknowledge(world, run.sources)
    run.step = "inline"


def _inline(world: World, run: Run) -> None:
    """Services inside the writer, after its commit; they leave no name of the run in what they commit."""
    run_inline(world, run)
    run.step = "report"
    if run.continues:
        run.batches, run.committed, run.instant = run.batches + 1, run.instant or "", None
        _look_around(world, run, "Ingesting")


def _report(world: World, run: Run) -> None:
    end(world, run, Outcome.SUCCEEDED, instant=run.instant, more=False)


def _look_around(world: World, run: Run, state: str) -> None:
    """What `ingestion/batches/continuous.py` does between two batches."""
    run.polls += 1
    _say(world, run, state)
    run.step, run.waits_until = "between", world.now + (POLL if state == "Waiting" else MIN_INTERVAL)


def _say(world: World, run: Run, state: str, *, made: str = "") -> None:
    """What `ingestion/batches/batch_progress.py` writes."""
    world.lake.progress = (run.decided.name, run.polls, run.batches, run.committed, state)
    world.lake.made = made


def _between(world: World, run: Run) -> None:
    if run.serves is not None and (run.killed_at or world.now >= run.created + world.scenario.recycle):
        return  # the service may end
    if (run.killed_at and run.pod != "gone") or world.now >= run.created + world.scenario.recycle:
        end(world, run, Outcome.SUCCEEDED if run.batches else Outcome.NOTHING_TO_DO)
        return
    _read(world, run)


_INGESTION: dict[str, Callable[[World, Run], None]] = {
    "open": _open,
    "read": _read,
    "begin": _begin,
    "complete": _complete,
    "inline": _inline,
    "report": _report,
    "between": _between,
}
