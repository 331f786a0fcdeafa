"""The third stage of the decision: what starts, what stops, and what each other service waits for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from hudi_jobs.contract import Service
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.service_status import ServicesStatus, ServiceStatus
from hudi_operator.planning.facts.blocking import ServiceBlocker
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.runs.failures import reset_failures
from hudi_operator.planning.facts.runs.memory import answered_by, reset_all
from hudi_operator.planning.model import Action, LaunchJob
from hudi_operator.planning.model.decision import Decision, Reason
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.needs.evaluation import misses_freshness
from hudi_operator.planning.needs.needs import Needs
from hudi_operator.planning.order.budget import PATIENCE
from hudi_operator.planning.order.slots import Started, blocked, start, waits_for, waits_for_place
from hudi_operator.planning.order.stopping import passed_over, stop_continuous, turn_of


@dataclass(frozen=True, kw_only=True)
class Place:
    """The place of a service among the others: what is remembered of it, and what it waits for if it is due."""

    memory: ServiceStatus
    waits: ServiceBlocker | None = None


def line_up(facts: Facts, decisions: Mapping[Service, Decision], started: Started) -> dict[Service, Place]:
    """Return the place of each service."""
    launched = {launch.job.service for launch in started.launches}
    return {service: _place(facts, service, decision, started, launched) for service, decision in decisions.items()}


def _place(
    facts: Facts, service: Service, decision: Decision, started: Started, launched: Collection[Service | None]
) -> Place:
    memory = facts.services.of(service)
    if _is_due_no_more(facts, service, decision):
        memory = reset_failures(memory)  # another writer has already done what failed
    passed_over = _passed_over(facts, service, decision, launched)
    memory = memory.copy_with(passed_over=passed_over)
    if service in launched:
        return Place(memory=memory)
    waits = waits_for(facts, service, decision, started.active, blocked(facts, service))
    is_free = facts.blocker is None and passed_over > 0
    if waits is not None and is_free and _ingestion_goes_first(facts, service, started):
        waits = _behind_ingestion(waits, passed_over)
    return Place(memory=memory, waits=waits)


def _is_due_no_more(facts: Facts, service: Service, decision: Decision) -> bool:
    """Whether the failed work is no longer needed; while the service runs, its own plan may hide the need."""
    if decision.reason is Reason.NOT_REQUESTED:
        if service is Service.OPERATION:
            return facts.operations.maintenance is None
        return not any(one.failures for one in facts.savepoints.entries)
    return decision.reason is Reason.BELOW_THRESHOLD and not any(job.service is service for job in facts.active)


def _ingestion_goes_first(facts: Facts, service: Service, started: Started) -> bool:
    """Whether a table service waits because the ingestion of a table that misses its freshness runs."""
    runs = any(job.service is Service.INGESTION for job in started.active)
    is_missed = misses_freshness(facts.table.spec, facts.services.ingestion, now=facts.now)
    return service is not Service.INGESTION and runs and is_missed


def _behind_ingestion(waits: ServiceBlocker, passed_over: int) -> ServiceBlocker:
    reason, message = waits
    times = "once" if passed_over == 1 else f"{passed_over} times"
    why = (
        "Ingestion goes first, because the table misses its freshness: this service was skipped "
        f"{times} and goes first after {PATIENCE}."
    )
    return Waiting.INGESTION_FIRST if reason == Waiting.RUNNING else reason, f"{message} {why}"


def _passed_over(facts: Facts, service: Service, decision: Decision, launched: Collection[Service | None]) -> int:
    """Return how often other services started while this service was due and could have started."""
    before = facts.services.of(service).passed_over
    if service in launched:
        return 0
    if not decision.due:
        return before if facts.active else 0  # a running Job may hide the need
    # A service that its budget holds could start: it is passed over like any other.
    could_start = waits_for_place(facts, service, decision, facts.active) is None
    return before + 1 if launched and could_start else before


@dataclass(frozen=True, kw_only=True)
class Order:
    """What starts and stops now; `active` are all Jobs after that, and `places` says what each service waits for.

    `answered` is the request for a run that is answered. `services` is what is remembered, and `decisions` the needs,
    after that.
    """

    active: tuple[ActiveJob, ...]
    services: ServicesStatus
    launches: tuple[LaunchJob, ...] = ()
    stops: tuple[Action, ...] = ()
    answered: str | None = None
    decisions: Mapping[Service, Decision] = field(default_factory=dict)
    places: Mapping[Service, Place] = field(default_factory=dict)


def put_in_order(facts: Facts, needs: Needs) -> Order:
    """Return what starts, what stops for it, and what the other services wait for."""
    stopped = stop_continuous(facts, turn_of(facts, needs))
    if facts.is_hidden:
        # Its Jobs continue, but a continuous ingestion would continue for long.
        answered = answered_by(facts.table, ())
        return Order(active=stopped.active, services=facts.services, stops=stopped.actions, answered=answered)
    facts = replace(facts, active=stopped.active, services=passed_over(facts.services, stopped.skipped))
    started = start(facts, needs.decisions)
    answered, decisions = answered_by(facts.table, started.launches, active=stopped.active), needs.decisions
    if answered is not None:
        facts, decisions = replace(facts, services=reset_all(facts.services)), needs.once_answered
    return Order(
        active=started.active,
        services=facts.services,
        launches=started.launches,
        stops=stopped.actions,
        answered=answered,
        decisions=decisions,
        places=line_up(facts, decisions, started),
    )


def start_nothing(facts: Facts, needs: Needs) -> Order:
    """Return what all services wait for where nothing starts or stops."""
    places = line_up(facts, needs.decisions, Started(active=facts.active))
    return Order(active=facts.active, services=facts.services, decisions=needs.decisions, places=places)
