"""A service that a continuous driver does beside its batches: what `hudi_jobs/inline_services/` does, on both sides."""

from __future__ import annotations

from tests.model import drivers
from tests.model.services import step_service
from tests.model.world import Run, World

from hudi_jobs.contract import FailureReason, Outcome

TAKES_WITHIN = 180


def step_courier(world: World, run: Run) -> None:
    """What `courier.py` does: have the driver take the service, and report what becomes of it."""
    host = next((one for one in world.runs if one.decided.name == run.decided.inside), None)
    if host is None or not host.has_lease or not host.is_alive or world.lake.lease != (host.uid, True):
        _end_without(host, world, run)
    elif run.step == "taken":
        if host.answer is not None and host.answer[0] == run.decided.name:
            result = host.answer[1].results[0]
            drivers.end(world, run, result.outcome, reason=result.reason, instant=result.instant)
        elif host.serves is None or host.serves.decided.name != run.decided.name:
            drivers.end(world, run, Outcome.FENCED)  # another order is in the place of this one
        elif not host.moves and world.now - run.seen > drivers.LEASE:
            drivers.end(world, run, Outcome.FAILED, reason=FailureReason.INTERRUPTED)
        elif host.moves:
            run.seen = world.now
    elif host.moves and host.serves is None and not host.killed_at:
        host.serves = Run(decided=run.decided, cluster=host.cluster, uid=run.uid, created=world.now, skew=host.skew)
        host.serves.step, host.serves.pod = "work", "inside"
        run.step, run.seen = "taken", world.now
    elif world.now > run.created + TAKES_WITHIN:
        drivers.end(world, run, Outcome.FENCED)


def _end_without(host: Run | None, world: World, run: Run) -> None:
    """Report that the driver has gone: only one that has begun the service leaves a failed run."""
    if run.step == "taken":
        drivers.end(world, run, Outcome.FAILED, reason=FailureReason.INTERRUPTED)
    elif host is not None and world.lake.lease != (host.uid, True):
        drivers.end(world, run, Outcome.NOTHING_TO_DO, reason=FailureReason.DRIVER_ENDED)
    else:
        drivers.end(world, run, Outcome.FENCED)


def step_served(world: World, host: Run) -> None:
    """What `host.py` does: one step of the service, or its answer.

    Plans are made, and anything is rolled back, while no batch is under way.
    """
    served = host.serves
    if served is None or not host.is_alive or not host.has_lease:
        return
    if served.step != "work" or host.step != "complete":
        served.took_over = host.took_over
        step_service(world, served)
    if not served.is_alive and served.result is not None:
        host.answer, host.serves = (served.decided.name, served.result), None


def gives_way(world: World, run: Run) -> bool:
    """Whether a batch that would update what a service rewrites is repeated after it."""
    if run.serves is None:
        return False
    run.step, run.waits_until = "between", world.now + 20
    return True
