"""Other programs that work on the table: a writer, and tools that plan now and execute some minutes later."""

from __future__ import annotations

from tests.model.drivers import acknowledge, begin_write, lost_to_another
from tests.model.lake import TOOL_ROWS, Entry
from tests.model.services import complete_plan, is_overtaken, make_plan
from tests.model.world import Tool, World

EXECUTES_AFTER = 300
"""Seconds between the plan of a tool and its execution."""
TAKES = 120
"""Seconds that a tool takes to write."""


def step_tool(world: World, tool: Tool) -> None:
    """Let a tool come one step further."""
    if tool.waits_until > world.now:
        return
    world.foreign_moved = world.now
    if tool.kind == "write":
        _write(world, tool)
    elif tool.kind == "clean":
        _clean(world, tool)
    else:
        _serve(world, tool)


def _write(world: World, tool: Tool) -> None:
    if tool.step == "planned":
        tool.instant = begin_write(world, tool.name, _ahead(world), sources=(TOOL_ROWS,))
        tool.step, tool.waits_until = "complete", world.now + TAKES
        return
    tool.is_alive = False
    entry = world.lake.entries.get(tool.instant or "")
    if entry is None:
        return
    if lost_to_another(world, entry):
        world.lake.entries.pop(entry.time)
        return
    before = world.lake.change(entry.time, state="completed", completed=world.stamp(_ahead(world)))
    if not (world.is_serialized and world.lake.clusterings > before.generation):
        # A clustering beside it hides what it wrote: who writes to a Serialized table without asking can lose rows.
        acknowledge(world, before.sources)


def _serve(world: World, tool: Tool) -> None:
    if tool.step == "planned":
        plan = make_plan(world, tool.name, tool.kind, _ahead(world))
        tool.instant, tool.step = plan.time if plan else None, "begin"
        tool.is_alive, tool.waits_until = plan is not None, world.now + EXECUTES_AFTER
        return
    entry = world.lake.entries.get(tool.instant or "")
    if entry is None or entry.state == "completed":
        tool.is_alive = False
    elif tool.step == "begin":
        if entry.writer and not world.is_serialized and world.beats(entry.writer):
            world.wrong(f"the {entry.action} is executed twice")
        world.lake.change(entry.time, state="inflight", writer=tool.name)
        tool.step, tool.waits_until = "complete", world.now + TAKES
    else:
        tool.is_alive = False
        if entry.writer != tool.name or (entry.action == "clustering" and is_overtaken(world, entry)):
            world.lake.entries.pop(entry.time, None)
            return
        complete_plan(world, entry, _ahead(world), run=None)


def _clean(world: World, tool: Tool) -> None:
    """Plan a clean, and execute it some time later, as its own job does."""
    if tool.step == "planned":
        entry = Entry(time=world.stamp(_ahead(world)), action="clean", writer=tool.name, planner=tool.name)
        tool.instant, tool.step = world.lake.put(entry).time, "complete"
        tool.waits_until = world.now + EXECUTES_AFTER
        return
    tool.is_alive = False
    if tool.instant in world.lake.entries:
        world.lake.change(tool.instant, state="completed", completed=world.stamp(_ahead(world)))


def _ahead(world: World) -> int:
    return world.scenario.existing_ahead or 0
