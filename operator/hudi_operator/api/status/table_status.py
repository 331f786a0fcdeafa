"""The status of a `HudiTable`: the operator's observations, its decisions, and their reasons."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, GetJsonSchemaHandler, TypeAdapter, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hudi_jobs.contract import Service
from hudi_operator.api.status.conditions import Condition
from hudi_operator.api.status.findings import FINDINGS_SHOWN, Finding
from hudi_operator.api.status.memory import MEMORY, MEMORY_SCHEMA, SHOWN, DividedModel, divide, joined, with_lines
from hudi_operator.api.status.runs import PENDING_REMEMBERED, ActiveJob, FailedRunLog, JobStatus, RunStatus
from hudi_operator.api.status.savepoints import SAVEPOINTS_SHOWN, TableSavepoint
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.table_operations import (
    ENDS_REMEMBERED,
    OPERATIONS_SHOWN,
    DecisionsStatus,
    EndedOperation,
    TableOperation,
)
from hudi_operator.api.status.table_parts import (
    BadRowsStatus,
    CatalogStatus,
    OwnerStatus,
    RescanStatus,
    StatisticsStatus,
    SummaryStatus,
    TableStatus,
    TakeoverStatus,
)
from hudi_operator.api.status.timeline import LeftInstant, TimelineStatus
from hudi_operator.api.values.base import InstantTime, Timestamp

HISTORY_LENGTH = 10
JOBS_SHOWN = 8
COST_LIMIT = 128
SUSPENSION_LIMIT = 200


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
