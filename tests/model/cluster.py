"""One cluster: the resource with its status, the Jobs and pods as the API server shows them, and one operator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tests.model.drivers import TABLE
from tests.model.lake import Lake
from tests.model.ordered import Resource, read
from tests.model.world import Run, World, moment
from tests.planning.operations.deciding import decision
from tests.planning.world import CREATED, IMAGE, UID, as_declared, at, class_spec, spec, story

from hudi_jobs.contract import OwnerRecord, Progress, ProgressState
from hudi_operator.api.resources import OPERATIONS, HudiTable, HudiTableClass, ObjectMetadata, parse_table
from hudi_operator.api.spec.operation import OPERATION_FIELDS
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.control.jobs.job_view import observe_jobs
from hudi_operator.jobs.manifest import DRIVER_CONTAINER
from hudi_operator.jobs.names import (
    ATTEMPT_ANNOTATION,
    BASE_INSTANT_ANNOTATION,
    CONTINUOUS_ANNOTATION,
    DECIDED_AT_ANNOTATION,
    GENERATION_ANNOTATION,
    ROLE_LABEL,
    SERVICE_LABEL,
)
from hudi_operator.planning.facts.operations.decisions import with_decisions
from hudi_operator.planning.model import JobObservation, Mark, Observation, TimelineSnapshot, TimelineTrouble, Undoing
from hudi_operator.planning.model.observation import Related
from hudi_operator.sources.look import SourceLook
from hudi_operator.timeline import Action, CleanSummary, Instant, Timeline, TimelineZone
from hudi_operator.timeline.rules.counters import COMMITS

COMMITS_READ = 10
DEADLINE = 7200
TTL = 3600
GRACE = 100
"""How long a pod that is asked to end may take; a batch takes less."""


@dataclass
class Cluster:
    """What one API server holds, and when its operator reconciles next."""

    identity: str
    uid: str
    spec: str
    """The spec as JSON."""
    skew: int = 0
    status: HudiTableStatus = field(default_factory=HudiTableStatus)
    stored: str = ""
    """The status as text, by which states are distinguished."""
    saved: HudiTableStatus | None = None
    """A backup of the status, as a copy of etcd holds it."""
    annotations: dict[str, str] = field(default_factory=dict)
    decided: tuple[tuple[str, str, str], ...] = ()
    """What people have decided: the field of a HudiOperation, and its own field with its value."""
    generation: int = 1
    class_version: int = 1
    fault: str = ""
    """What goes wrong in the next reconcile."""
    next_reconcile: int = 0
    seen: object = None
    look: SourceLook | None = None
    """The last look at the source; the operator's process holds it alone."""
    told: tuple[str, ...] = ()
    """The Jobs whose ends have been told."""
    created: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    accepted: str = ""
    """The newest instant of another writer that a person has really accepted."""
    stalled_since: int | None = None
    obeyed: int = 0
    deleted: int | None = None
    """When the table was deleted."""
    is_gone: bool = False
    operations: tuple[Resource, ...] = ()
    removed: tuple[Resource, ...] = ()
    """The HudiOperations that are not there any more."""
    let_go: tuple[str, ...] = ()
    """The uids of those of them that the operator has let go, or never held."""
    lags_until: int = 0
    """Until when the controller of operations does nothing."""
    operations_next: int = 0
    operations_seen: object = None

    def copy(self) -> Cluster:
        return replace(self, annotations=dict(self.annotations))

    @property
    def key(self) -> object:
        return (
            self.identity, self.skew, self.stored,
            tuple(sorted(self.annotations.items())), self.decided, self.generation, self.class_version, self.fault,
            self.spec, self.obeyed, self.deleted, self.is_gone, self.operations, self.removed, self.let_go,
            self.lags_until, self.look,
        )  # fmt: skip


def observation(world: World, index: int) -> Observation:
    """What the operator of a cluster sees now."""
    cluster = world.clusters[index]
    jobs = job_observations(world, index)
    table = table_of(cluster)
    related = (*map(read, cluster.operations), *_decisions(cluster.decided))
    seen = Observation(
        table=table,
        table_class=_table_class(cluster.class_version, world.scenario.quiet, world.scenario.approval),
        blockers=(),
        snapshot=as_declared(snapshot_of(world), table) if cluster.fault != "unreachable" else _UNREACHABLE,
        jobs=jobs,
        operator=cluster.identity,
        related=Related.of({OPERATIONS: related}),
    )
    return with_decisions(seen, now=moment(world.now + cluster.skew))


