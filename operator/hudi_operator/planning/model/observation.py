"""The input of the decision, as frozen values, with the resources that name a table."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property
from typing import Self

from hudi_jobs.contract import CatalogRecord, JobOutcome, OwnerRecord, Progress, Service, TaskResult
from hudi_jobs.contract.operator_folder import OperationTold
from hudi_jobs.contract.run_progress import RunProgress
from hudi_jobs.contract.statistics import TableStatistics
from hudi_jobs.contract.table.facts import NO_FACTS, TableFacts
from hudi_operator.api.resources import (
    OPERATIONS,
    SAVEPOINTS,
    HudiOperation,
    HudiSavepoint,
    HudiTable,
    HudiTableClass,
    InvalidObject,
    ObjectMetadata,
)
from hudi_operator.diagnosis.check import Undoing
from hudi_operator.jobs.sizing import PlanSize
from hudi_operator.planning.model.blockers import (
    Blocker,
    Derived,
    NamespaceObservation,
    Suspension,
    is_hidden,
    keeps_figures,
    suspension_of,
)
from hudi_operator.sources.look import SourceLook
from hudi_operator.timeline import Instant, Problem, Timeline
from hudi_operator.timeline.rules.file_sizes import FileSummary

MOST_RELATED = 50
"""Objects of a further kind that are looked at with one table."""


@dataclass(frozen=True, kw_only=True)
class Related:
    """The resources that name a table.

    This version cannot read the specs of `unread_savepoints` and `unread_operations`: these resources exist, and still
    belong to the table. `others` are objects of further kinds, by the names of their kinds.
    """

    savepoints: tuple[HudiSavepoint, ...] = ()
    operations: tuple[HudiOperation, ...] = ()
    unread_savepoints: tuple[InvalidObject, ...] = ()
    unread_operations: tuple[InvalidObject, ...] = ()
    others: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, by_kind: Mapping[str, Iterable[object]]) -> Self:
        """Return the resources of each kind by what they are."""
        savepoints, operations = tuple(by_kind.get(SAVEPOINTS, ())), tuple(by_kind.get(OPERATIONS, ()))
        return cls(
            savepoints=tuple(one for one in savepoints if isinstance(one, HudiSavepoint)),
            operations=tuple(one for one in operations if isinstance(one, HudiOperation)),
            unread_savepoints=tuple(one for one in savepoints if isinstance(one, InvalidObject)),
            unread_operations=tuple(one for one in operations if isinstance(one, InvalidObject)),
            others={kind: tuple(found) for kind, found in by_kind.items() if kind not in {SAVEPOINTS, OPERATIONS}},
        )

    @property
    def oldest_operations(self) -> tuple[HudiOperation, ...]:
        """The operations, the oldest first."""
        return tuple(sorted(self.operations, key=_age))

    def metadata_of_savepoints(self) -> Iterator[ObjectMetadata]:
        """Yield the metadata of all savepoints, also of those that cannot be read."""
        yield from (one.metadata for one in self.savepoints)
        yield from (one.metadata for one in self.unread_savepoints)

    def metadata_of_operations(self) -> Iterator[ObjectMetadata]:
        """Yield the metadata of all operations, also of those that cannot be read."""
        yield from (one.metadata for one in self.operations)
        yield from (one.metadata for one in self.unread_operations)


def _age(one: HudiOperation) -> tuple[str, str]:
    return one.metadata.creation_timestamp or "", one.metadata.name


class TimelineTrouble(StrEnum):
    """Why a table's timeline could not be read."""

    NOT_FOUND = "TimelineIncomplete"
    """The table exists, but required files are missing."""

    ACCESS_DENIED = "StorageAccessDenied"
    """The store rejects the operator's credentials."""

    UNREACHABLE = "StorageUnavailable"
    """The store does not answer the operator."""

    CORRUPT = "TimelineCorrupt"
    """A file of the timeline cannot be understood."""

    TOO_LARGE = "TimelineTooLarge"
    """A timeline file is larger, or the timeline's folder has more files, than the operator reads."""

    UNSUPPORTED = "TableVersionUnsupported"
    """The table has a version that this operator cannot read, or that Hudi 1.2.0 does not write."""

    NOT_OBSERVED = "NotObserved"
    """The store was not read, because the table's path, class or namespace is not allowed."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The run that made a recent commit or a pending plan, as its metadata names it.

    `rows_quarantined` are the rows that the run quarantined for it; None if it says nothing.
    """

    instant: Instant
    run: str
    table_uid: str | None = None
    operator: str | None = None
    rows_quarantined: int | None = None


