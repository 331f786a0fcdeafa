"""The catalog does not show the table as it is."""

from hudi_jobs.contract import SyncTrouble
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.outcome.findings.definition import catalog

CATALOG_BEHIND = catalog(FindingCode.CATALOG_BEHIND, troubles=frozenset({SyncTrouble.UNAVAILABLE, SyncTrouble.REFUSED}))