@lru_cache(maxsize=64)
def _decisions(decided: tuple[tuple[str, str, str], ...]) -> tuple[Any, ...]:
    return tuple(
        decision(uid=f"uid-of-decision-{number}", name=f"decision-{number}", **{kind: {field: value}})
        for number, (kind, field, value) in enumerate(decided)
    )


_UNREACHABLE = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="Down.")


def table_of(cluster: Cluster) -> HudiTable:
    """The table as it is stored."""
    metadata = ObjectMetadata(
        name="flights",
        namespace="team-a",
        uid=cluster.uid,
        generation=cluster.generation,
        annotations=cluster.annotations,
        creation_timestamp=at(CREATED),
        deletion_timestamp=None if cluster.deleted is None else at(moment(cluster.deleted)),
    )
    return HudiTable(metadata=metadata, spec=_spec(cluster.spec), status=cluster.status)


@lru_cache(maxsize=64)
def _spec(document: str) -> Any:
    return spec(**json.loads(document))


_RETRY = {"maxDelay": "1m", "maxAttempts": 20}


@lru_cache(maxsize=8)
def _table_class(version: int, quiet: int, approval: str) -> HudiTableClass:
    metadata = ObjectMetadata(name="standard", uid="class-uid", generation=version)
    operations = {"allowed": [*OPERATION_FIELDS], "approval": approval}
    takeover = {"quietFor": f"{quiet}s"}
    return HudiTableClass(metadata=metadata, spec=class_spec(retry=_RETRY, takeover=takeover, operations=operations))


def downgraded(status: HudiTableStatus) -> HudiTableStatus:
    """The status as an older version reads it, which does not know one value in it."""
    document = status.to_document()
    document.setdefault("services", {}).setdefault("compaction", {})["pending"] = [
        {"time": "1", "action": "compaction", "state": "x"}
    ]
    table = parse_table({"metadata": {"name": "flights"}, "spec": _VALID, "status": document})
    assert isinstance(table, HudiTable)
    return table.status


_VALID = {"basePath": "s3a://lake/team-a/flights", "type": "CopyOnWrite", "recordKey": ["id"]}


def snapshot_of(world: World) -> TimelineSnapshot:
    """One snapshot of the table, as `control/snapshots/reader.py` makes it."""
    lake = world.lake
    if not lake.entries and not lake.archived:
        return TimelineSnapshot(owner=_owner(lake), progress=_progress(world))
    clusterings = frozenset(one.time for one in lake.entries.values() if one.action == "clustering")
    names = frozenset(name for one in lake.entries.values() for name in one.files)
    zone = TimelineZone.UTC if world.scenario.existing_ahead is None else TimelineZone.LOCAL
    timeline = _timeline(names, clusterings, lake.cleaned, zone)
    return replace(_snapshot(timeline, lake), progress=_progress(world))


@lru_cache(maxsize=4096)
def _timeline(
    names: frozenset[str], clusterings: frozenset[str], cleaned: tuple[str, str] | None, zone: TimelineZone
) -> Timeline:
    clean = CleanSummary(last_completed_commit=cleaned[0], earliest_retained=cleaned[1]) if cleaned else None
    return story(*sorted(names), clusterings=clusterings, clean=clean, zone=zone)


def _snapshot(timeline: Timeline, lake: Lake) -> TimelineSnapshot:
    commits = [one for one in timeline.completed if one.action in COMMITS]
    newest = sorted(commits, key=lambda one: (one.completed_at or one.time, one.time), reverse=True)[:COMMITS_READ]
    restores = [one for one in timeline.instants if one.action is Action.RESTORE]
    runs = tuple((run, one.time) for one in newest if (run := lake.entries[one.time].run) is not None)
    unmarked = tuple(one for one in newest if lake.entries[one.time].run is None)
    checkpoints = (found for one in newest if (found := lake.entries[one.time].checkpoint) is not None)
    return TimelineSnapshot(
        timeline=timeline,
        checkpoint_digest=next((f"{one.number} {sorted(one.read)}" for one in checkpoints), None),
        runs=runs,
        unmarked=unmarked,
        operations=tuple((one.time, _OPERATIONS[lake.entries[one.time].action]) for one in newest),
        marks=tuple(_marks(newest, lake)),
        planned=tuple(_marks(timeline.pending, lake)),
        undoings=tuple(Undoing(instant=one, targets=tuple(sorted(lake.entries[one.time].inputs))) for one in restores),
        owner=_owner(lake),
    )


