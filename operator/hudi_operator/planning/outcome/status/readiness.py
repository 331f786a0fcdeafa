"""Whether a table is ready, and whether the operator is still working or needs a person."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hudi_jobs.contract import FailureReason, Outcome, Service
from hudi_jobs.contract.wording import counted
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.conditions import ConditionStatus
from hudi_operator.api.status.findings import Finding, FindingCode
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.runs.continuous import is_healthy
from hudi_operator.planning.facts.runs.failures import FailureKind, attempts, failure_kind
from hudi_operator.planning.model import START_TROUBLES, Observation, PodTrouble
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.healing import can_heal, run_can_heal
from hudi_operator.planning.model.reason_registry import entry_of, words
from hudi_operator.planning.model.reasons import Retry, TableReason, Waiting
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.order.slots import QUOTAS_REACHED
from hudi_operator.planning.outcome.findings.find import blocking_ingestion, finding_of
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.services.registry import SERVICES
from hudi_operator.sources.registry import declared_source

_LATER = (PodTrouble.INIT_FAILED, PodTrouble.EXECUTORS_WAITING, PodTrouble.NO_EXECUTORS)
_START_ADVICE: Mapping[str, str] = {trouble.value: entry_of(trouble).advice for trouble in (*START_TROUBLES, *_LATER)}
"""The advice that a condition adds when a pod does not start."""

Findings = tuple[Finding, ...]

_HOPELESS = words((Reason,), Retry.ON_CHANGE)


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """The readiness of a table; `work` is the operator's current work while it reconciles."""

    ready: ConditionStatus
    reason: str
    message: str
    reconciling: str | None = None
    work: str = ""
    stalled: bool = False


def readiness(plan: Plan, findings: Findings) -> Readiness:
    """Return the readiness of a table after this reconcile, with its findings."""
    return (
        _blocked(plan.observation)
        or _blocked_by_finding(findings)
        or _maintained(plan)
        or _waiting_for_quiet(plan)
        or _starting_trouble(plan)
        or _failing(plan)
        or _without_source(plan)
        or _unreadable(plan)
        or _damaged(findings)
        or _missing(plan.observation)
        or _continuous(plan)
        or _without_place(plan)
        or _working(plan)
    )


def _blocked(observation: Observation) -> Readiness | None:
    if not observation.blockers:
        return None
    message = " ".join(blocker.message for blocker in observation.blockers)
    return Readiness(ready=ConditionStatus.FALSE, reason=observation.blockers[0].reason, message=message, stalled=True)


def _blocked_by_finding(findings: Findings) -> Readiness | None:
    """Return the message of the finding that blocks ingestion until a person acts."""
    found = blocking_ingestion(findings)
    return (
        None
        if found is None
        else Readiness(ready=ConditionStatus.FALSE, reason=found.code, message=found.message, stalled=True)
    )


def _maintained(plan: Plan) -> Readiness | None:
    """Return the readiness of a table while an operation has it to itself."""
    if plan.facts.operations.maintenance is None:
        return None
    return Readiness(
        ready=ConditionStatus.FALSE,
        reason=Waiting.MAINTENANCE,
        message=plan.facts.operations.maintenance,
        reconciling=Waiting.MAINTENANCE,
        work=plan.facts.operations.maintenance,
    )


def _waiting_for_quiet(plan: Plan) -> Readiness | None:
    """Return the readiness of a table that others may still write; an unreadable table says that instead."""
    if plan.facts.takeover.waits is None:
        return None
    return Readiness(
        ready=ConditionStatus.UNKNOWN,
        reason=Waiting.WAITING_FOR_QUIET,
        message=plan.facts.takeover.waits,
        reconciling=Waiting.WAITING_FOR_QUIET,
        work=plan.facts.takeover.waits,
    )


def _starting_trouble(plan: Plan) -> Readiness | None:
    for job in plan.active_jobs:
        if job.state in {*START_TROUBLES, PodTrouble.EXECUTORS_WAITING}:
            what = "waits for executors" if job.state == PodTrouble.EXECUTORS_WAITING else "cannot start"
            return Readiness(
                ready=ConditionStatus.FALSE,
                reason=job.state,
                message=f"Job {job.name} {what}: {job.message} {_START_ADVICE.get(job.state, '')}".strip(),
                reconciling=TableReason.PROGRESSING_WITH_RETRY,
                work=plan.services.of(job.service).message,
            )
    return None


