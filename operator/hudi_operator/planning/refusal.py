"""What follows when the Kubernetes API refuses to create a Job."""

from dataclasses import replace
from datetime import datetime

from hudi_jobs.contract import Outcome
from hudi_operator.api.table_status import HISTORY_LENGTH, ActiveJob, RunStatus
from hudi_operator.planning.ingestion import explain, judge, remember_runs
from hudi_operator.planning.model import Observation, Plan
from hudi_operator.planning.times import format_time

JOB_REFUSED = "JobRefused"


def refused(plan: Plan, job: ActiveJob, *, observation: Observation, message: str, now: datetime) -> Plan:
    """Return the plan with the refused Job counted as a failed run, so that it is shown and backed off from."""
    run = RunStatus(
        job=job.name,
        service=job.service,
        outcome=Outcome.FAILED,
        reason=JOB_REFUSED,
        message=f"The Kubernetes API refused the Job: {message}"[:1000],
        started_at=job.started_at,
        finished_at=format_time(now),
    )
    table_class = observation.table_class.spec if observation.table_class else None
    memory = remember_runs(plan.ingestion, (run,), table=observation.table, table_class=table_class)
    if table_class is not None:
        # The request that the refused run was to answer is answered: the next attempt waits like any other.
        dueness = judge(memory, table=observation.table, table_class=table_class, requested=None, now=now)
        memory = explain(memory, dueness, hindrance=None)
    return replace(
        plan,
        actions=(),
        ingestion=memory,
        active_jobs=tuple(other for other in plan.active_jobs if other.name != job.name),
        history=(run, *plan.history)[:HISTORY_LENGTH],
        finished=(*plan.finished, run),
    )
