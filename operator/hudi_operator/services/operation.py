"""Operations that HudiOperations ask for: what is done once to a table."""

from hudi_jobs.contract import Service
from hudi_operator.api.status.conditions import ConditionType
from hudi_operator.services.definition import ServiceDefinition

OPERATION = ServiceDefinition(
    service=Service.OPERATION,
    condition=ConditionType.MAINTENANCE,
    completes=frozenset(),  # whether the table is as asked, its report says and the timeline confirms
    plans=frozenset(),
    deals_with=lambda _pending: False,
)
