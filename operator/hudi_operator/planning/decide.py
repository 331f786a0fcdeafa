"""The decision: turns an observation of a table into actions, memory, and the time when time alone changes them.

A serialized table has at most one Job, whatever its service. Earlier decisions come first; then pending instants,
requests, ingestion, and the table services, in the order of `docs/architecture.md`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from hudi_jobs.contract import Difference, Outcome, Service
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.left import PendingStatus
from hudi_operator.api.status.table import HISTORY_LENGTH, RunStatus, ServicesStatus
from hudi_operator.api.status.takeover import TakeoverStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.blocking import (
    Seen,
    ServiceBlocker,
    blocked_message,
    operation_held,
    refused_services,
    table_blocker,
    under_maintenance,
    waits_for_heartbeat,
    waits_for_stranger,
)
from hudi_operator.planning.facts.case import Case, make_case
from hudi_operator.planning.facts.drift import drift_of
from hudi_operator.planning.facts.operations.aftermath import has_changed_history, services_after, takeover_after
from hudi_operator.planning.facts.operations.assess import Operations
from hudi_operator.planning.facts.operations.assess import assess as assess_operations
from hudi_operator.planning.facts.operations.assess import settled as settled_operations
from hudi_operator.planning.facts.operations.held import Held
from hudi_operator.planning.facts.requests import after_request, answered_by, open_request, reset_all
from hudi_operator.planning.facts.runs.memory import remember
from hudi_operator.planning.facts.runs.tracking import Tracked, track
from hudi_operator.planning.facts.runs.windows import known_runs, windows_of
from hudi_operator.planning.facts.savepoints.assess import assess
from hudi_operator.planning.facts.savepoints.scheduled import schedule_changes_at, scheduled
from hudi_operator.planning.facts.writers.acts import mark_undone
from hudi_operator.planning.facts.writers.foreign import Writers, check_writers
from hudi_operator.planning.facts.writers.leftover import left_behind
from hudi_operator.planning.facts.writers.ownership import Ownership, check_ownership, own_record
from hudi_operator.planning.facts.writers.pending import overdue
from hudi_operator.planning.facts.writers.takeover import (
    Takeover,
    check_takeover,
    hidden,
)
from hudi_operator.planning.model import Observation, Plan
from hudi_operator.planning.model.circumstances import circumstances_of
from hudi_operator.planning.model.decision import Decision, Reason, concealed, seconds_until
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.needs.evaluation import evaluate_all
from hudi_operator.planning.needs.kinds.savepoint import savepoints_change_at, settled
from hudi_operator.planning.needs.missed_freshness import freshness_changes_at
from hudi_operator.planning.needs.rescan import rescan_after
from hudi_operator.planning.order.protection import reported_by_runs, with_removal
from hudi_operator.planning.order.slots import Started, explained, limit_reached, start
from hudi_operator.planning.order.stopping import stop_continuous
from hudi_operator.planning.order.turns import Turn, passed_over, turn_of
from hudi_operator.services.registry import SERVICES

_END_BY_THEMSELVES = frozenset({Reason.WAITING_FOR_OTHER.value, Reason.WAITING_FOR_HEARTBEAT.value})
"""Blockers with a time: services that become due meanwhile say what they wait for."""


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The facts of a table before the decision: its owner and history, its blockers, and the case of its services."""

    case: Case
    history: tuple[RunStatus, ...]
    takeover: Takeover
    ownership: Ownership
    writers: Writers
    drift: tuple[Difference, ...]
    blocker: ServiceBlocker | None


def decide(observation: Observation, *, default_image: str, now: datetime) -> Plan:
    """Return the plan for a table; `default_image` is the Spark image of classes without an image."""
    image = spark_image(observation.table_class, default_image)
    circumstances = circumstances_of(observation.table_class, image=image)
    tracked = track(observation, desired_image=image, now=now)
    services = remember(observation, tracked.finished, circumstances=circumstances, active=tracked.active, now=now)
    if observation.table_class is None or observation.is_hidden:
        return _hidden(observation, tracked, services, image=image, now=now)
    spec = observation.table_class.spec
    found = _find(observation, spec, tracked, services, circumstances=circumstances, now=now)
    case, blocker = found.case, found.blocker
    decisions = with_removal(case, evaluate_all(case))
    full = limit_reached(observation, case.active) is not None
    stopped = stop_continuous(
        case.active,
        observation,
        image=image,
        blocker=blocker or case.refused.get(Service.INGESTION),
        turn=turn_of(case, decisions, quota_reached=full),
        now=now,
        already=tracked.actions,
    )
    case = replace(case, active=stopped.active, services=passed_over(case.services, stopped.skipped))
    started = start(case, decisions, blocker)
    answered = answered_by(observation.table, started.launches, active=stopped.active)
    if answered is not None:
        case = replace(case, services=reset_all(case.services))
        decisions = with_removal(case, evaluate_all(case))
    plan = _plan(replace(found, case=case), decisions, started, tracked, now=now)
    asked = scheduled(observation, plan.savepoints, now=now) if blocker is None else ()
    return replace(plan, actions=(*tracked.actions, *stopped.actions, *started.launches, *asked), answered=answered)


