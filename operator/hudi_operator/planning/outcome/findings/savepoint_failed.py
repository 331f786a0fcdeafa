"""The last run for a HudiSavepoint failed."""

from hudi_jobs.contract import Service
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.facts.runs.failures import attempts, failure_kind
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    memory = plan.services.savepoint
    last = memory.last_run if memory is not None else None
    if memory is None or last is None or failure_kind(last) is None or attempts(memory) == 0:
        return None
    return Evidence(message=f"{last.message} {memory.message}", blocks=frozenset({Service.SAVEPOINT}))


SAVEPOINT_FAILED = FindingDefinition(
    code=FindingCode.SAVEPOINT_FAILED,
    severity=Severity.WARNING,
    blocks="The savepoint, which is not made or removed yet.",
    needs_timeline=False,
    find=_find,
)
