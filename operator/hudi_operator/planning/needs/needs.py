"""The second stage of the decision: what is due, and why not."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hudi_jobs.contract import Service
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.facts.requests import reset_all
from hudi_operator.planning.model.decision import Decision, Surroundings
from hudi_operator.planning.needs.evaluation import evaluate, evaluate_all, surroundings
from hudi_operator.planning.needs.protection import with_removal
from hudi_operator.services.registry import SERVICES


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Whether each service needs a run; nothing for a table that may not be read.

    `once_answered` is the same with all failures forgotten: it holds if the request for a run is answered now.
    `after_driver` is the need of ingestion once the continuous driver that runs has stopped.
    """

    decisions: Mapping[Service, Decision] = field(default_factory=dict)
    once_answered: Mapping[Service, Decision] = field(default_factory=dict)
    after_driver: Decision | None = None
    surroundings: Mapping[Service, Surroundings] = field(default_factory=dict)


def assess_needs(facts: Facts) -> Needs:
    """Return what is due by the facts."""
    if facts.is_hidden:
        return Needs()
    decisions = _decisions(facts)
    is_requested = facts.requested is not None
    return Needs(
        decisions=decisions,
        once_answered=_decisions(replace(facts, services=reset_all(facts.services))) if is_requested else decisions,
        after_driver=_after_driver(facts),
        surroundings={service: surroundings(facts, service) for service in SERVICES},
    )


def _decisions(facts: Facts) -> Mapping[Service, Decision]:
    return with_removal(facts, evaluate_all(facts))


def _after_driver(facts: Facts) -> Decision | None:
    """Return whether ingestion is due once the continuous driver has stopped, which answers a request before."""
    others = tuple(job for job in facts.active if job.live is None)
    if len(others) == len(facts.active):
        return None
    return evaluate(replace(facts, active=others, requested=None), Service.INGESTION)
