"""The zone of the instants is not known."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.outcome.findings.definition import refusal

TIMELINE_ZONE_UNKNOWN = refusal(
    FindingCode.TIMELINE_ZONE_UNKNOWN,
    severity=Severity.CRITICAL,
    blocks="Everything: new instants could be earlier than old ones.",
)
