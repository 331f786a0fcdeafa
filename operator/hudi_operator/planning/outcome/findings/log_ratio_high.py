"""Log files are larger than the base files that they change."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.outcome.findings.definition import FindingDefinition, measured
from hudi_operator.planning.outcome.plan import Plan

_RATIO = 2
_LEAST_BYTES = 10 * 2**30


def _find(plan: Plan) -> Evidence | None:
    found = measured(plan)
    figures = found.figures if found is not None else None
    if figures is None or figures.log_bytes < _LEAST_BYTES or figures.log_bytes <= _RATIO * figures.base_bytes:
        return None
    message = (
        f"The log files are more than {_RATIO} times as large as the base files: each read merges them. "
        "status.statistics has the numbers."
    )
    return Evidence(message=message)


LOG_RATIO_HIGH = FindingDefinition(
    code=FindingCode.LOG_RATIO_HIGH,
    severity=Severity.WARNING,
    blocks="Nothing: reads merge more log than rows.",
    needs_timeline=True,
    find=_find,
)
