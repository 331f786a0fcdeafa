"""Why and how a continuous ingestion stops, and what follows the turn of its driver.

A driver never stops in vain: the service that it stops for starts next, and ingestion waits until that service has
started (`given_turn`), whatever happens while the driver stops.

To stop a driver, the operator deletes its Job. The driver finishes the current batch and exits, and the next driver
starts with the new declarations.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.status.runs import ActiveJob, LiveStatus
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.runs.continuous import DRAINING, driver_version, settings_of
from hudi_operator.planning.model import Action, JobObservation, JobPhase, Observation, StopJob
from hudi_operator.planning.model.healing import class_version_of
from hudi_operator.planning.model.reasons import RunTrouble, Waiting
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.needs.needs import Needs
from hudi_operator.planning.needs.rescan import unasked
from hudi_operator.planning.order.budget import held_by_budget
from hudi_operator.planning.order.slots import in_order, kept_apart, limit_reached, services_apart


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The due services that cannot run beside the driver, and the service that starts if the driver stops now.

    `following` is None if ingestion would start again before them all: they are passed over.
    """

    waiting: tuple[Service, ...] = ()
    following: Service | None = None


def turn_of(facts: Facts, needs: Needs) -> Turn:
    """Return the services that wait for a continuous driver to stop, and the service that would start after it.

    The running driver answers a request, and ingestion was passed over only before the driver's turn.
    """
    is_full = limit_reached(facts.observation, facts.active) is not None
    waiting = services_apart(facts, needs.decisions, quota_reached=is_full)
    if not waiting or needs.after_driver is None:
        return Turn()
    ingestion = facts.services.ingestion.copy_with(passed_over=0)
    services = facts.services.replaced({Service.INGESTION: ingestion})
    after = {**needs.decisions, Service.INGESTION: needs.after_driver}
    order = in_order(after, services, apart=kept_apart(facts.table.spec, facts.services))
    may_start = [one for one in waiting if held_by_budget(facts, one, needs.decisions[one]) is None]
    first = next((one for one in order if one in may_start or one is Service.INGESTION), None)
    return Turn(waiting=waiting, following=first if first in may_start else None)


def passed_over(services: ServicesStatus, skipped: tuple[Service, ...]) -> ServicesStatus:
    """Return the status of the services that were due when a driver began another turn."""
    return services.replaced(
        {one: services.of(one).copy_with(passed_over=services.of(one).passed_over + 1) for one in skipped}
    )


_MAY_STILL_END = frozenset({JobPhase.STARTING, JobPhase.SUSPENDED, JobPhase.RUNNING})
_ANYWAY = frozenset({Waiting.SUSPENDED.value, Waiting.OBSERVED.value, Waiting.BLOCKED.value})
"""Blockers that stop a driver even while the timeline cannot be read."""
_SOON_OVER = frozenset({Waiting.CHECKING_COMMITS.value})
"""Blockers that only keep the next run from starting: later reconciles clear them, or find a reason to stop the driver.
"""
_MESSAGE_LIMIT = 500


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """All active Jobs with the new state of stopping drivers, the actions that stop them, and the skipped services."""

    active: tuple[ActiveJob, ...]
    actions: tuple[Action, ...] = ()
    skipped: tuple[Service, ...] = ()
    """Services that were due at the end of a driver's turn, but did not stop it."""


def stop_continuous(facts: Facts, turn: Turn) -> Stopped:
    """Stop the continuous Jobs that make no progress, or that have to stop between two batches.

    A Job that stops for another reason is not stopped twice. `turn` says what follows when a driver's turn is over: the
    service that it stops for, or another turn.
    """
    observation, active, now = facts.observation, facts.active, facts.now
    blocker = facts.blocker or facts.refused.get(Service.INGESTION)
    given_up = {action.job.name for action in facts.upkeep if isinstance(action, StopJob)}
    actions: list[Action] = []
    after: list[ActiveJob] = []
    skipped: tuple[Service, ...] = ()
    for job in active:
        found = next((one for one in observation.jobs if one.name == job.name and one.uid == job.uid), None)
        if job.live is None or found is None or found.phase not in _MAY_STILL_END or job.name in given_up:
            after.append(job)
            continue
        why = next(
            chain(
                _stands_still(job.live, found, observation, now=now),
                _reasons(job, job.live, found, observation, image=facts.image, blocker=blocker),
                _turns(job.live, found, observation, turn, active=active, now=now),
            ),
            None,
        )
        after.append(_changed(job, job.live, why, now=now))
        if isinstance(why, _Another):
            skipped = turn.waiting
        elif why is not None:
            actions.append(StopJob(job=after[-1], uid=found.uid))
    return Stopped(active=tuple(after), actions=tuple(actions), skipped=skipped)


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """The state and sentence of a driver that stops, and the service that it stops for."""

    state: str
    message: str
    service: Service | None = None


