"""Follows up a Job that the Kubernetes API refuses to create."""

from dataclasses import replace
from datetime import datetime

from hudi_operator.api.status.operation import OperationState
from hudi_operator.api.status.table import HISTORY_LENGTH, ActiveJob, RunStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_savepoints import TableSavepoint
from hudi_operator.planning.facts.blocking import Seen, table_blocker, under_maintenance, waits_for_stranger
from hudi_operator.planning.facts.case import make_case
from hudi_operator.planning.facts.operations.assess import Operations
from hudi_operator.planning.facts.operations.ended import after_failure
from hudi_operator.planning.facts.requests import open_request
from hudi_operator.planning.facts.runs.failures import next_attempt_at
from hudi_operator.planning.facts.runs.memory import remember_runs
from hudi_operator.planning.facts.runs.outcomes import refused_run
from hudi_operator.planning.facts.savepoints.assess import Savepoints
from hudi_operator.planning.facts.writers.foreign import Writers
from hudi_operator.planning.model import Observation, Plan
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.needs.evaluation import evaluate_all
from hudi_operator.planning.order.slots import Started, explained


def refused(plan: Plan, job: ActiveJob, *, observation: Observation, message: str, now: datetime) -> Plan:
    """Return the plan with the refused Job counted as a failed run, so that status shows it and the retry backs off."""
    run = refused_run(job, message=message, now=now)
    after = replace(
        plan,
        actions=(),
        active_jobs=tuple(other for other in plan.active_jobs if other.name != job.name),
        history=(run, *plan.history)[:HISTORY_LENGTH],
        finished=(*plan.finished, run),
        savepoints=tuple(_failed(one, job, run, observation, now=now) for one in plan.savepoints),
        operations=tuple(_not_begun(one, job, run, observation, now=now) for one in plan.operations),
    )
    return _explained_again(after, run, observation=observation, now=now)


def _explained_again(plan: Plan, run: RunStatus, *, observation: Observation, now: datetime) -> Plan:
    if run.service is None:
        return plan  # counts for no service
    table_class = observation.table_class.spec if observation.table_class else None
    memory = remember_runs(
        plan.services.of(run.service),
        (run,),
        table=observation.table,
        table_class=table_class,
        circumstances=plan.circumstances,
    )
    services = plan.services.replaced({run.service: memory})
    if table_class is None:
        return replace(plan, services=services)
    case = make_case(
        observation,
        table_class=table_class,
        services=services,
        active=plan.active_jobs,
        left_behind=plan.left_by,
        # The request of the refused run counts as answered: the next attempt waits like any other.
        requested=None if plan.answered else open_request(observation.table),
        circumstances=plan.circumstances,
        now=now,
        takeover=plan.takeover,
        savepoints=_after(plan, now=now),
        operations=Operations(entries=plan.operations, maintenance=plan.maintenance),
    )
    started = Started(active=plan.active_jobs)
    writers = Writers(foreign=plan.foreign, unknown=plan.unknown)
    seen = Seen(observation=observation, writers=writers, drift=plan.drift, owned_elsewhere=plan.owned_elsewhere)
    blocker = under_maintenance(plan.maintenance) or table_blocker(seen) or waits_for_stranger(case)
    return replace(plan, services=explained(case, evaluate_all(case), started, blocker))


def _failed(
    entry: TableSavepoint, job: ActiveJob, run: RunStatus, observation: Observation, *, now: datetime
) -> TableSavepoint:
    """Return the memory of a savepoint after its Job was refused: the next attempt waits."""
    if job.named_savepoint is None or entry.uid != job.named_savepoint.uid or observation.table_class is None:
        return entry
    count = entry.failures + 1
    return entry.copy_with(
        failures=count,
        retry_at=format_time(next_attempt_at(run, count, observation.table_class.spec.retry, now=now)),
        reason=SavepointReason.WAITING,
        message="Its Job was refused.",
    )


def _not_begun(
    entry: TableOperation, job: ActiveJob, run: RunStatus, observation: Observation, *, now: datetime
) -> TableOperation:
    """Return the memory of an operation after its Job was refused: the next attempt waits, as after a failure."""
    if job.operation is None or entry.uid != job.operation.uid or observation.table_class is None:
        return entry
    state = OperationState.RUNNING if entry.begun else OperationState.DRAINING
    waits = entry.copy_with(state=state)
    return after_failure(waits, run, observation.table_class.spec.retry, now=now)


def _after(plan: Plan, *, now: datetime) -> Savepoints:
    """Return savepoints without a further run in this pass, and with the time of the retry."""
    moments = (parse_time(one.retry_at) for one in plan.savepoints)
    later = min((moment for moment in moments if moment is not None and moment > now), default=None)
    return Savepoints(entries=plan.savepoints, retry_at=later)
