"""Ingestion: writing input into the table."""

from hudi_jobs.contract import Service
from hudi_operator.services.definition import ServiceDefinition
from hudi_operator.timeline import Action, PendingKind

INGESTION = ServiceDefinition(
    service=Service.INGESTION,
    completes=frozenset({Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT}),
    plans=frozenset(),
    deals_with=lambda pending: pending.kind is PendingKind.WRITE,
)
