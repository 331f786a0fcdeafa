"""The budget of the class holds due table services until the next day."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.order.budget import budget_reached
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def _held(plan: Plan) -> Evidence | None:
    if plan.observation.table_class is None:
        return None
    held = plan.services.with_reason(Waiting.BUDGET_REACHED)
    message = budget_reached(plan.facts) if held else None
    return None if message is None else Evidence(message=message, blocks=held)


SERVICE_HELD_BY_BUDGET = FindingDefinition(
    code=FindingCode.SERVICE_HELD_BY_BUDGET,
    severity=Severity.INFO,
    blocks="Table services until the next day (UTC); ingestion and pending plans continue.",
    needs_timeline=False,
    find=_held,
)
