"""Savepoints requested by HudiSavepoints: creating and removing them."""

from hudi_jobs.contract import Service
from hudi_operator.services.definition import ServiceDefinition

SAVEPOINT = ServiceDefinition(
    service=Service.SAVEPOINT,
    completes=frozenset(),  # a savepoint has the time of its commit, which may be another writer's
    plans=frozenset(),
    deals_with=lambda _pending: False,
)
