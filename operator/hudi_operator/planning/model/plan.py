"""The answer of the decision, as frozen values."""

from dataclasses import dataclass, field
from datetime import datetime

from hudi_jobs.contract import Difference
from hudi_operator.api.status.left import LeftInstant, PendingStatus
from hudi_operator.api.status.parts import OwnerStatus
from hudi_operator.api.status.rescan import RescanStatus
from hudi_operator.api.status.table import ActiveJob, RunStatus, ServicesStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_savepoints import TableSavepoint
from hudi_operator.api.status.takeover import TakeoverStatus
from hudi_operator.planning.model.observation import PodReference
from hudi_operator.timeline import Instant


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a run failed; `reason` is a `FailureReason` of the driver or a word for the trouble of its pod."""

    reason: str
    message: str


@dataclass(frozen=True, kw_only=True)
class LaunchJob:
    """Record the intent, then create the Job. `due_at` is the time since when the run has been due."""

    job: ActiveJob
    due_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class CreateJob:
    """Create a Job after its intent was recorded."""

    job: ActiveJob


@dataclass(frozen=True, kw_only=True)
class StopJob:
    """Delete a Job that cannot start, or an ended Job that keeps a pod.

    With a `version`, the API server deletes it only if nobody has written to the Job since.
    """

    job: ActiveJob
    uid: str
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class RemoveExecutors:
    """Delete executors that outlive their driver."""

    job: ActiveJob
    pods: tuple[PodReference, ...]


@dataclass(frozen=True, kw_only=True)
class Release:
    """Post how a deleted table ended, release its claim, and remove the finalizer."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateSavepoint:
    """Create the HudiSavepoint of the latest commit that the table's schedule asks for."""

    name: str


@dataclass(frozen=True, kw_only=True)
class DeleteSavepoint:
    """Delete a HudiSavepoint that the table's schedule no longer keeps."""

    name: str
    uid: str


Action = LaunchJob | CreateJob | StopJob | RemoveExecutors | Release | CreateSavepoint | DeleteSavepoint


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The actions to take now, the facts to remember, and the seconds until time alone may change them (None = never).

    `drift` is every difference between the table and its resource, and every declaration that cannot be honoured.
    `foreign` are the commits of other writers that a serialized table must not have, newest first. `verified_up_to` is
    the completion of the newest commit that was checked and is not foreign. `unknown` are recent commits of a
    serialized table that cannot be understood, so that their writer is unknown. `overdue` are instants that have been
    pending for longer than the class allows. `answered` is the request for a run that this plan answers, and `rescan`
    the newest request to read files once more. `circumstances` is the fingerprint of the circumstances of the decision.
    `left_by` maps the pending instants that ended runs of ours began to their runs. `operations` are the plans of
    HudiOperations, and `maintenance` says why a HudiOperation blocks every other start. `savepoints` are the savepoints
    of HudiSavepoints, and all other savepoints of the table. `takeover` is the memory of the takeover from other
    writers, and `waits_for_quiet` says why it waits. `owned_elsewhere` names the owner of a table that another operator
    owns, and `owner` is the memory of it.
    """

    actions: tuple[Action, ...] = ()
    services: ServicesStatus = field(default_factory=ServicesStatus)
    drift: tuple[Difference, ...] = ()
    foreign: tuple[Instant, ...] = ()
    unknown: tuple[Instant, ...] = ()
    verified_up_to: str | None = None
    overdue: tuple[PendingStatus, ...] = ()
    active_jobs: tuple[ActiveJob, ...] = ()
    left_by: tuple[LeftInstant, ...] = ()
    history: tuple[RunStatus, ...] = ()
    finished: tuple[RunStatus, ...] = ()
    answered: str | None = None
    rescan: RescanStatus | None = None
    circumstances: str | None = None
    changes_in: float | None = None
    owned_elsewhere: str | None = None
    owner: OwnerStatus | None = None
    takeover: TakeoverStatus | None = None
    savepoints: tuple[TableSavepoint, ...] = ()
    operations: tuple[TableOperation, ...] = ()
    maintenance: str | None = None
    waits_for_quiet: str | None = None

    @property
    def left_behind(self) -> tuple[str, ...]:
        """The times of the instants that ended runs of ours began."""
        return tuple(one.time for one in self.left_by)
