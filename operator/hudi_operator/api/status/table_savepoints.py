"""What the status of a `HudiTable` says of its savepoints: those of resources, which it remembers, and all others."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import COMMENT_LIMIT, SavepointWork
from hudi_operator.api.status.conditions import REASON_PATTERN, ConditionStatus
from hudi_operator.api.values.base import InstantTime, Model, Timestamp

SAVEPOINTS_SHOWN = 64


class SavepointState(StrEnum):
    """How far the savepoint of a resource has come."""

    WAITING = "Waiting"
    """It is to be made."""

    REFUSED = "Refused"
    """It cannot be made."""

    KEPT = "Kept"
    """It is in the table."""

    LOST = "Lost"
    """Somebody else removed it from the table. It is not made again."""

    REMOVING = "Removing"
    """It is to be removed."""

    REMOVED = "Removed"
    """It was removed, or never made, and the resource is removed or has expired."""

    RETAINED = "Retained"
    """It stays in the table although the resource is removed: nothing could remove it."""


class RetainedStatus(Model):
    """The files that only savepoints keep from being cleaned, of those that one savepoint lists."""

    files: int | None = None
    """Number of files that the last clean could not remove because of it."""

    bytes: int | None = None
    """Bytes of these files."""

    missing: int | None = None
    """Number of files of the savepoint, held back or not, that are no longer there; absent where there are too many."""

    as_of: Timestamp | None = None
    """When that clean ended."""


class TableSavepoint(Model):
    """One savepoint; without a resource it is somebody else's, and a HudiSavepoint with its instant adopts it."""

    instant: InstantTime | None = None
    """The commit that it keeps, or is to keep."""

    resource: Annotated[str, Field(max_length=253)] | None = None
    """The HudiSavepoint."""

    uid: Annotated[str, Field(max_length=64)] | None = None
    """Uid of the HudiSavepoint."""

    state: SavepointState = SavepointState.KEPT
    """Waiting, Refused, Kept, Lost, Removing, Removed or Retained."""

    reason: Annotated[str, Field(pattern=REASON_PATTERN, max_length=64)] = "Kept"
    """Reason, as one word."""

    message: Annotated[str, Field(max_length=512)] = ""
    """Reason, as a sentence."""

    adopted: bool = False
    """Whether it was there before the resource asked for it."""

    since: Timestamp | None = None
    """When the operator first saw it in the table."""

    data_complete: ConditionStatus = ConditionStatus.UNKNOWN
    """Whether all files of the commit are there: True, False, or Unknown where the active timeline does not show it."""

    failures: int = 0
    """Runs in a row that failed to make or remove it."""

    retry_at: Timestamp | None = None
    """When the next run for it may begin, after one that failed."""

    blocks: Annotated[str, Field(max_length=256)] | None = None
    """What cleaning and archival cannot do because of it."""

    retained: RetainedStatus | None = None
    """The files that it keeps from being cleaned, as the last clean has found."""


class NamedSavepointJob(Model):
    """What a Job does with the savepoint of one resource: decided with the Job, so that a retry does the same."""

    work: SavepointWork
    """Make or Remove."""

    instant: InstantTime
    """The commit that is kept."""

    resource: Annotated[str, Field(max_length=253)]
    """The HudiSavepoint."""

    uid: Annotated[str, Field(max_length=64)]
    """Its uid."""

    comment: Annotated[str, Field(max_length=COMMENT_LIMIT)] = ""
    """The comment of the savepoint."""

    adopted: bool = False
    """Whether one is removed that somebody else has made."""
