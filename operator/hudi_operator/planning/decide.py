"""The decision: turns an observation of a table into actions, memory, and the time when time alone changes them.

Data flows through four stages once. Each has a package of its own, which imports only the stages before it.
"""

from datetime import datetime

from hudi_operator.planning.facts.gather import gather
from hudi_operator.planning.model import Observation
from hudi_operator.planning.needs.needs import assess_needs
from hudi_operator.planning.order.order import put_in_order
from hudi_operator.planning.outcome.conclude import conclude
from hudi_operator.planning.outcome.plan import Plan


def decide(observation: Observation, *, default_image: str, now: datetime) -> Plan:
    """Return the plan for one table; `default_image` is the Spark image of classes that name none."""
    facts = gather(observation, default_image=default_image, now=now)
    needs = assess_needs(facts)
    order = put_in_order(facts, needs)
    return conclude(facts, needs, order)
