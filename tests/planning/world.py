"""Small worlds for decisions: tables, classes, Jobs, timelines and snapshots, each complete and each easily changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome, Service, TaskResult, task_id
from hudi_operator.api.resources import HudiTable, HudiTableClass, ObjectMetadata
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.findings import Finding, FindingCode
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.service_status import ServicesStatus, ServiceStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import JobObservation, JobPhase, Observation, TimelineSnapshot
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.timeline import (
    Action,
    CleanSummary,
    Counters,
    Instant,
    Layout,
    State,
    TableProperties,
    TableType,
    Timeline,
    TimelineZone,
)
from hudi_operator.timeline.files.names import InstantFiles, collapse
from hudi_operator.timeline.rules.counters import count

NOW = datetime(2026, 3, 10, 12, 0, 0, tzinfo=UTC)
CREATED = NOW - timedelta(hours=1)
IMAGE = "registry.example/hudi-spark:1"
JOB = "flights-ingestion-0123456789"
_ANY_TASK = "any task"
UID = "5c2a8a44-7c31-4f0e-9f4a-1d1c3b7e0a11"
OPERATOR = "cluster/hudi-operator"
"""Identity of the operator."""


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
            "takeover": {"quietFor": "0s", "savepoint": False},
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


def ago(number: float) -> str:
    """The Hudi instant time of so many minutes before now."""
    return (NOW - minutes(number)).strftime("%Y%m%d%H%M%S") + "000"


def done(action: str, started: float, ended: float | None = None) -> str:
    """The file of an instant that was requested and completed so many minutes ago."""
    return f"{ago(started)}_{ago(started - 0.1 if ended is None else ended)}.{action}"


@dataclass(frozen=True)
class Told:
    """What the counters would read from files, told by the test."""

    clusterings: frozenset[str] | None = frozenset()
    clean: CleanSummary | None = None

    def is_clustering(self, entry: InstantFiles) -> bool | None:
        return None if self.clusterings is None else entry.instant.time in self.clusterings

    def clean_summary(self, _entry: InstantFiles) -> CleanSummary | None:
        return self.clean

    def completed_after(self, _entry: InstantFiles, _compaction: InstantFiles) -> bool | None:
        return None


def story(
    *names: str,
    kind: TableType = TableType.MERGE_ON_READ,
    zone: TimelineZone = TimelineZone.UTC,
    clusterings: Iterable[str] | None = (),
    clean: CleanSummary | None = None,
    version: int = 9,
) -> Timeline:
    """The timeline of a table whose folder holds these files, counted as the reader counts."""
    properties = TableProperties(name="flights", table_type=kind, version=version, layout=Layout.TWO, timezone=zone)
    collapsed = collapse(names, Layout.TWO)
    told = Told(None if clusterings is None else frozenset(clusterings), clean)
    return Timeline(
        properties=properties, instants=collapsed.instants, counters=count(collapsed.entries, properties, told)
    )


def snapshot(*runs: tuple[str, str], **changes: Any) -> TimelineSnapshot:
    """A snapshot of a table whose commits were made by these (run, instant) pairs."""
    base = TimelineSnapshot(
        timeline=timeline(*(instant(time) for _, time in reversed(runs))) if runs else None, runs=runs
    )
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
    """A Job of the table; the result of an outcome is that of its task."""
    task = task_id("team-a/flights", changes.get("service", Service.INGESTION) or "Later")
    if changes.get("outcome") is not None:
        changes["outcome"] = reported_for(changes["outcome"], task)
    base = JobObservation(
        name=name,
        uid="job-uid",
        service=Service.INGESTION,
        task_id=task,
        attempt=1,
        created_at=NOW - minutes(1),
        phase=JobPhase.RUNNING,
        image=IMAGE,
        driver_memory="2Gi",
    )
    return replace(base, **changes)


def outcome(kind: Outcome, **changes: Any) -> JobOutcome:
    """What a driver reports; `job` makes it the report of its own task."""
    result = TaskResult.model_validate({"id": _ANY_TASK, "outcome": kind, **changes})
    return JobOutcome(results=(result,))


def reporting(one: JobObservation, told: JobOutcome | None, **changes: Any) -> JobObservation:
    """The Job with the report of its driver."""
    return replace(one, outcome=None if told is None else reported_for(told, one.task_id), **changes)


def reported_for(told: JobOutcome, task: str) -> JobOutcome:
    """The outcome, with its results for any task as those of this one."""
    results = (one.copy_with(id=task) if one.id == _ANY_TASK else one for one in told.results)
    return told.copy_with(results=tuple(results))


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
    return ServiceStatus().copy_with(**changes)


def after_failures(number: int, *, generation: int = 1, **changes: Any) -> ServiceStatus:
    """What is remembered of ingestion after this many failures in a row."""
    last = run(Outcome.FAILED, **changes)
    return memory(last_run=last, failures=number, failures_generation=generation)


def status(**changes: Any) -> HudiTableStatus:
    """A status; services are given by their names, everything else as it is."""
    services = {name: changes.pop(name) for name in ServicesStatus.model_fields if changes.get(name) is not None}
    changes = {name: value for name, value in changes.items() if name not in ServicesStatus.model_fields}
    return HudiTableStatus(services=ServicesStatus(**services)).copy_with(**changes)


def observe(one: HudiTable | None = None, **changes: Any) -> Observation:
    base = Observation(
        table=one or table(),
        table_class=table_class(),
        blockers=(),
        snapshot=TimelineSnapshot(),
        jobs=(),
        operator=OPERATOR,
    )
    return replace(base, **changes)


def as_declared(snapshot: TimelineSnapshot, table: HudiTable) -> TimelineSnapshot:
    """The snapshot, where a test says nothing of the properties at a table that has what its resource declares."""
    if snapshot.timeline is None or snapshot.timeline.properties.raw:
        return snapshot
    spec, properties = table.spec, snapshot.timeline.properties
    raw = {
        "hoodie.table.name": table.table_name,
        "hoodie.table.type": spec.type.hudi_name,
        "hoodie.table.version": str(properties.version),
        "hoodie.table.recordkey.fields": ",".join(spec.record_key),
        "hoodie.table.partition.fields": ",".join(spec.partition_by),
        "hoodie.table.ordering.fields": ",".join(spec.ordering_fields),
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
    }
    filled = replace(properties, raw=tuple(sorted(raw.items())))
    return replace(snapshot, timeline=replace(snapshot.timeline, properties=filled))


def plan_for(observation: Observation, *, now: datetime = NOW) -> Plan:
    observation = replace(observation, snapshot=as_declared(observation.snapshot, observation.table))
    return decide(observation, default_image=IMAGE, now=now)


def status_of(observation: Observation, *, now: datetime = NOW) -> HudiTableStatus:
    return plan_for(observation, now=now).status


def finding(after: HudiTableStatus, *codes: FindingCode) -> Finding | None:
    """Return the finding with one of these codes."""
    return next((one for one in after.findings if one.code in codes), None)


def maintenance(after: HudiTableStatus) -> str | None:
    """Return what a table says that an operation has to itself, or that waits for a person after an operation."""
    found = find_condition(after.conditions, ConditionType.RECONCILING)
    left = finding(after, FindingCode.NOT_VERIFIED)
    return found.message if found is not None and found.reason == "Maintenance" else left.message if left else None


def again(observation: Observation, after: HudiTableStatus) -> Observation:
    """The same reconcile of a table that now has this status, as the API server gives it back."""
    stored = HudiTableStatus.model_validate(after.to_document())
    return replace(observation, table=observation.table.copy_with(status=stored))
