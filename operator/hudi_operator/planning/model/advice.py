"""When the operator tries again after each reason, and what helps: one line for each member of an enumeration."""

from collections.abc import Mapping

from hudi_jobs.contract import Effect, FailureReason, Outcome
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.diagnosis.check_registry import CHECKS, check_of
from hudi_operator.planning.model.blockers import BlockerReason
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.observation import PodTrouble, TimelineTrouble
from hudi_operator.planning.model.reasons import (
    ClassReason,
    EndingEvent,
    EndingReason,
    OperationEvent,
    OperationReason,
    Retry,
    RunRemark,
    RunTrouble,
    SavepointReason,
    TableEvent,
    TableReason,
    Waiting,
)

AnyReason = (
    FailureReason
    | PodTrouble
    | RunTrouble
    | RunRemark
    | Outcome
    | BlockerReason
    | TimelineTrouble
    | Reason
    | Waiting
    | FindingCode
    | TableReason
    | ClassReason
    | SavepointReason
    | OperationReason
    | OperationEvent
    | TableEvent
    | Effect
    | EndingReason
    | EndingEvent
)
"""Every reason word."""

_ASK = "ask the platform team."
_ANOTHER_COMMIT = "Name another commit, in another HudiSavepoint."
_ERASE_AGAIN = "Do what the message says of each file, then erase the same keys with another HudiOperation."
_ANOTHER_ENTRY = "Remove `spec.catalog` and then declare another name, or free the entry as the message says."
_ANOTHER_OPERATION = "Create another HudiOperation."
_CHECK_THE_TABLE = "Check the table, then delete the HudiOperation."
_CREATE_THE_PATH = "Create the path, or correct it."
_DECLARE_THE_ZONE = "Declare the zone of the tool that writes the table as `timelineTimeZone`."
_WAIT_FOR_THE_BUDGET = "Wait for the next day (UTC), or raise `budgets.tableServices` of the class."
_DRIVER_LOG = "See the log of the driver's pod."
_MORE_MEMORY = "Nothing: each attempt gives the driver half as much memory again, up to the limit of the class."
_NOTHING = "Nothing."
_SPEC_OR_CLASS = "Correct the spec or the class."
_WHICH_OPERATOR = "Decide which operator works on the table."

Table = Mapping[AnyReason, tuple[Retry, str]]

OUTCOMES: Table = {
    Outcome.SUCCEEDED: (Retry.NEVER, ""),
    Outcome.NOTHING_TO_DO: (Retry.NEVER, ""),
    Outcome.CONFLICT: (Retry.CONFLICT, _NOTHING),
    Outcome.FENCED: (Retry.CONFLICT, _NOTHING),
    Outcome.FAILED: (Retry.JOB, "See the reason of the run."),
}

BLOCKERS: Table = {
    BlockerReason.INVALID_SPEC: (Retry.INTERVENTION, "Correct the spec; the message names the field."),
    BlockerReason.CLASS_NOT_FOUND: (Retry.INTERVENTION, "Create the class, or name another in `tableClassName`."),
    BlockerReason.CLASS_INVALID: (Retry.INTERVENTION, "Correct the class."),
    BlockerReason.CLASS_NOT_ALLOWED: (Retry.INTERVENTION, f"Name another class, or {_ASK}"),
    BlockerReason.PATH_NOT_ALLOWED: (Retry.INTERVENTION, f"Choose another path, or {_ASK}"),
    BlockerReason.CATALOG_NOT_ALLOWED: (
        Retry.INTERVENTION,
        f"Choose a catalog that the class allows, or {_ASK}",
    ),
    BlockerReason.SOURCE_NOT_ALLOWED: (
        Retry.INTERVENTION,
        f"Use only what the class allows, for Kafka by a single entry of `allowedKafka`, or {_ASK}",
    ),
    BlockerReason.SETTING_NOT_ALLOWED: (Retry.INTERVENTION, f"Remove the key, or {_ASK}"),
    BlockerReason.SIZE_NOT_ALLOWED: (Retry.INTERVENTION, f"Ask for less, or {_ASK}"),
    BlockerReason.PROFILE_NOT_ALLOWED: (
        Retry.INTERVENTION,
        f"Choose a profile that the message names, remove `execution.profile`, or {_ASK}",
    ),
    BlockerReason.INVALID_SCHEDULE: (Retry.INTERVENTION, "Correct `ingestion.schedule`."),
    BlockerReason.INVALID_PATTERN: (Retry.INTERVENTION, "Correct the expression."),
    BlockerReason.LOCK_MISSING: (Retry.INTERVENTION, "Name a lock, or use mode Serialized."),
    BlockerReason.PATH_CLAIMED: (Retry.INTERVENTION, "Give the table its own folder, or delete one of the two."),
}

