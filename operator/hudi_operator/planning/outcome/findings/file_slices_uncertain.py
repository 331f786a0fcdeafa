"""Hudi counts log files to other file slices than their writer did."""

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.outcome.findings.definition import refusal_of_check

FILE_SLICES_UNCERTAIN = refusal_of_check(FindingCode.FILE_SLICES_UNCERTAIN)
