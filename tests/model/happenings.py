"""What may befall a world besides going well: each deviation by name, when it is possible, and what it does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.model.cluster import Cluster, delete_job
from tests.model.drivers import kill
from tests.model.people import OPERATIONS
from tests.model.world import Tool, World, moment
from tests.planning.world import at

from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION
from hudi_operator.api.status.table_status import HudiTableStatus

Deviation = tuple[str, int]
"""A name, and the run, tool, cluster or variant that it is about."""

FREEZES = (20, 80, 100, 400)
"""How long a process stands still, in seconds."""
HEARS_OF_IT = 600
"""Seconds after which the node of a pod that was deleted by force hears of it, and kills what it runs."""
SKEWS = (-600, 600)
GARBAGE = ("20270101000000000", "20360101000000", "99999999999999999")
TROUBLES = ("stuck", "sidecar", "queued")
FAULTS = ("conflict", "dies", "refused", "unreachable", "downgrade")
TOOLS = ("write", "compaction", "clustering", "clean")


def possible(world: World) -> Iterator[Deviation]:
    """Yield every deviation that the scenario tries and that would change something now."""
    for name, (count, _) in _HAPPENINGS.items():
        if name in world.scenario.happenings:
            yield from ((name, index) for index in count(world))


def apply(world: World, deviation: Deviation) -> bool:
    """Let it happen, if it is possible; return whether it was."""
    name, index = deviation
    count, act = _HAPPENINGS[name]
    if index not in list(count(world)):
        return False
    act(world, index)
    world.calm_since = world.now
    return True


_Count = Callable[[World], Iterator[int] | range | list[int]]
_Act = Callable[[World, int], None]


def _running(world: World) -> list[int]:
    return [index for index, one in enumerate(world.runs) if one.moves and one.step != "starting"]


def _in_pod(world: World) -> list[int]:
    return [index for index in _running(world) if world.runs[index].pod == "running"]


def _die(world: World, index: int) -> None:
    kill(world.runs[index])


def _each_time(runs: Callable[[World], list[int]]) -> _Count:
    return lambda world: [len(FREEZES) * index + time for index in runs(world) for time, _ in enumerate(FREEZES)]


def _freeze(world: World, index: int) -> None:
    """The process stands still for a while: a busy node, a virtual machine that is moved."""
    run = world.runs[index // len(FREEZES)]
    run.is_frozen, run.thaws = True, world.now + FREEZES[index % len(FREEZES)]


def _continuous(world: World) -> list[int]:
    return [index for index in _running(world) if world.runs[index].continues]


def _hang(world: World, index: int) -> None:
    """The process stands still for good, and its lease is renewed all the same, as where one thread waits for ever."""
    run = world.runs[index]
    run.hangs = True


def _force_delete(world: World, index: int) -> None:
    """The API server forgets the pod; its process continues, on a node that does not answer for a while."""
    _freeze(world, index)
    run = world.runs[index // len(FREEZES)]
    run.pod = "gone"
    if run.continues:
        run.killed_at = run.thaws + HEARS_OF_IT  # it would go on for hours


def _deletable(world: World) -> list[int]:
    return [index for index, one in enumerate(world.runs) if one.pod in {"running", "ended"}]


def _delete(world: World, index: int) -> None:
    run = world.runs[index]
    delete_job(world, run.cluster, run.decided.name)


def _fault(world: World, index: int) -> None:
    world.clusters[0].fault = FAULTS[index]
    world.clusters[0].next_reconcile = world.now


def _request(world: World, _: int) -> None:
    world.clusters[0].annotations[REQUESTED_AT_ANNOTATION] = at(moment(world.now))


def _edit(world: World, _: int) -> None:
    world.clusters[0].generation += 1


def _disable(world: World, index: int) -> None:
    name = ("compaction", "clustering")[index]
    cluster = world.clusters[0]
    spec = json.loads(cluster.spec)
    cluster.spec = json.dumps({**spec, name: {**spec[name], "mode": "Disabled"}})
    cluster.generation += 1


def _may_disable(world: World) -> list[int]:
    spec = json.loads(world.clusters[0].spec)
    return [i for i, one in enumerate(("compaction", "clustering")) if spec.get(one, {}).get("mode") != "Disabled"]


def _accept(world: World, index: int) -> None:
    world.clusters[0].decided += (("acceptCommits", "upTo", GARBAGE[index]),)


def _skew(world: World, index: int) -> None:
    world.next_skew = SKEWS[index]


def _skew_operator(world: World, index: int) -> None:
    world.clusters[0].skew = SKEWS[index]


def _trouble(world: World, index: int) -> None:
    world.next_trouble = TROUBLES[index]


def _tool(world: World, index: int) -> None:
    """Another tool begins: a write, or a plan that it will execute some minutes later."""
    world.tools.append(Tool(name=f"tool-{len(world.tools)}", kind=TOOLS[index]))
    world.intruded = True


def _may_use_tool(world: World) -> list[int]:
    if world.tools:
        return []
    return [index for index, _ in enumerate(TOOLS) if index == 0 or any(one.sources for one in world.lake.commits)]


def _tool_dies(world: World, index: int) -> None:
    world.tools[index].is_alive = False


def _tools(world: World) -> list[int]:
    return [index for index, one in enumerate(world.tools) if one.is_alive and one.instant]


def _second(world: World, _: int) -> None:
    """The same resource is applied in another cluster, as a migration or a recovery does."""
    first = world.clusters[0]
    world.clusters.append(Cluster(identity="operator-2", uid="uid-of-2", spec=first.spec, next_reconcile=world.now))
    world.intruded = True


def _restore_status(world: World, _: int) -> None:
    """etcd comes back from a copy that was made when the table was new."""
    cluster = world.clusters[0]
    assert cluster.saved is not None
    cluster.status, cluster.stored = cluster.saved, ""
    cluster.told, cluster.answered, cluster.created = (), (), ()


def _lose_status(world: World, _: int) -> None:
    """The resource is deleted from etcd and applied again by a tool that keeps uids, or its status is cleared."""
    cluster = world.clusters[0]
    cluster.status, cluster.stored, cluster.next_reconcile = HudiTableStatus(), "", world.now


def _edit_class(world: World, _: int) -> None:
    world.clusters[0].class_version += 1


def _late_file(world: World, _: int) -> None:
    """A file shows up with a modification time of long ago."""
    world.modified += (min(world.modified) - 1200,)


def _future_file(world: World, _: int) -> None:
    """A file shows up whose writer's clock is ten days ahead."""
    world.modified += (world.now + 10 * 86_400,)


