"""Problems of a `HudiTable`, as `status.findings` shows them."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import Model, Timestamp

FINDINGS_SHOWN = 16

ALL_SERVICES = "All"
"""The name of every service at once in a finding."""

FINDING_LIMIT = 2000
"""Characters of a finding's message."""

REMEDY_LIMIT = 1024
"""Characters of a finding's remedy."""


class FindingCode(StrEnum):
    """Code of a problem; the order decides which finding `Ready` names when several block ingestion."""

    OWNED_ELSEWHERE = "OwnedElsewhere"
    """Another operator owns the table, or the owner's record beside the table cannot be used."""

    TABLE_VERSION_UNSUPPORTED = "TableVersionUnsupported"
    """The table has a version that Hudi 1.2.0 does not write without upgrading the table."""

    TIMELINE_ZONE_UNKNOWN = "TimelineZoneUnknown"
    """The table's instants are in a local time, and the files do not show its zone or show another zone than declared.
    """

    FILE_SLICES_UNCERTAIN = "FileSlicesUncertain"
    """Hudi counts log files of the table to other file slices than their writer did."""

    UPGRADE_UNFINISHED = "UpgradeUnfinished"
    """The timeline lies in two folders: a change of the table's version has not ended."""

    SPEC_DRIFT = "SpecDrift"
    """The table differs from its spec, or has a property that the operator cannot honour; no run can change it."""

    FOREIGN_WRITER = "ForeignWriter"
    """A Serialized table has commits or services of another writer that nobody has accepted."""

    NOT_VERIFIED = "NotVerified"
    """A HudiOperation left rows that are not as expected, or may have removed commits of others."""

    ROLLBACK_OF_SAVEPOINT = "RollbackOfSavepoint"
    """A savepoint keeps the commit that a pending rollback is to undo, so the rollback cannot finish."""

    RESTORE_PENDING = "RestorePending"
    """A restore of the table has begun and has not completed."""

    TIMELINE_CORRUPT = "TimelineCorrupt"
    """A recent commit cannot be understood, so nobody knows what the commit wrote or who made it."""

    METADATA_TABLE_BEHIND = "MetadataTableBehind"
    """The metadata table lacks completed commits of the table."""

    SERVICES_REFUSED = "ServicesRefused"
    """The table has columns or properties that keep some services from starting, while ingestion continues."""

    PENDING_INSTANT_OVERDUE = "PendingInstantOverdue"
    """An instant has been pending for longer than `pendingInstantAlarm` of the class."""

    WRITER_STOPPED = "WriterStopped"
    """A write is inflight, and its writer sends no heartbeat."""

    PLAN_PINS_HISTORY = "PlanPinsHistory"
    """A compaction or clustering is pending, and many commits have completed since."""

    PLANS_NOT_EXECUTED = "PlansNotExecuted"
    """Plans of compaction or clustering pile up, and nothing executes them."""

    SAVEPOINT_PINS_HISTORY = "SavepointPinsHistory"
    """A savepoint older than seven days holds back archival."""

    ARCHIVAL_BEHIND = "ArchivalBehind"
    """The active timeline holds many more commits than archival leaves."""

    TIMELINE_TOO_LONG = "TimelineTooLong"
    """The active timeline has more than 1,000 files."""

    COMPACTION_BEHIND = "CompactionBehind"
    """Many more delta commits than the trigger have completed since the last compaction."""

    CLEANING_BEHIND = "CleaningBehind"
    """Commits have replaced files for a long time, and nothing was cleaned."""

    CLEANING_REMOVES_NOTHING = "CleaningRemovesNothing"
    """Several cleans in a row have removed no file, and keep everything since the same commit."""

    CLUSTERING_FAILS = "ClusteringFails"
    """Several clusterings in a row were rolled back, and none has completed."""

    WRITES_FAIL = "WritesFail"
    """Several writes in a row were rolled back, and none has completed."""

    METADATA_COMPACTION_BEHIND = "MetadataCompactionBehind"
    """The metadata table has not been compacted for many commits."""

    CLOCKS_DIFFER = "ClocksDiffer"
    """Instants are in the future, or the clocks of the writers and of the store differ."""

    RECORDS_SKIPPED = "RecordsSkipped"
    """Messages of a stream were gone before ingestion could read them, and `onDataLoss` is Skip."""

    FILES_SKIPPED = "FilesSkipped"
    """Hadoop turns the keys of matching files into paths that hold no object, or a different object."""

    BAD_ROWS = "BadRows"
    """Ingestion has quarantined rows that nobody has acknowledged."""

    CATALOG_ENTRY_TAKEN = "CatalogEntryTaken"
    """The table's entry in its catalog belongs to somebody else, so runs leave it alone."""

    CATALOG_BEHIND = "CatalogBehind"
    """The catalog does not show the table as it is, because syncs fail."""

    RETRIES_EXHAUSTED = "RetriesExhausted"
    """A table service has failed as often as the class allows."""

    LOG_RATIO_HIGH = "LogRatioHigh"
    """The log files are more than twice as large as the base files."""

    SAVEPOINT_FAILED = "SavepointFailed"
    """The last run that makes or removes a savepoint of a HudiSavepoint failed."""

    TIMELINE_DAMAGED = "TimelineDamaged"
    """A file of the timeline, other than a recent commit, cannot be understood."""

    SERVICE_HELD_BY_BUDGET = "ServiceHeldByBudget"
    """The class's budget holds due table services until the next day (UTC)."""

    NAMESPACE_UNREADABLE = "NamespaceUnreadable"
    """The operator may not read the namespace, so it does not know whether the namespace suspends its tables."""

    FRESHNESS_MISSED = "FreshnessMissed"
    """The table is further behind its source than `ingestion.freshness` allows."""

    SMALL_FILES = "SmallFiles"
    """More than 1,000 files and more than half of all files are small."""

    PARTITIONS_SKEWED = "PartitionsSkewed"
    """The largest partition is more than 20 times as large as the mean."""

    TABLE_VERSION_BEHIND = "TableVersionBehind"
    """The table has an older version than Hudi 1.2.0 makes."""

    WRITERS_OVERLAP = "WritersOverlap"
    """Two commits that brought rows overlapped in time."""

    SETTING_NOT_APPLIED = "SettingNotApplied"
    """The table keeps a property that the spec declares otherwise, and every service continues."""


class Severity(StrEnum):
    """Urgency of a finding."""

    INFO = "Info"
    """Worth knowing; the table stays healthy."""

    WARNING = "Warning"
    """A person should look at the table; ingestion continues."""

    CRITICAL = "Critical"
    """Rows are missing, wrong or not ingested until a person acts."""


WORST_FIRST = tuple(reversed(Severity))
"""The severities, the most urgent first."""


class Finding(Model):
    """A problem or a remark that needs attention."""

    code: FindingCode
    """Code of the problem."""

    severity: Severity
    """Info, Warning or Critical."""

    since: Timestamp
    """When the operator first saw it."""

    message: Annotated[str, Field(max_length=FINDING_LIMIT)]
    """The problem, with the evidence."""

    blocks: Annotated[tuple[Annotated[str, Field(max_length=16)], ...], Field(max_length=8)] = ()
    """Services that do not start, or stop at an instant, because of it; All for every service."""

    remedy: Annotated[str, Field(max_length=REMEDY_LIMIT)]
    """Advice for a person."""
