"""The status of a continuous ingestion while it runs."""

from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import Service
from hudi_operator.api.values.base import InstantTime, Model, Timestamp


class LiveStatus(Model):
    """Progress of a continuous ingestion since its Job started."""

    class_version: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the class that the Job uses: a change of it ends the Job."""

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