def _restore(world: World, _: int) -> None:
    """A person restores the table to the commit before the newest."""
    newest = world.lake.commits[0]
    for time in [one for one in world.lake.entries if one >= newest.time]:
        world.lake.entries.pop(time)
    left = (*world.lake.archived, *world.lake.commits)
    world.acknowledged = frozenset(source for one in left for source in one.sources)
    world.intruded = True


def _once(_: World) -> range:
    return range(1)


def _never_twice(name: str) -> _Count:
    checks: dict[str, Callable[[World], bool]] = {
        "second operator": lambda world: len(world.clusters) == 1,
        "status restored": lambda world: world.clusters[0].saved is not None,
        "class edited": lambda world: world.clusters[0].class_version == 1,
        "late file": lambda world: len(world.modified) == world.arrived > 0,
        "future file": lambda world: len(world.modified) == world.arrived > 0,
        "restore": lambda world: len(world.lake.commits) > 1 and not world.lake.pending,
        "request": lambda world: REQUESTED_AT_ANNOTATION not in world.clusters[0].annotations,
    }
    check = checks[name]
    return lambda world: range(1) if check(world) else range(0)


_HAPPENINGS: dict[str, tuple[_Count, _Act]] = {
    "driver dies": (_running, _die),
    "driver freezes": (_each_time(_running), _freeze),
    "driver hangs": (_continuous, _hang),
    "pod force-deleted": (_each_time(_in_pod), _force_delete),
    "job deleted": (_deletable, _delete),
    "fault": (lambda _: range(len(FAULTS)), _fault),
    "request": (_never_twice("request"), _request),
    "spec edited": (_once, _edit),
    "service disabled": (_may_disable, _disable),
    "garbage accepted": (lambda _: range(len(GARBAGE)), _accept),
    "clock skewed": (lambda world: range(len(SKEWS)) if not world.next_skew else range(0), _skew),
    "operator skewed": (lambda world: range(len(SKEWS)) if not world.clusters[0].skew else range(0), _skew_operator),
    "pod trouble": (lambda world: range(len(TROUBLES)) if not world.next_trouble else range(0), _trouble),
    "tool": (_may_use_tool, _tool),
    "tool dies": (_tools, _tool_dies),
    "second operator": (_never_twice("second operator"), _second),
    "status restored": (_never_twice("status restored"), _restore_status),
    "status lost": (lambda world: range(0 if world.clusters[0].created else 1), _lose_status),
    "class edited": (_never_twice("class edited"), _edit_class),
    "late file": (_never_twice("late file"), _late_file),
    "future file": (_never_twice("future file"), _future_file),
    "restore": (_never_twice("restore"), _restore),
    **OPERATIONS,
}

ALL = frozenset(_HAPPENINGS)
