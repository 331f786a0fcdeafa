"""The table differs from its spec, and ingestion cannot start."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.outcome.findings.definition import refusal

SPEC_DRIFT = refusal(
    FindingCode.SPEC_DRIFT,
    severity=Severity.CRITICAL,
    blocks="Ingestion, and mostly everything else: rows would be lost or duplicated.",
)
