"""The timeline in the status of a `HudiTable`: its instants, what others did to them, and what ended runs left."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, WithJsonSchema

from hudi_jobs.contract import Effect
from hudi_operator.api.status.memory import INSTANT_LINE_LIMIT, INSTANT_PATTERN, DividedModel
from hudi_operator.api.values.base import InstantTime, Model, Timestamp

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


class LeftInstant(Model):
    """A pending instant that a run of this table began and left behind."""

    time: InstantTime
    """Requested time of the instant."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The run that left it; absent if an older operator noted the instant."""

    ended_at: Timestamp | None = None
    """When the end of that run was seen."""

    dead: bool = False
    """Whether the run's own driver named the instant and then exited: nobody can continue the write."""


class PendingStatus(Model):
    """A pending instant that a service has to handle."""

    time: InstantTime
    """Requested time of the instant."""

    action: Annotated[str, Field(max_length=32)]
    """Action, as Hudi spells it."""

    state: Annotated[str, Field(max_length=16)]
    """REQUESTED or INFLIGHT."""

    since: Timestamp
    """When it was requested, if the table's instants are in UTC; else when the operator saw it first."""

    blocks: Annotated[str, Field(max_length=256)] = ""
    """Work that waits until it is completed or rolled back."""

    owner: PendingOwner = PendingOwner.OTHER
    """Who began it: ThisTable, or Other."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The run of this table that left it behind."""

    seen_at: Timestamp | None = None
    """When the operator first saw it in this state."""

    left_alone_until: Timestamp | None = None
    """Until when the operator leaves it alone, because another tool may work on it."""


INSTANTS_SHOWN = 10
PENDING_SHOWN = 10


class InstantStatus(Model):
    """An instant of the timeline, as Hudi spells it."""

    time: InstantTime
    """Requested time of the instant."""

    action: Annotated[str, Field(max_length=32)]
    """Action, for example commit, deltacommit, replacecommit or clean."""

    state: Annotated[str, Field(max_length=16)]
    """REQUESTED, INFLIGHT or COMPLETED."""

    completed_at: Annotated[str, Field(max_length=32)] | None = None
    """Completion time, if the timeline records it."""


InstantLine = Annotated[
    InstantStatus, WithJsonSchema({"type": "string", "maxLength": INSTANT_LINE_LIMIT, "pattern": INSTANT_PATTERN})
]
"""An instant in the document, as `TIME ACTION STATE`, with the completion time if the timeline has it."""


class FilesStatus(Model):
    """Base files of the newest commits that no later commit replaced; the operator never lists the data itself."""

    commits: int
    """Number of newest commits that these figures come from; files that only older commits wrote are not counted."""

    base_files: int
    """Number of base files."""

    small_files: int
    """Base files below the small file limit: the limit of clustering if clustering is on, else of fileSizing."""

    average_bytes: int
    """Average size of a base file."""


class CountRange(Model):
    """The bounds of a count that a file of the timeline leaves open."""

    at_least: int
    """The certain number."""

    at_most: int
    """The number if everything uncertain counts."""


class TimelineStatus(DividedModel):
    """Summary of the table's timeline."""

    remembered: ClassVar[frozenset[str]] = frozenset({"verified_up_to", "acts"})

    pending: Annotated[tuple[InstantLine, ...], Field(max_length=PENDING_SHOWN)] = ()
    """Instants that are requested or inflight, as `TIME ACTION STATE`, oldest first; at most 10."""

    pending_count: int = 0
    """Number of all pending instants."""

    instants: Annotated[tuple[InstantLine, ...], Field(max_length=INSTANTS_SHOWN)] = ()
    """The newest 10 instants, as `TIME ACTION STATE` and perhaps the completion time, oldest first."""

    completed_commits: int | None = None
    """Completed commits, delta commits and replace commits in the active timeline."""

    verified_up_to: InstantTime | None = None
    """Completion of the newest commit or clean that is known to be ours, or accepted; later commits are checked."""

    acts: Annotated[tuple[ActStatus, ...], Field(max_length=ACTS_SHOWN)] | None = None
    """Savepoints, restores and rollbacks of completed commits in the active timeline, newest first; at most 10."""

    files: FilesStatus | None = None
    """Base files, as far as the newest commits tell; absent once `status.statistics` counts them all."""

    problems: Annotated[tuple[str, ...], Field(max_length=10)] = ()
    """Files of the timeline that could not be understood, with the reason; at most 10."""
