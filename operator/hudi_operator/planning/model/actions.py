"""The actions that a decision asks for, as frozen values."""

from dataclasses import dataclass
from datetime import datetime

from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.planning.model.observation import PodReference


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
