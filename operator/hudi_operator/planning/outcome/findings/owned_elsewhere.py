"""Another operator owns the table."""

from hudi_jobs.contract.table.support import EVERY_SERVICE
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    if plan.facts.ownership.elsewhere is None:
        return None
    return Evidence(message=plan.facts.ownership.elsewhere, blocks=EVERY_SERVICE)


OWNED_ELSEWHERE = FindingDefinition(
    code=FindingCode.OWNED_ELSEWHERE,
    severity=Severity.CRITICAL,
    blocks="Everything: two operators would repeat each other's rows.",
    needs_timeline=True,
    find=_find,
)
