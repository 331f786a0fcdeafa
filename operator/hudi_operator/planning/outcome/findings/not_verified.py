"""A HudiOperation left rows that a person has to check."""

from hudi_jobs.contract.table.support import EVERY_SERVICE
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan

_AT_WORK = frozenset({OperationState.DRAINING, OperationState.RUNNING, OperationState.VERIFYING})


def has_table(operation: TableOperation) -> bool:
    """Whether an operation has the table to itself."""
    return operation.state in _AT_WORK


def _find(plan: Plan) -> Evidence | None:
    """Return the result that waits for a person; an operation that still works on the table does not."""
    if plan.facts.operations.maintenance is None or any(map(has_table, plan.operations)):
        return None
    return Evidence(message=plan.facts.operations.maintenance, blocks=EVERY_SERVICE)


NOT_VERIFIED = FindingDefinition(
    code=FindingCode.NOT_VERIFIED,
    severity=Severity.CRITICAL,
    blocks="Everything, until the HudiOperation is deleted.",
    needs_timeline=False,
    find=_find,
)
