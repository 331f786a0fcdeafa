"""The entry of the table in its catalog belongs to somebody else."""

from hudi_jobs.contract import SyncTrouble
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.outcome.findings.definition import catalog

CATALOG_ENTRY_TAKEN = catalog(FindingCode.CATALOG_ENTRY_TAKEN, troubles=frozenset({SyncTrouble.TAKEN}))
