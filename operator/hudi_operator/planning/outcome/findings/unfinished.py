"""Finds the rollback or restore that blocks every start."""

from functools import partial

from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.facts.writers.undoing import in_the_way
from hudi_operator.planning.outcome.findings.definition import EVERY_SERVICE, Evidence, FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def unfinished(code: FindingCode, *, blocks: str) -> FindingDefinition:
    """Return the definition of a code for a rollback or restore that cannot continue by itself."""
    return FindingDefinition(
        code=code, severity=Severity.CRITICAL, blocks=blocks, needs_timeline=True, find=partial(_unfinished, code)
    )


def _unfinished(code: FindingCode, plan: Plan) -> Evidence | None:
    """Return the pending rollback or restore, unless the table is only observed or a HudiOperation is finishing it."""
    found = in_the_way(plan.observation.snapshot)
    is_observed = plan.observation.table.spec.management_policy is ManagementPolicy.OBSERVE
    if found is None or is_observed or plan.facts.operations.maintenance is not None:
        return None
    reason, message = found
    return Evidence(message=message, blocks=EVERY_SERVICE) if reason == code else None
