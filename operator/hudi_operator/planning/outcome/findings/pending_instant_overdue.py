"""An instant has been pending for too long."""

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.timeline import PendingOwner
from hudi_operator.diagnosis.check import HISTORY, NO_SERVICE, Evidence
from hudi_operator.diagnosis.check_registry import check_of
from hudi_operator.diagnosis.checks.pending import pending_since
from hudi_operator.planning.outcome.findings.definition import of_check
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    overdue = plan.facts.instants.overdue
    if not overdue:
        return None
    oldest = overdue[0]
    whose = "" if oldest.owner is PendingOwner.THIS_TABLE else "Another tool or an unknown run began it. "
    if oldest.left_alone_until is not None:
        whose += f"The operator leaves it alone until {oldest.left_alone_until}. "
    others = f" {len(overdue) - 1} more are overdue too." if len(overdue) > 1 else ""
    message = (
        f"{pending_since(oldest.action, oldest.time, oldest.state, oldest.since)} "
        f"{whose}{oldest.blocks}{others} See the service under status.services for what is done about it."
    )
    return Evidence(message=message, blocks=HISTORY if oldest.blocks else NO_SERVICE)


PENDING_INSTANT_OVERDUE = of_check(check_of(FindingCode.PENDING_INSTANT_OVERDUE), _find)
