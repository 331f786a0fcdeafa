"""The status of a `HudiTable`: the operator's observations, its decisions, and their reasons."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, GetJsonSchemaHandler, TypeAdapter, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hudi_jobs.contract import RunMode, SavepointStep, Service
from hudi_jobs.contract.run_progress import PROGRESS_LINE_LIMIT
from hudi_operator.api.status.conditions import Condition
from hudi_operator.api.status.cost import DAYS_REMEMBERED, DayLine, RequestedCores
from hudi_operator.api.status.findings import FINDINGS_SHOWN, Finding
from hudi_operator.api.status.look import LookStatus
from hudi_operator.api.status.memory import MEMORY, MEMORY_SCHEMA, SHOWN, DividedModel, divide, joined, with_lines
from hudi_operator.api.status.runs import (
    FailedRunLog,
    JobStatus,
    LiveStatus,
    OwnerStatus,
    Reason,
    RunStatus,
    TableStatus,
)
from hudi_operator.api.status.savepoints import SAVEPOINTS_SHOWN, NamedSavepointJob, TableSavepoint
from hudi_operator.api.status.statistics import StatisticsStatus
from hudi_operator.api.status.table_operations import (
    ENDS_REMEMBERED,
    OPERATIONS_SHOWN,
    DecisionsStatus,
    EndedOperation,
    NamedOperationJob,
    TableOperation,
)
from hudi_operator.api.status.table_parts import (
    BadRowsStatus,
    CatalogStatus,
    FreshnessStatus,
    RescanStatus,
    SummaryStatus,
    TakeoverStatus,
)
from hudi_operator.api.status.timeline import CountRange, LeftInstant, PendingStatus, TimelineStatus
from hudi_operator.api.values.base import InstantTime, Model, Timestamp

HISTORY_LENGTH = 10
PENDING_SHOWN = 10
PENDING_REMEMBERED = 100
EXPLANATION_LIMIT = 1024
JOBS_SHOWN = 8
_RUN_LINE_LIMIT = 1536
COST_LIMIT = 128
SUSPENSION_LIMIT = 200


class ServiceStatus(DividedModel):
    """A service: its count, whether and why it is due, and the next attempt."""

    remembered: ClassVar[frozenset[str]] = frozenset(
        {
            "due_since",
            "passed_over",
            "failures_generation",
            "failures_circumstances",
            "driver_memory",
            "more_input",
            "pending",
            "files_skipped",
            "records_skipped",
            "skipped",
            "look",
            "last_no_op_instant",
            "last_run",
            "costs",
        }
    )

    counted: int | None = None
    """Commits that count towards the threshold; absent while uncertain."""

    counted_range: CountRange | None = None
    """Bounds of an uncertain count."""

    threshold: int | None = None
    """Commits that make a run due."""

    due: bool = False
    """Whether a run is due now."""

    due_since: Timestamp | None = None
    """Since when a run has been due."""

    passed_over: int = 0
    """How often another service started, or a continuous driver got another turn, while this service was due; after
    enough times this service goes first.
    """

    reason: Reason = "NotEvaluated"
    """Why it is due or not, as a word."""

    message: Annotated[str, Field(max_length=EXPLANATION_LIMIT)] = ""
    """Why it is due or not, as a sentence."""

    pending: Annotated[tuple[PendingStatus, ...], Field(max_length=PENDING_SHOWN)] = ()
    """Pending instants to handle before the service makes a new plan, oldest first; at most 10."""

    blocked_by: Annotated[str, Field(max_length=512)] | None = None
    """The limit on the service, as a sentence."""

    last_run: RunStatus | None = None
    """The last run that ended."""

    failures: int = 0
    """Failed runs in a row, caused by the run itself."""

    infrastructure_failures: int = 0
    """Failed runs in a row, caused from outside: nodes, images, quotas, the store."""

    conflicts: int = 0
    """Runs in a row that gave way to another writer."""

    failures_generation: int | None = None
    """Generation of the spec that the failures belong to."""

    failures_circumstances: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the class, Spark image and operator version that the failures belong to."""

    rollback_of: InstantTime | None = None
    """The last plan that a run was started to roll back; a retry rolls each plan back once."""

    next_run_at: Timestamp | None = None
    """When the next run, or the next look at the source, is due by the schedule; absent while looks follow closely."""

    next_attempt_at: Timestamp | None = None
    """When a failed run is tried again."""

    driver_memory: Annotated[str, Field(max_length=32)] | None = None
    """Memory of the driver's pod for the next run, where the operator has grown it after out-of-memory."""

    checkpoint: Annotated[str, Field(max_length=512)] | None = None
    """Read position in the source, for people; the newest commit's metadata decides."""

    more_input: bool = False
    """Whether the last run left input behind because of its limits."""

    freshness: FreshnessStatus | None = None
    """Lag of the table behind its source; absent until a run reports it."""

    files_skipped: int = 0
    """Files of the source that are skipped, and may never have been read."""

    records_skipped: int = 0
    """Offsets of a stream that were gone before they could be read, while the source skips losses."""

    skipped: Annotated[tuple[Annotated[str, Field(max_length=128)], ...], Field(max_length=3)] = ()
    """Some of these files, by their paths below the source, or where the last of these offsets were; at most 3."""

    look: LookStatus | None = None
    """The source before the last run, if that run has read everything: equal input needs no run."""

    last_no_op_instant: InstantTime | None = None
    """Newest completed instant when a run found nothing to do; as many more as make the service due must follow."""

    costs: Annotated[tuple[DayLine, ...], Field(max_length=DAYS_REMEMBERED)] = ()
    """What the runs of the last 35 days cost, by day, the newest last."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        description = (
            "The last run that ended: outcome, end, the message with its figures, and the Job of a failed run."
        )
        schema[SHOWN] = {"lastRun": {"type": "string", "maxLength": _RUN_LINE_LIMIT, "description": description}}
        return schema


_UNKNOWN = ServiceStatus()


class ServicesStatus(DividedModel):
    """All services of a table."""

    ingestion: ServiceStatus = ServiceStatus()
    """Bringing input into the table."""

    savepoint: ServiceStatus | None = None
    """Making and removing the savepoints of HudiSavepoints; absent until requested."""

    operation: ServiceStatus | None = None
    """Running HudiOperations; absent until requested."""

    compaction: ServiceStatus = ServiceStatus()
    """Merging of log files into base files."""

    clustering: ServiceStatus = ServiceStatus()
    """Rewriting of small or unsorted files."""

    cleaning: ServiceStatus = ServiceStatus()
    """Removal of file slices that readers no longer need."""

    archival: ServiceStatus = ServiceStatus()
    """Moving of old instants to the archive."""

    catalog: ServiceStatus | None = None
    """Runs that only sync the catalog; absent until one is due."""

    def of(self, service: Service | None) -> ServiceStatus:
        """Return the status of a service, or the default for a service without a status here."""
        status: ServiceStatus | None = None if service is None else getattr(self, service.lower(), None)
        return status or _UNKNOWN

    def with_reason(self, reason: str) -> frozenset[Service]:
        """Return the services that show a reason."""
        return frozenset(service for service in Service if self.of(service).reason == reason)

    def replaced(self, changed: Mapping[Service, ServiceStatus]) -> Self:
        """Return a copy with the changed services replaced."""
        shown: dict[Service, ServiceStatus | None] = dict(changed)
        for service in (Service.SAVEPOINT, Service.OPERATION, Service.CATALOG):
            status = shown.get(service)
            if status is not None and not status.due and status.last_run is None:
                shown[service] = None  # no resource ever asked for it
        return self.copy_with(**{service.lower(): status for service, status in shown.items()})


def service_name(service: Service | None) -> str:
    """Return the name of a run's service for sentences and metrics."""
    return "Unknown" if service is None else service.value


