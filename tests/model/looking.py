"""Looks at the source: what the observer does once a run may be due."""

from __future__ import annotations

from dataclasses import replace

from tests.model.cluster import Cluster
from tests.model.world import World, moment

from hudi_operator.planning.model import Observation
from hudi_operator.planning.needs.looks import wants_look
from hudi_operator.sources.look import LOOK_PAUSE, LookProblem, SourceLook


def with_look(world: World, cluster: Cluster, seen: Observation) -> Observation:
    """Return the observation with the last look of this process, or a new one where one is wanted and allowed."""
    now, last = moment(world.now + cluster.skew), cluster.look
    is_early = last is not None and now - last.at < LOOK_PAUSE
    if not is_early and seen.snapshot.trouble is None and wants_look(replace(seen, look=last), now):
        cluster.look = _look(world, cluster)
    return replace(seen, look=cluster.look)


def _look(world: World, cluster: Cluster) -> SourceLook:
    at = moment(world.now + cluster.skew)
    if any(begin <= world.now < end for begin, end in world.scenario.unreadable):
        return SourceLook(at=at, problem=LookProblem.UNREACHABLE, message="Down.")
    number = len(world.modified)
    return SourceLook(at=at, digest=str(hash(world.modified)), inputs=number, listed=number)
