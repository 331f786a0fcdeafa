"""What the end of a table sees, and its words, as frozen values."""

from dataclasses import dataclass
from enum import StrEnum

from hudi_operator.api.resources import HudiTable, HudiTableClass, ObjectMetadata
from hudi_operator.api.table_spec import DeletionPolicy
from hudi_operator.api.table_status import HudiTableStatus
from hudi_operator.planning.model import JobObservation, Obstacle, TimelineLook

SHORT_LOOK = 2.0
"""Seconds until the next look at a table whose end is near."""


class EndingReason(StrEnum):
    """What the deletion of a table is at, as the reason of its condition Ready."""

    STOPPING_JOBS = "StoppingJobs"
    """The table's Jobs were told to stop, and their pods still run."""

    DELETING_DATA = "DeletingData"
    """A Job removes the data, because the spec says `deletionPolicy: Delete`."""

    DELETION_BLOCKED = "DeletionBlocked"
    """The Job that removes the data cannot be started; the message says why and how long that is waited for."""

    DELETION_FAILED = "DeletionFailed"
    """An attempt at removing the data failed; it is tried again."""

    CONFIRMING_DELETION = "ConfirmingDeletion"
    """The data was removed, and the store is asked whether it is gone."""


class EndingEvent(StrEnum):
    """How a table ended, as the reason of the last Event about it."""

    DATA_DELETED = "DataDeleted"
    """The data was removed, and the store holds no table at the path any more."""

    DATA_RETAINED = "DataRetained"
    """The data stays: because the spec says so, or, as a Warning, because it could not be removed."""

    DELETION_NOT_CONFIRMED = "DeletionNotConfirmed"
    """The run reported that it removed the data, and the store could not be read to confirm it."""


@dataclass(frozen=True, kw_only=True)
class EndingObservation:
    """Everything that one look at a deleted resource has seen.

    `table` is None where this version cannot read the spec; `look` is there when `awaits_confirmation` says so, and
    before the data is removed; `operator` is the identity of the operator that looks; `claim_held` was read live.
    """

    metadata: ObjectMetadata
    status: HudiTableStatus
    policy: DeletionPolicy
    base_path: str
    table: HudiTable | None
    table_class: HudiTableClass | None = None
    obstacles: tuple[Obstacle, ...] = ()
    claim_held: bool = True
    namespace_terminating: bool = False
    jobs: tuple[JobObservation, ...] = ()
    look: TimelineLook | None = None
    running_in_class: int = 0
    running_in_namespace: int = 0
    operator: str = ""
