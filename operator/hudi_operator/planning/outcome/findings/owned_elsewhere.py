"""Another operator owns the table."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.model import Observation, Plan
from hudi_operator.planning.outcome.findings.definition import EVERY_SERVICE, Evidence, FindingDefinition


def _find(_observation: Observation, plan: Plan) -> Evidence | None:
    if plan.owned_elsewhere is None:
        return None
    return Evidence(message=plan.owned_elsewhere, blocks=EVERY_SERVICE)


OWNED_ELSEWHERE = FindingDefinition(
    code=FindingCode.OWNED_ELSEWHERE,
    severity=Severity.CRITICAL,
    blocks="Everything: two operators would repeat each other's rows.",
    needs_timeline=True,
    find=_find,
)
