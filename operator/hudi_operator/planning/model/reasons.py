"""Every reason word, each in one enumeration; `registry.py` says how it is retried and what helps."""

from enum import StrEnum


class Retry(StrEnum):
    """When the operator tries again after a reason."""

    JOB = "Job"
    """With exponential backoff, `retry.maxAttempts` times in a row; then once an hour."""

    INFRASTRUCTURE = "Infrastructure"
    """With exponential backoff, `retry.maxInfrastructureAttempts` times in a row; then once an hour."""

    CONFLICT = "Conflict"
    """With exponential backoff, without a limit on attempts."""

    ON_CHANGE = "OnChange"
    """When the spec, the class, the Spark image or the operator changes, or on request; otherwise once an hour."""

    INTERVENTION = "Intervention"
    """After a person has removed the cause; nothing starts before then."""

    AT_TIME = "AtTime"
    """At the time that `nextAttemptAt` names."""

    WHEN_CLEARED = "WhenCleared"
    """As soon as a reconcile finds that the cause is gone."""

    NEVER = "None"
    """Not retried: nothing failed, or the end is final."""


class RunTrouble(StrEnum):
    """Why a run failed, as the operator finds where the driver does not say."""

    NOT_CONFIRMED = "NotConfirmed"
    """The driver reported success, but the timeline does not hold it."""

    DRIVER_DIED = "DriverDied"
    """The driver ended without a report."""

    JOB_LOST = "JobLost"
    """The Job vanished before it reported."""

    JOB_REFUSED = "JobRefused"
    """The API server refuses to create the Job."""

    NO_PROGRESS = "NoProgress"
    """A continuous ingestion made no progress for as long as its spec allows, so the operator stopped it."""


class RunRemark(StrEnum):
    """The reason of a run that has not failed."""

    DRAINING = "Draining"
    """The operator has asked a continuous ingestion to end between two batches; its pod still runs."""

    DRAINED = "Drained"
    """The operator has ended a continuous ingestion between two batches, or cancelled its last batch; the message says
    why."""


class Waiting(StrEnum):
    """Why a service that is due does not start."""

    RUNNING = "Running"
    """A Job of the table runs, and no other Job may run beside it."""

    SUSPENDED = "Suspended"
    """The table is suspended: no new Job starts."""

    OBSERVED = "Observed"
    """The table is only observed: no Job starts."""

    BLOCKED = "Blocked"
    """The spec or the class prevents a start; the condition Stalled says why."""

    CLASS_QUOTA_REACHED = "ClassQuotaReached"
    """The class's limit on running Jobs is reached."""

    NAMESPACE_QUOTA_REACHED = "NamespaceQuotaReached"
    """The class's limit on running Jobs in a namespace is reached."""

    BUDGET_REACHED = "BudgetReached"
    """The class's budget of table services in the namespace is used up for the day."""

    INGESTION_FIRST = "IngestionFirst"
    """The table misses its freshness, so its ingestion goes first; a service that was skipped ten times goes next."""

    WAITING_FOR_QUIET = "WaitingForQuiet"
    """Others wrote the table, and it has not been quiet for as long as its class requires."""

    MAINTENANCE = "Maintenance"
    """A HudiOperation has the table to itself, or its result needs a person's attention."""

    CHECKING_COMMITS = "CheckingCommits"
    """A Serialized table has more new commits than one reconcile checks for another writer."""


class TableReason(StrEnum):
    """The reason of a condition of a table."""

    NO_FINDINGS = "NoFindings"
    """Nothing needs a person's attention."""

    PROGRESSING = "Progressing"
    """The first run of a spec is under way."""

    PROGRESSING_WITH_RETRY = "ProgressingWithRetry"
    """A failure is tried again."""

    TABLE_NOT_FOUND = "TableNotFound"
    """The path of the observed table holds no Hudi table."""

    FRESH = "Fresh"
    """The table is no further behind its source than `ingestion.freshness` asks."""

    FRESHNESS_MISSED = "FreshnessMissed"
    """The table is further behind its source than `ingestion.freshness` asks; the message names what it waits for."""

    FRESHNESS_UNKNOWN = "FreshnessUnknown"
    """No run has reported how far the source, as now declared, has been read."""