@dataclass(frozen=True, kw_only=True)
class Damaged:
    """A recent commit whose file cannot be understood: its changes and its writer are unknown."""

    instant: Instant
    problem: Problem


@dataclass(frozen=True, kw_only=True)
class TimelineSnapshot:
    """A snapshot of a timeline: the timeline, nothing if there is no table yet, or the trouble.

    `checkpoint` and `index` (the note on the table's index) come from the newest commit that has them;
    `checkpoint_digest` tells the whole checkpoint from every other. `runs` maps the
    runs of recent commits to the instants that they completed. `unmarked` are the recent commits that name no run of
    ours, newest first; if a read cannot check them all, `read_up_to` is the completion up to which it did. `operations`
    maps recent commits to Hudi's name of their operation. `files` sums up the files that recent commits wrote.
    `written` says when files of pending instants were written, in milliseconds since 1970. `plans` holds the sizes of
    the pending plans that run first. `heartbeats` says when the heartbeats of pending instants were last written, in
    milliseconds since 1970 by the store. `metadata` is the timeline of the metadata table; it is read when there are
    commits to archive. `marks` are the recent commits that name a run, and `planned` the pending plans that do.
    `damaged` are recent commits that cannot be understood, newest first; statements about commits do not cover them.
    `facts` are the facts of the table outside of its properties. `undoings` are the newest completed rollbacks and
    restores, and the oldest pending rollbacks. `owner` is the record of the table's owner, with or without a table;
    `owner_problem` says why it cannot be used. `progress` is the last report of a driver of a continuous ingestion, and
    `told` the last report of an operation's driver. `statistics` are those that the table's last driver measured.
    `catalog` is the record of the last sync of the catalog. `run_progress` is how far the drivers at work say they are;
    None if it was not read.
    """

    timeline: Timeline | None = None
    trouble: TimelineTrouble | None = None
    message: str = ""
    checkpoint: str | None = None
    checkpoint_digest: str | None = None
    index: str | None = None
    runs: tuple[tuple[str, str], ...] = ()
    unmarked: tuple[Instant, ...] = ()
    read_up_to: str | None = None
    operations: tuple[tuple[str, str], ...] = ()
    files: FileSummary | None = None
    written: tuple[tuple[str, int], ...] = ()
    plans: tuple[tuple[str, PlanSize], ...] = ()
    planned: tuple[Mark, ...] = ()
    heartbeats: tuple[tuple[str, int], ...] = ()
    metadata: Timeline | None = None
    marks: tuple[Mark, ...] = ()
    damaged: tuple[Damaged, ...] = ()
    undoings: tuple[Undoing, ...] = ()
    facts: TableFacts = NO_FACTS
    owner: OwnerRecord | None = None
    owner_problem: str = ""
    progress: Progress | None = None
    told: OperationTold | None = None
    statistics: TableStatistics | None = None
    catalog: CatalogRecord | None = None
    run_progress: tuple[RunProgress, ...] | None = None

    @classmethod
    def forbidden(cls, blockers: Iterable[Blocker]) -> "TimelineSnapshot":
        """Return the snapshot of a table that these blockers hide."""
        message = next((blocker.message for blocker in blockers if blocker.hides), "")
        return cls(trouble=TimelineTrouble.NOT_OBSERVED, message=message)

    @property
    def newest_completed(self) -> str | None:
        """The instant that completed last."""
        if self.timeline is None or not self.timeline.completed:
            return None
        return max(self.timeline.completed, key=lambda one: (one.completion, one.time)).time

    def instant_of(self, run: str) -> str | None:
        """Return the instant that a run completed, if the timeline still shows it."""
        return next((instant for name, instant in self.runs if name == run), None)

    def mark_of(self, run: str) -> Mark | None:
        """Return the mark of the newest commit of a run, if the timeline still shows it."""
        return next((mark for mark in self.marks if mark.run == run), None)


