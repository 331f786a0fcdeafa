"""Turns the plan of an existing table into the step that carries it out, and follows up a refused Job."""

from dataclasses import replace
from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.api.status.table import ActiveJob, HudiTableStatus
from hudi_operator.planning.model import JobPhase, Observation, Plan
from hudi_operator.planning.order.slots import QUOTAS_REACHED
from hudi_operator.planning.outcome.refusal import refused
from hudi_operator.planning.outcome.status.build import build_status
from hudi_operator.planning.outcome.status.freshness import freshness_figures
from hudi_operator.planning.outcome.status.step import Step
from hudi_operator.planning.outcome.status.transitions import operations_ended, transitions


def step_of(observation: Observation, plan: Plan, *, now: datetime, written: HudiTableStatus | None = None) -> Step:
    """Return the step of a plan; `written` is the stored status if it differs from the observed status."""
    status, before = build_status(observation, plan, now=now), written or observation.table.status
    return Step(
        status=status,
        finished=plan.finished,
        notices=transitions(before, status),
        operations=tuple(operations_ended(before, status)),
        actions=plan.actions,
        class_name=observation.table_class.metadata.name if observation.table_class else "",
        running=_running(observation, plan),
        waits_for_place=any(plan.services.of(service).reason in QUOTAS_REACHED for service in Service),
        freshness=freshness_figures(observation, status.services.ingestion.freshness, now=now),
    )


def refused_step(
    observation: Observation, plan: Plan, job: ActiveJob, *, message: str, written: HudiTableStatus, now: datetime
) -> Step:
    """Return the step after the Kubernetes API refused a Job of a plan: a failed run, counted and reported."""
    after = refused(plan, job, observation=observation, message=message, now=now)
    step = step_of(observation, after, now=now, written=written)
    # The other runs were counted with the status that recorded the intent.
    return replace(step, finished=after.finished[len(plan.finished) :])


def _running(observation: Observation, plan: Plan) -> int:
    """Return how many Jobs count towards the limits of the class.

    The end of a run of a hidden table cannot be confirmed, and the run must not hold a place for ever.
    """
    if not observation.is_hidden:
        return len(plan.active_jobs)
    return sum(job.phase is not JobPhase.OVER for job in observation.jobs)
