"""Status of the instants that a `HudiTable` and other tools finished or undid for each other."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import Effect
from hudi_operator.api.values.base import InstantTime, Model

ACTS_SHOWN = 10
UNDONE_SHOWN = 10


class PendingOwner(StrEnum):
    """The owner of a pending instant."""

    THIS_TABLE = "ThisTable"
    """A run of this table."""

    OTHER = "Other"
    """Another tool, or an unknown run."""


class AffectedStatus(Model):
    """An instant that another run or tool began, and that a run finished, rolled back or replanned."""

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
    """Completion time, if the timeline records it."""

    owner: PendingOwner = PendingOwner.OTHER
    """Owner: ThisTable if a Job of this table ran when it was first seen, else Other."""

    undone: Annotated[tuple[InstantTime, ...], Field(max_length=UNDONE_SHOWN)] = ()
    """Undone instants, oldest first; at most 10."""

    undone_count: int = 0
    """Number of all undone instants."""

    input_lost: bool = False
    """Whether later commits count the undone input as read, so ingestion skips it."""
