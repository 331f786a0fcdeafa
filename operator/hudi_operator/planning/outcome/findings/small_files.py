"""Most files of the table are small."""

from hudi_jobs.contract.wording import counted
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.outcome.findings.definition import FindingDefinition, measured
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.services.clustering import small_file_limit

_MANY = 1_000


def _find(plan: Plan) -> Evidence | None:
    found = measured(plan)
    if found is None or found.small_file_limit != small_file_limit(plan.observation.table.spec):
        return None
    figures = found.figures
    if figures is None or figures.small_files <= _MANY or 2 * figures.small_files <= figures.base_files:
        return None
    message = (
        f"More than {counted(_MANY, 'file')} and more than half of all files are small: reads open each of them. "
        "status.statistics has the numbers."
    )
    return Evidence(message=message)


SMALL_FILES = FindingDefinition(
    code=FindingCode.SMALL_FILES,
    severity=Severity.INFO,
    blocks="Nothing: reads become slower.",
    needs_timeline=True,
    find=_find,
)
