"""Savepoints that HudiSavepoints ask for: making and removing them."""

from hudi_jobs.contract import Service
from hudi_operator.api.status.conditions import ConditionType
from hudi_operator.services.definition import ServiceDefinition

SAVEPOINT = ServiceDefinition(
    service=Service.SAVEPOINT,
    condition=ConditionType.SAVEPOINTED,
    completes=frozenset(),  # what it makes has the time of its commit, which is somebody else's
    plans=frozenset(),
    deals_with=lambda _pending: False,
)
