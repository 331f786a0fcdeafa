"""A recent commit cannot be understood."""

from hudi_jobs.contract.table.support import EVERY_SERVICE
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.diagnosis.check import NO_SERVICE, Evidence
from hudi_operator.diagnosis.check_registry import check_of
from hudi_operator.planning.facts.writers.foreign import unknown_message
from hudi_operator.planning.outcome.findings.definition import of_check
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    """Return the damaged commit; on a Serialized table an unknown writer blocks everything."""
    damaged = plan.observation.snapshot.damaged
    if plan.facts.writers.unknown:
        return Evidence(message=unknown_message(plan.facts.writers.unknown), blocks=EVERY_SERVICE)
    if not damaged:
        return None
    problem = damaged[0].problem
    return Evidence(message=f"{problem.file}: {problem.reason} Restore the file.", blocks=NO_SERVICE)


TIMELINE_CORRUPT = of_check(check_of(FindingCode.TIMELINE_CORRUPT), _find)
