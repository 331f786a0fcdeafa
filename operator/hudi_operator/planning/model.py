"""What the decision sees and what it answers, as frozen values."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from hudi_jobs.contract import FailureReason, JobOutcome, Service
from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.api.table_status import ActiveJob, RunStatus, ServiceStatus
from hudi_operator.timeline import Timeline


class Blocked(StrEnum):
    """Why nothing may be started for a table, as the reason of its conditions.

    All of them end by themselves once the cause is gone, because the table is looked at again and again.
    """

    INVALID_SPEC = "InvalidSpec"
    CLASS_NOT_FOUND = "TableClassNotFound"
    CLASS_INVALID = "TableClassInvalid"
    PATH_NOT_ALLOWED = "PathNotAllowed"
    SETTING_NOT_ALLOWED = "SettingNotAllowed"
    CLASS_LIMIT_EXCEEDED = "ClassLimitExceeded"
    INVALID_SCHEDULE = "InvalidSchedule"
    PATH_CLAIMED = "BasePathClaimed"


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """A reason for which nothing may be started, with a sentence that says what to do."""

    reason: Blocked
    message: str


class TimelineTrouble(StrEnum):
    """Why a table's timeline could not be read."""

    NOT_FOUND = "TimelineIncomplete"
    ACCESS_DENIED = "StorageAccessDenied"
    UNREACHABLE = "StorageUnavailable"
    CORRUPT = "TimelineCorrupt"
    UNSUPPORTED = "TableVersionUnsupported"


@dataclass(frozen=True, kw_only=True)
class TimelineLook:
    """One look at a timeline: the timeline, or nothing when there is no table yet, or the trouble.

    `checkpoint` and `run` come from the newest commit that carries them; `runs` maps the runs of recent commits to
    the instants that they completed.
    """

    timeline: Timeline | None = None
    trouble: TimelineTrouble | None = None
    message: str = ""
    checkpoint: str | None = None
    runs: tuple[tuple[str, str], ...] = ()

    def instant_of(self, run: str) -> str | None:
        """Return the instant that a run completed, if the timeline still says so."""
        return next((instant for name, instant in self.runs if name == run), None)


class JobPhase(StrEnum):
    """How far a Job has come; it is over only when none of its pods runs any more."""

    STARTING = "Starting"
    RUNNING = "Running"
    ENDING = "Ending"
    OVER = "Over"


class PodTrouble(StrEnum):
    """Why a driver's pod does not start or has ended from outside."""

    IMAGE_PULL_FAILED = "ImagePullFailed"
    UNSCHEDULABLE = "Unschedulable"
    CONFIGURATION = "PodConfigurationError"
    FORBIDDEN = "PodForbidden"
    OUT_OF_MEMORY = "OutOfMemory"
    EVICTED = "Evicted"
    DEADLINE_EXCEEDED = "DeadlineExceeded"


START_TROUBLES = frozenset(
    {PodTrouble.IMAGE_PULL_FAILED, PodTrouble.UNSCHEDULABLE, PodTrouble.CONFIGURATION, PodTrouble.FORBIDDEN}
)
"""Troubles of a pod that has not started; the others ended one that had."""


@dataclass(frozen=True, kw_only=True)
class JobObservation:
    """What is known about one Job and its driver's pod."""

    name: str
    uid: str
    service: Service
    attempt: int
    created_at: datetime
    phase: JobPhase
    image: str
    base_instant: str | None = None
    driver_memory: str | None = None
    outcome: JobOutcome | None = None
    trouble: PodTrouble | None = None
    message: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Everything that one look at a table has seen."""

    table: HudiTable
    table_class: HudiTableClass | None
    obstacles: tuple[Obstacle, ...]
    look: TimelineLook
    jobs: tuple[JobObservation, ...]
    running_in_class: int = 0
    running_in_namespace: int = 0


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a run failed; `reason` is a `FailureReason` of the driver or a word for what happened to its pod."""

    reason: str
    message: str


@dataclass(frozen=True, kw_only=True)
class LaunchJob:
    """Record the intent, then create the Job."""

    job: ActiveJob


@dataclass(frozen=True, kw_only=True)
class CreateJob:
    """Create a Job whose intent is already recorded."""

    job: ActiveJob


@dataclass(frozen=True, kw_only=True)
class StopJob:
    """Delete a Job that cannot start."""

    job: ActiveJob
    uid: str


Action = LaunchJob | CreateJob | StopJob


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to do now, what to remember, and when to look again (seconds; None = only when something happens).

    `answered` is the request for a run that this plan answers.
    """

    actions: tuple[Action, ...] = ()
    ingestion: ServiceStatus = field(default_factory=ServiceStatus)
    active_jobs: tuple[ActiveJob, ...] = ()
    history: tuple[RunStatus, ...] = ()
    finished: tuple[RunStatus, ...] = ()
    answered: str | None = None
    next_look: float | None = None


RETRY_WITHOUT_HOPE = frozenset({FailureReason.INVALID_REQUEST.value})
"""Failures that the same spec meets again for certain: not tried again before the generation changes."""
