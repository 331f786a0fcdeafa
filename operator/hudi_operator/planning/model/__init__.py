"""What the decision sees and what it answers, as frozen values."""

from hudi_operator.planning.model.observation import (
    START_TROUBLES,
    Damaged,
    JobObservation,
    JobPhase,
    Mark,
    Observation,
    PodReference,
    PodTrouble,
    TimelineLook,
    TimelineTrouble,
    Undoing,
)
from hudi_operator.planning.model.obstacles import Blocked, Obstacle, is_hidden
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
    "Blocked",
    "CreateJob",
    "Damaged",
    "Failure",
    "JobObservation",
    "JobPhase",
    "LaunchJob",
    "Mark",
    "Observation",
    "Obstacle",
    "Plan",
    "PodReference",
    "PodTrouble",
    "Release",
    "RemoveExecutors",
    "StopJob",
    "TimelineLook",
    "TimelineTrouble",
    "Undoing",
    "is_hidden",
]
