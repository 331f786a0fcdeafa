"""Runs of a `HudiTable` in its status: decided Jobs, ended runs, their logs, and continuous ingestion."""

from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import MOST_AFFECTED, Outcome, RunMode, SavepointStep, Service
from hudi_jobs.contract.run_progress import PROGRESS_LINE_LIMIT
from hudi_operator.api.status.conditions import REASON_PATTERN
from hudi_operator.api.status.cost import RequestedCores, RunCost
from hudi_operator.api.status.savepoints import NamedSavepointJob
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.api.status.timeline import AffectedStatus
from hudi_operator.api.values.base import InstantTime, Model, Timestamp

Reason = Annotated[str, Field(pattern=REASON_PATTERN, max_length=64)]
"""A word that becomes the reason of a condition."""

DIGEST_LIMIT = 128
"""The longest digest of a look that is remembered."""

PENDING_REMEMBERED = 100


class JobStatus(Model):
    """A Job that was decided and has not been seen to end."""

    name: Annotated[str, Field(max_length=63)]
    """Name of the Job."""

    service: Service | None = None
    """Service of the Job."""

    attempt: int
    """Number of this attempt, from 1."""

    started_at: Timestamp
    """When the Job was decided."""

    instant: InstantTime | None = None
    """The pending instant that the Job deals with."""

    state: Reason
    """State of its pod, as a word."""

    message: Annotated[str, Field(max_length=512)] = ""
    """Why its pod does not start."""

    progress: Annotated[str, Field(max_length=PROGRESS_LINE_LIMIT)] | None = None
    """Phase of a run that takes longer than a minute, how much of it is done, its pace, and about how long the rest
    takes; at most a minute or two old."""

    rows_read: int | None = None
    """Rows that a continuous ingestion has read."""

    batches: int | None = None
    """Commits that a continuous ingestion has made."""


class RunStatus(Model):
    """A run of a service."""

    job: Annotated[str, Field(max_length=63)]
    """Name of the Job."""

    service: Service | None = None
    """The service that ran; absent if this operator version does not know it."""

    outcome: Outcome
    """Outcome of the run."""

    reason: Reason | None = None
    """Reason of a failure, as a word."""

    message: Annotated[str, Field(max_length=1024)] = ""
    """Result of the run, as a sentence."""

    instant: InstantTime | None = None
    """The instant that the run completed."""

    started_at: Timestamp | None = None
    """When the Job was decided."""

    finished_at: Timestamp | None = None
    """When the Job's end was seen."""

    batches: int | None = None
    """Commits of a continuous ingestion; the figures are sums over them, and the instant is the newest."""

    files_read: int | None = None
    """Source files that were read."""

    bytes_read: int | None = None
    """Bytes of source files that were read."""

    rows_read: int | None = None
    """Rows that were read."""

    rows_quarantined: int | None = None
    """Rows that were quarantined."""

    records_skipped: int | None = None
    """Offsets of a stream that were gone before they could be read, as far as their number is known."""

    skipped: Annotated[tuple[Annotated[str, Field(max_length=128)], ...], Field(max_length=3)] | None = None
    """Location of the skipped offsets, by partition; at most 3."""

    file_groups: int | None = None
    """File groups that were rewritten."""

    files_written: int | None = None
    """Files that were written."""

    files_deleted: int | None = None
    """Files that were deleted."""

    bytes_written: int | None = None
    """Bytes that were written."""

    cost: RunCost | None = None
    """What the run used; absent if its driver never started."""

    affected: Annotated[tuple[AffectedStatus, ...], Field(max_length=MOST_AFFECTED)] | None = None
    """Instants of other runs or tools that this run finished, rolled back or replanned; at most 10."""

    ended_for: Service | None = None
    """The service for which the operator ended a continuous ingestion; the service starts before the next ingestion."""

    undone_by: InstantTime | None = None
    """The restore or rollback of another tool that undid the run's instant."""

    @property
    def line(self) -> str:
        """Return the run as people read it: outcome, end, message, and the Job of a failed run."""
        reason = f" ({self.reason})" if self.reason else ""
        end = f" at {self.finished_at}" if self.finished_at else ""
        job = f" in Job {self.job}" if self.outcome is Outcome.FAILED else ""
        undone = f" {self.undone_by} undid it." if self.undone_by else ""
        return f"{self.outcome}{reason}{end}{job}: {self.message}{undone}".removesuffix(": ")


FAILED_LOG_BYTES = 4096
"""The most bytes of a log that a status keeps."""


class FailedRunLog(Model):
    """The end of the log of a failed run."""

    service: Service
    """Service of the run."""

    job: Annotated[str, Field(max_length=63)]
    """Name of the Job."""

    read_at: Timestamp
    """When the operator read it."""

    text: Annotated[str, Field(max_length=FAILED_LOG_BYTES)]
    """The end of the log, without what looks like a secret."""


class LiveStatus(Model):
    """Progress of a continuous ingestion since its Job started."""

    class_version: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the class that the Job uses, and of a claim on its catalog entry: a change of it ends the Job."""

    state: Annotated[str, Field(max_length=32)] | None = None
    """State of the driver: Ingesting, Waiting or Ending; absent before its first report."""

    batches: int = 0
    """Commits of the run."""

    rows_read: int = 0
    """Rows read."""

    rows_quarantined: int = 0
    """Rows quarantined."""

    files_read: int = 0
    """Source files read."""

    bytes_read: int = 0
    """Bytes of the source read."""

    records_skipped: int | None = None
    """Offsets of a stream that were gone before it could read them, as far as their number is known."""

    skipped: Annotated[tuple[Annotated[str, Field(max_length=128)], ...], Field(max_length=3)] | None = None
    """Where these were last, by partition; at most 3."""

    instant: InstantTime | None = None
    """Its newest commit."""

    takes: bool | None = None
    """Whether the driver runs table services beside its batches."""

    polled_at: Annotated[str, Field(max_length=40)] | None = None
    """When it had last looked at the source, by the driver's clock, as of `movedAt`."""

    running_since: Timestamp | None = None
    """When its driver was first seen to run."""

    turn_since: Timestamp | None = None
    """Start of the driver's present turn, if services due at the end of an earlier turn let it continue."""

    ends_for: Service | None = None
    """The service that the driver was asked to end for; the service starts before the next driver."""

    moved_at: Timestamp | None = None
    """When the operator last saw progress; renewed at least every fifth of `progressDeadline`."""

    seen: Annotated[str, Field(max_length=128)] | None = None
    """Progress seen at `moved_at`: number of the progress document, newest commit, pending write."""


class LookStatus(Model):
    """A look at the source before a run; once the run has read everything, equal input needs no run."""

    digest: Annotated[str, Field(max_length=DIGEST_LIMIT)]
    """Digest of the input before the run was decided."""

    fingerprint: Annotated[str, Field(max_length=64)]
    """Fingerprint of the table, its spec, the class, the Spark image and the operator version."""

    instant: InstantTime | None = None
    """The newest completed instant after the run; absent without a table."""

    checkpoint: Annotated[str, Field(max_length=64)] | None = None
    """Digest of the newest checkpoint after the run; absent without a table."""

    looked_at: Timestamp | None = None
    """When a look last found nothing new; renewed at the rate of a continuous driver's reports."""


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
