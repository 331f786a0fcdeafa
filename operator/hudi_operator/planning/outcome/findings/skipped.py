"""Finds input that ingestion skips."""

from functools import partial

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.needs.rescan import skipped_input
from hudi_operator.planning.outcome.findings.definition import Evidence, FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def skipped(code: FindingCode) -> FindingDefinition:
    """Return the definition of a code for skipped input."""
    return FindingDefinition(
        code=code,
        severity=Severity.WARNING,
        blocks="Nothing: ingestion continues without the skipped input.",
        needs_timeline=False,
        find=partial(_skipped, code),
    )


def _skipped(code: FindingCode, plan: Plan) -> Evidence | None:
    found = skipped_input(plan.observation.table, plan.services.ingestion, plan.active_jobs)
    if found is None:
        return None
    reason, message = found
    return Evidence(message=message) if reason is code else None
