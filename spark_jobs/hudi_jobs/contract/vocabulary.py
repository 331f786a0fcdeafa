"""The words of requests and commits: services, modes and choices, and the keys of a commit's extra metadata."""

from enum import StrEnum

METADATA_PREFIX = "hudi-operator."
"""Prefix of the keys that the driver writes into a commit's extra metadata."""

CHECKPOINT_KEY = f"{METADATA_PREFIX}checkpoint"
"""The checkpoint, as JSON; committed atomically with the data that was read."""

RUN_KEY = f"{METADATA_PREFIX}run"
"""Name of the Job that made the commit, which tells the operator's own commits from foreign commits."""

QUARANTINED_KEY = f"{METADATA_PREFIX}quarantined"
"""Number of rows that were quarantined for the commit, if any; it outlasts a driver that ends without a report."""

TABLE_KEY = f"{METADATA_PREFIX}table"
"""Uid of the resource that the commit was made for."""

OPERATOR_KEY = f"{METADATA_PREFIX}operator"
"""Identity of the operator that started the run: commits of another operator are foreign too."""

TIMELINE_ZONE_OPTION = "hudi-jobs.timeline.zone"
"""The option for the zone in which other tools write the instants of a LOCAL table; Hudi does not know it."""


class Service(StrEnum):
    """A kind of work that the operator runs for a table."""

    INGESTION = "Ingestion"
    """Bringing input into the table."""

    SAVEPOINT = "Savepoint"
    """Making or removing the savepoint that a HudiSavepoint asks for."""

    OPERATION = "Operation"
    """Doing what a HudiOperation asks for, once."""

    COMPACTION = "Compaction"
    """Merging log files into base files."""

    CLUSTERING = "Clustering"
    """Rewriting small or unsorted files."""

    CLEANING = "Cleaning"
    """Removing file slices that no reader needs any more."""

    ARCHIVAL = "Archival"
    """Moving old instants out of the active timeline."""

    CATALOG = "Catalog"
    """Showing the table in its catalog, where runs that commit have not managed to."""

    DELETION = "Deletion"
    """Removing the table's data after its resource was deleted with `deletionPolicy: Delete`."""


class RunMode(StrEnum):
    """Which steps of a table service a run does."""

    SCHEDULE = "Schedule"
    EXECUTE = "Execute"
    SCHEDULE_AND_EXECUTE = "ScheduleAndExecute"
    ROLL_BACK = "RollBack"
    """Remove a pending clustering without a new plan: its service is switched off, or the plan itself failed."""


class ConcurrencyMode(StrEnum):
    """Who writes to a table."""

    SERIALIZED = "Serialized"
    OPTIMISTIC = "Optimistic"


class TableType(StrEnum):
    """How a table stores updates."""

    COPY_ON_WRITE = "CopyOnWrite"
    MERGE_ON_READ = "MergeOnRead"

    @property
    def hudi_name(self) -> str:
        """The value of `hoodie.table.type`."""
        return "COPY_ON_WRITE" if self is TableType.COPY_ON_WRITE else "MERGE_ON_READ"


class WriteOperation(StrEnum):
    """How a run writes the rows that it has read."""

    UPSERT = "Upsert"
    INSERT = "Insert"
    BULK_INSERT = "BulkInsert"
    DELETE = "Delete"
    INSERT_OVERWRITE = "InsertOverwrite"

    @property
    def hudi_name(self) -> str:
        """The value of `hoodie.datasource.write.operation`."""
        return {
            WriteOperation.UPSERT: "upsert",
            WriteOperation.INSERT: "insert",
            WriteOperation.BULK_INSERT: "bulk_insert",
            WriteOperation.DELETE: "delete",
            WriteOperation.INSERT_OVERWRITE: "insert_overwrite",
        }[self]


class BadRecordPolicy(StrEnum):
    """What happens to rows that cannot be read or have no record key."""

    FAIL = "Fail"
    QUARANTINE = "Quarantine"


class SchemaEvolution(StrEnum):
    """Which changes of the incoming schema a table accepts."""

    NONE = "None"
    ADD_COLUMNS = "AddColumns"
