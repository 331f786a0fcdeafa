"""The parts of tasks: the work of each service."""

from enum import StrEnum

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.sources.source import AnySource
from hudi_jobs.contract.vocabulary import BadRecordPolicy, RunMode, SchemaEvolution, WriteOperation


class ContinuousTask(Document):
    """How a driver reads its source, batch after batch, until it is asked to end or its time is over.

    `min_interval_seconds` lie between the starts of two batches, unless the first batch left input unread. After
    `recycle_after_seconds` no further batch begins. When the pod is asked to end, the current batch has `drain_seconds`
    to finish before it is cancelled.
    """

    min_interval_seconds: float = Field(default=10.0, gt=0)
    recycle_after_seconds: float = Field(default=43_200.0, gt=0)
    drain_seconds: float = Field(default=300.0, ge=0)


class IngestionTask(Document):
    """Read new input from a source and write it to the table as one commit."""

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
    """A request to read files, or an upstream table, once more, as in the annotation; see `RescanRequest`."""

    continuous: ContinuousTask | None = None
    """Read batch after batch; without it the run ends after one batch."""


class PlannedServiceTask(Document):
    """A compaction or clustering: make a plan, execute a plan, or both.

    `instant` is the pending instant to handle and goes with `EXECUTE`. A requested instant is executed. An inflight
    compaction is finished. A clustering that is inflight, or older than the newest write, is rolled back and planned
    again, so that the run may complete another instant.
    """

    mode: RunMode = RunMode.SCHEDULE_AND_EXECUTE
    instant: str | None = None


class SavepointStep(StrEnum):
    """The step of a run for the savepoint that protects a taken-over table."""

    KEEP = "Keep"
    """Make the savepoint on the newest commit unless it exists, then do the service."""

    REMOVE = "Remove"
    """Remove the savepoint, and do nothing else."""


class SavepointTask(Document):
    """The savepoint from before the first table service; `taken_over_at` tells takeovers apart."""

    step: SavepointStep
    taken_over_at: str
