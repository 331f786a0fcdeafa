"""The table keeps a property that the spec declares otherwise."""

from hudi_jobs.contract import differences_message
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    harmless = tuple(one for one in plan.facts.drift if not one.stops)
    return Evidence(message=differences_message(harmless)) if harmless else None


SETTING_NOT_APPLIED = FindingDefinition(
    code=FindingCode.SETTING_NOT_APPLIED,
    severity=Severity.INFO,
    blocks="Nothing.",
    needs_timeline=True,
    find=_find,
)
