"""The table has a version that no run writes."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.outcome.findings.definition import refusal

TABLE_VERSION_UNSUPPORTED = refusal(
    FindingCode.TABLE_VERSION_UNSUPPORTED,
    severity=Severity.CRITICAL,
    blocks="Everything: Hudi would upgrade the table, and older readers would fail.",
)
