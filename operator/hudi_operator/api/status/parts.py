"""Parts of the status of a `HudiTable`: the table itself, its owner, and its Jobs as people read them."""

from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import Service
from hudi_operator.api.status.conditions import REASON_PATTERN
from hudi_operator.api.values.base import InstantTime, Model, Timestamp

Reason = Annotated[str, Field(pattern=REASON_PATTERN, max_length=64)]
"""A word that becomes the reason of a condition."""


class OwnerStatus(Model):
    """The owner's record beside the table when it was this operator's."""

    operator: Annotated[str, Field(max_length=330)]
    """Identity of the operator."""

    table: Annotated[str, Field(max_length=330)]
    """The resource, as namespace/name."""

    run: Annotated[str, Field(max_length=330)]
    """The run that wrote the record."""


class TableStatus(Model):
    """The table as its own properties have it."""

    type: Annotated[str, Field(max_length=16)]
    """CopyOnWrite or MergeOnRead."""

    version: int
    """Version of the table's format."""

    zone: Annotated[str, Field(max_length=8)]
    """UTC, or LOCAL: the local time of the tool that wrote the table, which `timelineTimeZone` or the files show."""


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

    rows_read: int | None = None
    """Rows that a continuous ingestion has read."""

    batches: int | None = None
    """Commits that a continuous ingestion has made."""