def _failing(plan: Plan) -> Readiness | None:
    """Return the message of the first failing service: its cause, even without retries left."""
    observed = plan.observation.table.spec.management_policy is ManagementPolicy.OBSERVE
    resting = observed or plan.observation.suspended_by is not None
    for service, memory in _in_trouble(plan):
        last = memory.last_run
        if last is None:
            continue
        stalled, exhausted = _needs_a_person(memory), memory.reason == Reason.RETRIES_EXHAUSTED
        what = "" if service is Service.INGESTION else f"{service}: "
        advice = memory.message if exhausted else _START_ADVICE.get(last.reason or "", "")
        return Readiness(
            ready=ConditionStatus.FALSE,
            reason=last.reason or Outcome.FAILED,
            message=f"{what}{last.message} {advice}".strip(),
            reconciling=None if stalled or resting else TableReason.PROGRESSING_WITH_RETRY,
            work=f"{what}{memory.message}",
            stalled=stalled,
        )
    return None


def _without_source(plan: Plan) -> Readiness | None:
    """Return the readiness of a table whose source holds no file, as after a run that did not find it."""
    observation, memory = plan.observation, plan.services.ingestion
    source = declared_source(observation.table.spec)
    what = source.without_input if source is not None else None
    if memory.reason != Reason.SOURCE_NOT_FOUND or what is None:
        return None
    return Readiness(
        ready=ConditionStatus.FALSE,
        reason=FailureReason.SOURCE_NOT_FOUND,
        message=f"{what[:1].upper()}{what[1:]}. {entry_of(FailureReason.SOURCE_NOT_FOUND).advice}",
        reconciling=None if observation.suspended_by is not None else TableReason.PROGRESSING_WITH_RETRY,
        work=memory.message,
    )


def _needs_a_person(memory: ServiceStatus) -> bool:
    """Whether the retries of a service are used up, or its last run failed for a reason that cannot heal."""
    last = memory.last_run
    return memory.reason in _HOPELESS or (
        last is not None and failure_kind(last) is not None and not run_can_heal(last.reason)
    )


def _in_trouble(plan: Plan) -> Iterator[tuple[Service, ServiceStatus]]:
    """Yield the services with failing runs, those that need a person first; table services may give way to a writer."""
    # A savepoint that cannot be made has its own status, and the table lacks nothing; the same holds for an operation,
    # and the catalog has a finding.
    own = {Service.SAVEPOINT, Service.OPERATION, Service.CATALOG}
    services = [(service, plan.services.of(service)) for service in SERVICES if service not in own]
    for service, memory in sorted(services, key=lambda pair: not _needs_a_person(pair[1])):
        kind = failure_kind(memory.last_run) if memory.last_run else None
        harmless = kind is None or (kind is FailureKind.CONFLICT and service is not Service.INGESTION)
        if attempts(memory) and not harmless:
            yield service, memory


def _unreadable(plan: Plan) -> Readiness | None:
    snapshot = plan.observation.snapshot
    if snapshot.trouble is None:
        return None
    heals = can_heal(snapshot.trouble)
    return Readiness(
        ready=ConditionStatus.FALSE,
        reason=snapshot.trouble,
        message=snapshot.message,
        reconciling=TableReason.PROGRESSING_WITH_RETRY if heals else None,
        work=plan.services.ingestion.message,
        stalled=not heals,
    )


def _damaged(findings: Findings) -> Readiness | None:
    """Return the message on an unreadable recent commit: readers and writers of the table need it."""
    found = finding_of(findings, FindingCode.TIMELINE_CORRUPT)
    return None if found is None else Readiness(ready=ConditionStatus.FALSE, reason=found.code, message=found.message)


