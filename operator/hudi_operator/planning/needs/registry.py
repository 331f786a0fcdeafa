"""How each table service is evaluated; every field is required, so that mypy finds an incomplete service."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from hudi_jobs.contract import Service
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.planning.model.decision import Decision
from hudi_operator.planning.needs.kinds import archival, cleaning, clustering, compaction
from hudi_operator.planning.needs.view import ServiceView


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How the operator decides on a table service.

    `evaluate` says whether it is due and why, `blocked_by` why it does less than it could. `left_over` handles a plan
    that is pending although the spec disables the service. `writer_may_pass_over` tells whether a writer that runs the
    service inline may never get to a pending plan. `can_remove_plans`: a failed plan can be rolled back, and planned
    again later.
    """

    evaluate: Callable[[ServiceView], Decision]
    blocked_by: Callable[[ServiceView], str | None]
    left_over: Callable[[ServiceView], Decision | None]
    writer_may_pass_over: Callable[[HudiTableSpec], bool]
    can_remove_plans: bool


def _nothing(_view: ServiceView) -> None:
    return None


COMPACTION = Evaluation(
    evaluate=compaction.evaluate,
    blocked_by=_nothing,
    left_over=compaction.left_over,
    # Hudi executes a pending compaction after the next commit; without an ingestion no commit comes.
    writer_may_pass_over=lambda spec: spec.ingestion is None,
    # `HoodieTable.rollbackInflightCompaction` only turns the plan back into a requested plan: log files already lie
    # behind it. Writers continue beside the plan, and the next attempt rolls back what the failed attempt wrote.
    can_remove_plans=False,
)
CLUSTERING = Evaluation(
    evaluate=clustering.evaluate,
    blocked_by=_nothing,
    left_over=clustering.left_over,
    # With Reject, a pending clustering fails a writer that updates its files.
    writer_may_pass_over=lambda _spec: True,
    can_remove_plans=True,
)
CLEANING = Evaluation(
    evaluate=cleaning.evaluate,
    blocked_by=cleaning.blocked_by,
    left_over=_nothing,
    writer_may_pass_over=lambda _spec: False,
    can_remove_plans=False,
)
ARCHIVAL = Evaluation(
    evaluate=archival.evaluate,
    blocked_by=archival.blocked_by,
    left_over=_nothing,
    writer_may_pass_over=lambda _spec: False,
    can_remove_plans=False,
)


def evaluation_of(service: Service) -> Evaluation | None:
    """Return how a table service is evaluated; ingestion, savepoints, operations and deletion are no table services."""
    found: Evaluation | None
    match service:
        case Service.COMPACTION:
            found = COMPACTION
        case Service.CLUSTERING:
            found = CLUSTERING
        case Service.CLEANING:
            found = CLEANING
        case Service.ARCHIVAL:
            found = ARCHIVAL
        case Service.INGESTION | Service.SAVEPOINT | Service.OPERATION | Service.CATALOG | Service.DELETION:
            found = None
        case _:
            assert_never(service)
    return found
