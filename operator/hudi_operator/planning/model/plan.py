"""What the decision answers, as frozen values."""

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
    """Why a run failed; `reason` is a `FailureReason` of the driver or a word for what happened to its pod."""

    reason: str
    message: str


@dataclass(frozen=True, kw_only=True)
class LaunchJob:
    """Record the intent, then create the Job. `due_at` is since when the run has been due."""

    job: ActiveJob
    due_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class CreateJob:
    """Create a Job whose intent is already recorded."""

    job: ActiveJob


@dataclass(frozen=True, kw_only=True)
class StopJob:
    """Delete a Job that cannot start, or that is over and keeps a pod.

    With a `version`, only as long as nobody has written to the Job since.
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
    """Post how a deleted table ended, release its claim, and let the resource go."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateSavepoint:
    """Create the HudiSavepoint of the latest commit that the table's schedule asks for."""

    name: str


@dataclass(frozen=True, kw_only=True)
class DeleteSavepoint:
    """Delete a HudiSavepoint that the table's schedule keeps no more."""

    name: str
    uid: str


Action = LaunchJob | CreateJob | StopJob | RemoveExecutors | Release | CreateSavepoint | DeleteSavepoint


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to do now, what to remember, and in how many seconds time alone may change that (None = never).

    `drift` is everything in which the table differs from its resource, or cannot be honoured.
    `foreign` are commits of other writers that a serialized table must not have, newest first, and
    `verified_up_to` is the completion of the newest
    commit that was found to be no such instant. `unknown` are recent commits of a serialized table that cannot be
    understood, so that nobody knows whose they are. `overdue` have been pending for longer than the class allows.
    `answered` is the request for a run that this plan answers, `rescan` the newest request to read files once more, and
    `circumstances` the fingerprint of those under which it was decided.
    `left_by` are pending instants that ended runs of ours began, each with its run.
    `operations` are those of HudiOperations, and `maintenance` says why nothing else starts for one.
    `savepoints` are those of HudiSavepoints, and all others that the table has.
    `takeover` is what is remembered of the takeover from others, and `waits_for_quiet` says why it waits.
    `owned_elsewhere` says whose the table is when it is not this operator's, and `owner` what is remembered of that.
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
        """The times of what ended runs of ours began."""
        return tuple(one.time for one in self.left_by)
