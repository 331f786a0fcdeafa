"""The fourth stage of the decision: what is done, remembered and shown."""

from dataclasses import replace

from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.facts.runs.bad_rows import bad_rows_after
from hudi_operator.planning.facts.savepoints.scheduled import scheduled
from hudi_operator.planning.facts.writers.acts import acts_of
from hudi_operator.planning.needs.needs import Needs
from hudi_operator.planning.needs.rescan import rescan_after
from hudi_operator.planning.order.order import Order
from hudi_operator.planning.outcome.changes import changes_in
from hudi_operator.planning.outcome.explanation import explained
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.settled import settled_operations, settled_savepoints
from hudi_operator.planning.outcome.status.build import build_status


def conclude(facts: Facts, needs: Needs, order: Order) -> Plan:
    """Return what is carried out."""
    services = explained(facts, needs, order)
    savepoints = settled_savepoints(facts, order, services)
    asked = scheduled(facts.observation, savepoints, now=facts.now) if facts.blocker is None else ()
    plan = Plan(
        facts=facts,
        actions=(*facts.upkeep, *order.stops, *order.launches, *asked),
        services=services,
        foreign=facts.writers.foreign,
        verified_up_to=facts.writers.verified_up_to,
        active_jobs=order.active,
        left_by=facts.instants.left_behind,
        history=facts.history,
        finished=facts.finished,
        bad_rows=bad_rows_after(facts.table.status.bad_rows, facts.finished, order.active),
        acts=acts_of(facts.observation),
        answered=order.answered,
        rescan=rescan_after(facts.observation, facts.finished, order.launches),
        changes_in=changes_in(facts, order, services),
        owner=facts.ownership.remembered,
        takeover=facts.takeover.status,
        savepoints=savepoints,
        operations=settled_operations(facts, order, services),
    )
    return replace(plan, status=build_status(plan, now=facts.now))
