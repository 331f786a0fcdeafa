"""Turns the plan of an existing table into the step that carries it out, and follows up a refused Job."""

from dataclasses import replace
from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.api.status.table import ActiveJob, HudiTableStatus
from hudi_operator.planning.facts.runs.bad_rows import bad_rows
from hudi_operator.planning.model import JobPhase
from hudi_operator.planning.order.slots import QUOTAS_REACHED
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.refusal import refused
from hudi_operator.planning.outcome.status.freshness import freshness_figures
from hudi_operator.planning.outcome.status.step import Step
from hudi_operator.planning.outcome.status.transitions import operations_ended, transitions


def step_of(plan: Plan, *, written: HudiTableStatus | None = None) -> Step:
    """Return the step of a plan; `written` is the stored status if it differs from the observed status."""
    table, table_class = plan.observation.table, plan.observation.table_class
    before, status = written or table.status, plan.status
    return Step(
        status=status,
        finished=plan.finished,
        notices=transitions(before, status),
        operations=tuple(operations_ended(before, status)),
        actions=plan.actions,
        class_name=table_class.metadata.name if table_class else "",
        running=_running(plan),
        waits_for_place=any(plan.services.of(service).reason in QUOTAS_REACHED for service in Service),
        freshness=freshness_figures(plan.observation, status.services.ingestion.freshness, now=plan.facts.now),
        rows_quarantined=max(_bad_rows(status) - _bad_rows(before), 0),
    )


def refused_step(plan: Plan, job: ActiveJob, *, message: str, written: HudiTableStatus, now: datetime) -> Step:
    """Return the step after the Kubernetes API refused a Job of a plan: a failed run, counted and reported."""
    after = refused(plan, job, message=message, now=now)
    # The other runs were counted with the status that recorded the intent.
    return replace(step_of(after, written=written), finished=after.finished[len(plan.finished) :])


def _bad_rows(status: HudiTableStatus) -> int:
    return bad_rows(status.bad_rows, status.active_jobs)


def _running(plan: Plan) -> int:
    """Return how many Jobs count towards the limits of the class.

    The end of a run of a hidden table cannot be confirmed, and the run must not hold a place for ever.
    """
    if not plan.observation.is_hidden:
        return len(plan.active_jobs)
    return sum(job.phase is not JobPhase.OVER for job in plan.observation.jobs)
