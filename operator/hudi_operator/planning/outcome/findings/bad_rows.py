"""Runs quarantined rows, and nobody has acknowledged them."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.facts.runs.failures import bad_rows
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def _bad_rows(plan: Plan) -> Evidence | None:
    table = plan.observation.table
    memory = plan.bad_rows
    rows = bad_rows(memory, plan.active_jobs)
    if not rows:
        return None
    policy = table.spec.ingestion.bad_records if table.spec.ingestion is not None else None
    path = policy.quarantine_path if policy is not None else None
    place = f"below {path}" if path is not None else "in the quarantine of an earlier spec"
    since = f" since {memory.since}" if memory is not None and memory.since is not None else ""
    return Evidence(
        message=(
            f"Ingestion of table {table.metadata.name} has quarantined {rows:,} bad rows{since}. These rows are not "
            f"in the table; they are {place}, in a folder per run."
        )
    )


BAD_ROWS = FindingDefinition(
    code=FindingCode.BAD_ROWS,
    severity=Severity.WARNING,
    blocks="Nothing: ingestion continues without the bad rows.",
    needs_timeline=False,
    find=_bad_rows,
)
