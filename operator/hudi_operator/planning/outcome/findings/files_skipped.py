"""Files of the source are not read although they match."""

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.outcome.findings.definition import skipped

FILES_SKIPPED = skipped(FindingCode.FILES_SKIPPED)
