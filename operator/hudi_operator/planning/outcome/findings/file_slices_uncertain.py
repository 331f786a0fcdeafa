"""Hudi counts log files to other file slices than their writer did."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.outcome.findings.definition import refusal

FILE_SLICES_UNCERTAIN = refusal(
    FindingCode.FILE_SLICES_UNCERTAIN,
    severity=Severity.CRITICAL,
    blocks="Everything: readers would miss updates, and a clean would delete them.",
)
