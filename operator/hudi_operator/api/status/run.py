"""A run of a service that has ended."""

from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import MOST_AFFECTED, Outcome, Service
from hudi_operator.api.status.acts import AffectedStatus
from hudi_operator.api.status.parts import Reason
from hudi_operator.api.values.base import InstantTime, Model, Timestamp


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