def _find(
    observation: Observation,
    table_class: HudiTableClassSpec,
    tracked: Tracked,
    services: ServicesStatus,
    *,
    circumstances: str | None,
    now: datetime,
) -> _Found:
    """Return the facts of a table that may be read."""
    history = _history(observation.table.status.history, tracked.finished)
    jobs = observation.table.status.active_jobs
    services, history = mark_undone(services, history, observation.snapshot, active=jobs)
    runs = known_runs(services, (*tracked.finished, *history))
    takeover = check_takeover(observation, table_class.takeover, runs=runs, active=tracked.active, now=now)
    ownership = check_ownership(observation, runs=runs, active=tracked.active)
    writers = check_writers(
        observation,
        runs=runs,
        windows=windows_of(runs, tracked.active),
        active=tracked.active,
        owned_elsewhere=ownership.elsewhere is not None,
        is_watched=takeover.waits is not None,
    )
    case = _case(
        observation, table_class, tracked, services, takeover=takeover.status, circumstances=circumstances, now=now
    )
    drift = drift_of(observation)
    seen = Seen(observation=observation, writers=writers, drift=drift, owned_elsewhere=ownership.elsewhere)
    quiet, stranger = _not_quiet(takeover), waits_for_stranger(case)
    held = operation_held(seen, quiet, stranger, waits_for_heartbeat(case))
    operations = assess_operations(observation, active=tracked.active, finished=tracked.finished, held=held, now=now)
    return _Found(
        case=replace(_with_operations(case, operations), refused=refused_services(drift, observation.table.spec)),
        history=history,
        takeover=takeover,
        ownership=ownership,
        writers=writers,
        drift=drift,
        blocker=under_maintenance(operations.maintenance) or table_blocker(seen) or quiet or stranger,
    )


def _with_operations(case: Case, operations: Operations) -> Case:
    """Return the case with the operations, and without the memory that the ended operations made invalid."""
    case = replace(case, operations=operations)
    if not has_changed_history(case.table.status, operations.entries):
        return case
    return replace(
        case, services=services_after(case.services), takeover=takeover_after(case.takeover, case.observation)
    )


def _case(
    observation: Observation,
    table_class: HudiTableClassSpec,
    tracked: Tracked,
    services: ServicesStatus,
    *,
    takeover: TakeoverStatus | None,
    circumstances: str | None,
    now: datetime,
) -> Case:
    asked, active = after_request(observation.table, services), tracked.active
    reported = reported_by_runs(takeover, observation, tracked.finished, now=now)
    savepoints = assess(
        observation, active=active, finished=tracked.finished, services=asked, takeover=reported, now=now
    )
    return make_case(
        observation,
        table_class=table_class,
        services=asked,
        active=active,
        left_behind=left_behind(observation, tracked.finished, now=now),
        requested=open_request(observation.table),
        circumstances=circumstances,
        now=now,
        takeover=reported,
        savepoints=savepoints,
    )


