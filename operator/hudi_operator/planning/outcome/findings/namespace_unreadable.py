"""The operator may not read the namespace, which may suspend the table."""

from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    observation = plan.observation
    if observation.namespace is not None:
        return None
    stays = "stays suspended" if observation.namespace_suspension is not None else "is not suspended by it"
    message = (
        f"The operator may not read namespace {observation.metadata.namespace}, so it does not see whether the "
        f"annotation {SUSPEND_ANNOTATION} is there; by what it read last, the table {stays}."
    )
    return Evidence(message=message)


NAMESPACE_UNREADABLE = FindingDefinition(
    code=FindingCode.NAMESPACE_UNREADABLE,
    severity=Severity.WARNING,
    blocks="The removal of data by `deletionPolicy: Delete`.",
    needs_timeline=False,
    find=_find,
)
