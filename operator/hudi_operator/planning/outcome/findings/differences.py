"""Finds the differences between a table and its spec, each under its code."""

from functools import partial

from hudi_jobs.contract import Service, differences_message
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.facts.drift import drift_code
from hudi_operator.planning.outcome.findings.definition import Evidence, FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def refusal(code: FindingCode, *, severity: Severity, blocks: str) -> FindingDefinition:
    """Return the definition of a code for differences that keep services from starting."""
    return FindingDefinition(
        code=code, severity=severity, blocks=blocks, needs_timeline=True, find=partial(_refusal, code)
    )


def _refusal(code: FindingCode, plan: Plan) -> Evidence | None:
    stopping = tuple(one for one in plan.facts.drift if one.stops)
    if not stopping:
        return None
    refused = frozenset[Service]().union(*(one.refuses for one in stopping))
    found = drift_code(stopping)
    if found is FindingCode.SPEC_DRIFT and Service.INGESTION not in refused:
        found = FindingCode.SERVICES_REFUSED
    return Evidence(message=differences_message(stopping), blocks=refused) if found is code else None