TIMELINE: Table = {
    TimelineTrouble.NOT_FOUND: (Retry.WHEN_CLEARED, "Restore the files."),
    TimelineTrouble.ACCESS_DENIED: (Retry.WHEN_CLEARED, "Correct the identity of the operator, or its permissions."),
    TimelineTrouble.UNREACHABLE: (Retry.WHEN_CLEARED, "Restore access to the store."),
    TimelineTrouble.CORRUPT: (Retry.WHEN_CLEARED, "Restore the file; the message names it."),
    TimelineTrouble.TOO_LARGE: (Retry.WHEN_CLEARED, "Restore the file that the message names, or archive instants."),
    TimelineTrouble.UNSUPPORTED: (
        Retry.INTERVENTION,
        "Upgrade the operator, or the table with your own tool; the message says which.",
    ),
    TimelineTrouble.NOT_OBSERVED: (Retry.WHEN_CLEARED, "See the reason of Ready."),
}

_ROOM_FOR_EXECUTORS = "Request fewer or smaller executors, or add nodes; job.startTimeout of the class limits the wait."

PODS: Table = {
    PodTrouble.IMAGE_PULL_FAILED: (Retry.INFRASTRUCTURE, "Check sparkImage and imagePullSecretNames of the class."),
    PodTrouble.UNSCHEDULABLE: (Retry.INFRASTRUCTURE, "No node has room for the pod: request less, or add nodes."),
    PodTrouble.CONFIGURATION: (
        Retry.INFRASTRUCTURE,
        "A Secret or service account that the class or the source names, or a key of it, is missing in the namespace.",
    ),
    PodTrouble.FORBIDDEN: (
        Retry.INFRASTRUCTURE,
        "The namespace refuses the pod: check its quota, limits and Pod Security level.",
    ),
    PodTrouble.START_TIMEOUT: (
        Retry.INFRASTRUCTURE,
        "See the Events of the pod; job.startTimeout of the class limits the time to start.",
    ),
    PodTrouble.EXECUTORS_WAITING: (Retry.INFRASTRUCTURE, _ROOM_FOR_EXECUTORS),
    PodTrouble.NO_EXECUTORS: (Retry.INFRASTRUCTURE, _ROOM_FOR_EXECUTORS),
    PodTrouble.WITHDRAWN: (
        Retry.INFRASTRUCTURE,
        "Nothing: the operation has not begun. Create another HudiOperation where it is wanted after all.",
    ),
    PodTrouble.INIT_FAILED: (
        Retry.INFRASTRUCTURE,
        "Ask whoever injects containers into the pods of this namespace.",
    ),
    PodTrouble.OUT_OF_MEMORY: (Retry.JOB, _MORE_MEMORY),
    PodTrouble.EVICTED: (Retry.INFRASTRUCTURE, _NOTHING),
    PodTrouble.NODE_LOST: (Retry.INFRASTRUCTURE, "Repair or delete the node."),
    PodTrouble.DEADLINE_EXCEEDED: (Retry.JOB, "Raise `job.deadline`, or read less per run."),
}