def _progress(world: World) -> Progress | None:
    lake, lag = world.lake, world.scenario.lag
    if lake.progress is None:
        return None
    run, polls, batches, instant, state = lake.progress
    return Progress(
        run=run,
        pod=f"{run}-x",
        sequence=polls,
        state=ProgressState(state),
        written_at=at(CREATED),
        polled_at=at(CREATED) if polls else None,
        polls=polls,
        batches=batches,
        instant=instant or None,
        takes=world.scenario.takes,
        complete_up_to=None if lag is None else at(moment(world.now - lag)),
        made=(lake.made,) if lake.made else (),
    )


_OPERATIONS = {
    "deltacommit": "UPSERT", "compaction": "COMPACT", "logcompaction": "LOG_COMPACT", "clustering": "CLUSTER"
}  # fmt: skip


def _marks(commits: Iterable[Instant], lake: Lake) -> Iterator[Mark]:
    for one in commits:
        entry = lake.entries[one.time]
        operator, uid = entry.operator or (None, None)
        if entry.run is not None:
            yield Mark(instant=one, run=entry.run, operator=operator, table_uid=uid)


def _owner(lake: Lake) -> OwnerRecord | None:
    if lake.owner is None:
        return None
    operator, run = lake.owner
    return OwnerRecord(
        operator=operator, run=run, table="team-a/flights", table_uid=UID, since=at(CREATED), renewed_at=at(CREATED)
    )


def job_observations(world: World, index: int) -> tuple[JobObservation, ...]:
    """The Jobs of a cluster as `control/jobs/job_view.py` reads their documents."""
    now = world.now + world.clusters[index].skew
    found = (one for one in world.runs if one.cluster == index and one.pod != "deleted")
    observed = [one for run in found for one in _observed(run, now)]
    return tuple(sorted(observed, key=lambda job: (job.created_at, job.name)))


