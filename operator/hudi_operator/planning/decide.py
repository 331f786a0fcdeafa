"""The decision: from one look at a table to what is done now, what is remembered, and when to look again.

A serialized table has at most one Job. What was decided earlier comes first; a new Job is only decided when none is
left. The other table services find their place in the order of `docs/architecture.md`, after ingestion.
"""

from collections.abc import Iterator
from datetime import datetime

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION, HudiTable
from hudi_operator.api.table_class import ConcurrencyLimits
from hudi_operator.api.table_spec import ManagementPolicy
from hudi_operator.api.table_status import HISTORY_LENGTH, ActiveJob, RunStatus, ServiceStatus
from hudi_operator.jobs.names import job_name
from hudi_operator.jobs.sizing import resolve_sizing
from hudi_operator.planning.ingestion import EXPLANATION_LIMIT, Dueness, explain, judge, remember_runs, seconds_until
from hudi_operator.planning.model import Action, LaunchJob, Observation, Plan
from hudi_operator.planning.times import format_time
from hudi_operator.planning.tracking import Tracked, track

ACTIVE_JOB_LOOK_SECONDS = 10.0
"""Jobs and pods announce themselves; this only bounds how late a missed announcement is noticed."""


def decide(observation: Observation, *, default_image: str, poll_seconds: float, now: datetime) -> Plan:
    """Return the plan for one table; `default_image` is the Spark image of classes that name none."""
    table = observation.table
    table_class = observation.table_class.spec if observation.table_class else None
    tracked = track(observation, desired_image=spark_image(observation, default_image), now=now)
    memory = remember_runs(table.status.services.ingestion, tracked.finished, table=table, table_class=table_class)
    memory = _learn_from_looks(memory, observation, tracked)
    history = _history(table.status.history, tracked.finished)
    if table_class is None:
        message = _blocked(observation)[:EXPLANATION_LIMIT]
        explained = memory.model_copy(update={"due": False, "reason": "Blocked", "message": message})
        return Plan(
            actions=tracked.actions,
            ingestion=explained,
            active_jobs=tracked.active,
            history=history,
            finished=tracked.finished,
            answered=_answered(table, launched=False),
            next_look=poll_seconds,
        )
    dueness = judge(memory, table=table, table_class=table_class, requested=open_request(table), now=now)
    hindrance = _hindrance(observation, tracked)
    launch = _launch(observation, dueness, memory=memory, now=now) if dueness.due and hindrance is None else None
    actions: tuple[Action, ...] = tracked.actions + ((launch,) if launch else ())
    active = tracked.active + ((launch.job,) if launch else ())
    return Plan(
        actions=actions,
        ingestion=explain(memory, dueness, hindrance=hindrance),
        active_jobs=active,
        history=history,
        finished=tracked.finished,
        answered=_answered(table, launched=launch is not None),
        next_look=_next_look(dueness, active=bool(active), hindrance=hindrance, poll=poll_seconds, now=now),
    )


def spark_image(observation: Observation, default_image: str) -> str:
    """Return the image that runs of this table use."""
    table_class = observation.table_class
    return (table_class.spec.spark_image if table_class else None) or default_image


def open_request(table: HudiTable) -> str | None:
    """Return the value of the requestedAt annotation if it has not been answered."""
    requested = table.metadata.annotations.get(REQUESTED_AT_ANNOTATION)
    return requested[:128] if requested and requested[:128] != table.status.last_handled_reconcile_at else None


def _answered(table: HudiTable, *, launched: bool) -> str | None:
    """Answer a request when its run is launched, or at once when there is nothing that could run."""
    return open_request(table) if launched or table.spec.ingestion is None else None


def _learn_from_looks(memory: ServiceStatus, observation: Observation, tracked: Tracked) -> ServiceStatus:
    changes: dict[str, object] = {}
    if observation.look.trouble is None:
        changes["checkpoint"] = observation.look.checkpoint
    for run in tracked.finished:
        job = next((job for job in observation.jobs if job.name == run.job), None)
        results = job.outcome.results if job and job.outcome else ()
        if run.outcome is not Outcome.FAILED:
            changes["more_input"] = bool(results and results[0].more_input)
    return memory.model_copy(update=changes)


def _hindrance(observation: Observation, tracked: Tracked) -> tuple[str, str] | None:
    """Return why nothing new may be started now, as a word and a sentence."""
    return next(_hindrances(observation, tracked), None)


def _hindrances(observation: Observation, tracked: Tracked) -> Iterator[tuple[str, str]]:
    spec, table_class = observation.table.spec, observation.table_class
    if tracked.active:
        job = tracked.active[0]
        yield "Running", f"Job {job.name}: {job.state}."
    if spec.suspend:
        yield "Suspended", "The table is suspended: no new job starts until spec.suspend is false."
    if spec.management_policy is ManagementPolicy.OBSERVE:
        yield "Observed", "The table is only observed: no job starts while spec.managementPolicy is Observe."
    if observation.obstacles:
        yield "Blocked", _blocked(observation)
    if observation.look.trouble is not None:
        yield observation.look.trouble.value, observation.look.message
    limits = table_class.spec.concurrency if table_class else ConcurrencyLimits()
    if _reached(observation.running_in_class, limits.running_jobs):
        yield "ClassLimitReached", f"The class runs {observation.running_in_class} jobs, as many as it allows."
    if _reached(observation.running_in_namespace, limits.running_jobs_per_namespace):
        yield (
            "NamespaceLimitReached",
            f"The namespace runs {observation.running_in_namespace} jobs, as many as allowed.",
        )


def _reached(running: int, limit: int | None) -> bool:
    return limit is not None and running >= limit


def _blocked(observation: Observation) -> str:
    return observation.obstacles[0].message if observation.obstacles else "The table's class is not known."


def _launch(observation: Observation, dueness: Dueness, *, memory: ServiceStatus, now: datetime) -> LaunchJob | None:
    table, table_class = observation.table, observation.table_class
    if table_class is None:
        return None
    timeline = observation.look.timeline
    latest = timeline.counters.latest_completed if timeline else None
    attempt = memory.failures + 1
    base_instant = latest.time if latest else None
    name = job_name(
        table_name=table.metadata.name,
        table_uid=table.metadata.uid,
        service=Service.INGESTION,
        scheduled_for=open_request(table) or format_time(dueness.at or now),
        base_instant=base_instant,
        attempt=attempt,
    )
    sizing = resolve_sizing(table.spec, table_class.spec, driver_memory=memory.driver_memory)
    job = ActiveJob(
        name=name,
        service=Service.INGESTION,
        attempt=attempt,
        started_at=format_time(now),
        generation=table.metadata.generation,
        base_instant=base_instant,
        driver_memory=sizing.driver.memory,
    )
    return LaunchJob(job=job)


def _next_look(
    dueness: Dueness, *, active: bool, hindrance: tuple[str, str] | None, poll: float, now: datetime
) -> float:
    if active:
        return min(ACTIVE_JOB_LOOK_SECONDS, poll)
    wait = seconds_until(dueness.at, now=now)
    return poll if wait is None or hindrance is not None else min(poll, wait)


def _history(previous: tuple[RunStatus, ...], finished: tuple[RunStatus, ...]) -> tuple[RunStatus, ...]:
    fresh = tuple(run for run in reversed(finished) if run.outcome is not Outcome.NOTHING_TO_DO)
    return (fresh + previous)[:HISTORY_LENGTH]
