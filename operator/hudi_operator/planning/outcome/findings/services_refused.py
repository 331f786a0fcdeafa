"""The table keeps some services from starting, while ingestion continues."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.outcome.findings.definition import refusal

SERVICES_REFUSED = refusal(
    FindingCode.SERVICES_REFUSED,
    severity=Severity.WARNING,
    blocks="The named services, such as compaction and clustering.",
)
