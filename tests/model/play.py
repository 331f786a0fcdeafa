"""One history: what happens by itself, step by step, until the table is at rest or something is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.model import happenings
from tests.model.cluster import Cluster, collect, kill_overdue
from tests.model.happenings import Deviation
from tests.model.invariants import check_writers, unrest
from tests.model.lake import Entry
from tests.model.operations import check_alone, order, reconcile_operations
from tests.model.operator import events_of, must_reconcile, reconcile
from tests.model.running import step
from tests.model.tools import step_tool
from tests.model.world import Run, Scenario, Tool, World, instant_text
from tests.planning.world import UID

from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION

STEP = 20
"""Seconds that a step of a driver takes."""
PATIENCE = 6600
"""Seconds within which a table that is left in peace comes to rest: the alarm for pending instants, an hour for a run
that is not hopeless any more, or half an hour for a person are part of it, a Job's deadline is not."""


def begin(scenario: Scenario) -> World:
    """The first state of a scenario."""
    world = World(scenario)
    first = Cluster(identity="operator-1", uid=UID, spec=json.dumps(scenario.spec))
    first.annotations |= scenario.annotations
    first.decided = scenario.decided
    world.clusters.append(first)
    if scenario.existing_ahead is not None:
        time = instant_text(scenario.existing_ahead - 600) + "000"
        world.lake.put(
            Entry(time, "deltacommit", "completed", instant_text(scenario.existing_ahead - 590) + "000", sources=(0,))
        )
        world.acknowledged, world.foreign_moved = frozenset({0}), -590
    return world


def advance(world: World) -> None:
    """Let everything that is under way come one step further, or time pass until something is."""
    world.ticks += 1
    moving = [one for one in world.runs if one.moves or one.is_frozen]
    tools = [one for one in world.tools if one.is_alive]
    waits = [_next_of(one) for one in moving] + [one.waits_until for one in tools]
    if waits and min(waits) <= world.now + STEP:
        world.now += STEP
    else:
        world.now = max(world.now + 1, min(waits + _coming(world)))
    for run in moving:
        if run.is_frozen and run.thaws <= world.now:
            run.is_frozen, run.thaws = False, 0
        if run.moves:
            step(world, run)
    kill_overdue(world)
    for tool in tools:
        step_tool(world, tool)
    world.calm_since = max([world.calm_since, *(end for _, end in world.scenario.unreadable if end <= world.now)])
    check_writers(world)
    check_alone(world)
    _arrive(world)
    order(world)
    _others_write(world)
    collect(world)
    for index, cluster in enumerate(world.clusters):
        reconcile_operations(world, index)
        seen = events_of(world, index)
        if must_reconcile(world, cluster, seen):
            reconcile(world, index)
            cluster.seen = events_of(world, index)
            if cluster.saved is None and len(cluster.told) > 1:
                cluster.saved = cluster.status
            reconcile_operations(world, index)


def _next_of(run: Run) -> int:
    """When a run that is not stuck gets on; 0 for at once."""
    until = run.thaws or run.waits_until or run.queued_until
    return min(until, run.killed_at) if run.killed_at else until


def _coming(world: World) -> list[int]:
    left = world.scenario.arrivals[world.arrived :]
    others = world.scenario.writes_of_others[world.foreign_writes :]
    asked = [at for at, _ in world.scenario.operations[world.ordered :] if at > world.now]
    passes = [one.next_reconcile for one in world.clusters if not one.is_gone]
    passes += [max(one.operations_next, one.lags_until) for one in world.clusters if one.operations]
    return passes + [some[0] for some in (left, others, asked) if some] or [world.now + STEP]


def _arrive(world: World) -> None:
    for time in world.scenario.arrivals[world.arrived :]:
        if time <= world.now:
            world.arrived, world.calm_since = world.arrived + 1, world.now
            world.modified += (time,)
            if world.scenario.renews_request:
                world.clusters[0].annotations[REQUESTED_AT_ANNOTATION] = f"file-{world.arrived}"


def _others_write(world: World) -> None:
    for time in world.scenario.writes_of_others[world.foreign_writes :]:
        if time <= world.now:
            world.foreign_writes, world.calm_since, world.intruded = world.foreign_writes + 1, world.now, True
            world.tools.append(Tool(name=f"cron-{world.foreign_writes}", kind="write"))


def play(scenario: Scenario, history: Mapping[int, tuple[Deviation, ...]]) -> World:
    """Play a history: at each step what the mapping says, then what happens by itself."""
    world = begin(scenario)
    while True:
        for deviation in history.get(world.ticks, ()):
            happenings.apply(world, deviation)
        if is_over(world) and (world.broken or not any(step > world.ticks for step in history)):
            return world
        advance(world)


def is_over(world: World) -> bool:
    """Whether a history need not be played on: something is wrong, or the table is at rest."""
    if world.broken:
        return True
    why = unrest(world)
    if why is not None and world.now - world.calm_since > PATIENCE:
        world.wrong(f"it does not come to rest: {why}")
    return why is None or bool(world.broken)
