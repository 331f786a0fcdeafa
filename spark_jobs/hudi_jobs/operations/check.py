"""Checks before any write whether a restore or rollback is possible, and reads what the table held at its target."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any

from hudi_jobs.clock import instants_in_order
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    MOST_LISTED,
    FailureReason,
    OperationKind,
    OperationPhase,
    OperationReport,
    TableOperation,
)
from hudi_jobs.contract.operations.operation import MOST_FILES_NAMED
from hudi_jobs.existing_table import metadata_options, metadata_partitions
from hudi_jobs.ingestion.checkpoint import encode_checkpoint
from hudi_jobs.journal.history import History, Restore, Write
from hudi_jobs.journal.journal import Journal
from hudi_jobs.journal.records import RestoreRecord
from hudi_jobs.operations.checkpoints import checkpoint_to_commit, checkpoints_undone, require_input
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import (
    refused,
    require_contiguous,
    require_format,
    require_latest,
    require_nobody_at_work,
    require_present,
    require_savepoints,
    require_target,
    require_whole,
)
from hudi_jobs.operations.restore_steps import require_nothing_come
from hudi_jobs.operations.rows import count_rows, rows_at
from hudi_jobs.preflight.merge_gate import merge_refusal
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import sizes_of
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.plans import require_commits_inside, require_plans_inside
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.timeline import Begun, Savepoint, Timeline
from hudi_jobs.table_services.unfinished_work import Others

_MOST_NAMED = 20_000
"""Most files to count; with more, their number and size are left out."""

_MOST_FOLDERS = 10_000
_LONGEST_NAMED = 120
"""Characters; only the end of a path is shown, because an outcome also holds the undone instants."""

_LOG_FILES_GO_FROM = 8
"""The first version where a rollback removes log files; earlier versions append a rollback block."""


@dataclass(frozen=True)
class Removal:
    """The number and total size of the files; `files` are the ends of the first paths."""

    count: int
    bytes: int
    files: tuple[str, ...]


def removal_of(context: TaskContext, table: HudiTable, history: History, gone: Iterable[Write]) -> Removal | None:
    """Return the files that the undone commits wrote; None when there are too many to count."""
    named, folders = set[str](), set[str]()
    count = 0
    for document in history.documents_of(gone, most=_MOST_NAMED):
        for path in _files_in(json.loads(document)) if document is not None else ():
            if table.version >= _LOG_FILES_GO_FROM or ".log." not in path:
                named.add(path)
                folders.add(path.rpartition("/")[0])
                count += 1
        if document is None or count > _MOST_NAMED or len(folders) > _MOST_FOLDERS:
            context.log("the files that go are not counted, because there are too many", files=count)
            return None
    sizes = sizes_of(context.spark, context.task.table.base_path, named)
    first = sorted(sizes, key=lambda path: path.rpartition("/"))[:MOST_FILES_NAMED]
    return Removal(len(sizes), sum(sizes.values()), tuple(path[-_LONGEST_NAMED:] for path in first))


def _files_in(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths below the table that a commit wrote."""
    for stats in (metadata.get("partitionToWriteStats") or {}).values():
        for stat in stats:
            path = str(stat.get("path") or "")
            folder = path.rpartition("/")[0]
            if path:
                yield path
            yield from (f"{folder}/{name}".removeprefix("/") for name in stat.get("logFiles") or ())
            yield from (str(each) for each in stat.get("cdcStats") or ())


KEPT_INDEXES = frozenset({"files", "column_stats", "partition_stats", "bloom_filters", "record_index"})
_NEVER_BESIDE = frozenset({"indexing", "logcompaction"})


@dataclass(frozen=True)
class _Way:
    """The commit that the table returns to, and the writes and savepoints that are removed."""

    target: Write
    gone: list[Write]
    saved: list[Savepoint]
    removal: Removal | None = None

    @property
    def removed(self) -> tuple[str, ...]:
        return _completed(self.gone)

    @property
    def savepoints(self) -> tuple[str, ...]:
        return tuple(sorted((each.instant for each in self.saved), reverse=True))

    @property
    def figures(self) -> dict[str, Any]:
        return asdict(self.removal) if self.removal is not None else {}