class ClassReason(StrEnum):
    """The reason of a condition of a class, beside `TableClassInvalid`."""

    ACCEPTED = "Accepted"
    """The class can be used by tables."""

    UNSAFE_SETTING_ALLOWED = "UnsafeSettingAllowed"
    """The class allows a setting that is not known to be harmless, so its tables can use it."""


class TableEvent(StrEnum):
    """The reason of an Event that is the reason of no condition."""

    RESUMED = "Resumed"
    """The table is no longer suspended, or an operation no longer has it to itself."""

    FINDING_RESOLVED = "FindingResolved"
    """A finding is gone."""

    STATUS_UNREADABLE = "StatusUnreadable"
    """Parts of the stored status cannot be read by this version of the operator, and are rebuilt; a Warning."""

    RESTORED = "Restored"
    """Somebody restored the table; a Warning."""

    COMMITS_UNDONE = "CommitsUndone"
    """Somebody rolled completed commits back; a Warning."""

    SAVEPOINTED = "Savepointed"
    """Somebody made a savepoint."""

    SCHEDULE_REFUSED = "SavepointScheduleRefused"
    """The Kubernetes API refuses the HudiSavepoint that the table's schedule asks for; a Warning."""


class SavepointReason(StrEnum):
    """The reason of a HudiSavepoint, in its condition Ready and in the status of its table."""

    KEPT = "Kept"
    """The savepoint is in the table."""

    WAITING = "Waiting"
    """The savepoint waits for its turn among the runs of the table; the message says for what."""

    AT_WORK = "Running"
    """A Job makes or removes the savepoint."""

    NO_COMMIT = "NoCommit"
    """The table has no commit to keep."""

    TABLE_NOT_FOUND = "TableNotFound"
    """The namespace has no HudiTable of that name."""

    INSTANT_NOT_FOUND = "InstantNotFound"
    """The active timeline does not hold the instant."""

    INSTANT_PENDING = "InstantPending"
    """The commit has not completed."""

    NOT_A_COMMIT = "NotACommit"
    """The instant is a clean, a rollback or another action that writes no data."""

    INSTANT_CLEANED = "InstantCleaned"
    """A clean may have removed files of the commit."""

    FILES_MISSING = "FilesMissing"
    """The last clean found that files of the savepoint are no longer there."""

    CLEANS_UNKNOWN = "CleansUnknown"
    """The active timeline does not show whether a clean removed files of the commit before the savepoint was made."""

    ALREADY_SAVEPOINTED = "AlreadySavepointed"
    """The commit already has a savepoint of another resource, or of the takeover."""

    TOO_MANY = "TooManySavepoints"
    """The class's limit on savepoints of the table is reached, or too many resources name the table."""

    REFUSED = "SavepointRefused"
    """The driver found that the savepoint cannot be made."""

    LOST = "SavepointLost"
    """Somebody else removed the savepoint from the table; the operator does not make it again."""

    EXPIRED = "Expired"
    """The savepoint has expired and was removed."""

    REMOVED = "SavepointRemoved"
    """The savepoint was removed, or never made; the resource is removed."""

    RETAINED = "SavepointRetained"
    """The savepoint stays although the resource is removed; as an Event, a Warning if nothing could remove the
    savepoint.
    """


