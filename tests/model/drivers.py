"""What a driver does, step by step, as `hudi_jobs` does it: what all services have in common."""

from __future__ import annotations

from tests.model.lake import TOOL_ROWS, Checkpoint, Entry
from tests.model.world import Run, World, moment

from hudi_jobs.contract import FailureReason, JobOutcome, OperationReport, Outcome, TaskResult, task_id
from hudi_operator.planning.model.times import format_time

LEASE = 120
WAITS_FOR_CLOCK = 60
"""How far a clock may be behind for its driver to wait instead of refusing."""
LATE_WINDOW = 600
"""How much later than a newer one a file could arrive, where no record says which were read."""
TABLE = "team-a/flights"


def end(
    world: World,
    run: Run,
    outcome: Outcome,
    *,
    reason: str | None = None,
    instant: str | None = None,
    more: bool | None = None,
    operation: OperationReport | None = None,
) -> None:
    """Report and exit."""
    result = TaskResult(
        id=task_id(TABLE, run.decided.service or ""),
        batches=run.batches if run.continues else None,
        outcome=outcome,
        reason=reason,
        message=f"It ended: {reason}.",
        instant=(run.committed or None) if run.continues else instant,
        more_input=more,
        operation=operation,
        savepoint=world.lake.savepoint if run.savepoint_seen else None,
        complete_up_to=None if world.scenario.lag is None else format_time(moment(world.now - world.scenario.lag)),
    )
    run.serves = None
    run.result, run.exit_code, run.step, run.is_alive = JobOutcome(results=(result,)), 0, "ended", False
    if run.pod != "gone":
        run.pod = "deleted" if run.killed_at else "ended"
    release(world, run)


def kill(run: Run) -> None:
    """Die without a word; the lease stays held."""
    run.exit_code, run.is_alive, run.is_frozen, run.serves = 137, False, False, None
    if run.pod != "gone":
        run.pod = "deleted" if run.killed_at else "ended"


def release(world: World, run: Run) -> None:
    if run.has_lease and world.lake.lease == (run.uid, True):
        world.lake.lease = (run.uid, False)
    run.has_lease = False


def take_lease(world: World, run: Run) -> bool:
    """Take the table's lease as `marker.take` does; return whether the run has it now.

    Whoever finds it held waits one lease and watches: one that lives renews it meanwhile.
    """
    lease = world.lake.lease
    held = lease is not None and lease[1] and lease[0] != run.uid
    holder = world.run_of(lease[0]) if lease is not None and held else None
    if holder is not None and holder.moves:
        end(world, run, Outcome.FENCED)
        return False
    if held and not run.waits_until:
        run.waits_until = world.now + LEASE
        return False
    run.waits_until = 0
    run.took_over, run.has_lease = held, True
    world.lake.lease = (run.uid, True)
    return True


def lost_lease(world: World, run: Run) -> bool:
    """End the run if another has taken its lease: the JVM is ended before it completes anything."""
    if run.has_lease and world.lake.lease != (run.uid, True):
        run.has_lease = False
        end(world, run, Outcome.FENCED)
        return True
    return False


def is_stranger(world: World, run: Run) -> bool:
    """End the run if the store says that the table belongs to another operator."""
    identity = world.clusters[run.cluster].identity
    if world.rules.knows_owner and world.lake.owner is not None and world.lake.owner[0] != identity:
        end(world, run, Outcome.FENCED)
        return True
    if world.rules.knows_owner:
        world.lake.owner = (identity, run.decided.name)
    return False


def mark_of(world: World, run: Run) -> tuple[str, str]:
    """What a commit says of whose run made it."""
    cluster = world.clusters[run.cluster]
    return cluster.identity, cluster.uid


def clock_is_behind(world: World, run: Run) -> bool:
    """Wait for, or refuse, a clock that is behind the newest instant of the table."""
    if not world.rules.guards_clock:
        return False
    newest = world.lake.newest
    behind = newest >= world.stamp(clock(world, run))
    if behind and newest >= world.stamp(clock(world, run) + WAITS_FOR_CLOCK):
        end(world, run, Outcome.FAILED, reason=FailureReason.HUDI_ERROR)
    return behind


def clock(world: World, run: Run) -> int:
    """How far ahead of UTC the instants are that a run makes."""
    ahead = world.scenario.existing_ahead
    return run.skew + (ahead if ahead is not None and world.rules.writes_in_table_zone else 0)


def roll_back_dead_writes(world: World, run: Run) -> None:
    """In a Serialized table every unfinished write is dead; in an Optimistic one the heartbeat decides."""
    for entry in world.lake.plans("deltacommit"):
        if entry.writer == run.uid or (not world.is_serialized and world.beats(entry.writer)):
            continue
        roll_back(world, entry.time)


def roll_back(world: World, time: str) -> None:
    """Remove a pending instant and its files."""
    entry = world.lake.entries.pop(time)
    tool = next((one for one in world.tools if one.instant == time), None)
    if tool is not None and tool.is_alive and not world.is_serialized:
        world.wrong(f"the live {entry.action} of another tool is rolled back")


def unread(world: World, checkpoint: Checkpoint) -> tuple[int, ...]:
    files = enumerate(world.modified, start=1)
    return tuple(
        number
        for number, time in files
        if number not in checkpoint.read and (world.rules.records_files or time > checkpoint.floor)
    )


def begin_write(world: World, writer: str, ahead: int, *, sources: tuple[int, ...]) -> str:
    entry = Entry(
        time=world.stamp(ahead),
        action="deltacommit",
        state="inflight",
        writer=writer,
        planner=writer,
        sources=sources,
        generation=world.lake.clusterings,
    )
    return world.lake.put(entry).time


def acknowledge(world: World, sources: tuple[int, ...]) -> None:
    """Remember that these rows are in the table, and compare what a reader gets with it."""
    world.acknowledged |= set(sources)
    compare(world)


def compare(world: World) -> None:
    rows = world.lake.rows(updates=world.scenario.updates)
    lost = world.acknowledged - set(rows)
    if lost:
        world.wrong(f"acknowledged rows are lost: {sorted(lost)}")
    if not world.scenario.updates and len(rows) != len(set(rows)):
        world.wrong("acknowledged rows are doubled")
    versions = [row for row in rows if row < TOOL_ROWS]
    if world.scenario.updates and versions and versions[-1] != max(versions):
        world.wrong("an older row is over a newer one")


def lost_to_another(world: World, write: Entry) -> bool:
    """In an Optimistic table, of two that change the same file groups the second to complete gives way."""
    if world.is_serialized or not world.scenario.updates or not write.sources:
        return False
    if any(one.action == "clustering" and one.generation >= write.generation for one in world.lake.commits):
        return True
    is_tools = write.sources[0] >= TOOL_ROWS
    others = [one for one in world.lake.commits if one.action == "deltacommit" and one.sources]
    return any(one.completed > write.time and (one.sources[0] >= TOOL_ROWS) == is_tools for one in others)