@dataclass(frozen=True, kw_only=True)
class _Another:
    """The driver begins another turn."""


def _changed(job: ActiveJob, live: LiveStatus, why: _Ends | _Another | None, *, now: datetime) -> ActiveJob:
    if why is None:
        return job
    if isinstance(why, _Another):
        return job.copy_with(live=live.copy_with(turn_since=format_time(now)))
    live = live.copy_with(ends_for=why.service)
    return job.copy_with(state=why.state, message=why.message[:_MESSAGE_LIMIT], live=live)


def _stands_still(
    live: LiveStatus, found: JobObservation, observation: Observation, *, now: datetime
) -> Iterator[_Ends]:
    deadline = settings_of(observation.table).progress_deadline
    moved_at = parse_time(live.moved_at)
    if found.phase is not JobPhase.RUNNING or observation.snapshot.trouble is not None or moved_at is None:
        return
    if now - moved_at >= parse_duration(deadline):
        yield _Ends(
            state=RunTrouble.NO_PROGRESS.value,
            message=f"The driver has made no progress since {live.moved_at}, for as long as "
            f"ingestion.continuous.progressDeadline ({deadline}) allows, and was stopped. See the log of the driver.",
        )


def _reasons(
    job: ActiveJob,
    live: LiveStatus,
    found: JobObservation,
    observation: Observation,
    *,
    image: str,
    blocker: tuple[str, str] | None,
) -> Iterator[_Ends]:
    """Yield why a driver stops that runs with outdated declarations, or on a table where nothing may start."""
    table, known = observation.table, observation.table_class
    if job.generation not in {None, table.metadata.generation}:
        yield _draining("The spec has changed.")
    if (
        blocker is not None
        and blocker[0] not in _SOON_OVER
        and (observation.snapshot.trouble is None or blocker[0] in _ANYWAY)
    ):
        yield _draining(blocker[1])
    if known is not None and live.class_version not in {None, driver_version(observation)}:
        is_class = not (live.class_version or "").startswith(class_version_of(known))
        what = f"class {known.metadata.name}" if is_class else "claim on the catalog entry"
        yield _draining(f"The {what} has changed.")
    if known is not None and found.image != image:
        yield _draining(f"The Spark image has changed to {image}.")
    if unasked(table) is not None:
        yield _draining("A rescan was requested, which the next driver serves.")


def _draining(message: str, service: Service | None = None) -> _Ends:
    return _Ends(state=DRAINING, message=message, service=service)


def _turns(
    live: LiveStatus,
    found: JobObservation,
    observation: Observation,
    turn: Turn,
    *,
    active: Collection[ActiveJob],
    now: datetime,
) -> Iterator[_Ends | _Another]:
    """Yield what follows when a driver has had its turn and services wait for it.

    A turn is at least one batch, or one look at a source without new data. Otherwise a service that is due again and
    again, such as a failing service, would cancel each batch that takes longer. A service that the driver does beside
    its batches completes first. If ingestion would start again before all waiting services, the driver continues; the
    services are passed over once per turn, as they are when another driver starts.
    """
    since = parse_time(live.turn_since) or parse_time(live.running_since)
    interval = parse_duration(settings_of(observation.table).service_interval)
    if not turn.waiting or found.phase is not JobPhase.RUNNING or since is None or now - since < interval:
        return
    if live.instant is None and not live.batches and live.polled_at is None:
        return
    if any(job.inside == found.name for job in active):
        return  # its current work would be cancelled, and begun again from nothing
    if turn.following is None:
        yield _Another()
        return
    why = "gave way to writers again and again"
    if observation.table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED:
        why = "runs alone on a Serialized table"
    elif turn.following is Service.COMPACTION:
        why = "could leave keys only in log files, where the index does not look"
    yield _draining(f"{turn.following} is due, and {why}; ingestion continues after it.", turn.following)
