"""Turns the plan of an existing table into the step that carries it out, and follows up a refused Job."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.savepoints import TableSavepoint
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_status import HISTORY_LENGTH, HudiTableStatus
from hudi_operator.planning.facts.blocking import blocker_of
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.operations.assess_operations import Operations
from hudi_operator.planning.facts.operations.ended import after_failure
from hudi_operator.planning.facts.runs.failures import bad_rows, next_attempt_at
from hudi_operator.planning.facts.runs.memory import remember_runs
from hudi_operator.planning.facts.runs.outcomes import refused_run
from hudi_operator.planning.facts.savepoints.assess_savepoints import Savepoints
from hudi_operator.planning.facts.writers.pending import instants_of
from hudi_operator.planning.model import JobPhase
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.needs.needs import assess_needs
from hudi_operator.planning.order.order import start_nothing
from hudi_operator.planning.order.slots import QUOTAS_REACHED
from hudi_operator.planning.outcome.explanation import explained
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.build import build_status
from hudi_operator.planning.outcome.status.conditions import freshness_figures
from hudi_operator.planning.outcome.status.failed_logs import failed_logs
from hudi_operator.planning.outcome.status.step import Step
from hudi_operator.planning.outcome.status.transitions import operations_ended, transitions


def with_logs(plan: Plan, logs: Mapping[str, str]) -> Plan:
    """Return the plan with the logs of failed runs, by name, in its status."""
    facts = replace(plan.facts, observation=replace(plan.observation, logs=logs))
    after = replace(plan, facts=facts)
    return replace(after, status=plan.status.copy_with(failed_logs=failed_logs(after, now=facts.now)))


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