FAILURES: Table = {
    FailureReason.INVALID_REQUEST: (Retry.ON_CHANGE, _SPEC_OR_CLASS),
    FailureReason.SOURCE_NOT_FOUND: (Retry.JOB, _CREATE_THE_PATH),
    FailureReason.SOURCE_UNREADABLE: (Retry.JOB, "Replace or remove the file."),
    FailureReason.SOURCE_UNAVAILABLE: (Retry.INFRASTRUCTURE, "Restore access to the brokers or the schema registry."),
    FailureReason.SOURCE_ACCESS_DENIED: (
        Retry.JOB,
        "Correct the Secret that the source names, or the permissions of its user.",
    ),
    FailureReason.INPUT_LOST: (
        Retry.JOB,
        "Restore the messages, or accept their loss with `source.kafka.onDataLoss: Skip`.",
    ),
    FailureReason.UPSTREAM_UNSUPPORTED: (
        Retry.JOB,
        "Change what the message names in the upstream table, or ingest from the source of the upstream table.",
    ),
    FailureReason.UPSTREAM_REWOUND: (
        Retry.JOB,
        "Read all of it again with a HudiOperation (`rescan: {}`), or read it into a new table.",
    ),
    FailureReason.UPSTREAM_ROWS_REMOVED: (
        Retry.JOB,
        "If it was an erasure, erase the same keys here; behind a transform or with another record key, also set "
        "`source.hudi.onRemovedRows: Ignore` until its commit is read. Otherwise keep the rows with `Ignore`, or read "
        "the upstream table into a new one.",
    ),
    FailureReason.UPSTREAM_CLEANED: (
        Retry.JOB,
        "Nothing; if it happens each time, have the upstream table's cleaning keep more commits.",
    ),
    FailureReason.BAD_RECORDS: (Retry.JOB, "Correct the files, or set `badRecords.policy: Quarantine`."),
    FailureReason.COLUMN_MISSING: (Retry.JOB, "Add the column at the source or in the transform."),
    FailureReason.RECORD_KEY_NULL: (Retry.JOB, "Correct the files, or fill the key in the transform."),
    FailureReason.SCHEMA_INCOMPATIBLE: (Retry.JOB, "Cast the column in the transform, or correct the source."),
    FailureReason.TRANSFORM_INVALID: (Retry.JOB, "Correct the SQL."),
    FailureReason.STORAGE_ACCESS_DENIED: (
        Retry.JOB,
        "Correct the Secret in the table's namespace, or its permissions.",
    ),
    FailureReason.STORAGE_UNAVAILABLE: (Retry.INFRASTRUCTURE, "Restore access to the store."),
    FailureReason.STORAGE_FULL: (Retry.INFRASTRUCTURE, "Free space in the store or on the scratch volume."),
    FailureReason.CATALOG_UNAVAILABLE: (Retry.INFRASTRUCTURE, "Restore access to the catalog."),
    FailureReason.CATALOG_REFUSED: (Retry.JOB, "Do what the message says."),
    FailureReason.CATALOG_ENTRY_TAKEN: (Retry.ON_CHANGE, _ANOTHER_ENTRY),
    FailureReason.LOCK_UNAVAILABLE: (Retry.INFRASTRUCTURE, "Repair ZooKeeper, or correct its address."),
    FailureReason.CLOCK_BEHIND: (
        Retry.INFRASTRUCTURE,
        "Correct the clock of the node; for a table in local time see `timelineTimeZone`.",
    ),
    FailureReason.TIMELINE_ZONE_UNKNOWN: (Retry.JOB, _DECLARE_THE_ZONE),
    FailureReason.FILE_SLICES_UNCERTAIN: (Retry.JOB, check_of(FindingCode.FILE_SLICES_UNCERTAIN).remedy),
    FailureReason.TABLE_MISMATCH: (Retry.JOB, "Declare what the table has, or use another path."),
    FailureReason.ROWS_WOULD_CHANGE: (
        Retry.JOB,
        "Compact the table once with the tool that wrote it, or leave the table in Observe.",
    ),
    FailureReason.CHECKPOINT_DAMAGED: (Retry.JOB, "Restore the part of the checkpoint that the message names."),
    FailureReason.OWNED_ELSEWHERE: (Retry.CONFLICT, _WHICH_OPERATOR),
    FailureReason.PATH_OUTSIDE_TABLE: (Retry.JOB, "Find out who wrote the plan; the message names it."),
    FailureReason.ROLLBACK_OF_SAVEPOINT: (Retry.JOB, check_of(FindingCode.ROLLBACK_OF_SAVEPOINT).remedy),
    FailureReason.RESTORE_PENDING: (Retry.JOB, check_of(FindingCode.RESTORE_PENDING).remedy),
    FailureReason.SAVEPOINT_REFUSED: (Retry.NEVER, _ANOTHER_COMMIT),
    FailureReason.OPERATION_REFUSED: (Retry.NEVER, _ANOTHER_OPERATION),
    FailureReason.NOT_VERIFIED: (Retry.NEVER, _CHECK_THE_TABLE),
    FailureReason.NOT_ERASED: (Retry.NEVER, _ERASE_AGAIN),
    FailureReason.OUT_OF_MEMORY: (Retry.JOB, _MORE_MEMORY),
    FailureReason.CONFLICT: (Retry.CONFLICT, _NOTHING),
    FailureReason.INTERRUPTED: (Retry.INFRASTRUCTURE, _NOTHING),
    FailureReason.DRIVER_ENDED: (Retry.NEVER, ""),
    FailureReason.HUDI_ERROR: (Retry.JOB, _DRIVER_LOG),
    FailureReason.INTERNAL_ERROR: (Retry.JOB, _DRIVER_LOG),
}

