"""Savepoints in the status of a `HudiTable`, and the status of a `HudiSavepoint`."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from hudi_jobs.contract import COMMENT_LIMIT, SavepointWork
from hudi_operator.api.status.conditions import (
    REASON_PATTERN,
    Conditions,
    ConditionStatus,
    ConditionType,
    find_condition,
)
from hudi_operator.api.values.base import InstantTime, Model, Timestamp

SAVEPOINTS_SHOWN = 64


class SavepointState(StrEnum):
    """State of the savepoint of a resource."""

    WAITING = "Waiting"
    """The savepoint waits to be made."""

    REFUSED = "Refused"
    """The savepoint cannot be made."""

    KEPT = "Kept"
    """The savepoint is in the table."""

    LOST = "Lost"
    """Another tool removed the savepoint from the table. The operator does not recreate it."""

    REMOVING = "Removing"
    """The savepoint waits to be removed."""

    REMOVED = "Removed"
    """The savepoint was removed or never made, and the resource is removed or has expired."""

    RETAINED = "Retained"
    """The savepoint stays in the table after the resource: nothing could remove it."""


class RetainedStatus(Model):
    """Files of a savepoint that only savepoints keep from being cleaned."""

    files: int | None = None
    """Number of files that the last clean could not remove because of it."""

    bytes: int | None = None
    """Bytes of these files."""

    missing: int | None = None
    """Number of missing files of the savepoint, held back or not; absent with too many files."""

    as_of: Timestamp | None = None
    """When that clean ended."""


class TableSavepoint(Model):
    """A savepoint; another tool made it if it has no resource, and a HudiSavepoint with its instant adopts it."""

    instant: InstantTime | None = None
    """The commit to keep."""

    resource: Annotated[str, Field(max_length=253)] | None = None
    """The HudiSavepoint."""

    uid: Annotated[str, Field(max_length=64)] | None = None
    """Uid of the HudiSavepoint."""

    state: SavepointState = SavepointState.KEPT
    """Waiting, Refused, Kept, Lost, Removing, Removed or Retained."""

    reason: Annotated[str, Field(pattern=REASON_PATTERN, max_length=64)] = "Kept"
    """Reason, as a word."""

    message: Annotated[str, Field(max_length=512)] = ""
    """Reason, as a sentence."""

    adopted: bool = False
    """Whether the savepoint was in the table before the resource asked for it."""

    since: Timestamp | None = None
    """When the operator first saw it in the table."""

    data_complete: ConditionStatus = ConditionStatus.UNKNOWN
    """Whether all files of the commit exist; Unknown if the active timeline does not show it."""

    failures: int = 0
    """Runs in a row that failed to make or remove it."""

    retry_at: Timestamp | None = None
    """When the next run for it may begin after a failed run."""

    blocks: Annotated[str, Field(max_length=256)] | None = None
    """Limits that it sets on cleaning and archival."""

    retained: RetainedStatus | None = None
    """Files that it keeps from being cleaned, as the last clean found."""


class NamedSavepointJob(Model):
    """Work of a Job on the savepoint of a resource; decided with the Job, so a retry does the same."""

    work: SavepointWork
    """Make or Remove."""

    instant: InstantTime
    """The kept commit."""

    resource: Annotated[str, Field(max_length=253)]
    """The HudiSavepoint."""

    uid: Annotated[str, Field(max_length=64)]
    """Its uid."""

    comment: Annotated[str, Field(max_length=COMMENT_LIMIT)] = ""
    """The comment of the savepoint."""

    adopted: bool = False
    """Whether the Job removes a savepoint that another tool made."""


class HudiSavepointStatus(Model):
    """Observed state of a savepoint."""

    observed_generation: int = -1
    """Generation of the spec that this status describes; -1 before the first reconcile."""

    message: Annotated[str, Field(max_length=512)] | None = None
    """The state in a sentence."""

    conditions: Conditions = ()
    """Ready, or Expired in its place; DataComplete while it is there; Reconciling and Stalled while they are true."""

    instant: InstantTime | None = None
    """The kept commit; set before the Job starts, so retries keep the same commit."""

    completed_at: Timestamp | None = None
    """When the operator first saw the savepoint in the table."""

    adopted: bool = False
    """Whether the savepoint was in the table before the resource asked for it."""

    blocks: Annotated[str, Field(max_length=512)] | None = None
    """Limits that it sets on the table's cleaning and archival."""

    retained: RetainedStatus | None = None
    """Files that it keeps from being cleaned, as the last clean found; absent before a clean reports."""

    expires_at: Timestamp | None = None
    """When it is removed from the table; absent with keepForever."""

    @property
    def reasons(self) -> frozenset[str]:
        """The reasons of all conditions."""
        return frozenset(one.reason for one in self.conditions)

    @property
    def data_complete(self) -> ConditionStatus:
        """Whether all files of the kept commit exist; Unknown before the first look."""
        found = find_condition(self.conditions, ConditionType.DATA_COMPLETE)
        return found.status if found is not None else ConditionStatus.UNKNOWN

    def to_document(self) -> dict[str, Any]:
        """Return the status as it is written to the API server: absent values are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
