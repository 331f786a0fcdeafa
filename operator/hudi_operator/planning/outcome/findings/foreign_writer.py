"""Another writer made commits on a Serialized table."""

from hudi_jobs.contract.table.support import EVERY_SERVICE
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.facts.writers.foreign import foreign_message
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    if not plan.foreign:
        return None
    return Evidence(message=foreign_message(plan.foreign), blocks=EVERY_SERVICE)


FOREIGN_WRITER = FindingDefinition(
    code=FindingCode.FOREIGN_WRITER,
    severity=Severity.CRITICAL,
    blocks="Everything: two writers without a lock lose data.",
    needs_timeline=True,
    find=_find,
)