RUNS: Table = {
    RunTrouble.NOT_CONFIRMED: (Retry.JOB, "Find out who else writes or restores the table."),
    RunTrouble.DRIVER_DIED: (Retry.JOB, _DRIVER_LOG),
    RunTrouble.JOB_LOST: (Retry.INFRASTRUCTURE, "Find out who deletes Jobs."),
    RunTrouble.JOB_REFUSED: (Retry.INFRASTRUCTURE, "The message is the API server's own."),
    RunTrouble.NO_PROGRESS: (
        Retry.JOB,
        "See the log of the driver's pod; raise `ingestion.continuous.progressDeadline` where a batch takes longer.",
    ),
}

SERVICES: Table = {
    Reason.NOT_CONFIGURED: (Retry.NEVER, ""),
    Reason.DISABLED: (Retry.NEVER, ""),
    Reason.INLINE: (Retry.NEVER, ""),
    Reason.NO_TABLE: (Retry.NEVER, ""),
    Reason.REQUESTED: (Retry.NEVER, ""),
    Reason.NOT_REQUESTED: (Retry.NEVER, ""),
    Reason.SAVEPOINT_ASKED: (Retry.NEVER, ""),
    Reason.OPERATION_ASKED: (Retry.NEVER, ""),
    Reason.CATALOG_BEHIND: (Retry.NEVER, ""),
    Reason.CATALOG_ENTRY_TAKEN: (Retry.WHEN_CLEARED, _ANOTHER_ENTRY),
    Reason.SCHEDULED: (Retry.NEVER, ""),
    Reason.CONTINUOUS: (Retry.NEVER, ""),
    Reason.MORE_INPUT: (Retry.NEVER, ""),
    Reason.RETRY: (Retry.NEVER, ""),
    Reason.THRESHOLD_REACHED: (Retry.NEVER, ""),
    Reason.THRESHOLD_MAY_BE_REACHED: (Retry.NEVER, ""),
    Reason.PENDING_PLAN: (Retry.NEVER, ""),
    Reason.FAILED_WRITE: (Retry.NEVER, ""),
    Reason.TAKEOVER_COMPLETE: (Retry.NEVER, ""),
    Reason.WAITING_FOR_SCHEDULE: (Retry.NEVER, ""),
    Reason.NO_NEW_INPUT: (Retry.NEVER, ""),
    Reason.SOURCE_NOT_FOUND: (Retry.WHEN_CLEARED, _CREATE_THE_PATH),
    Reason.WAITING_FOR_RETRY: (Retry.AT_TIME, "See the reason of the last run."),
    Reason.WAITING_FOR_SPEC_CHANGE: (Retry.ON_CHANGE, _SPEC_OR_CLASS),
    Reason.WAITING_FOR_HEARTBEAT: (Retry.AT_TIME, _NOTHING),
    Reason.WAITING_FOR_OTHER: (Retry.WHEN_CLEARED, "Nothing, or finish the instant with the tool that began it."),
    Reason.BELOW_THRESHOLD: (Retry.NEVER, ""),
    Reason.NOTHING_TO_DO: (Retry.NEVER, ""),
    Reason.COUNTER_UNCERTAIN: (Retry.WHEN_CLEARED, "Restore the file that `status.timeline.problems` names."),
    Reason.RETRIES_EXHAUSTED: (Retry.ON_CHANGE, "Remove the cause, then change the spec or class, or request a run."),
    Reason.INVALID_SCHEDULE: (Retry.WHEN_CLEARED, "Correct the schedule."),
}

