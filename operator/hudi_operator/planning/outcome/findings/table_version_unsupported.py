"""The table has a version that no run writes."""

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.outcome.findings.definition import refusal_of_check

TABLE_VERSION_UNSUPPORTED = refusal_of_check(FindingCode.TABLE_VERSION_UNSUPPORTED)
