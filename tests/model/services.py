"""Services of the model: what `table_services/planned.py`, `cleaning.py` and `archival.py` do, and Inline ones."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.model import drivers
from tests.model.lake import Entry
from tests.model.world import Run, World

from hudi_jobs.contract import FailureReason, Outcome, RunMode, SavepointStep, Service

ACTION_OF = {Service.COMPACTION: "compaction", Service.CLUSTERING: "clustering"}
KEPT = 2
"""Commits that archival leaves."""


def step_service(world: World, run: Run) -> None:
    """One step of a driver that runs a table service."""
    if run.step == "open":
        if not drivers.is_stranger(world, run) and drivers.take_lease(world, run):
            run.step = "work"
    elif run.step == "work" and run.decided.savepoint and not run.savepoint_seen:
        _keep_savepoint(world, run)
    elif run.step == "complete":
        _complete(world, run)
    elif run.step == "report":
        drivers.end(world, run, Outcome.SUCCEEDED, instant=run.instant)
    elif run.decided.service in ACTION_OF:
        _deal(world, run)
    elif run.decided.service is Service.CLEANING:
        _clean(world, run)
    else:
        _archive(world, run)


def _keep_savepoint(world: World, run: Run) -> None:
    """What `table_services/preparation.py` does before the work, or instead of it."""
    run.savepoint_seen = True
    if run.decided.savepoint is SavepointStep.KEEP and not world.lake.savepoint:
        world.lake.savepoint = max((one.time for one in world.lake.commits), default="")
    elif run.decided.savepoint is SavepointStep.REMOVE:
        world.lake.savepoint = ""
        drivers.end(world, run, Outcome.SUCCEEDED)


def _deal(world: World, run: Run) -> None:
    """`_Run.result` of `planned.py`, up to the moment in which the plan is inflight."""
    if world.is_serialized:
        drivers.roll_back_dead_writes(world, run)
    assert run.decided.service is not None
    action, asked = ACTION_OF[run.decided.service], run.decided.instant
    pending = world.lake.plans(action)
    if asked is not None:
        found = next((one for one in pending if one.time == asked), None)
        if found is None:
            drivers.end(world, run, Outcome.NOTHING_TO_DO)
            return
    else:
        found = pending[0] if pending else None
        if found is not None and run.decided.run_mode is RunMode.SCHEDULE_AND_EXECUTE and not world.is_serialized:
            drivers.end(world, run, Outcome.CONFLICT, reason=FailureReason.CONFLICT)
            return
    if found is None:
        _plan_and_begin(world, run, action)
        return
    if world.rules.leaves_live_plans and not world.is_serialized and _is_anothers(world, found):
        drivers.end(world, run, Outcome.CONFLICT, reason=FailureReason.CONFLICT)
        return
    _deal_with(world, run, found)


def _deal_with(world: World, run: Run, found: Entry) -> None:
    """`_Run._deal_with` of `planned.py`: a clustering that was begun is rolled back."""
    if run.decided.run_mode is RunMode.ROLL_BACK:
        drivers.roll_back(world, found.time)
        drivers.end(world, run, Outcome.NOTHING_TO_DO)
        return
    action = found.action
    begun = found.state == "inflight" or run.took_over
    outdated = any(one.completed > found.time for one in world.lake.commits)
    if (begun or outdated) and action == "clustering":
        drivers.roll_back(world, found.time)
        _plan_and_begin(world, run, action)
        return
    if found.state == "inflight" and not world.is_serialized and world.beats(found.writer):
        return  # waits for the heartbeat of the earlier executor
    _execute(world, run, found)


def _is_anothers(world: World, plan: Entry) -> bool:
    return world.beats(plan.writer) or any(one.name == plan.planner and one.is_alive for one in world.tools)


def _plan_and_begin(world: World, run: Run, action: str) -> None:
    if drivers.clock_is_behind(world, run):
        return
    plan = make_plan(world, run.uid, action, drivers.clock(world, run))
    if plan is None:
        drivers.end(world, run, Outcome.NOTHING_TO_DO)
    else:
        _execute(world, run, replace(plan, run=run.decided.name, operator=drivers.mark_of(world, run)))


def make_plan(world: World, planner: str, action: str, ahead: int) -> Entry | None:
    """Plan a service over what is there, or nothing where nothing was written since the last one."""
    done = [one for one in world.lake.commits if one.action == action]
    writes = [one for one in world.lake.commits if one.action == "deltacommit"]
    if not writes or (done and max(one.completed for one in writes) < done[0].time):
        return None
    everything = (*world.lake.archived, *writes)
    return world.lake.put(
        Entry(
            time=world.stamp(ahead),
            action=action,
            planner=planner,
            inputs=frozenset(one.time for one in everything if one.action == "deltacommit"),
            generation=world.lake.clusterings,
        )
    )


def _execute(world: World, run: Run, plan: Entry) -> None:
    other = next((one for one in world.runs if one.instant == plan.time and one is not run and one.moves), None)
    # Nobody but the operator works on a Serialized table, and a tool that does shows no heartbeat there.
    shown = [one.uid for one in world.runs] if world.is_serialized else [plan.writer]
    if other is not None or (plan.writer in shown and plan.writer != run.uid and world.beats(plan.writer)):
        world.wrong(f"the {plan.action} is executed twice")
    world.lake.put(replace(plan, state="inflight", writer=run.uid))
    run.instant, run.step = plan.time, "complete"


def _complete(world: World, run: Run) -> None:
    entry = world.lake.entries.get(run.instant or "")
    if entry is None or entry.state == "completed":
        drivers.end(world, run, Outcome.FAILED, reason=FailureReason.HUDI_ERROR)
        return
    if entry.action == "clustering" and is_overtaken(world, entry):
        world.lake.entries.pop(entry.time)
        drivers.end(world, run, Outcome.CONFLICT, reason=FailureReason.CONFLICT)
        return
    complete_plan(world, entry, drivers.clock(world, run), run=run.decided.name)
    world.lake.change(entry.time, operator=drivers.mark_of(world, run))
    run.step = "report"


def is_overtaken(world: World, clustering: Entry) -> bool:
    """In an Optimistic table Hudi finds at the commit that a writer has changed what a clustering rewrites."""
    writes = (one for one in world.lake.commits if one.action == "deltacommit")
    return (
        not world.is_serialized
        and world.scenario.updates
        and any(one.time not in clustering.inputs and one.generation <= clustering.generation for one in writes)
    )


def complete_plan(world: World, entry: Entry, ahead: int, *, run: str | None) -> None:
    world.lake.change(entry.time, state="completed", completed=world.stamp(ahead), run=run)
    drivers.compare(world)


def _clean(world: World, run: Run) -> None:
    """Finish a pending clean, roll dead writes back, and clean where commits came since the last one."""
    drivers.roll_back_dead_writes(world, run)
    for left in world.lake.plans("clean"):
        world.lake.entries.pop(left.time)
    commits = sorted(one.time for one in world.lake.commits)
    if not commits or (world.lake.cleaned and world.lake.cleaned[0] == commits[-1]):
        drivers.end(world, run, Outcome.NOTHING_TO_DO)
        return
    time = world.stamp(drivers.clock(world, run))
    world.lake.put(Entry(time=time, action="clean", state="completed", completed=world.stamp(run.skew), writer=run.uid))
    world.lake.cleaned = (commits[-1], commits[-KEPT] if len(commits) >= KEPT else "")
    run.instant, run.step = time, "report"


def _archive(world: World, run: Run) -> None:
    """Move the oldest instants away, none that is pending or newer than one that is."""
    first = world.lake.pending[0].time if world.lake.pending else "9"
    commits = sorted(world.lake.commits, key=lambda one: one.time)
    going = [one for one in commits[: max(len(commits) - KEPT, 0)] if one.time < first]
    for one in going:
        world.lake.entries.pop(one.time)
    world.lake.archived += tuple(going)
    for one in [one for one in world.lake.entries.values() if one.action == "clean" and going]:
        if one.time < going[-1].time:
            world.lake.entries.pop(one.time)
    run.step = "report"


def run_inline(world: World, run: Run) -> None:
    """What the writer does after its commit where the spec says Inline."""
    spec = json.loads(world.clusters[run.cluster].spec)
    for action in ("compaction", "clustering"):
        if spec.get(action, {}).get("mode") == "Inline":
            left = [one for one in world.lake.plans(action) if not _is_anothers(world, one)]
            plan = left[0] if left else _inline_plan(world, run, action, spec)
            if plan is not None and action == "clustering" and is_overtaken(world, plan):
                world.lake.entries.pop(plan.time)
            elif plan is not None:
                complete_plan(world, replace(plan, writer=run.uid), drivers.clock(world, run), run=None)
    if world.scenario.inline_log_compaction:
        time = world.stamp(drivers.clock(world, run))
        done = world.stamp(drivers.clock(world, run))
        world.lake.put(Entry(time=time, action="logcompaction", state="completed", completed=done, writer=run.uid))


def _inline_plan(world: World, run: Run, action: str, spec: dict[str, Any]) -> Entry | None:
    writes = [one for one in world.lake.commits if one.action == "deltacommit"]
    since = max((one.time for one in world.lake.commits if one.action == action), default="")
    trigger = spec[action]["trigger"]
    threshold = trigger.get("commits", trigger.get("deltaCommits", 2))
    if sum(one.time > since for one in writes) < threshold:
        return None
    return make_plan(world, run.uid, action, drivers.clock(world, run))
