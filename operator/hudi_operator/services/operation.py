"""One-time operations on a table, requested by HudiOperations."""

from hudi_jobs.contract import Service
from hudi_operator.services.definition import ServiceDefinition

OPERATION = ServiceDefinition(
    service=Service.OPERATION,
    completes=frozenset(),  # the driver's report tells the result and the timeline confirms it
    plans=frozenset(),
    deals_with=lambda _pending: False,
)
