"""The entry of the table in its catalog belongs to somebody else."""

from dataclasses import replace

from hudi_jobs.contract import SyncTrouble
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.outcome.findings.definition import FindingDefinition, catalog
from hudi_operator.planning.outcome.plan import Plan

_BY_RECORD = catalog(FindingCode.CATALOG_ENTRY_TAKEN, troubles=frozenset({SyncTrouble.TAKEN}))


def _find(plan: Plan) -> Evidence | None:
    """Return who claims the entry, else what the driver found in the catalog."""
    taken = plan.observation.entry_taken
    if taken is not None:
        return Evidence(message=taken)
    return _BY_RECORD.find(plan) if _BY_RECORD.find is not None else None


CATALOG_ENTRY_TAKEN: FindingDefinition = replace(_BY_RECORD, find=_find)
