"""Says what a class means for its tables, for owners who may not read classes."""

from collections.abc import Iterator

from hudi_jobs.contract.wording import counted, shortened
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.spec.operation import OperationApproval
from hudi_operator.api.status.table_parts import RULES_LIMIT
from hudi_operator.planning.model import BlockerReason, Observation


def class_rules(observation: Observation) -> str | None:
    """Return the rules of a table's class in a sentence; None where the class is unknown or not for the namespace."""
    table_class = observation.table_class
    refused = any(one.reason is BlockerReason.CLASS_NOT_ALLOWED for one in observation.blockers)
    if table_class is None or refused:
        return None
    return shortened(f"{table_class.metadata.name}: {'; '.join(_rules(table_class))}", RULES_LIMIT)


def _rules(table_class: HudiTableClass) -> Iterator[str]:
    spec = table_class.spec
    if not spec.operations.allowed:
        yield "no operations"
    else:
        approved = " after approval" if spec.operations.approval is OperationApproval.MANUAL else ""
        yield f"{', '.join(spec.operations.allowed)}{approved}"
    yield counted(spec.retry.max_attempts, "attempt")
    quota = spec.job_quota
    if quota.running_jobs is not None:
        yield f"{counted(quota.running_jobs, 'job')} at once"
    if quota.running_jobs_per_namespace is not None:
        yield f"{quota.running_jobs_per_namespace} in a namespace"