class JobPhase(StrEnum):
    """How far a Job has come; a Job is over only when none of its drivers and executors runs any more."""

    STARTING = "Starting"
    SUSPENDED = "Suspended"
    """A queue such as Kueue holds the Job, for any length of time."""

    RUNNING = "Running"
    ENDING = "Ending"
    OVER = "Over"


class PodTrouble(StrEnum):
    """Why a driver's pod does not start or has ended from outside."""

    IMAGE_PULL_FAILED = "ImagePullFailed"
    """The Spark image cannot be pulled."""

    UNSCHEDULABLE = "Unschedulable"
    """No node has room for the pod."""

    CONFIGURATION = "PodConfigurationError"
    """A Secret or service account of the pod is missing."""

    FORBIDDEN = "PodForbidden"
    """The namespace refuses the pod: its quota, limits or Pod Security level."""

    START_TIMEOUT = "StartTimeout"
    """The pod did not start in time, for a reason other than those above."""

    EXECUTORS_WAITING = "ExecutorsWaiting"
    """The driver runs, and none of its executors has started."""

    NO_EXECUTORS = "NoExecutors"
    """The run was ended because none of its executors started in time."""

    WITHDRAWN = "OperationWithdrawn"
    """The HudiOperation or its table was deleted while a queue held the Job; the Job was removed before it had a pod.
    """

    INIT_FAILED = "InitContainerFailed"
    """An injected container that runs before the driver failed."""

    OUT_OF_MEMORY = "OutOfMemory"
    """The driver's pod was ended for using more memory than its limit."""

    EVICTED = "Evicted"
    """The driver's pod was evicted."""

    NODE_LOST = "NodeLost"
    """The driver's node is gone or does not report."""

    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """The run took longer than the class's `job.deadline`."""


START_TROUBLES = frozenset(
    {
        PodTrouble.IMAGE_PULL_FAILED,
        PodTrouble.UNSCHEDULABLE,
        PodTrouble.CONFIGURATION,
        PodTrouble.FORBIDDEN,
        PodTrouble.START_TIMEOUT,
        PodTrouble.WITHDRAWN,
    }
)
"""Troubles of a pod that has not started; every other trouble ended a started pod."""


@dataclass(frozen=True, kw_only=True)
class PodReference:
    """A pod, by name and uid: a later pod of the same name is another pod."""

    name: str
    uid: str


