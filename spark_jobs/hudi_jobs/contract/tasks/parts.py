"""What tasks consist of: the declared table, and the work of one service."""

from enum import StrEnum

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.sources.source import AnySource
from hudi_jobs.contract.vocabulary import BadRecordPolicy, RunMode, SchemaEvolution, TableType, WriteOperation


class TableDefinition(Document):
    """The identity and shape of one Hudi table, as declared.

    `index` is declared as its note has it (`index_note`). `metadata_table` is None where nothing was
    asked for by name: then the table keeps what it has. So is `version`, with which only a new table is created.
    """

    name: str
    base_path: str
    type: TableType
    record_key: tuple[str, ...] = Field(min_length=1)
    partition_by: tuple[str, ...] = ()
    ordering_fields: tuple[str, ...] = ()
    index: str | None = None
    metadata_table: bool | None = None
    version: int | None = None


class ContinuousTask(Document):
    """How a driver goes on reading its source, batch after batch, until it is asked to end or its time is over.

    `min_interval_seconds` lie between the starts of two batches, unless the first one left input unread. After
    `recycle_after_seconds` no further batch begins. A batch that is under way when the pod is asked to end has
    `drain_seconds` to do so before it is cancelled.
    """

    min_interval_seconds: float = Field(default=10.0, gt=0)
    recycle_after_seconds: float = Field(default=43_200.0, gt=0)
    drain_seconds: float = Field(default=300.0, ge=0)


class IngestionTask(Document):
    """Read what is new in a source and write it to the table as one commit."""

    source: AnySource
    transform_sql: str | None = None
    operation: WriteOperation = WriteOperation.UPSERT
    max_bytes: int | None = None
    max_files: int | None = None
    max_records: int | None = None
    max_commits: int | None = None
    bad_records: BadRecordPolicy = BadRecordPolicy.FAIL
    quarantine_path: str | None = None
    schema_evolution: SchemaEvolution = SchemaEvolution.ADD_COLUMNS
    rescan: str | None = None
    """A request to read files, or an upstream table, once more, as the annotation has it; see `RescanRequest`."""

    continuous: ContinuousTask | None = None
    """Read batch after batch; without it one batch, and the run ends."""


class PlannedServiceTask(Document):
    """A compaction or clustering: make a plan, execute a plan, or both.

    `instant` is the pending instant to deal with and goes with `EXECUTE`. A requested one is executed. An inflight
    compaction is finished; a clustering that is inflight, or older than the newest write, is rolled back and planned
    again, so the instant that the run completes may be another one.
    """

    mode: RunMode = RunMode.SCHEDULE_AND_EXECUTE
    instant: str | None = None


class SavepointStep(StrEnum):
    """What becomes of the savepoint that protects a table which was taken over."""

    KEEP = "Keep"
    """Make it on the newest commit unless it is there, then do the service."""

    REMOVE = "Remove"
    """Remove it, and do nothing else."""


class SavepointTask(Document):
    """The savepoint from before the first table service; `taken_over_at` tells one takeover from another."""

    step: SavepointStep
    taken_over_at: str
