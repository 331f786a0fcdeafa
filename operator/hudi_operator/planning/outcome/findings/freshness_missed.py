"""The table is further behind its source than the spec allows."""

from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.model.times import format_time, lag_of
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    """Return since when the freshness is missed; the condition Fresh says how far the table is behind."""
    spec, now = plan.observation.table.spec, plan.facts.now
    lag = lag_of(spec, plan.services.ingestion.freshness, now=now)
    is_observed = spec.management_policy is ManagementPolicy.OBSERVE
    if lag is None or is_observed or not lag.is_missed(now):
        return None
    message = (
        f"The freshness of the table has been missed since {format_time(lag.missed_at)}: everything that was in the "
        f"source up to {format_time(lag.complete_up_to)} is in the table."
    )
    return Evidence(message=message)


FRESHNESS_MISSED = FindingDefinition(
    code=FindingCode.FRESHNESS_MISSED,
    severity=Severity.INFO,
    blocks="Nothing: readers see old rows.",
    needs_timeline=False,
    find=_find,
)
