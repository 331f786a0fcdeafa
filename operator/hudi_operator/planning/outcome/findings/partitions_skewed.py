"""One partition is many times larger than the mean."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.outcome.findings.definition import FindingDefinition, measured
from hudi_operator.planning.outcome.plan import Plan

_SKEW = 20
_LEAST_PARTITIONS = 10
_LEAST_BYTES = 10 * 2**30


def _find(plan: Plan) -> Evidence | None:
    found = measured(plan)
    figures = found.figures if found is not None else None
    if figures is None or figures.partitions < _LEAST_PARTITIONS or figures.largest_partition < _LEAST_BYTES:
        return None
    if figures.skew is None or figures.skew <= _SKEW:
        return None
    message = (
        f"The largest partition is more than {_SKEW} times as large as the mean: one task does most of the work. "
        "status.statistics has the numbers."
    )
    return Evidence(message=message)


PARTITIONS_SKEWED = FindingDefinition(
    code=FindingCode.PARTITIONS_SKEWED,
    severity=Severity.INFO,
    blocks="Nothing: runs on the large partition take longer.",
    needs_timeline=True,
    find=_find,
)