class ActiveJob(Model):
    """A Job that was decided and has not been seen to end; without a uid it may not have been created yet."""

    name: Annotated[str, Field(max_length=63)]
    """Name of the Job."""

    service: Service | None = None
    """Service of the Job; absent if this operator version does not know it."""

    uid: Annotated[str, Field(max_length=64)] | None = None
    """Uid of the Job once it is known to exist."""

    attempt: int
    """Number of this attempt, from 1."""

    started_at: Timestamp
    """When the Job was decided."""

    stopped_at: Timestamp | None = None
    """When the removal of a Job of an operation was last asked for; absent once its pod may have started."""

    generation: int | None = None
    """Generation of the spec that the Job uses."""

    circumstances: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the class, Spark image and operator version that the Job uses."""

    base_instant: InstantTime | None = None
    """The newest completed instant when the Job was decided."""

    instant: InstantTime | None = None
    """The pending instant that the Job deals with."""

    pending: Annotated[tuple[InstantTime, ...], Field(max_length=PENDING_REMEMBERED)] | None = None
    """Instants that were pending when the Job was decided; the Job began any other instant that it leaves behind."""

    abandoned: Annotated[tuple[InstantTime, ...], Field(max_length=PENDING_REMEMBERED)] | None = None
    """Pending instants that nobody works on any more, and that the Job may finish or roll back."""

    left_behind: Annotated[tuple[InstantTime, ...], Field(max_length=PENDING_REMEMBERED)] | None = None
    """The subset of `abandoned` that earlier runs of this table left behind."""

    dead: Annotated[tuple[InstantTime, ...], Field(max_length=PENDING_REMEMBERED)] | None = None
    """The subset of `abandoned` with a writer known to have exited; ignore any heartbeat it left."""

    run_mode: RunMode | None = None
    """Steps of a compaction or clustering that the Job runs."""

    savepoint: SavepointStep | None = None
    """Step on the savepoint of the takeover, before the Job's own work."""

    taken_over_at: Timestamp | None = None
    """The takeover that this savepoint belongs to."""

    named_savepoint: NamedSavepointJob | None = None
    """The savepoint of a HudiSavepoint that the Job makes or removes."""

    operation: NamedOperationJob | None = None
    """Work of the Job for a HudiOperation."""

    plan_bytes: int | None = None
    """Bytes that the plan of the pending instant reads, if known."""

    plan_groups: int | None = None
    """Groups of the plan of the pending instant, if known."""

    driver_memory: Annotated[str, Field(max_length=32)] | None = None
    """Memory of the driver's pod, before it is sized by a plan."""

    inside: Annotated[str, Field(max_length=63)] | None = None
    """The continuous ingestion that runs the service in its driver; the Job hands the service over and waits."""

    look: LookStatus | None = None
    """The source before the Job was decided; absent where nobody looked."""

    cores: RequestedCores | None = None
    """Cores that the Job requests; absent if an earlier version decided it."""

    running_since: Timestamp | None = None
    """When the driver started."""

    live: LiveStatus | None = None
    """Progress of a continuous ingestion; absent for every other Job."""

    progress: Annotated[str, Field(max_length=PROGRESS_LINE_LIMIT)] | None = None
    """How far the run is, as a line; absent in its first minute."""

    progress_at: Timestamp | None = None
    """When that line last changed."""

    state: Reason = "Decided"
    """State of its pod, as a word."""

    message: Annotated[str, Field(max_length=512)] = ""
    """Why its pod does not start."""


