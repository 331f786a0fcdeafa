"""A restore has begun and has not completed."""

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.outcome.findings.definition import unfinished

RESTORE_PENDING = unfinished(FindingCode.RESTORE_PENDING)
