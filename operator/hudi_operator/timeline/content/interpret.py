"""Converts decoded Avro records to the values of `plans`, by the instant's action and state."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hudi_operator.timeline.content.commits import (
    CLEAN_FIELDS,
    COMMIT_FIELDS,
    OPERATION_FIELDS,
    CommitMetadata,
    Record,
    commit_metadata,
)
from hudi_operator.timeline.content.plans import (
    CleanPlan,
    CleanResult,
    CompactionPlan,
    Content,
    FileSlice,
    IndexedPartition,
    IndexPlan,
    InstantReference,
    PlanSummary,
    ReplacePlan,
    RestorePlan,
    RestoreResult,
    RollbackPlan,
    RollbackResult,
    Savepoint,
)
from hudi_operator.timeline.model import Action, CorruptContent, State

_MIB = 2**20
_MOST_BYTES = 2**62

_FIGURE = "TOTAL_IO_READ_MB"
SUMMARY_FIELDS = OPERATION_FIELDS | {
    *("operations", "clusteringPlan", "inputGroups", "metrics", _FIGURE, "extraMetadata"),
}
"""The fields that give a plan's size and its author."""

TARGET_FIELDS = frozenset(
    {
        *("instantToRollback", "instantsToRollback", "instantsRollback", "commitsRollback", "restoreInstantInfo"),
        *("commitTime", "action"),
    }
)
"""The fields that name the instants undone by a rollback or restore."""

FIELDS = (
    SUMMARY_FIELDS
    | COMMIT_FIELDS
    | CLEAN_FIELDS
    | {
        *("dataFilePath", "deltaFilePaths", "baseInstantTime", "missingSchedulePartitions"),
        *("strategy", "strategyClassName", "strategyParams", "slices"),
        *("earliestInstantToRetain", "timestamp", "policy", "partitionsToBeDeleted"),
        *("filePathsToBeDeletedPerPartition", "filePath", "filesToBeDeletedPerPartition"),
        *("partitionMetadata", "failedDeleteFiles", "startCleanTime", "timeTakenInMillis", "totalFilesDeleted"),
        *("instantToRollback", "instantsToRollback", "instantsRollback", "commitsRollback", "commitTime", "action"),
        *("startRollbackTime", "startRestoreTime", "restoreInstantInfo", "savepointToRestoreTimestamp"),
        *("savepointDataFile", "savepointedBy", "savepointedAt", "comments"),
        *("indexPartitionInfos", "metadataPartitionPath", "indexUptoInstant"),
    }
)
"""All fields that any timeline file is read for."""


def interpret(record: Record | None, action: Action, state: State) -> Content:
    """Convert a decoded file to values. Raises `CorruptContent` if a field has an unexpected shape."""
    try:
        return _builder(action, state)(record or {})
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
        raise CorruptContent(f"the {state} {action} has an unexpected shape: {error}") from error


def plan_summary(record: Record | None) -> PlanSummary:
    """Return the size of a plan. Raises `CorruptContent` if a field has an unexpected shape."""
    plan = record or {}
    try:
        parts = plan.get("operations") or (plan.get("clusteringPlan") or {}).get("inputGroups") or ()
        return PlanSummary(len(parts), _read_bytes(parts), _map(plan.get("extraMetadata")))
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
        raise CorruptContent(f"the plan has an unexpected shape: {error}") from error


def undone_by(content: Content) -> tuple[InstantReference, ...]:
    """Return the instants that a planned or completed rollback or restore undoes; empty for other content."""
    if isinstance(content, RollbackPlan):
        return (content.instant,) if content.instant else ()
    if isinstance(content, RollbackResult | RestoreResult | RestorePlan):
        return content.instants
    return ()


def _builder(action: Action, state: State) -> Callable[[Record], Content]:
    if state is not State.REQUESTED:
        return _RESULTS.get(action, commit_metadata) if state is State.COMPLETED else _INFLIGHTS.get(action, _commit)
    return _PLANS.get(action, _commit)


def _commit(record: Record) -> CommitMetadata:
    return commit_metadata(record)


def _compaction_plan(record: Record) -> CompactionPlan:
    operations = tuple(
        FileSlice(
            partition=_text(one.get("partitionPath")) or "",
            file_id=str(one["fileId"]),
            base_file=_text(one.get("dataFilePath")),
            log_files=_texts(one.get("deltaFilePaths")),
            base_instant=_text(one.get("baseInstantTime")),
        )
        for one in record.get("operations") or ()
    )
    return CompactionPlan(
        operations,
        _map(record.get("extraMetadata")),
        _texts(record.get("missingSchedulePartitions")),
        _read_bytes(record.get("operations") or ()),
    )


def _replace_plan(record: Record) -> ReplacePlan:
    plan = record.get("clusteringPlan") or {}
    strategy = plan.get("strategy") or {}
    groups = tuple(tuple(map(_slice, group.get("slices") or ())) for group in plan.get("inputGroups") or ())
    return ReplacePlan(
        operation=_text(record.get("operationType")),
        groups=groups,
        strategy=_text(strategy.get("strategyClassName")),
        strategy_parameters=_map(strategy.get("strategyParams")),
        extra_metadata=_map(record.get("extraMetadata")),
        missing_partitions=_texts(plan.get("missingSchedulePartitions")),
        read_bytes=_read_bytes(plan.get("inputGroups") or ()),
    )


