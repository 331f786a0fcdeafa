"""The timeline in the status of a `HudiTable`."""

from typing import Annotated, ClassVar

from pydantic import Field, WithJsonSchema

from hudi_operator.api.status.acts import ACTS_SHOWN, ActStatus
from hudi_operator.api.status.lines import INSTANT_LINE_LIMIT, INSTANT_PATTERN
from hudi_operator.api.status.memory import DividedModel
from hudi_operator.api.values.base import InstantTime, Model

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
    """Base files, as far as the newest commits tell."""

    problems: Annotated[tuple[str, ...], Field(max_length=10)] = ()
    """Files of the timeline that could not be understood, with the reason; at most 10."""