def _observed(run: Run, now: int) -> tuple[JobObservation, ...]:
    """What is seen of one Job; it is the same again while neither it nor the minute of its age changes."""
    decided = run.decided
    if run.killed_at and run.pod != "gone":
        return observe_jobs([], [_pod_document(run)] if run.pod != "deleted" else [], table=TABLE, now=moment(now))
    age = min((now - run.created) // 60, 10)
    key = (
        decided.name, decided.attempt, decided.started_at, decided.generation, decided.base_instant,
        decided.driver_memory, decided.live and decided.live.class_version,
        run.uid, run.created, run.pod, run.sidecar, run.exit_code, run.queued_until,
        run.result, age,
    )  # fmt: skip
    if key not in _OBSERVED:
        pods = [_pod_document(run)] if run.pod in _SHOWN else []
        _OBSERVED[key] = observe_jobs([_job_document(run)], pods, table=TABLE, now=moment(now))
    return _OBSERVED[key]


def forget_observed() -> None:
    """Read all documents again: whoever replaces a function that reads them calls this before and after."""
    _OBSERVED.clear()


_OBSERVED: dict[object, tuple[JobObservation, ...]] = {}
_SHOWN = frozenset({"pending", "stuck", "running", "ended"})


def _labels(run: Run) -> dict[str, str]:
    return {
        SERVICE_LABEL: str(run.decided.service),
        ROLE_LABEL: "driver",
        "batch.kubernetes.io/job-name": run.decided.name,
        "batch.kubernetes.io/controller-uid": run.uid,
    }


def _job_document(run: Run) -> dict[str, Any]:
    is_over = run.pod == "gone" or (run.pod == "ended" and not run.sidecar)
    kind = "Complete" if run.exit_code == 0 and run.pod == "ended" else "Failed"
    annotations = {
        ATTEMPT_ANNOTATION: str(run.decided.attempt),
        BASE_INSTANT_ANNOTATION: run.decided.base_instant or "",
        DECIDED_AT_ANNOTATION: run.decided.started_at,
        GENERATION_ANNOTATION: str(run.decided.generation or ""),
    }
    if run.decided.live is not None:
        annotations[CONTINUOUS_ANNOTATION] = run.decided.live.class_version or ""
    container = {"image": IMAGE, "resources": {"limits": {"memory": run.decided.driver_memory or "2Gi"}}}
    return {
        "metadata": {
            "name": run.decided.name,
            "uid": run.uid,
            "creationTimestamp": at(moment(run.created)),
            "labels": _labels(run),
            "annotations": annotations,
        },
        "spec": {
            "suspend": run.pod == "none" and run.queued_until > 0,
            "template": {"spec": {"containers": [container]}},
        },
        "status": {"conditions": [{"type": kind, "status": "True"}] if is_over else []},
    }


def _pod_document(run: Run) -> dict[str, Any]:
    state: dict[str, Any] = {"running": {}}
    if run.pod == "ended":
        message = run.result.model_dump_json(by_alias=True) if run.result else ""
        reason = "Error" if run.exit_code else "Completed"
        state = {"terminated": {"exitCode": run.exit_code, "reason": reason, "message": message}}
    elif run.pod in {"pending", "stuck"}:
        state = {"waiting": {"reason": "ContainerCreating"}}
    phase = {"pending": "Pending", "stuck": "Pending", "running": "Running"}.get(run.pod)
    if run.pod == "ended":
        phase = "Running" if run.sidecar else ("Succeeded" if run.exit_code == 0 else "Failed")
    return {
        "metadata": {
            "name": f"{run.decided.name}-x",
            "labels": _labels(run),
            "creationTimestamp": at(moment(run.created)),
        },
        "spec": {"containers": [{"name": DRIVER_CONTAINER, "image": IMAGE}]},
        "status": {"phase": phase, "containerStatuses": [{"name": DRIVER_CONTAINER, "state": state}]},
    }


def collect(world: World) -> None:
    """End Jobs at their deadline, and remove those whose time to live has passed."""
    for run in world.runs:
        is_over = run.created + DEADLINE + (world.scenario.recycle if run.continues else 0) <= world.now
        if is_over and run.pod not in {"ended", "gone", "deleted"}:
            run.is_alive, run.exit_code, run.pod = False, 137, "ended"
        if run.created + DEADLINE <= world.now:
            run.sidecar = False
        if run.pod in {"ended", "gone"} and not run.sidecar and run.created + TTL <= world.now:
            run.pod = "deleted"
    world.runs = [one for one in world.runs if one.is_alive or one.pod != "deleted"]


def create_job(world: World, index: int, decided: ActiveJob) -> bool:
    """Create a Job as `control/actions/actor.py` does; return False for the conflict with a Job that another run has.

    A Job that exists under the name is taken for this one if the decision is the same: its reply was lost.
    """
    cluster = world.clusters[index]
    found = [one for one in world.runs if one.cluster == index and one.decided.name == decided.name]
    existing = next((one for one in found if one.pod != "deleted"), None)
    if existing is not None:
        return existing.decided.started_at == decided.started_at
    world.serial += 1
    run = Run(decided=decided, cluster=index, uid=f"uid-{world.serial}", created=world.now, skew=world.next_skew)
    run.pod = "stuck" if world.next_trouble == "stuck" else "pending"
    run.sidecar = world.next_trouble == "sidecar"
    if world.next_trouble == "queued":
        run.pod, run.queued_until = "none", world.now + 900
    world.next_skew, world.next_trouble = 0, ""
    world.runs.append(run)
    cluster.created += (decided.name,)
    return True


def delete_job(world: World, index: int, name: str) -> None:
    """Delete a Job; its pod is stopped at once, or asked to end where it is a continuous one."""
    for run in world.runs:
        if run.cluster == index and run.decided.name == name and run.pod != "deleted":
            if run.continues and run.pod == "running" and run.is_alive:
                run.killed_at = run.killed_at or world.now + GRACE
                run.waits_until = 0 if run.step == "between" else run.waits_until
            else:
                run.is_alive, run.pod = False, "deleted"


def kill_overdue(world: World) -> None:
    """Kill the pods that were asked to end and have not in time, frozen ones too."""
    for run in world.runs:
        if run.killed_at and run.killed_at <= world.now and run.pod in {"running", "gone"}:
            run.is_alive, run.is_frozen = False, False
            run.pod = "gone" if run.pod == "gone" else "deleted"
