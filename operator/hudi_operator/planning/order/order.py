"""The third stage of the decision: what starts, what stops, and what waits."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hudi_jobs.contract import Service
from hudi_operator.api.status.table import ActiveJob, ServicesStatus
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.facts.requests import answered_by, reset_all
from hudi_operator.planning.model import Action, LaunchJob
from hudi_operator.planning.model.decision import Decision
from hudi_operator.planning.needs.needs import Needs
from hudi_operator.planning.order.slots import Started, start
from hudi_operator.planning.order.stopping import stop_continuous
from hudi_operator.planning.order.turns import passed_over, turn_of
from hudi_operator.planning.order.waiting import Place, line_up


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