def _read_bytes(parts: Iterable[Record]) -> int:
    """Sum the bytes that Hudi expects the parts of a plan to read (`CompactionStrategy.TOTAL_IO_READ_MB`)."""
    mebibytes = sum(float((part.get("metrics") or {}).get(_FIGURE) or 0) for part in parts)
    return int(min(max(mebibytes, 0), _MOST_BYTES / _MIB) * _MIB)


def _slice(record: Record) -> FileSlice:
    return FileSlice(
        partition=_text(record.get("partitionPath")) or "",
        file_id=str(record["fileId"]),
        base_file=_text(record.get("dataFilePath")) or None,
        log_files=_texts(record.get("deltaFilePaths")),
    )


def _clean_plan(record: Record) -> CleanPlan:
    retained = record.get("earliestInstantToRetain") or {}
    # The older field holds plain names; a writer fills only one of the two.
    paths = {
        partition: tuple(str(one["filePath"]) for one in files or ())
        for partition, files in (record.get("filePathsToBeDeletedPerPartition") or {}).items()
    }
    names = {key: _texts(value) for key, value in (record.get("filesToBeDeletedPerPartition") or {}).items()}
    return CleanPlan(
        policy=_text(record.get("policy")),
        earliest_retained=_text(retained.get("timestamp")),
        last_completed_commit=_text(record.get("lastCompletedCommitTimestamp")),
        files=paths or names,
        partitions=_texts(record.get("partitionsToBeDeleted")),
    )


def _clean_result(record: Record) -> CleanResult:
    failed = tuple(
        str(name)
        for partition in (record.get("partitionMetadata") or {}).values()
        for name in partition.get("failedDeleteFiles") or ()
    )
    return CleanResult(
        started_at=_text(record.get("startCleanTime")),
        milliseconds=int(record.get("timeTakenInMillis") or 0),
        files_deleted=int(record.get("totalFilesDeleted") or 0),
        earliest_retained=_text(record.get("earliestCommitToRetain")),
        last_completed_commit=_text(record.get("lastCompletedCommitTimestamp")),
        failed_files=failed,
    )


def _rollback_plan(record: Record) -> RollbackPlan:
    instant = record.get("instantToRollback")
    return RollbackPlan(_reference(instant) if instant else None)


def _rollback_result(record: Record) -> RollbackResult:
    instants = record.get("instantsRollback") or record.get("commitsRollback")
    return RollbackResult(
        started_at=_text(record.get("startRollbackTime")),
        milliseconds=int(record.get("timeTakenInMillis") or 0),
        files_deleted=int(record.get("totalFilesDeleted") or 0),
        instants=_references(instants),
    )


def _restore_plan(record: Record) -> RestorePlan:
    return RestorePlan(_references(record.get("instantsToRollback")), _text(record.get("savepointToRestoreTimestamp")))


def _restore_result(record: Record) -> RestoreResult:
    return RestoreResult(
        started_at=_text(record.get("startRestoreTime")),
        milliseconds=int(record.get("timeTakenInMillis") or 0),
        instants=_references(record.get("restoreInstantInfo") or record.get("instantsToRollback")),
    )


def _savepoint(record: Record) -> Savepoint:
    files = {
        partition: _texts(value.get("savepointDataFile"))
        for partition, value in (record.get("partitionMetadata") or {}).items()
    }
    return Savepoint(
        user=_text(record.get("savepointedBy")),
        at=int(record.get("savepointedAt") or 0),
        comment=_text(record.get("comments")),
        files=files,
    )


def _index_plan(record: Record) -> IndexPlan:
    return IndexPlan(
        tuple(
            IndexedPartition(str(one["metadataPartitionPath"]), _text(one.get("indexUptoInstant")))
            for one in record.get("indexPartitionInfos") or ()
        )
    )


def _references(values: Iterable[Any] | None) -> tuple[InstantReference, ...]:
    return tuple(_reference(value) for value in values or ())


def _reference(value: Any) -> InstantReference:  # noqa: ANN401 - a record, or in old files only a time
    if isinstance(value, Mapping):
        return InstantReference(str(value["commitTime"]), _text(value.get("action")))
    return InstantReference(str(value))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _texts(values: Iterable[object] | None) -> tuple[str, ...]:
    return tuple(str(value) for value in values or ())


def _map(values: Mapping[str, object] | None) -> dict[str, str]:
    return {str(key): str(value) for key, value in (values or {}).items() if value is not None}


_PLANS: dict[Action, Callable[[Record], Content]] = {
    Action.COMPACTION: _compaction_plan,
    Action.LOG_COMPACTION: _compaction_plan,
    Action.CLUSTERING: _replace_plan,
    Action.REPLACE_COMMIT: _replace_plan,
    Action.CLEAN: _clean_plan,
    Action.ROLLBACK: _rollback_plan,
    Action.RESTORE: _restore_plan,
    Action.INDEXING: _index_plan,
}
# If Hudi writes content into these inflight files at all, it repeats the plan.
_INFLIGHTS: dict[Action, Callable[[Record], Content]] = {
    Action.CLEAN: _clean_plan,
    Action.ROLLBACK: _rollback_plan,
    Action.RESTORE: _restore_plan,
    Action.INDEXING: _index_plan,
}
_RESULTS: dict[Action, Callable[[Record], Content]] = {
    Action.CLEAN: _clean_result,
    Action.ROLLBACK: _rollback_result,
    Action.RESTORE: _restore_result,
    Action.SAVEPOINT: _savepoint,
    Action.INDEXING: _index_plan,
}
