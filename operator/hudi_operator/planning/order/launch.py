"""Builds the Job of a due service."""

from hudi_jobs.contract import Service
from hudi_operator.api.status.runs import PENDING_REMEMBERED, ActiveJob, LiveStatus, LookStatus
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.jobs.names import job_name
from hudi_operator.jobs.sizing import resolve_sizing, size_of
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.runs.continuous import driver_version
from hudi_operator.planning.facts.runs.failures import attempts
from hudi_operator.planning.facts.runs.freshness import look_before
from hudi_operator.planning.model import LaunchJob
from hudi_operator.planning.model.decision import Decision
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.needs.needs import savepoint_step
from hudi_operator.timeline import State


def launch(facts: Facts, service: Service, decision: Decision, *, inside: str | None = None) -> LaunchJob:
    """Return the launch of a due run, under a name that no earlier decision has used.

    `inside` is the run of the driver that does the service.
    """
    table, memory, now = facts.table, facts.services.of(service), facts.now
    attempt = attempts(memory) + 1
    base_instant = facts.observation.snapshot.newest_completed
    requested = facts.requested if service is Service.INGESTION else None
    plan = dict(facts.observation.snapshot.plans).get(decision.instant or "")
    sizing = resolve_sizing(table.spec, facts.table_class, driver_memory=memory.driver_memory)
    last, step = memory.last_run, savepoint_step(facts, service, decision)
    named = facts.savepoints.following if service is Service.SAVEPOINT else None
    operation = facts.operations.following if service is Service.OPERATION else None
    abandoned, left = _abandoned(facts, operation)[:PENDING_REMEMBERED], facts.instants.left_behind
    decided = (
        table.metadata.generation,
        # An earlier Job of the same decision may be gone without a trace, while its executors are not.
        format_time(now),
        requested or format_time(decision.at or now),
        base_instant,
        decision.instant,
        decision.run_mode,
        sizing.driver.memory,
        attempt,
        *((named.work, named.instant, named.uid) if named is not None else ()),
        *((operation.kind, operation.instant, operation.uid) if operation is not None else ()),
        *((inside,) if inside else ()),
        # The cause of a run is gone once the run has ended, so that no later decision equals this decision.
        last.job if last else None,
        last.finished_at if last else None,
    )
    job = ActiveJob(
        name=job_name(
            table_name=table.metadata.name,
            table_uid=table.metadata.uid,
            service=service,
            decision=decided,
            taken={job.name for job in facts.observation.jobs},
        ),
        service=service,
        attempt=attempt,
        started_at=format_time(now),
        generation=table.metadata.generation,
        circumstances=facts.circumstances,
        base_instant=base_instant,
        instant=decision.instant if decision.run_mode is not None else None,
        run_mode=decision.run_mode,
        pending=tuple(one.time for one in facts.instants.all)[:PENDING_REMEMBERED],
        abandoned=abandoned,
        left_behind=tuple(one.time for one in left if one.time in abandoned) or None,
        dead=tuple(one.time for one in left if one.time in abandoned and one.dead) or None,
        savepoint=step,
        taken_over_at=facts.takeover.status.since if facts.takeover.status and step else None,
        named_savepoint=named,
        operation=operation,
        plan_bytes=plan.bytes if plan else None,
        plan_groups=plan.groups if plan else None,
        driver_memory=sizing.driver.memory,
        inside=inside,
        look=_look(facts, service),
        live=_live(facts, service),
    )
    job = job.copy_with(cores=size_of(job, table.spec, facts.table_class).requested_cores)
    return LaunchJob(job=job, due_at=parse_time(memory.due_since) or min(decision.at or now, now))


def _abandoned(facts: Facts, operation: NamedOperationJob | None) -> tuple[str, ...]:
    """Return the pending instants that a run may end.

    An operation that runs a service once also finishes plans of the service that nobody has begun, whoever made them.
    """
    if operation is None or operation.service is None:
        return facts.instants.abandoned(facts.active)
    plans = facts.instants.of(Service(operation.service.service.value))
    waiting = (one.time for one in plans if one.state == State.REQUESTED.value)
    return tuple(sorted({*facts.instants.abandoned(facts.active), *waiting}))


def _look(facts: Facts, service: Service) -> LookStatus | None:
    """Return the source before an ingestion that is scheduled; None for every other run."""
    if service is not Service.INGESTION or facts.table.spec.continues:
        return None
    return look_before(facts.table, facts.observation.look, facts.circumstances)


def _live(facts: Facts, service: Service) -> LiveStatus | None:
    """Return the memory of a continuous ingestion from its decision on; None for every other run."""
    ingestion, version = facts.table.spec.ingestion, driver_version(facts.observation)
    if service is not Service.INGESTION or ingestion is None or not ingestion.continues or version is None:
        return None
    return LiveStatus(class_version=version)
