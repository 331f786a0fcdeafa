"""The documents between the operator and the Spark driver: one request in, one outcome out.

Both sides import this package, so it needs pydantic and nothing else. The operator writes the request into the pod; the
driver answers in the container's termination message, which Kubernetes keeps with the finished pod.

The package imports a name when it is first used. `hudi-operator timeline` needs locations but not pydantic, which takes
longer to import than a timeline takes to read.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hudi_jobs.contract.affected import MOST_AFFECTED, AffectedInstant, Effect
    from hudi_jobs.contract.operations.operation import (
        CHANGES_VERSION,
        GOES_BACK,
        MOST_LISTED,
        NewerSavepoints,
        OperationKind,
        OperationPhase,
        OperationReport,
        TableOperation,
    )
    from hudi_jobs.contract.operations.repair import Repair, RepairStep
    from hudi_jobs.contract.operations.savepoint import (
        COMMENT_LIMIT,
        SAVEPOINT_USER,
        HeldBack,
        NamedSavepoint,
        SavepointWork,
    )
    from hudi_jobs.contract.operations.service_run import RunnableService, ServiceRun
    from hudi_jobs.contract.order import (
        MOST_ABANDONED,
        ORDER_FILE,
        OrderState,
        ServiceOrder,
        decode_order,
        encode_order,
    )
    from hudi_jobs.contract.outcome import (
        TERMINATION_MESSAGE_LIMIT,
        WHOLE_REQUEST,
        FailureReason,
        JobOutcome,
        Outcome,
        TaskResult,
        UnreadableOutcome,
        decode_outcome,
        encode_outcome,
        is_of_the_plan,
    )
    from hudi_jobs.contract.progress import (
        MOST_MADE,
        PROGRESS_FILE,
        PROGRESS_NAMES,
        Progress,
        ProgressState,
        decode_progress,
        encode_progress,
        pod_name,
    )
    from hudi_jobs.contract.request import JobRequest, task_id
    from hudi_jobs.contract.sources.checkpoint import CHECKPOINT_LIMIT, Checkpoint, checkpoint_display
    from hudi_jobs.contract.sources.files import FileFormat, FileSource
    from hudi_jobs.contract.sources.hudi import HudiSource, RemovedRows, StartingCommit
    from hudi_jobs.contract.sources.kafka import (
        DataLossPolicy,
        Envelope,
        Isolation,
        KafkaSecurity,
        KafkaSource,
        MessageColumns,
        MessageFormat,
        MessageValue,
        OffsetReset,
        PartitionOffset,
        SaslMechanism,
        SchemaRegistry,
        SecurityProtocol,
        SourceTables,
        StartingOffsets,
        Tombstones,
    )
    from hudi_jobs.contract.sources.rescan import InvalidRescan, RescanRequest, parse_rescan
    from hudi_jobs.contract.sources.source import AnySource, OtherSource
    from hudi_jobs.contract.table.definition import TableDefinition
    from hudi_jobs.contract.table.index import (
        BUCKET,
        BUCKET_FILE,
        INDEX_KEY,
        VARYING_BUCKETS_FOLDER,
        index_note,
        may_follow,
    )
    from hudi_jobs.contract.table.location import Location, NotALocation, store_of
    from hudi_jobs.contract.table.ownership import (
        OPERATOR_FILE_LIMIT,
        OPERATOR_FOLDER,
        OWNER_FILE,
        OwnerName,
        OwnerRecord,
        TableOwner,
        UnreadableOwner,
        decode_owner,
        encode_owner,
    )
    from hudi_jobs.contract.table.properties import Difference, differences, differences_message
    from hudi_jobs.contract.tasks.parts import (
        ContinuousTask,
        IngestionTask,
        PlannedServiceTask,
        SavepointStep,
        SavepointTask,
    )
    from hudi_jobs.contract.tasks.table_task import (
        ArchivalTableTask,
        CleaningTableTask,
        ClusteringTableTask,
        CompactionTableTask,
        DeletionTableTask,
        IngestionTableTask,
        MaintenanceTableTask,
        MaintenanceTask,
        OperationTableTask,
        PlannedTask,
        ProtectedTask,
        SavepointTableTask,
        TableTask,
        Task,
        as_service,
    )
    from hudi_jobs.contract.vocabulary import (
        CHECKPOINT_KEY,
        METADATA_PREFIX,
        OPERATOR_KEY,
        QUARANTINED_KEY,
        RUN_KEY,
        TABLE_KEY,
        TIMELINE_ZONE_OPTION,
        BadRecordPolicy,
        ConcurrencyMode,
        RunMode,
        SchemaEvolution,
        Service,
        TableType,
        WriteOperation,
    )

__all__ = [
    "BUCKET",
    "BUCKET_FILE",
    "CHANGES_VERSION",
    "CHECKPOINT_KEY",
    "CHECKPOINT_LIMIT",
    "COMMENT_LIMIT",
    "GOES_BACK",
    "INDEX_KEY",
    "METADATA_PREFIX",
    "MOST_ABANDONED",
    "MOST_AFFECTED",
    "MOST_LISTED",
    "MOST_MADE",
    "OPERATOR_FILE_LIMIT",
    "OPERATOR_FOLDER",
    "OPERATOR_KEY",
    "ORDER_FILE",
    "OWNER_FILE",
    "PROGRESS_FILE",
    "PROGRESS_NAMES",
    "QUARANTINED_KEY",
    "RUN_KEY",
    "SAVEPOINT_USER",
    "TABLE_KEY",
    "TERMINATION_MESSAGE_LIMIT",
    "TIMELINE_ZONE_OPTION",
    "VARYING_BUCKETS_FOLDER",
    "WHOLE_REQUEST",
    "AffectedInstant",
    "AnySource",
    "ArchivalTableTask",
    "BadRecordPolicy",
    "Checkpoint",
    "CleaningTableTask",
    "ClusteringTableTask",
    "CompactionTableTask",
    "ConcurrencyMode",
    "ContinuousTask",
    "DataLossPolicy",
    "DeletionTableTask",
    "Difference",
    "Effect",
    "Envelope",
    "FailureReason",
    "FileFormat",
    "FileSource",
    "HeldBack",
    "HudiSource",
    "IngestionTableTask",
    "IngestionTask",
    "InvalidRescan",
    "Isolation",
    "JobOutcome",
    "JobRequest",
    "KafkaSecurity",
    "KafkaSource",
    "Location",
    "MaintenanceTableTask",
    "MaintenanceTask",
    "MessageColumns",
    "MessageFormat",
    "MessageValue",
    "NamedSavepoint",
    "NewerSavepoints",
    "NotALocation",
    "OffsetReset",
    "OperationKind",
    "OperationPhase",
    "OperationReport",
    "OperationTableTask",
    "OrderState",
    "OtherSource",
    "Outcome",
    "OwnerName",
    "OwnerRecord",
    "PartitionOffset",
    "PlannedServiceTask",
    "PlannedTask",
    "Progress",
    "ProgressState",
    "ProtectedTask",
    "RemovedRows",
    "Repair",
    "RepairStep",
    "RescanRequest",
    "RunMode",
    "RunnableService",
    "SaslMechanism",
    "SavepointStep",
    "SavepointTableTask",
    "SavepointTask",
    "SavepointWork",
    "SchemaEvolution",
    "SchemaRegistry",
    "SecurityProtocol",
    "Service",
    "ServiceOrder",
    "ServiceRun",
    "SourceTables",
    "StartingCommit",
    "StartingOffsets",
    "TableDefinition",
    "TableOperation",
    "TableOwner",
    "TableTask",
    "TableType",
    "Task",
    "TaskResult",
    "Tombstones",
    "UnreadableOutcome",
    "UnreadableOwner",
    "WriteOperation",
    "as_service",
    "checkpoint_display",
    "decode_order",
    "decode_outcome",
    "decode_owner",
    "decode_progress",
    "differences",
    "differences_message",
    "encode_order",
    "encode_outcome",
    "encode_owner",
    "encode_progress",
    "index_note",
    "is_of_the_plan",
    "may_follow",
    "parse_rescan",
    "pod_name",
    "store_of",
    "task_id",
]

_MODULES = (  # the names without pydantic first
    "table.location",
    "vocabulary",
    "affected",
    "sources.checkpoint",
    "table.index",
    "sources.kafka",
    "sources.files",
    "operations.operation",
    "order",
    "outcome",
    "table.ownership",
    "progress",
    "operations.repair",
    "request",
    "table.definition",
    "tasks.parts",
    "tasks.table_task",
    "sources.rescan",
    "operations.savepoint",
    "operations.service_run",
    "sources.source",
    "table.properties",
    "sources.hudi",
)

if not TYPE_CHECKING:  # to mypy, a module with this function has every name

    def __getattr__(name: str) -> object:
        if name in __all__:
            for module in _MODULES:
                members = vars(import_module(f"{__name__}.{module}"))
                if name in members:
                    globals()[name] = members[name]
                    return members[name]
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
