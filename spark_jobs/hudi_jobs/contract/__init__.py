"""What the operator and the Spark driver say to each other: one request document in, one outcome document out.

Both sides import this package, so it needs pydantic and nothing else. The operator writes the request into the pod;
the driver answers in the container's termination message, which Kubernetes keeps with the finished pod.
"""

from hudi_jobs.contract.outcome import (
    TERMINATION_MESSAGE_LIMIT,
    FailureReason,
    JobOutcome,
    Outcome,
    TaskResult,
    UnreadableOutcome,
    decode_outcome,
    encode_outcome,
)
from hudi_jobs.contract.request import (
    CHECKPOINT_KEY,
    METADATA_PREFIX,
    RUN_KEY,
    BadRecordPolicy,
    ConcurrencyMode,
    FileFormat,
    FileSource,
    IngestionTask,
    JobRequest,
    PlannedServiceTask,
    RunMode,
    SchemaEvolution,
    Service,
    TableDefinition,
    TableTask,
    TableType,
    WriteOperation,
)
from hudi_jobs.contract.rescan import InvalidRescan, Rescan, RescanRequest, parse_rescan

__all__ = [
    "CHECKPOINT_KEY",
    "METADATA_PREFIX",
    "RUN_KEY",
    "TERMINATION_MESSAGE_LIMIT",
    "BadRecordPolicy",
    "ConcurrencyMode",
    "FailureReason",
    "FileFormat",
    "FileSource",
    "IngestionTask",
    "InvalidRescan",
    "JobOutcome",
    "JobRequest",
    "Outcome",
    "PlannedServiceTask",
    "Rescan",
    "RescanRequest",
    "RunMode",
    "SchemaEvolution",
    "Service",
    "TableDefinition",
    "TableTask",
    "TableType",
    "TaskResult",
    "UnreadableOutcome",
    "WriteOperation",
    "decode_outcome",
    "encode_outcome",
    "parse_rescan",
]
