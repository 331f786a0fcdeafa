"""The status of a table's services: counts, decisions, and the next attempt of each."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hudi_jobs.contract import Service
from hudi_operator.api.status.cost import DAYS_REMEMBERED, DayLine
from hudi_operator.api.status.memory import SHOWN, DividedModel
from hudi_operator.api.status.runs import LookStatus, Reason, RunStatus
from hudi_operator.api.status.table_parts import FreshnessStatus
from hudi_operator.api.status.timeline import CountRange, PendingStatus
from hudi_operator.api.values.base import InstantTime, Timestamp

PENDING_SHOWN = 10
EXPLANATION_LIMIT = 1024
_RUN_LINE_LIMIT = 1536


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
