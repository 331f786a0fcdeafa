"""A table service has used up its attempts."""

from hudi_jobs.contract import Service
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.services.registry import TABLE_SERVICES


def _find(plan: Plan) -> Evidence | None:
    """Return the table services that have given up; the condition Ready tells of an ingestion."""
    exhausted = plan.services.with_reason(Reason.RETRIES_EXHAUSTED)
    found = [one.service for one in TABLE_SERVICES if one.service in exhausted]
    if not found:
        return None
    said = " ".join(f"{one.value}: {plan.services.of(one).message}" for one in found)
    return Evidence(message=said, blocks=frozenset[Service](found))


RETRIES_EXHAUSTED = FindingDefinition(
    code=FindingCode.RETRIES_EXHAUSTED,
    severity=Severity.WARNING,
    blocks="The named table service, for an hour after each attempt.",
    needs_timeline=False,
    find=_find,
)
