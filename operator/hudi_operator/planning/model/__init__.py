"""The input of a decision and its answer, as frozen values."""

from hudi_operator.planning.model.blockers import Blocker, BlockerReason, is_hidden, keeps_figures
from hudi_operator.planning.model.derived import Derived, DerivedTable, Lineage, Reading, direct_readers, lineage_of
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
    CreateSavepoint,
    DeleteSavepoint,
    Failure,
    LaunchJob,
    Release,
    RemoveExecutors,
    StopJob,
)
from hudi_operator.planning.model.related import Related
from hudi_operator.planning.model.suspension import (
    NamespaceObservation,
    Suspension,
    suspension_of,
    suspension_text,
)

__all__ = [
    "START_TROUBLES",
    "Action",
    "Blocker",
    "BlockerReason",
    "CreateJob",
    "CreateSavepoint",
    "Damaged",
    "DeleteSavepoint",
    "Derived",
    "DerivedTable",
    "Failure",
    "JobObservation",
    "JobPhase",
    "LaunchJob",
    "Lineage",
    "Mark",
    "NamespaceObservation",
    "Observation",
    "PodReference",
    "PodTrouble",
    "Reading",
    "Related",
    "Release",
    "RemoveExecutors",
    "StopJob",
    "Suspension",
    "TimelineSnapshot",
    "TimelineTrouble",
    "Undoing",
    "direct_readers",
    "is_hidden",
    "keeps_figures",
    "lineage_of",
    "suspension_of",
    "suspension_text",
]