WAITING: Table = {
    Waiting.RUNNING: (Retry.WHEN_CLEARED, _NOTHING),
    Waiting.SUSPENDED: (
        Retry.INTERVENTION,
        "Set `suspend: false`, or remove the annotation that the condition Suspended names.",
    ),
    Waiting.OBSERVED: (Retry.INTERVENTION, "Set `managementPolicy: Manage`."),
    Waiting.BLOCKED: (Retry.INTERVENTION, "See the condition Stalled."),
    Waiting.CLASS_QUOTA_REACHED: (
        Retry.WHEN_CLEARED,
        "Wait, or raise `jobQuota.runningJobs`: a continuous ingestion keeps its place.",
    ),
    Waiting.NAMESPACE_QUOTA_REACHED: (
        Retry.WHEN_CLEARED,
        "Wait, or raise `jobQuota.runningJobsPerNamespace`: a continuous ingestion keeps its place.",
    ),
    Waiting.BUDGET_REACHED: (Retry.AT_TIME, _WAIT_FOR_THE_BUDGET),
    Waiting.INGESTION_FIRST: (Retry.WHEN_CLEARED, "See the condition Fresh."),
    Waiting.WAITING_FOR_QUIET: (
        Retry.WHEN_CLEARED,
        "Stop the other writers, or let all writers share a lock in mode Optimistic.",
    ),
    Waiting.MAINTENANCE: (Retry.WHEN_CLEARED, "See the HudiOperation that the message names."),
    Waiting.CHECKING_COMMITS: (Retry.WHEN_CLEARED, _NOTHING),
}

_NEEDS_A_PERSON = frozenset(
    {FindingCode.TABLE_VERSION_UNSUPPORTED, FindingCode.FILE_SLICES_UNCERTAIN, FindingCode.ROLLBACK_OF_SAVEPOINT}
)
"""Codes of checks that no run clears."""

FINDINGS: Table = {
    **{
        one.code: (Retry.INTERVENTION if one.code in _NEEDS_A_PERSON else Retry.WHEN_CLEARED, one.remedy)
        for one in CHECKS
    },
    FindingCode.OWNED_ELSEWHERE: (Retry.INTERVENTION, _WHICH_OPERATOR),
    FindingCode.TIMELINE_ZONE_UNKNOWN: (Retry.INTERVENTION, _DECLARE_THE_ZONE),
    FindingCode.SPEC_DRIFT: (Retry.INTERVENTION, "Declare what the table has."),
    FindingCode.FOREIGN_WRITER: (Retry.INTERVENTION, "Decide who writes."),
    FindingCode.NOT_VERIFIED: (Retry.INTERVENTION, _CHECK_THE_TABLE),
    FindingCode.SERVICES_REFUSED: (
        Retry.INTERVENTION,
        "Do what the message says of each column or property, or disable the services.",
    ),
    FindingCode.CATALOG_ENTRY_TAKEN: (Retry.AT_TIME, _ANOTHER_ENTRY),
    FindingCode.CATALOG_BEHIND: (
        Retry.AT_TIME,
        "Do what the message says; a run of its own then brings the catalog up to date.",
    ),
    FindingCode.RECORDS_SKIPPED: (
        Retry.NEVER,
        "Load the rows from elsewhere; retain messages longer, or read more often. `onDataLoss: Fail` clears it.",
    ),
    FindingCode.FILES_SKIPPED: (Retry.NEVER, "Rename the objects, or narrow `pathGlob`."),
    FindingCode.BAD_ROWS: (
        Retry.NEVER,
        "Look at the rows and correct them at the source, then create a HudiOperation with `acknowledgeBadRows: {}`.",
    ),
    FindingCode.RETRIES_EXHAUSTED: (
        Retry.ON_CHANGE,
        "Remove the cause that `lastRun` of the service names, then change the spec or class, or request a run.",
    ),
    FindingCode.LOG_RATIO_HIGH: (
        Retry.WHEN_CLEARED,
        "Compact more often (`compaction.trigger`), or more at once (`compaction.plan.targetIO`).",
    ),
    FindingCode.FRESHNESS_MISSED: (Retry.WHEN_CLEARED, "See the condition `Fresh`: it says what ingestion waits for."),
    FindingCode.SMALL_FILES: (
        Retry.WHEN_CLEARED,
        "Cluster the table (`clustering.mode: Async`), or raise `fileSizing.smallFileLimit`.",
    ),
    FindingCode.PARTITIONS_SKEWED: (
        Retry.NEVER,
        "Partition another table by a column with more even values; partitions of a table never change.",
    ),
    FindingCode.SAVEPOINT_FAILED: (
        Retry.JOB,
        "See `status.services.savepoint` for the next attempt, or delete the HudiSavepoint.",
    ),
    FindingCode.SERVICE_HELD_BY_BUDGET: (Retry.AT_TIME, _WAIT_FOR_THE_BUDGET),
    FindingCode.NAMESPACE_UNREADABLE: (Retry.NEVER, "Let the operator get namespaces, as the chart's role does."),
    FindingCode.SETTING_NOT_APPLIED: (Retry.NEVER, "Declare what the table has, or do what the message says."),
}

