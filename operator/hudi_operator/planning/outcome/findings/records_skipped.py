"""Messages of a stream were gone before ingestion could read them."""

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.outcome.findings.definition import skipped

RECORDS_SKIPPED = skipped(FindingCode.RECORDS_SKIPPED)
