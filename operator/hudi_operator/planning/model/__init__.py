"""What the decision sees and what it answers, as frozen values."""

from hudi_operator.planning.model.blockers import Blocker, BlockerReason, is_hidden
from hudi_operator.planning.model.observation import (
    START_TROUBLES,
    Damaged,
    JobObservation,
    JobPhase,
    Mark,
    Observation,
    PodReference,
    PodTrouble,
    TimelineSnapshot,
    TimelineTrouble,
    Undoing,
)
from hudi_operator.planning.model.plan import (
    Action,
    CreateJob,
    Failure,
    LaunchJob,
    Plan,
    Release,
    RemoveExecutors,
    StopJob,
)

__all__ = [
    "START_TROUBLES",
    "Action",
    "Blocker",
    "BlockerReason",
    "CreateJob",
    "Damaged",
    "Failure",
    "JobObservation",
    "JobPhase",
    "LaunchJob",
    "Mark",
    "Observation",
    "Plan",
    "PodReference",
    "PodTrouble",
    "Release",
    "RemoveExecutors",
    "StopJob",
    "TimelineSnapshot",
    "TimelineTrouble",
    "Undoing",
    "is_hidden",
]