TABLES: Table = {
    TableReason.NO_FINDINGS: (Retry.NEVER, ""),
    TableReason.PROGRESSING: (Retry.NEVER, ""),
    TableReason.PROGRESSING_WITH_RETRY: (Retry.JOB, "See the reason of Ready."),
    TableReason.TABLE_NOT_FOUND: (Retry.WHEN_CLEARED, "Correct `basePath`, or wait for the tool that makes the table."),
    TableReason.FRESH: (Retry.NEVER, ""),
    TableReason.FRESHNESS_MISSED: (Retry.WHEN_CLEARED, "The message says what ingestion waits for."),
    TableReason.FRESHNESS_UNKNOWN: (Retry.WHEN_CLEARED, "See `status.services.ingestion`."),
}

CLASSES: Table = {
    ClassReason.ACCEPTED: (Retry.NEVER, ""),
    ClassReason.UNSAFE_SETTING_ALLOWED: (
        Retry.NEVER,
        "Allow only what the owners of all tables of the class are trusted with.",
    ),
}

SAVEPOINTS: Table = {
    SavepointReason.KEPT: (Retry.NEVER, ""),
    SavepointReason.WAITING: (
        Retry.WHEN_CLEARED,
        "See the message; `status.services.savepoint` of the table says more.",
    ),
    SavepointReason.AT_WORK: (Retry.WHEN_CLEARED, _NOTHING),
    SavepointReason.NO_COMMIT: (Retry.WHEN_CLEARED, "Wait for the first commit."),
    SavepointReason.TABLE_NOT_FOUND: (Retry.WHEN_CLEARED, "Create the HudiTable, or another HudiSavepoint."),
    SavepointReason.INSTANT_NOT_FOUND: (Retry.INTERVENTION, _ANOTHER_COMMIT),
    SavepointReason.INSTANT_PENDING: (Retry.WHEN_CLEARED, "Wait until the commit completes."),
    SavepointReason.NOT_A_COMMIT: (Retry.INTERVENTION, _ANOTHER_COMMIT),
    SavepointReason.INSTANT_CLEANED: (Retry.INTERVENTION, _ANOTHER_COMMIT),
    SavepointReason.FILES_MISSING: (Retry.INTERVENTION, _ANOTHER_COMMIT),
    SavepointReason.CLEANS_UNKNOWN: (Retry.NEVER, "Read the table as of the commit before you rely on the savepoint."),
    SavepointReason.ALREADY_SAVEPOINTED: (Retry.WHEN_CLEARED, "Delete one of the two, or wait for the next commit."),
    SavepointReason.TOO_MANY: (
        Retry.WHEN_CLEARED,
        "Delete a savepoint, or raise `savepoints.maxPerTable` of the class.",
    ),
    SavepointReason.REFUSED: (Retry.INTERVENTION, _ANOTHER_COMMIT),
    SavepointReason.LOST: (Retry.INTERVENTION, "Create another HudiSavepoint."),
    SavepointReason.EXPIRED: (Retry.NEVER, "Nothing; the resource can be deleted."),
    SavepointReason.REMOVED: (Retry.NEVER, ""),
    SavepointReason.RETAINED: (
        Retry.NEVER,
        "Adopt it with a HudiSavepoint that names its instant, or remove it by hand.",
    ),
}

