"""What helps against each reason, as a sentence for a person; empty where nothing is to be done."""

from collections.abc import Mapping
from enum import StrEnum

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.planning.model.blockers import BlockerReason
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.observation import PodTrouble, TimelineTrouble
from hudi_operator.planning.model.reasons import (
    ClassReason,
    EndingEvent,
    EndingReason,
    RunTrouble,
    TableEvent,
    TableReason,
    Waiting,
)

_ASK = "ask the platform team."
_DRIVER_LOG = "See the log of the driver's pod."

_FAILURES: Mapping[str, str] = {
    FailureReason.INVALID_REQUEST: "Correct the spec or the class.",
    FailureReason.SOURCE_NOT_FOUND: "Create the path, or correct it.",
    FailureReason.SOURCE_UNREADABLE: "Replace or remove the file.",
    FailureReason.BAD_RECORDS: "Correct the files, or set `badRecords.policy: Quarantine`.",
    FailureReason.COLUMN_MISSING: "Add the column at the source or in the transform.",
    FailureReason.RECORD_KEY_NULL: "Correct the files, or fill the key in the transform.",
    FailureReason.SCHEMA_INCOMPATIBLE: "Cast the column in the transform, or correct the source.",
    FailureReason.TRANSFORM_INVALID: "Correct the SQL.",
    FailureReason.STORAGE_ACCESS_DENIED: "Correct the Secret in the table's namespace and its rights.",
    FailureReason.STORAGE_UNAVAILABLE: "Bring the store back.",
    FailureReason.STORAGE_FULL: "Make room.",
    FailureReason.LOCK_UNAVAILABLE: "Repair ZooKeeper, or correct its address.",
    FailureReason.CLOCK_BEHIND: "Correct the clock of the node; for a table in local time see `timelineTimeZone`.",
    FailureReason.TIMELINE_ZONE_UNKNOWN: "Declare the zone of the tool that writes the table as `timelineTimeZone`.",
    FailureReason.TABLE_MISMATCH: "Declare what is there, or another path.",
    FailureReason.CHECKPOINT_DAMAGED: "Restore the part of the checkpoint that the message names.",
    FailureReason.OWNED_ELSEWHERE: "Decide which operator works on the table.",
    FailureReason.PATH_OUTSIDE_TABLE: "Find out who wrote the plan; the message names it.",
    FailureReason.ROLLBACK_OF_SAVEPOINT: "Delete the savepoint, or the rollback.",
    FailureReason.OUT_OF_MEMORY: "Nothing up to the limit of the class: the driver gets half as much again each time.",
    FailureReason.CONFLICT: "",
    FailureReason.INTERRUPTED: "",
    FailureReason.HUDI_ERROR: _DRIVER_LOG,
    FailureReason.INTERNAL_ERROR: _DRIVER_LOG,
}

_PODS: Mapping[str, str] = {
    PodTrouble.IMAGE_PULL_FAILED: "Check sparkImage and imagePullSecretNames of the class.",
    PodTrouble.UNSCHEDULABLE: "No node has room for it: ask for less, or add nodes.",
    PodTrouble.CONFIGURATION: "A Secret or service account that the class names is missing in the namespace.",
    PodTrouble.FORBIDDEN: "The namespace refuses the pod: check its quota, limits and Pod Security level.",
    PodTrouble.START_TIMEOUT: "The Events of the pod say more; job.startTimeout of the class bounds the start.",
    PodTrouble.INIT_FAILED: "Whoever injects containers into the pods of this namespace can say more.",
    PodTrouble.OUT_OF_MEMORY: "",
    PodTrouble.EVICTED: "",
    PodTrouble.NODE_LOST: "",
    PodTrouble.DEADLINE_EXCEEDED: "",
}

_BLOCKERS: Mapping[str, str] = {
    BlockerReason.INVALID_SPEC: "Correct the spec; the message names the field.",
    BlockerReason.CLASS_NOT_FOUND: "Create the class, or name another in `tableClassName`.",
    BlockerReason.CLASS_INVALID: "Correct the class.",
    BlockerReason.CLASS_NOT_ALLOWED: f"Name another class, or {_ASK}",
    BlockerReason.PATH_NOT_ALLOWED: f"Choose another path, or {_ASK}",
    BlockerReason.SETTING_NOT_ALLOWED: f"Remove the key, or {_ASK}",
    BlockerReason.SIZE_NOT_ALLOWED: f"Ask for less, or {_ASK}",
    BlockerReason.INVALID_SCHEDULE: "Correct `ingestion.schedule`.",
    BlockerReason.INVALID_PATTERN: "Correct the expression.",
    BlockerReason.LOCK_MISSING: "Name a lock, or be Serialized.",
    BlockerReason.PATH_CLAIMED: "Give the table a folder of its own, or delete one of the two.",
}