class HudiTableStatus(DividedModel):
    """The observed state of a Hudi table."""

    remembered: ClassVar[frozenset[str]] = frozenset(
        {
            "rescan",
            "decisions",
            "bad_rows",
            "namespace_suspension",
            "owner",
            "active_jobs",
            "savepoints",
            "operations",
            "ended_operations",
            "left_behind",
            "left_by",
            "history",
            "failed_logs",
        }
    )

    observed_generation: int = -1
    """Generation of the spec that this status describes; -1 before the first reconcile."""

    last_handled_reconcile_at: Annotated[str, Field(max_length=128)] | None = None
    """Value of the annotation hudi-operator.io/requested-at that was handled last."""

    rescan: RescanStatus | None = None
    """The newest request to read input once more, by a HudiOperation."""

    decisions: DecisionsStatus | None = None
    """Decisions of people about the table, by HudiOperations that start no Job."""

    bad_rows: BadRowsStatus | None = None
    """Quarantined rows that nobody has acknowledged; absent without any."""

    namespace_suspension: Annotated[str, Field(max_length=SUSPENSION_LIMIT)] | None = None
    """Text by which the namespace suspends its tables, as last read; absent if it suspends none."""

    message: Annotated[str, Field(max_length=512)] | None = None
    """The state of the table in a sentence."""

    summary: SummaryStatus | None = None
    """The state of the table at a glance."""

    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=16,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()
    """Conditions by the rules of kstatus."""

    findings: Annotated[
        tuple[Finding, ...],
        Field(
            max_length=FINDINGS_SHOWN,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["code"]},
        ),
    ] = ()
    """Problems, the worst first; at most 16."""

    table: TableStatus | None = None
    """The table by its own properties; absent until the table exists."""

    timeline: TimelineStatus | None = None
    """Summary of the timeline; absent until the table exists."""

    statistics: StatisticsStatus | None = None
    """Files, rows and size of the table, from its last run; absent until a run has measured them."""

    stale_since: Timestamp | None = None
    """Since when the timeline is not read: the figures are those of the last reading before. Absent while it is."""

    owner: OwnerStatus | None = None
    """Who owns the table by the record beside it; absent before the first run."""

    catalog: CatalogStatus | None = None
    """The table's entry in its catalog, by the record of the last sync; absent before the first."""

    takeover: TakeoverStatus | None = None
    """Takeover from the earlier writers; absent if the operator created the table."""

    services: ServicesStatus = ServicesStatus()
    """Counts and decisions of each service."""

    cost: Annotated[str, Field(max_length=COST_LIMIT)] | None = None
    """CPU hours of runs, on the newest day with a run and on the seven days up to then, in UTC."""

    active_jobs: Annotated[
        tuple[ActiveJob, ...],
        Field(max_length=JOBS_SHOWN),
    ] = ()
    """Jobs that were decided and have not been seen to end."""

    savepoints: Annotated[tuple[TableSavepoint, ...], Field(max_length=SAVEPOINTS_SHOWN)] = ()
    """Savepoints of HudiSavepoints and of other tools; at most 64."""

    operations: Annotated[tuple[TableOperation, ...], Field(max_length=OPERATIONS_SHOWN)] = ()
    """HudiOperations of the table, and a begun operation of a deleted resource; at most 20."""

    ended_operations: Annotated[tuple[EndedOperation, ...], Field(max_length=ENDS_REMEMBERED)] = ()
    """The last 50 HudiOperations that finished, the newest last."""

    left_behind: Annotated[tuple[InstantTime, ...], Field(max_length=PENDING_REMEMBERED)] = ()
    """Pending instants that runs of this table began and left behind, as long as they are pending."""

    left_by: Annotated[tuple[LeftInstant, ...], Field(max_length=PENDING_REMEMBERED)] = ()
    """Runs that left these instants, and whether each run is known for certain."""

    history: Annotated[tuple[RunStatus, ...], Field(max_length=HISTORY_LENGTH)] = ()
    """The newest 10 runs that did or failed to do something, newest first."""

    failed_logs: Annotated[tuple[FailedRunLog, ...], Field(max_length=len(Service))] = ()
    """The end of the log of the newest failed run of each service; empty unless the operator keeps logs."""

    @property
    def jobs(self) -> tuple[JobStatus, ...]:
        """Return the Jobs as people read them."""
        return tuple(
            JobStatus(
                name=job.name,
                service=job.service,
                attempt=job.attempt,
                started_at=job.started_at,
                instant=job.instant,
                state=job.state,
                message=job.message,
                progress=job.progress,
                rows_read=job.live.rows_read if job.live is not None else None,
                batches=job.live.batches if job.live is not None else None,
            )
            for job in self.active_jobs
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        jobs = handler(TypeAdapter(tuple[JobStatus, ...]).core_schema)
        shown = {
            "description": "Jobs that were decided and have not been seen to end.",
            "maxItems": JOBS_SHOWN,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        }
        schema[SHOWN] = {"jobs": {**jobs, **shown}, MEMORY: MEMORY_SCHEMA}
        return schema

    @model_validator(mode="before")
    @classmethod
    def _joined(cls, data: Any) -> Any:  # noqa: ANN401 - a validator sees whatever the document holds
        return joined(data) if isinstance(data, Mapping) else data

    def to_document(self) -> dict[str, Any]:
        """Return the status as it is written to the API server, without zero, false, empty and absent values."""
        document = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        # kstatus takes an object without observedGeneration for current.
        shown, memory = divide(self, document | {"observedGeneration": self.observed_generation})
        if self.active_jobs:
            shown["jobs"] = [job.model_dump(mode="json", by_alias=True, exclude_defaults=True) for job in self.jobs]
        for name, service in self.services:
            if service is not None and service.last_run is not None:
                shown.setdefault("services", {}).setdefault(name, {})["lastRun"] = service.last_run.line
        return with_lines({**shown, MEMORY: memory} if memory else shown)