def _missing(observation: Observation) -> Readiness | None:
    """Return the message on an observed table that does not exist: nothing will make it."""
    spec = observation.table.spec
    if spec.management_policy is not ManagementPolicy.OBSERVE or observation.snapshot.timeline is not None:
        return None
    return Readiness(
        ready=ConditionStatus.FALSE,
        reason=TableReason.TABLE_NOT_FOUND,
        message=f"There is no Hudi table at {spec.base_path}: check spec.basePath, or wait until another tool creates "
        "it; the operator creates no table while spec.managementPolicy is Observe.",
    )


def _continuous(plan: Plan) -> Readiness | None:
    live = live_message(plan)
    if live is None or plan.observation.table.spec.management_policy is ManagementPolicy.OBSERVE:
        return None
    return _ready(Reason.CONTINUOUS, live)


def _without_place(plan: Plan) -> Readiness | None:
    """Return the readiness of a table whose driver, or first run, finds no place among the Jobs of its class.

    The wait has the time limit of a pod's start. It is no failure of the table, and no retry is used up.
    """
    spec, memory = plan.observation.table.spec, plan.services.ingestion
    has_run = memory.last_run is not None and failure_kind(memory.last_run) is None
    if (has_run and not spec.continues) or not waits_for_place(memory):
        return None
    what = "No driver reads the source." if spec.continues else "The first run of this spec waits for a place."
    late, since = _waits_long(plan, memory), memory.due_since
    limit = f" It has waited since {since}, longer than job.startTimeout of the class." if late else ""
    return Readiness(
        ready=ConditionStatus.FALSE if late else ConditionStatus.UNKNOWN,
        reason=memory.reason,
        message=f"{what} {memory.message}{limit}",
        reconciling=memory.reason,
        work=memory.message,
    )


def waits_for_place(memory: ServiceStatus) -> bool:
    """Whether a due service waits for a place among the Jobs of its class."""
    return memory.due and memory.reason in QUOTAS_REACHED


def _waits_long(plan: Plan, memory: ServiceStatus) -> bool:
    since = parse_time(memory.due_since)
    return since is not None and plan.facts.now - since >= parse_duration(plan.facts.table_class.job.start_timeout)


def _working(plan: Plan) -> Readiness:
    spec, ingestion = plan.observation.table.spec, plan.services.ingestion
    last = ingestion.last_run
    if spec.management_policy is ManagementPolicy.OBSERVE:
        return _ready(Waiting.OBSERVED, "The table is observed.")
    if spec.ingestion is None:
        return _ready(Outcome.SUCCEEDED, "The spec is accepted.")
    if last is not None and failure_kind(last) is None:
        return _ready(last.outcome, last.message or "Up to date.")
    if plan.observation.suspended_by is not None:
        return _ready(Waiting.SUSPENDED, "Suspended before the first run.")
    if ingestion.reason in {Reason.WAITING_FOR_SCHEDULE, Reason.NO_NEW_INPUT}:
        return _ready(ingestion.reason, ingestion.message)
    return Readiness(
        ready=ConditionStatus.UNKNOWN,
        reason=TableReason.PROGRESSING,
        message=_under_way(plan, "The first run of this spec" if last is None else "Another attempt"),
        reconciling=TableReason.PROGRESSING,
        work=ingestion.message,
    )


def _under_way(plan: Plan, what: str) -> str:
    """Return the sentence on a run of ingestion that has not ended, with what its Job waits for."""
    waits = next((job for job in plan.active_jobs if job.service is Service.INGESTION and job.message), None)
    return f"{what} is under way." if waits is None else f"{what} waits. Job {waits.name}: {waits.message}"


def live_message(plan: Plan) -> str | None:
    """Return the sentence on a working continuous ingestion, or None without a working driver."""
    job = next((job for job in plan.active_jobs if is_healthy(job)), None)
    if job is None or job.live is None:
        return None
    made = counted(job.live.batches, "batch", "batches")
    newest = f", the newest at {job.live.instant}" if job.live.instant else ""
    return f"Ingests continuously: {made} with {counted(job.live.rows_read, 'row')} in this run{newest}."


def _ready(reason: str, message: str) -> Readiness:
    return Readiness(ready=ConditionStatus.TRUE, reason=reason, message=message)