class OperationReason(StrEnum):
    """The reason of a HudiOperation, in its status and in the status of its table."""

    PENDING = "Pending"
    """The operation waits for its turn; the message says for what."""

    APPROVED = "Approved"
    """A person has set `spec.approved`, and the operation waits for its turn."""

    AWAITING_APPROVAL = "AwaitingApproval"
    """The class requires approval: a person has to set `spec.approved`."""

    BLOCKED = "Blocked"
    """Nothing may start on the table; the message says why."""

    DRAINING = "Draining"
    """No other Job of the table starts, and running Jobs finish."""

    AT_WORK = "Running"
    """The Job of the operation runs."""

    VERIFYING = "Verifying"
    """The table was changed, and the Job compares its rows."""

    RETRYING = "Retrying"
    """A run did not finish the operation; the message says why, and when the next run begins."""

    SUCCEEDED = "Succeeded"
    """The operation is done."""

    NOT_VERIFIED = "NotVerified"
    """The counts of rows differ from those before, or rows of other commits may be missing; nothing starts until the
    operation is deleted.
    """

    NOT_ERASED = "NotErased"
    """The rows are deleted, but files that the message names still hold keys."""

    CASCADING = "Cascading"
    """The records are erased from the table; HudiOperations erase them from the tables that read it."""

    CASCADE_FAILED = "CascadeFailed"
    """The records are erased from the table, but not from all that read it; the message names the HudiOperation."""

    KEYS_LOST = "KeysLost"
    """An erasure had begun, and its resource, the only place of the keys, was removed by hand."""

    REFUSED = "OperationRefused"
    """The driver, or the operator for a decision, found that the table does not permit it; nothing was changed."""

    NOT_ALLOWED = "OperationNotAllowed"
    """The class of the table does not allow operations of this kind."""

    OTHER_WRITERS = "OtherWriters"
    """The table is Optimistic, and nobody has confirmed that its other writers are stopped."""

    TARGET_CHANGED = "TargetChanged"
    """The savepoint that a restore names has moved to another commit than the approved commit."""

    COPIED_OPERATION = "CopiedOperation"
    """The resource is a copy of an earlier operation, as from a backup; the operator does each operation once."""

    ALREADY_DONE = "AlreadyDone"
    """A HudiOperation of the same name and spec has finished before; the operator does it once."""

    NOT_LATEST = "NotLatest"
    """The commit that a rollback names is not the latest commit."""

    TOO_MANY = "TooManyOperations"
    """The table has as many operations as its class allows or the operator considers."""

    TABLE_NOT_FOUND = "TableNotFound"
    """The namespace has no HudiTable of that name."""

    OWNER_NOT_FOUND = "OwnerNotFound"
    """The record beside the table does not name the owner that a decision takes the table over from."""

    SAVEPOINT_NOT_FOUND = "SavepointNotFound"
    """The table has no savepoint of the HudiSavepoint that a restore names."""

    INSTANT_NOT_FOUND = "InstantNotFound"
    """The active timeline does not hold the instant."""

    INSTANT_PENDING = "InstantPending"
    """The commit has not completed."""

    NOT_A_COMMIT = "NotACommit"
    """The instant is a clean, a rollback or another action that writes no data."""

    INSTANT_CLEANED = "InstantCleaned"
    """A clean may have removed files of the commit."""


class OperationEvent(StrEnum):
    """How an operation ended, as the reason of an Event about the operation and its table."""

    SUCCEEDED = "OperationSucceeded"
    """The operation is done; the status of a dry run has the report."""

    FAILED = "OperationFailed"
    """The operation was refused or failed for a reason other than the rows; the status says which; a Warning."""

    NOT_VERIFIED = "OperationNotVerified"
    """The counts of rows differ from those before, or rows of other commits may be missing; a Warning."""

    NOT_CREATED = "CascadeRefused"
    """The API server refuses the HudiOperation that continues an erasure on another table; a Warning."""

    LEFT = "OperationIncomplete"
    """The resource is removed although the operation is not finished: its table is gone, or other tables wait; a
    Warning.
    """


class EndingReason(StrEnum):
    """The step of a table's deletion, as the reason of its condition Ready."""

    STOPPING_JOBS = "StoppingJobs"
    """The table's Jobs were asked to stop, and their pods still run."""

    DELETING_DATA = "DeletingData"
    """A Job removes the data, because the spec says `deletionPolicy: Delete`."""

    DELETION_BLOCKED = "DeletionBlocked"
    """The Job that removes the data cannot be started; the message says why and how long the operator waits."""

    DELETION_FAILED = "DeletionFailed"
    """An attempt to remove the data failed; the operator tries again."""

    CONFIRMING_DELETION = "ConfirmingDeletion"
    """The data was removed, and the operator checks the store to confirm it."""


class EndingEvent(StrEnum):
    """How a table ended, as the reason of the last Event about it."""

    DATA_DELETED = "DataDeleted"
    """The data was removed, and the store holds no table at the path any more."""

    DATA_RETAINED = "DataRetained"
    """The data stays: because the spec says so, or, as a Warning, because it could not be removed."""

    DELETION_NOT_CONFIRMED = "DeletionNotConfirmed"
    """The run reported that it removed the data, but the store could not be read to confirm it."""