def _completed(gone: Iterable[Write]) -> tuple[str, ...]:
    return tuple(write.instant for write in gone if write.completed is not None)


def checked(work: OperationRun) -> RestoreRecord:
    """Return the record of an operation that passed its checks; raise `TaskFailed` when it is refused.

    A refusal also reports what is known so far.
    """
    context, operation, table = work.context, work.operation, work.table
    with stage("The operation cannot be checked", otherwise=FailureReason.HUDI_ERROR):
        timeline = Timeline(context.spark, table)
        history = History(context.spark, timeline)
        require_plans_inside(context)
        way = _looked_at(work, timeline, history)
        undone, following = checkpoints_undone(table, set(way.removed)), None
        with work.obstacles.each():
            following = checkpoint_to_commit(table, set(way.removed), undone, reingest=operation.reingest)
    if operation.reingest and undone is not None:
        with work.obstacles.each():
            require_input(context, undone)
    work.obstacles.require_none()
    return RestoreRecord(
        uid=operation.uid,
        resource=operation.resource,
        kind=operation.kind,
        phase=OperationPhase.RUNNING,
        target=way.target.instant,
        newest=timeline.newest_instant(),
        removed=way.removed,
        savepoints=way.savepoints,
        rows_before=count_rows(context),
        expected=rows_at(context, way.target.instant, {write.instant for write in way.gone}),
        checkpoint=None if following is None else encode_checkpoint(following),
        metadata_options=metadata_options_of(table),
        **way.figures,
    )


def require_same_rows(work: OperationRun, doing: str) -> None:
    """Raise `TaskFailed` when merging log files would give other rows than the tool that wrote them reads."""
    sentence = merge_refusal(work.context, work.table, doing)
    if sentence is not None:
        raise refused(sentence)


def require_as_checked(context: TaskContext, record: RestoreRecord) -> tuple[str, ...]:
    """Return the pending instants that a restore undoes; raise `TaskFailed` when the timeline changed after the check.

    The check read every row in between. Hudi plans a restore by the timeline of that moment, and would also undo
    instants that the request does not know. The next run checks again.
    """
    with stage("The table cannot be looked at again", otherwise=FailureReason.HUDI_ERROR):
        timeline = load_timeline(context)
        history = History(context.spark, timeline)
        target = next((each for each in history.completed() if each.instant == record.target), None)
        gone = [] if target is None else history.after(target)
        come = {record.target} if target is None else _come_since(record, timeline, {*_completed(gone)})
        come |= {each.instant for each in busy(context, timeline)}
    require_nothing_come(come, "nothing was restored")
    return tuple(dict.fromkeys(write.instant for write in gone if write.completed is None))


def _come_since(record: RestoreRecord, timeline: Timeline, removed: set[str]) -> set[str]:
    """Return the instants that differ from the record, with new savepoints and cleans."""
    saved = {each.instant for each in timeline.savepoints()} & removed
    cleans = {each.instant for each in timeline.cleans() if each.instant > record.newest}
    return removed ^ {*record.removed} | saved - {*record.savepoints} | cleans


def _looked_at(work: OperationRun, timeline: Timeline, history: History) -> _Way:
    """Return where the table goes back to, after every check that reads no rows."""
    context, operation, table, each = work.context, work.operation, work.table, work.obstacles.each
    way: _Way | None = None
    with each():
        way = _way(operation, timeline, history)
    if way is not None:
        _report(work, way)
    with each():
        require_nobody_at_work(busy(context, timeline))
    if way is not None:
        with each():
            require_format(table, way.target, work.journal.newest_change_of_version())
        with each():
            require_contiguous(history, way.target, way.gone)
        with each():
            require_savepoints(way.saved, operation.newer_savepoints)
        require_commits_inside(table, way.removed)
        way = replace(way, removal=removal_of(context, table, history, way.gone))
        _report(work, way)
    with each():
        require_known_indexes(table)
    if way is None:
        work.obstacles.require_none()
        raise TaskFailed(FailureReason.INTERNAL_ERROR, "The operation has no target, and nothing says why.")
    _require_files(work, way.target)
    return way