_TIMELINE: Mapping[str, str] = {
    TimelineTrouble.NOT_FOUND: "Restore the files.",
    TimelineTrouble.ACCESS_DENIED: "Correct the identity of the operator and its rights.",
    TimelineTrouble.UNREACHABLE: "Bring the store back.",
    TimelineTrouble.CORRUPT: "Restore the file; the message names it.",
    TimelineTrouble.TOO_LARGE: "Restore what Hudi wrote, or archive instants; the message names the file.",
    TimelineTrouble.UNSUPPORTED: "Upgrade the operator, or the table with a tool of your own; the message says which.",
    TimelineTrouble.NOT_READ: "See the reason of Ready.",
}

_TABLE: Mapping[str, str] = {
    **dict.fromkeys(TableReason, ""),
    TableReason.TABLE_NOT_FOUND: "Correct `basePath`, or wait for the tool that makes the table.",
    TableReason.FOREIGN_WRITER: "Decide who writes.",
    TableReason.OWNED_ELSEWHERE: "Decide which operator works on the table.",
    TableReason.DRIFT: "Declare what the table has.",
    TableReason.INPUT_SKIPPED: "Ask for a rescan, or narrow `pathGlob`.",
    TableReason.OVERDUE: "See the service under `status.services` for what is done about the instant.",
}

_SERVICES: Mapping[str, str] = {
    **dict.fromkeys(Reason, ""),
    Reason.WAITING_FOR_SPEC_CHANGE: "Correct the spec or the class.",
    Reason.RETRIES_EXHAUSTED: "Remove the cause, then change the spec or the class, or ask for a run.",
    Reason.COUNTER_UNCERTAIN: "Restore the file that `status.timeline.problems` names.",
    Reason.INVALID_SCHEDULE: "Correct the schedule.",
}

_WAITING: Mapping[str, str] = {
    **dict.fromkeys(Waiting, ""),
    Waiting.SUSPENDED: "Set `suspend: false`.",
    Waiting.OBSERVED: "Set `managementPolicy: Manage`.",
    Waiting.BLOCKED: "See the condition Stalled.",
    Waiting.CLASS_QUOTA_REACHED: "Wait, or raise `jobQuota.runningJobs` of the class.",
    Waiting.NAMESPACE_QUOTA_REACHED: "Wait, or raise `jobQuota.runningJobsPerNamespace` of the class.",
    Waiting.WAITING_FOR_QUIET: "Stop the other writers, or make all of them Optimistic under a lock.",
}

ADVICE: Mapping[type[StrEnum], Mapping[str, str]] = {
    Outcome: dict.fromkeys(map(str, Outcome), ""),
    BlockerReason: _BLOCKERS,
    TimelineTrouble: _TIMELINE,
    PodTrouble: {
        **_PODS,
        PodTrouble.OUT_OF_MEMORY: _FAILURES[FailureReason.OUT_OF_MEMORY],
        PodTrouble.NODE_LOST: "Repair or delete the node.",
        PodTrouble.DEADLINE_EXCEEDED: "Raise `job.deadline`, or read less per run.",
    },
    FailureReason: _FAILURES,
    RunTrouble: {
        RunTrouble.NOT_CONFIRMED: "Find out who else writes or restores the table.",
        RunTrouble.DRIVER_DIED: _DRIVER_LOG,
        RunTrouble.JOB_LOST: "Find out who deletes Jobs.",
        RunTrouble.JOB_REFUSED: "The message is the API server's own.",
    },
    Reason: _SERVICES,
    Waiting: _WAITING,
    TableReason: _TABLE,
    ClassReason: {
        ClassReason.ACCEPTED: "",
        ClassReason.UNSAFE_SETTING_ALLOWED: "Name only what the owners of all tables of the class are trusted with.",
    },
    EndingReason: dict.fromkeys(map(str, EndingReason), ""),
    TableEvent: dict.fromkeys(map(str, TableEvent), ""),
    EndingEvent: dict.fromkeys(map(str, EndingEvent), ""),
}
"""The sentence for every member of every enumeration of reasons."""

START_ADVICE: Mapping[str, str] = _PODS
"""What a condition adds when a pod does not start."""