@dataclass(frozen=True, kw_only=True)
class JobObservation:
    """The Job of a run, with its driver's pod.

    `service` is None if this version of the operator does not know it: then nothing runs beside it. `task_id` is the id
    of the table's task in the request and in the outcome. `waiting_since` is the time since when its pod could start; a
    queue may have held the Job before. `held_version` is the resourceVersion of a Job that a queue has held since its
    creation: with this version, the Job has never had a pod. `remains` says that an ended Job keeps a pod in which only
    containers of other owners run. `class_version` is the fingerprint of the class of a continuous ingestion, None for
    every other Job. `executors` are the executors that outlive their driver and that nobody has asked to end.
    `seen_to_end` says that the kubelet reported the end of every driver and executor that is there. A pod that was
    removed from the API, or is on a lost node, may run on. `pods` are the drivers. `had_others` says that an earlier
    driver may have existed and left nothing behind. `has_run` says that a driver or an executor may have been at work.
    `executors_wait_since` is since when executors of a running driver have not started. `started_at` and `ended_at` are
    the times of the driver, by the clock of its node. `asks` is the uid of the object
    whose Events since `asks_since` would say what the Job waits for.
    """

    name: str
    uid: str
    service: Service | None
    task_id: str
    attempt: int
    created_at: datetime
    phase: JobPhase
    image: str
    base_instant: str | None = None
    decided_at: str | None = None
    generation: int | None = None
    class_version: str | None = None
    driver_memory: str | None = None
    outcome: JobOutcome | None = None
    trouble: PodTrouble | None = None
    message: str = ""
    exit_code: int | None = None
    waiting_since: datetime | None = None
    held_version: str | None = None
    remains: bool = False
    seen_to_end: bool = False
    had_others: bool = False
    has_run: bool = False
    pods: tuple[str, ...] = ()
    executors: tuple[PodReference, ...] = ()
    executors_wait_since: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    asks: str = ""
    asks_since: datetime | None = None

    @property
    def result(self) -> TaskResult | None:
        """The driver's report on the table's task, or None."""
        return None if self.outcome is None else self.outcome.result_of(self.task_id)


@dataclass(frozen=True, kw_only=True)
class PlaceHolders:
    """Who uses the places of a class for Jobs, as far as the owner of a table may know.

    `tables` are the names of the other tables of its namespace; `elsewhere` tells of other namespaces.
    """

    tables: tuple[str, ...] = ()
    elsewhere: bool = False


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Processor milliseconds that table services of other tables used on a day, in the class and namespace."""

    day: date = date.min
    milliseconds: int = 0


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The observation of one reconcile of a table; `operator` is the identity of the operator."""

    table: HudiTable
    table_class: HudiTableClass | None
    blockers: tuple[Blocker, ...]
    snapshot: TimelineSnapshot
    jobs: tuple[JobObservation, ...]
    running_in_class: int = 0
    running_in_namespace: int = 0
    holders: PlaceHolders = field(default_factory=PlaceHolders)
    spent_elsewhere: Spent = Spent()
    operator: str = ""
    related: Related = field(default_factory=Related)
    """The resources of other kinds that name the table."""

    derived: Derived | None = None
    """The tables that read this table; filled in while an operation may cascade to them."""

    namespace: NamespaceObservation | None = field(default_factory=NamespaceObservation)
    """The table's namespace; None if the operator may not read it."""

    look: SourceLook | None = None
    """The last look at the table's source; None if nobody has looked."""

    logs: Mapping[str, str] | None = None
    """The ends of logs of failed runs by the names of their Jobs; None if the operator keeps no logs."""

    entry_taken: str | None = None
    """Why the table may not have its catalog entry, which another HudiTable claims; None if it may."""

    holds_claim: bool = False
    """Whether a hidden table holds the claim on its base path: its path was once allowed, and no other table has it."""

    @property
    def metadata(self) -> ObjectMetadata:
        """The metadata of the table."""
        return self.table.metadata

    @property
    def namespace_suspension(self) -> str | None:
        """The text by which the namespace suspends its tables, as last read; None if it suspends none."""
        return self.table.status.namespace_suspension if self.namespace is None else self.namespace.suspension

    @cached_property
    def suspended_by(self) -> Suspension | None:
        """What suspends the table, or None."""
        return suspension_of(self.metadata, self.table.spec, self.namespace_suspension)

    @cached_property
    def is_hidden(self) -> bool:
        """Whether the folder may belong to somebody else, so that the operator does not read it."""
        return self.table_class is None or is_hidden(self.blockers)

    @property
    def is_stale(self) -> bool:
        """Whether status keeps the figures of the last reading: the table was allowed then, and is not read now."""
        if self.is_hidden:
            return self.holds_claim and keeps_figures(self.blockers)
        return self.snapshot.trouble is not None
