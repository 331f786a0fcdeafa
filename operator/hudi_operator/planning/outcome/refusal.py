"""What follows when the Kubernetes API refuses to create a Job: the stages are passed once more, and nothing starts."""

from dataclasses import replace
from datetime import datetime

from hudi_operator.api.status.operation import OperationState
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import HISTORY_LENGTH, ActiveJob, ServicesStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_savepoints import TableSavepoint
from hudi_operator.planning.facts.blocking import blocker_of
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.facts.operations.assess import Operations
from hudi_operator.planning.facts.operations.ended import after_failure
from hudi_operator.planning.facts.runs.failures import next_attempt_at
from hudi_operator.planning.facts.runs.memory import remember_runs
from hudi_operator.planning.facts.runs.outcomes import refused_run
from hudi_operator.planning.facts.savepoints.assess import Savepoints
from hudi_operator.planning.facts.writers.instants import instants_of
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.needs.needs import assess_needs
from hudi_operator.planning.order.order import start_nothing
from hudi_operator.planning.outcome.explanation import explained
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.build import build_status


def refused(plan: Plan, job: ActiveJob, *, message: str, now: datetime) -> Plan:
    """Return the plan with the refused Job counted as a failed run, so that status shows it and the retry backs off."""
    run = refused_run(job, message=message, now=now)
    facts = _after(plan, job, run, now=now)
    after = replace(
        plan,
        facts=facts,
        actions=(),
        services=_explained_again(plan, facts, run),
        active_jobs=facts.active,
        history=facts.history,
        finished=facts.finished,
        savepoints=facts.savepoints.entries,
        operations=facts.operations.entries,
    )
    return replace(after, status=build_status(after, now=now))


def _after(plan: Plan, job: ActiveJob, run: RunStatus, *, now: datetime) -> Facts:
    """Return the facts after a Job was refused: no run for a HudiSavepoint follows in this pass."""
    before, active = plan.facts, tuple(other for other in plan.active_jobs if other.name != job.name)
    savepoints = tuple(_failed(one, job, run, before, now=now) for one in plan.savepoints)
    operations = tuple(_not_begun(one, job, run, before, now=now) for one in plan.operations)
    moments = (parse_time(one.retry_at) for one in savepoints)
    later = min((moment for moment in moments if moment is not None and moment > now), default=None)
    facts = replace(
        before,
        now=now,
        active=active,
        finished=(*plan.finished, run),
        history=(run, *plan.history)[:HISTORY_LENGTH],
        services=plan.services,
        # The request of the refused run counts as answered: the next attempt waits like any other.
        requested=None if plan.answered else before.requested,
        savepoints=Savepoints(entries=savepoints, retry_at=later),
        operations=Operations(entries=operations, maintenance=plan.facts.operations.maintenance),
    )
    if facts.is_hidden:
        return facts
    left = facts.instants.left_behind
    instants = instants_of(facts.observation, facts.table_class, active=active, left_behind=left, now=now)
    facts = replace(facts, instants=instants)
    return replace(facts, blocker=blocker_of(facts, plan.facts.operations.maintenance))


def _explained_again(plan: Plan, facts: Facts, run: RunStatus) -> ServicesStatus:
    if run.service is None:
        return plan.services  # counts for no service
    table_class = facts.observation.table_class.spec if facts.observation.table_class else None
    memory = remember_runs(
        plan.services.of(run.service),
        (run,),
        table=facts.table,
        table_class=table_class,
        circumstances=plan.facts.circumstances,
    )
    facts = replace(facts, services=plan.services.replaced({run.service: memory}))
    needs = assess_needs(facts)
    return explained(facts, needs, start_nothing(facts, needs))


def _failed(entry: TableSavepoint, job: ActiveJob, run: RunStatus, facts: Facts, *, now: datetime) -> TableSavepoint:
    """Return the memory of a savepoint after its Job was refused: the next attempt waits."""
    if job.named_savepoint is None or entry.uid != job.named_savepoint.uid or facts.is_hidden:
        return entry
    count = entry.failures + 1
    return entry.copy_with(
        failures=count,
        retry_at=format_time(next_attempt_at(run, count, facts.table_class.retry, now=now)),
        reason=SavepointReason.WAITING,
        message="Its Job was refused.",
    )


def _not_begun(entry: TableOperation, job: ActiveJob, run: RunStatus, facts: Facts, *, now: datetime) -> TableOperation:
    """Return the memory of an operation after its Job was refused: the next attempt waits, as after a failure."""
    if job.operation is None or entry.uid != job.operation.uid or facts.is_hidden:
        return entry
    state = OperationState.RUNNING if entry.begun else OperationState.DRAINING
    waits = entry.copy_with(state=state)
    return after_failure(waits, run, facts.table_class.retry, now=now)