def _require_files(work: OperationRun, target: Write) -> None:
    """Refuse a commit with files that may be gone. In layout 1 only a file's time tells when a savepoint completed."""
    context, base_path = work.context, work.context.task.table.base_path
    with in_zone_of_table(context):
        timeline = Timeline(context.spark, HudiTable.existing(context.spark, base_path))
        history = History(context.spark, timeline)
        with work.obstacles.each():
            require_whole(history, target, timeline.cleans())
        with work.obstacles.each():
            kept = history.files_at(target)
            require_present(target, kept - sizes_of(context.spark, context.task.table.base_path, kept).keys())


def in_zone_of_table(context: TaskContext) -> AbstractContextManager[object]:
    """Make Hudi use the table's time zone; raise `TaskFailed` when it could not write an instant there now.

    A run that has begun would fail for the same reason, as would every retry.
    """
    return instants_in_order(context.spark, context.task.table.base_path, context.task.hudi_options)


def _way(operation: TableOperation, timeline: Timeline, history: History) -> _Way:
    if operation.instant is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"The request names no commit for the {operation.kind}.")
    restores = operation.kind is OperationKind.RESTORE
    target = (require_target if restores else require_latest)(history, operation.instant)
    gone = history.after(target)
    removed = _completed(gone)
    saved = [each for each in timeline.savepoints() if each.instant in removed]
    return _Way(target, gone, saved)


def _report(work: OperationRun, way: _Way) -> None:
    report = OperationReport(
        phase=OperationPhase.CHECKING,
        target=way.target.instant,
        removed_count=len(way.removed),
        removed=way.removed[:MOST_LISTED],
        savepoints=way.savepoints[:MOST_LISTED],
        **way.figures,
    )
    work.report(report)


def busy(context: TaskContext, timeline: Timeline) -> list[Begun]:
    """Return the instants that may be another writer's work in progress, without plans of this table's own runs."""
    others = Others(context)

    def is_dead(each: Begun) -> bool:
        if each.action in _NEVER_BESIDE:
            return False
        if each.plan is not None:
            return others.may_touch(each.plan)
        return others.is_abandoned(each.instant) and not others.is_alive(each.instant)

    return [each for each in timeline.begun() if not is_dead(each)]


def come_since(context: TaskContext, timeline: Timeline, known: Collection[str]) -> set[str]:
    """Return the commits that differ from the `known` commits, and the instants on which others may be at work."""
    return timeline.commits() ^ {*known} | {each.instant for each in busy(context, timeline)}


def require_no_restore(context: TaskContext, journal: Journal, *, ours: Restore | None) -> None:
    """Refuse while a restore of another operation is pending."""
    for each in History(context.spark, load_timeline(context)).restores():
        if each.is_completed or (ours is not None and each.instant == ours.instant):
            continue
        record = journal.record_of(each)
        by = (
            f"the operation {record.resource} began; if its HudiOperation is gone, create a HudiOperation that "
            f"restores to {record.target}, which finishes it"
            if record is not None
            else "another tool began; finish it with that tool"
        )
        raise refused(f"The restore {each.instant} is pending, which {by}.")


def left_behind(context: TaskContext, journal: Journal, operation: TableOperation) -> RestoreRecord | None:
    """Return the record of another operation with a pending restore to the same commit, or None.

    The other operation is gone: the table would have finished it before beginning this one, and this run holds the
    lease.
    """
    if operation.kind is not OperationKind.RESTORE:
        return None
    pending = (each for each in History(context.spark, load_timeline(context)).restores() if not each.is_completed)
    found = (record for each in pending if (record := journal.record_of(each)) is not None)
    return next((each for each in found if each.target == operation.instant), None)


def require_known_indexes(table: HudiTable) -> None:
    """Refuse an index of the metadata table that cannot be rebuilt."""
    unknown = sorted(metadata_partitions(table.properties) - KEPT_INDEXES)
    if unknown:
        raise refused(f"The metadata table has the index {unknown[0]}, which cannot be rebuilt; drop it first.")


def metadata_options_of(table: HudiTable) -> dict[str, str]:
    """Return the options that rebuild the table's metadata table; an empty dict without a metadata table."""
    present = metadata_partitions(table.properties)
    if not present:
        return {}
    is_partitioned = "record_index" in present and table.has_partitioned_record_index()
    return metadata_options(table.properties, {}, is_pending=False, is_partitioned=is_partitioned)
