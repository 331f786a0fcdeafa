"""One step of any driver, from its pod's start to its end."""

from __future__ import annotations

from tests.model.drivers import end, lost_lease
from tests.model.ingestion import step_ingestion
from tests.model.inside import step_courier, step_served
from tests.model.restoring import step_operation
from tests.model.services import step_service
from tests.model.world import Run, World

from hudi_jobs.contract import FailureReason, Outcome, Service


def step(world: World, run: Run) -> None:
    """Let a driver that moves come one step further."""
    if run.step == "starting":
        _start(world, run)
        return
    step_served(world, run)
    if world.now < run.waits_until or lost_lease(world, run):
        return
    if run.decided.inside is not None:
        step_courier(world, run)
    elif run.decided.service is Service.INGESTION:
        step_ingestion(world, run)
    elif run.decided.service is Service.OPERATION:
        step_operation(world, run)
    else:
        step_service(world, run)


def _start(world: World, run: Run) -> None:
    if world.now < run.queued_until:
        return
    run.pod = "running"
    run.step = "open"
    if world.clusters[run.cluster].class_version == world.scenario.wrong_class:
        end(world, run, Outcome.FAILED, reason=FailureReason.INVALID_REQUEST)
