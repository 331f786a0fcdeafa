"""A run that only syncs the table's catalog, after runs that commit have not managed to."""

from hudi_jobs.contract import Service
from hudi_operator.services.definition import ServiceDefinition

CATALOG = ServiceDefinition(
    service=Service.CATALOG,
    completes=frozenset(),  # the driver's report tells the result, and the record in the table's folder confirms it
    plans=frozenset(),
    deals_with=lambda _pending: False,
)
