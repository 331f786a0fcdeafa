"""A savepoint keeps the commit that a pending rollback is to undo."""

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.outcome.findings.definition import unfinished

ROLLBACK_OF_SAVEPOINT = unfinished(FindingCode.ROLLBACK_OF_SAVEPOINT)
