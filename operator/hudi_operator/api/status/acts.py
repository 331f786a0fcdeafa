"""What the status of a `HudiTable` says of what is done to, and by, other tools."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import Effect
from hudi_operator.api.values.base import InstantTime, Model

ACTS_SHOWN = 10
UNDONE_SHOWN = 10


class PendingOwner(StrEnum):
    """Who began a pending instant."""

    THIS_TABLE = "ThisTable"
    """A run of this table."""

    OTHER = "Other"
    """Another tool, or a run that nobody remembers."""


class AffectedStatus(Model):
    """One instant that a run did not begin, and that it finished, rolled back or replanned."""

    time: InstantTime
    """Requested time of the instant."""

    action: Annotated[str, Field(max_length=32)]
    """Action, as Hudi spells it."""

    effect: Effect
    """Finished, RolledBack or Replanned."""

    owner: PendingOwner = PendingOwner.OTHER
    """Who began it: ThisTable, or Other."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The run of this table that its plan names."""


class ActStatus(Model):
    """A savepoint, a restore, or a rollback of completed commits."""

    time: InstantTime
    """Requested time of the instant; of a savepoint, that of its commit."""

    action: Annotated[str, Field(max_length=32)]
    """savepoint, restore or rollback."""

    completed_at: Annotated[str, Field(max_length=32)] | None = None
    """Completion time, where the timeline records one."""

    owner: PendingOwner = PendingOwner.OTHER
    """Whose it is: ThisTable where a Job of this table was at work when it was first seen, else Other."""

    undone: Annotated[tuple[InstantTime, ...], Field(max_length=UNDONE_SHOWN)] = ()
    """Instants that it undid, oldest first; at most 10."""

    undone_count: int = 0
    """Number of all instants that it undid."""

    input_lost: bool = False
    """Whether later commits count the input of the undone ones as read, so that ingestion does not read it again."""