OPERATIONS: Table = {
    OperationReason.PENDING: (Retry.WHEN_CLEARED, _NOTHING),
    OperationReason.APPROVED: (Retry.WHEN_CLEARED, _NOTHING),
    OperationReason.AWAITING_APPROVAL: (Retry.INTERVENTION, "Set `spec.approved: true`, or delete the HudiOperation."),
    OperationReason.BLOCKED: (Retry.WHEN_CLEARED, "See the message, and the conditions of the table."),
    OperationReason.DRAINING: (Retry.WHEN_CLEARED, _NOTHING),
    OperationReason.AT_WORK: (Retry.WHEN_CLEARED, _NOTHING),
    OperationReason.VERIFYING: (Retry.WHEN_CLEARED, _NOTHING),
    OperationReason.RETRYING: (Retry.JOB, "Remove the cause that the message names: the next run continues."),
    OperationReason.SUCCEEDED: (Retry.NEVER, ""),
    OperationReason.NOT_VERIFIED: (Retry.INTERVENTION, _CHECK_THE_TABLE),
    OperationReason.NOT_ERASED: (Retry.INTERVENTION, _ERASE_AGAIN),
    OperationReason.CASCADING: (Retry.WHEN_CLEARED, "See the HudiOperations that `status.cascade` names."),
    OperationReason.CASCADE_FAILED: (
        Retry.INTERVENTION,
        "Remove the cause that the named HudiOperation gives, then erase the same keys with another one that sets "
        "`cascade`.",
    ),
    OperationReason.KEYS_LOST: (Retry.INTERVENTION, "Create another HudiOperation that erases the same keys."),
    OperationReason.REFUSED: (Retry.NEVER, _ANOTHER_OPERATION),
    OperationReason.NOT_ALLOWED: (Retry.INTERVENTION, "Add the kind to `operations.allowed` of the class."),
    OperationReason.OTHER_WRITERS: (
        Retry.NEVER,
        "Stop the other writers, then create another HudiOperation with `acceptOtherWriters: true`.",
    ),
    OperationReason.TARGET_CHANGED: (Retry.NEVER, _ANOTHER_OPERATION),
    OperationReason.COPIED_OPERATION: (
        Retry.NEVER,
        "Create another HudiOperation, without the annotation `hudi-operator.io/operation-uid`, to run it again.",
    ),
    OperationReason.ALREADY_DONE: (Retry.NEVER, "To repeat it, create a HudiOperation with another name."),
    OperationReason.NOT_LATEST: (Retry.NEVER, _ANOTHER_OPERATION),
    OperationReason.TOO_MANY: (
        Retry.WHEN_CLEARED,
        "Wait until others finish, delete some that only wait, or raise `operations.maxPerTable`.",
    ),
    OperationReason.TABLE_NOT_FOUND: (Retry.WHEN_CLEARED, "Create the HudiTable, or another HudiOperation."),
    OperationReason.OWNER_NOT_FOUND: (Retry.NEVER, _ANOTHER_OPERATION),
    OperationReason.SAVEPOINT_NOT_FOUND: (Retry.WHEN_CLEARED, "Wait for the savepoint, or name another."),
    OperationReason.INSTANT_NOT_FOUND: (Retry.NEVER, _ANOTHER_OPERATION),
    OperationReason.INSTANT_PENDING: (Retry.NEVER, _ANOTHER_OPERATION),
    OperationReason.NOT_A_COMMIT: (Retry.NEVER, _ANOTHER_OPERATION),
    OperationReason.INSTANT_CLEANED: (Retry.NEVER, _ANOTHER_OPERATION),
}

ENDINGS: Table = {
    EndingReason.STOPPING_JOBS: (Retry.WHEN_CLEARED, "For a pod on a lost node: repair or delete the node."),
    EndingReason.DELETING_DATA: (Retry.WHEN_CLEARED, "Nothing; `deletionPolicy: Retain` stops it."),
    EndingReason.DELETION_BLOCKED: (Retry.WHEN_CLEARED, "Remove the cause, or set `deletionPolicy: Retain`."),
    EndingReason.DELETION_FAILED: (Retry.WHEN_CLEARED, "See the message."),
    EndingReason.CONFIRMING_DELETION: (Retry.WHEN_CLEARED, "Wait, or repair the store."),
}
