"""Small worlds for decisions: tables, classes, Jobs, timelines and looks, each complete and each easily changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome, Service, TaskResult
from hudi_operator.api.resources import HudiTable, HudiTableClass, ObjectMetadata
from hudi_operator.api.table_class import HudiTableClassSpec
from hudi_operator.api.table_spec import HudiTableSpec
from hudi_operator.api.table_status import ActiveJob, HudiTableStatus, RunStatus, ServicesStatus, ServiceStatus
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import JobObservation, JobPhase, Observation, Plan, TimelineLook
from hudi_operator.planning.status import build_status
from hudi_operator.planning.times import format_time
from hudi_operator.timeline import Action, Counters, Instant, Layout, State, TableProperties, TableType, Timeline

NOW = datetime(2026, 3, 10, 12, 0, 0, tzinfo=UTC)
CREATED = NOW - timedelta(hours=1)
IMAGE = "registry.example/hudi-spark:1"
JOB = "flights-ingestion-0123456789"
UID = "5c2a8a44-7c31-4f0e-9f4a-1d1c3b7e0a11"
POLL = 30.0


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def at(moment: datetime) -> str:
    return format_time(moment)


def spec(**changes: Any) -> HudiTableSpec:
    """A table that ingests every five minutes; `ingestion` is merged, everything else is replaced."""
    ingestion = {
        "source": {"files": {"path": "s3a://landing/flights/", "format": "csv"}},
        "schedule": {"every": "5m"},
    }
    given = changes.pop("ingestion", {})
    document: dict[str, Any] = {
        "basePath": "s3a://lake/team-a/flights",
        "type": "CopyOnWrite",
        "recordKey": ["id"],
        **({} if given is None else {"ingestion": {**ingestion, **given}}),
        **changes,
    }
    return HudiTableSpec.model_validate(document)


def table(
    *,
    status: HudiTableStatus | None = None,
    annotations: Mapping[str, str] | None = None,
    generation: int = 1,
    name: str = "flights",
    namespace: str = "team-a",
    created: datetime = CREATED,
    **changes: Any,
) -> HudiTable:
    return HudiTable(
        metadata=ObjectMetadata(
            name=name,
            namespace=namespace,
            uid=UID,
            generation=generation,
            annotations=dict(annotations or {}),
            creation_timestamp=at(created),
        ),
        spec=spec(**changes),
        status=status or HudiTableStatus(),
    )


def class_spec(**changes: Any) -> HudiTableClassSpec:
    return HudiTableClassSpec.model_validate(
        {
            "allowedBasePaths": ["s3://lake/{namespace}/"],
            "allowedSourcePaths": ["s3://landing/"],
            **changes,
        }
    )


def table_class(**changes: Any) -> HudiTableClass:
    return HudiTableClass(metadata=ObjectMetadata(name="standard", uid="class-uid"), spec=class_spec(**changes))


def instant(time: str, action: Action = Action.COMMIT, state: State = State.COMPLETED) -> Instant:
    return Instant(time, action, state, time if state is State.COMPLETED else None)


def timeline(*instants: Instant) -> Timeline:
    completed = [one for one in instants if one.is_completed]
    pending = [one for one in instants if not one.is_completed]
    return Timeline(
        properties=TableProperties(name="flights", table_type=TableType.COPY_ON_WRITE, version=9, layout=Layout.TWO),
        instants=tuple(instants),
        counters=Counters(
            delta_commits_since_compaction=0,
            delta_commits_since_compaction_request=0,
            commits_since_clustering=len(completed),
            commits_since_clean=len(completed),
            completed_commits=len(completed),
            pending_compactions=(),
            pending_log_compactions=(),
            pending_clusterings=(),
            inflight_writes=tuple(pending),
            savepoints=(),
            last_compaction=None,
            last_clustering=None,
            last_clean=None,
            latest_completed=completed[-1] if completed else None,
            earliest_pending=pending[0] if pending else None,
        ),
    )


def look(*runs: tuple[str, str], **changes: Any) -> TimelineLook:
    """A look at a table whose commits were made by these (run, instant) pairs."""
    base = TimelineLook(timeline=timeline(*(instant(time) for _, time in reversed(runs))) if runs else None, runs=runs)
    return replace(base, **changes)


def active(name: str = JOB, **changes: Any) -> ActiveJob:
    return ActiveJob.model_validate(
        {
            "name": name,
            "service": "Ingestion",
            "uid": "job-uid",
            "attempt": 1,
            "started_at": at(NOW - minutes(1)),
            "driver_memory": "2Gi",
            "state": "Running",
            **changes,
        }
    )


def job(name: str = JOB, **changes: Any) -> JobObservation:
    base = JobObservation(
        name=name,
        uid="job-uid",
        service=Service.INGESTION,
        attempt=1,
        created_at=NOW - minutes(1),
        phase=JobPhase.RUNNING,
        image=IMAGE,
        driver_memory="2Gi",
    )
    return replace(base, **changes)


def outcome(kind: Outcome, **changes: Any) -> JobOutcome:
    result = TaskResult.model_validate({"id": "team-a/flights/ingestion", "outcome": kind, **changes})
    return JobOutcome(results=(result,))


def succeeded(**changes: Any) -> JobOutcome:
    return outcome(Outcome.SUCCEEDED, **{"instant": "20260310115900000", "message": "Wrote 3 rows.", **changes})


def failed(reason: FailureReason = FailureReason.SOURCE_NOT_FOUND, message: str = "It is not there.") -> JobOutcome:
    return outcome(Outcome.FAILED, reason=reason, message=message)


def ended(name: str = JOB, **changes: Any) -> JobObservation:
    return job(name, **{"phase": JobPhase.OVER, **changes})


def run(kind: Outcome = Outcome.SUCCEEDED, **changes: Any) -> RunStatus:
    return RunStatus.model_validate(
        {
            "job": JOB,
            "service": "Ingestion",
            "outcome": kind,
            "message": "Wrote 3 rows." if kind is Outcome.SUCCEEDED else "It is not there.",
            "reason": None if kind is not Outcome.FAILED else "SourceNotFound",
            "started_at": at(NOW - minutes(2)),
            "finished_at": at(NOW - minutes(1)),
            **changes,
        }
    )


def memory(**changes: Any) -> ServiceStatus:
    return ServiceStatus().model_copy(update=changes)


def after_failures(number: int, *, generation: int = 1, **changes: Any) -> ServiceStatus:
    """What is remembered of ingestion after this many failures in a row."""
    last = run(Outcome.FAILED, **changes)
    return memory(last_run=last, failures=number, failures_generation=generation)


def status(*, ingestion: ServiceStatus | None = None, **changes: Any) -> HudiTableStatus:
    services = ServicesStatus(ingestion=ingestion or ServiceStatus())
    return HudiTableStatus(services=services).model_copy(update=changes)


def observe(one: HudiTable | None = None, **changes: Any) -> Observation:
    base = Observation(
        table=one or table(), table_class=table_class(), obstacles=(), look=TimelineLook(), jobs=(), running_in_class=0
    )
    return replace(base, **changes)


def plan_for(observation: Observation, *, now: datetime = NOW) -> Plan:
    return decide(observation, default_image=IMAGE, poll_seconds=POLL, now=now)


def status_of(observation: Observation, *, now: datetime = NOW) -> HudiTableStatus:
    return build_status(observation, plan_for(observation, now=now), now=now)


def again(observation: Observation, after: HudiTableStatus) -> Observation:
    """The same look at a table that now has this status, as the API server gives it back."""
    stored = HudiTableStatus.model_validate(after.to_document())
    return replace(observation, table=observation.table.model_copy(update={"status": stored}))
