"""The conditions that follow from a look and a plan, by the rules of kstatus."""

from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract import Outcome
from hudi_operator.api.conditions import MESSAGE_LIMIT, Condition, ConditionStatus, ConditionType
from hudi_operator.api.resources import InvalidObject
from hudi_operator.api.table_spec import ManagementPolicy
from hudi_operator.planning.ingestion import IngestionReason
from hudi_operator.planning.model import START_TROUBLES, Blocked, Observation, Plan, PodTrouble
from hudi_operator.planning.times import format_time

PROGRESSING = "Progressing"
PROGRESSING_WITH_RETRY = "ProgressingWithRetry"


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    """How the table is: whether it is ready, and whether the operator is still at it or needs a person."""

    ready: ConditionStatus
    reason: str
    message: str
    reconciling: str | None = None
    stalled: bool = False


def build_conditions(observation: Observation, plan: Plan, *, now: datetime) -> tuple[Condition, ...]:
    """Return all conditions of a table, Ready first."""
    verdict = _verdict(observation, plan)
    make = _Maker(generation=observation.table.metadata.generation, now=now)
    conditions = [make(ConditionType.READY, verdict.ready, verdict.reason, verdict.message)]
    if verdict.stalled:
        conditions.append(make(ConditionType.STALLED, ConditionStatus.TRUE, verdict.reason, verdict.message))
    elif verdict.reconciling is not None:
        conditions.append(
            make(ConditionType.RECONCILING, ConditionStatus.TRUE, verdict.reconciling, plan.ingestion.message)
        )
    if observation.table.spec.suspend:
        conditions.append(
            make(
                ConditionType.SUSPENDED,
                ConditionStatus.TRUE,
                "Suspended",
                "No new job starts until spec.suspend is false; running jobs finish.",
            )
        )
    ingested = _ingested(plan, make)
    return (*conditions, ingested) if observation.table.spec.ingestion is not None else tuple(conditions)


def invalid_conditions(invalid: InvalidObject, *, now: datetime) -> tuple[Condition, ...]:
    """Return the conditions of a table whose spec this version of the operator cannot read."""
    make = _Maker(generation=invalid.metadata.generation, now=now)
    message = f"The spec is not valid for this version of the operator: {invalid.message}. Correct the spec."
    return (
        make(ConditionType.READY, ConditionStatus.FALSE, Blocked.INVALID_SPEC, message),
        make(ConditionType.STALLED, ConditionStatus.TRUE, Blocked.INVALID_SPEC, message),
    )


@dataclass(frozen=True, kw_only=True)
class _Maker:
    generation: int
    now: datetime

    def __call__(self, kind: ConditionType, status: ConditionStatus, reason: str, message: str) -> Condition:
        return Condition(
            type=kind,
            status=status,
            observed_generation=self.generation,
            last_transition_time=format_time(self.now),
            reason=reason,
            message=message[:MESSAGE_LIMIT],
        )


def _verdict(observation: Observation, plan: Plan) -> _Verdict:
    return (
        _blocked(observation)
        or _starting_trouble(plan)
        or _failing(observation, plan)
        or _unreadable(observation)
        or _working(observation, plan)
    )


def _blocked(observation: Observation) -> _Verdict | None:
    if not observation.obstacles:
        return None
    message = " ".join(obstacle.message for obstacle in observation.obstacles)
    return _Verdict(ready=ConditionStatus.FALSE, reason=observation.obstacles[0].reason, message=message, stalled=True)


def _starting_trouble(plan: Plan) -> _Verdict | None:
    for job in plan.active_jobs:
        if job.state in START_TROUBLES:
            message = f"Job {job.name} cannot start: {job.message} {_START_ADVICE.get(job.state, '')}".strip()
            return _Verdict(
                ready=ConditionStatus.FALSE, reason=job.state, message=message, reconciling=PROGRESSING_WITH_RETRY
            )
    return None


_START_ADVICE = {
    PodTrouble.IMAGE_PULL_FAILED.value: "Check sparkImage and imagePullSecretNames of the class.",
    PodTrouble.UNSCHEDULABLE.value: "No node has room for it: ask for less, or add nodes.",
    PodTrouble.CONFIGURATION.value: "A Secret or service account that the class names is missing in the namespace.",
    PodTrouble.FORBIDDEN.value: "The namespace refuses the pod: check its quota, limits and Pod Security level.",
}


def _failing(observation: Observation, plan: Plan) -> _Verdict | None:
    spec, last = observation.table.spec, plan.ingestion.last_run
    if plan.ingestion.failures == 0 or last is None:
        return None
    hopeless = plan.ingestion.reason == IngestionReason.WAITING_FOR_SPEC_CHANGE
    resting = spec.suspend or spec.management_policy is ManagementPolicy.OBSERVE
    return _Verdict(
        ready=ConditionStatus.FALSE,
        reason=last.reason or "Failed",
        message=f"{last.message} {_START_ADVICE.get(last.reason or '', '')}".strip(),
        reconciling=None if hopeless or resting else PROGRESSING_WITH_RETRY,
        stalled=hopeless,
    )


def _unreadable(observation: Observation) -> _Verdict | None:
    look = observation.look
    if look.trouble is None:
        return None
    return _Verdict(
        ready=ConditionStatus.FALSE,
        reason=look.trouble,
        message=look.message,
        reconciling=PROGRESSING_WITH_RETRY,
    )


def _working(observation: Observation, plan: Plan) -> _Verdict:
    spec, ingestion = observation.table.spec, plan.ingestion
    last = ingestion.last_run
    if spec.management_policy is ManagementPolicy.OBSERVE:
        return _Verdict(ready=ConditionStatus.TRUE, reason="Observed", message="The table is observed.")
    if spec.ingestion is None:
        return _Verdict(ready=ConditionStatus.TRUE, reason="Succeeded", message="The spec is accepted.")
    if last is not None and last.outcome is not Outcome.FAILED:
        return _Verdict(ready=ConditionStatus.TRUE, reason=last.outcome, message=last.message or "Up to date.")
    if spec.suspend:
        return _Verdict(ready=ConditionStatus.TRUE, reason="Suspended", message="Suspended before the first run.")
    if ingestion.reason == IngestionReason.WAITING_FOR_SCHEDULE:
        return _Verdict(ready=ConditionStatus.TRUE, reason=ingestion.reason, message=ingestion.message)
    return _Verdict(
        ready=ConditionStatus.UNKNOWN,
        reason=PROGRESSING,
        message="The first run of this spec is under way.",
        reconciling=PROGRESSING,
    )


def _ingested(plan: Plan, make: _Maker) -> Condition:
    ingestion = plan.ingestion
    last = ingestion.last_run
    if last is None or (last.outcome is Outcome.FAILED and ingestion.failures == 0):
        return make(ConditionType.INGESTED, ConditionStatus.UNKNOWN, PROGRESSING, "No run of this spec has ended yet.")
    if last.outcome is Outcome.FAILED:
        message = f"{last.message} {ingestion.message}"
        return make(ConditionType.INGESTED, ConditionStatus.FALSE, last.reason or "Failed", message)
    return make(ConditionType.INGESTED, ConditionStatus.TRUE, last.outcome, last.message or "Up to date.")