def _plan(
    found: _Found, decisions: Mapping[Service, Decision], started: Started, tracked: Tracked, *, now: datetime
) -> Plan:
    """Return the plan with the memory and the status; the caller adds the actions and the answered request."""
    case, blocker, observation = found.case, found.blocker, found.case.observation
    services = explained(case, decisions, started, blocker)
    late, alarm_at = _overdue(case)
    moments = (
        alarm_at,
        freshness_changes_at(observation.table.spec, services.ingestion, now=now),
        tracked.late_at,
        found.takeover.until,
        savepoints_change_at(observation, now=now),
        case.operations.at,
        schedule_changes_at(observation, now=now) if blocker is None else None,
    )
    # A service that waits for an operation waits for its turn, as for any other run.
    why = blocker[1] if blocker is not None and case.operations.maintenance is None else None
    return Plan(
        services=services,
        drift=found.drift,
        foreign=found.writers.foreign,
        unknown=found.writers.unknown,
        verified_up_to=found.writers.verified_up_to,
        overdue=late,
        active_jobs=started.active,
        left_by=case.left_behind,
        history=found.history,
        finished=tracked.finished,
        rescan=rescan_after(observation, tracked.finished, started.launches),
        circumstances=case.circumstances,
        changes_in=_changes_in(decisions, started, blocker, moments, now=now),
        owned_elsewhere=found.ownership.elsewhere,
        owner=found.ownership.remembered,
        takeover=case.takeover,
        savepoints=settled(case.savepoints, observation, services, launches=started.launches, blocked=why, now=now),
        operations=settled_operations(case.operations, services, launches=started.launches, now=now),
        maintenance=case.operations.maintenance,
        waits_for_quiet=found.takeover.waits,
    )


def _hidden(observation: Observation, tracked: Tracked, services: ServicesStatus, *, image: str, now: datetime) -> Plan:
    """Return the plan for a hidden table: its Jobs continue, and its folder is not shown.

    A continuous ingestion ends, because it would continue for long.
    """
    message = blocked_message(observation)
    blocker = (Waiting.BLOCKED.value, message)
    stopped = stop_continuous(
        tracked.active, observation, image=image, blocker=blocker, turn=Turn(), now=now, already=tracked.actions
    )
    blocked = {
        service: concealed(services.of(service), reason=Waiting.BLOCKED, message=message) for service in SERVICES
    }
    operations = assess_operations(
        observation, active=tracked.active, finished=tracked.finished, held=Held(before=message, begun=message), now=now
    )
    savepoints = assess(
        observation,
        active=stopped.active,
        finished=tracked.finished,
        services=services,
        takeover=observation.table.status.takeover,
        now=now,
    )
    return Plan(
        actions=(*tracked.actions, *stopped.actions),
        services=services.replaced(blocked),
        savepoints=settled(savepoints, observation, services, blocked=message, now=now),
        operations=operations.entries,
        maintenance=operations.maintenance,
        active_jobs=stopped.active,
        left_by=left_behind(observation, tracked.finished, now=now),
        history=_history(observation.table.status.history, tracked.finished),
        finished=tracked.finished,
        answered=answered_by(observation.table, ()),
        rescan=rescan_after(observation, tracked.finished, ()),
        owner=own_record(observation.table),
        takeover=hidden(observation.table.status.takeover),
    )


def _not_quiet(takeover: Takeover) -> ServiceBlocker | None:
    return None if takeover.waits is None else (Waiting.WAITING_FOR_QUIET, takeover.waits)


def spark_image(table_class: HudiTableClass | None, default_image: str) -> str:
    """Return the image that runs of this table use."""
    return (table_class.spec.spark_image if table_class else None) or default_image


def _overdue(case: Case) -> tuple[tuple[PendingStatus, ...], datetime | None]:
    """Return the overdue instants, and when another instant becomes overdue or may be handled."""
    alarm = parse_duration(case.table_class.pending_instant_alarm)
    late, following = overdue(case.all_pending, alarm=alarm, now=case.now)
    moments = [following, *(parse_time(one.left_alone_until) for one in case.all_pending)]
    return late, min((moment for moment in moments if moment is not None and moment > case.now), default=None)


def _changes_in(
    decisions: Mapping[Service, Decision],
    started: Started,
    blocker: ServiceBlocker | None,
    known: Iterable[datetime | None],
    *,
    now: datetime,
) -> float | None:
    """Return the seconds until time alone may change something; `known` are moments beside those of the services."""
    moments = list(known)
    if not started.active and (blocker is None or blocker[0] in _END_BY_THEMSELVES):
        moments += [decision.at for decision in decisions.values() if not decision.due]
    return min((wait for moment in moments if (wait := seconds_until(moment, now=now)) is not None), default=None)


def _history(previous: tuple[RunStatus, ...], finished: tuple[RunStatus, ...]) -> tuple[RunStatus, ...]:
    fresh = tuple(run for run in reversed(finished) if run.affected or run.outcome is not Outcome.NOTHING_TO_DO)
    return (fresh + previous)[:HISTORY_LENGTH]
