"""A file of the timeline that is no recent commit cannot be understood."""

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.diagnosis.check_registry import check_of
from hudi_operator.diagnosis.checks.damage import unexplained
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.outcome.findings.definition import of_check
from hudi_operator.planning.outcome.plan import Plan


def _find(plan: Plan) -> Evidence | None:
    """Return the first damaged file, and the services that cannot count without it."""
    snapshot = plan.observation.snapshot
    problems = unexplained(snapshot.timeline, snapshot.facts) if snapshot.timeline is not None else ()
    if not problems:
        return None
    others = f" And {len(problems) - 1} more: see status.timeline.problems." if len(problems) > 1 else ""
    uncertain = plan.services.with_reason(Reason.COUNTER_UNCERTAIN)
    return Evidence(message=f"{problems[0].file}: {problems[0].reason}{others}", blocks=uncertain)


TIMELINE_DAMAGED = of_check(check_of(FindingCode.TIMELINE_DAMAGED), _find)
