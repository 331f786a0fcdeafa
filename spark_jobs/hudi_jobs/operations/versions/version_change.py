"""Runs an upgrade or downgrade: merges, makes a savepoint, changes the version, and compares the rows.

Hudi 1.2.0 converts a timeline between layouts file by file, in any order, and the version last
(`SevenToEightUpgradeHandler`, `EightToSevenDowngradeHandler`). A driver killed in between leaves a timeline with a part
in each layout. `UpgradeDowngrade.run` begins by rolling back what its part shows as unfinished, such as a commit with
only its completed file moved: its rows would be lost. So the timeline is moved before Hudi's own run, by the same Hudi
code, and as often as needed. Before the first move everything is merged and nothing is pending, so that every file is
read the same afterwards.
"""

from collections.abc import Collection
from contextlib import AbstractContextManager

from hudi_jobs.commit_metadata import commit_metadata
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import SAVEPOINT_USER, FailureReason, OperationPhase, TableOperation, TaskResult
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.contract.table.layout import INSTANT_FILE, META_FOLDER, timeline_folders
from hudi_jobs.contract.wording import counted
from hudi_jobs.existing_table import ENABLED
from hudi_jobs.journal.journal import Journal
from hudi_jobs.journal.records import VersionRecord
from hudi_jobs.lease.owner import require_not_owned_elsewhere
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.check import metadata_options_of, require_no_restore
from hudi_jobs.operations.operation_run import OperationRun, compare, succeeded
from hudi_jobs.operations.restore_steps import (
    drop_where_rows_are_missed,
    is_final,
    lost_metadata_table,
    not_begun_again,
    remake_metadata_table,
    remove_metadata_table,
    require_nothing_come,
)
from hudi_jobs.operations.rows import rows_now
from hudi_jobs.operations.versions.version_check import VERSION_KEPT, require_as_checked, require_changeable
from hudi_jobs.phases import Phase, reach
from hudi_jobs.preflight.slice_gate import in_other_layout, instant_files
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import JavaObject, classes, hadoop_configuration
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import WriteClient, write_client
from hudi_jobs.table_services.compaction import EVERY_LOG_FILE
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.timeline import Timeline
from hudi_jobs.table_services.unfinished_work import Others, noting_affected

_PROPERTIES, _BACKUP = "hoodie.properties", "hoodie.properties.backup"
_KEEP_BOTH, _RECURSIVELY = False, False
_EVERYTHING = {ENABLED: "false", **EVERY_LOG_FILE}
"""Options of a compaction that merges every log file, as Hudi does before a change of version."""

_BATCH = "hoodie.commits.archival.batch"
_ARCHIVED_AT_ONCE, _ALL = "500", "100000"
"""A downgrade of Hudi 1.2.0 drops one archived instant with each new batch (`ArchiveEntryFlusher`)."""


def prepare_change(context: TaskContext, record: VersionRecord, known: Collection[str]) -> str:
    """Merge all log files, protect the latest commit by a savepoint, and return that commit.

    Merging may take hours, so it looks for commits beyond the `known` commits again afterwards.
    """
    remove_metadata_table(context)
    Others(context).roll_back(load_timeline(context))
    notes = commit_metadata(context.run, context.task, context.asked_operation)
    with stage("The table cannot be prepared for another version", otherwise=FailureReason.HUDI_ERROR):
        timeline = load_timeline(context)
        with _client(context, _EVERYTHING) as client:
            for plan in timeline.pending_clusterings():
                client.rollback(plan.instant)
            compactions = [plan.instant for plan in timeline.pending_compactions()]
            for instant in compactions:
                client.compact(instant, notes, at_rest=context.at_rest())
            is_merged = str(timeline.meta.getTableType().name()) != "MERGE_ON_READ"
            last = None if is_merged else client.schedule_compaction(notes)
            if last is not None:
                client.compact(last, notes, at_rest=context.at_rest())
                compactions.append(last)
        timeline = load_timeline(context)
        require_nothing_come(timeline.commits() ^ {*known, *compactions}, VERSION_KEPT)
        pending, newest = timeline.begun(), timeline.newest_commit()
        if pending or newest is None:
            named = f"{pending[0].action} {pending[0].instant}" if pending else "no commit"
            raise TaskFailed(FailureReason.CONFLICT, f"The timeline shows {named}, which was not there before.")
        timeline.drop_begun_savepoint(newest)
        if newest not in {each.instant for each in timeline.savepoints()}:
            with _client(context, {ENABLED: "false"}) as client:
                client.savepoint(newest, user=SAVEPOINT_USER, comment=_comment(record))
    drop_savepoints(context, record, but=newest)
    return newest


def drop_savepoints(context: TaskContext, record: VersionRecord, *, but: str | None = None) -> None:
    """Remove the operation's savepoints, except the savepoint on the commit `but`.

    A run may be killed between making a savepoint and recording it. The next run may be refused, or find a newer
    commit.
    """
    with stage("The savepoints of the operation cannot be removed", otherwise=FailureReason.HUDI_ERROR):
        own = (SAVEPOINT_USER, _comment(record))
        found = [each.instant for each in load_timeline(context).savepoints() if (each.user, each.comment) == own]
        left = [instant for instant in found if instant != but]
        if left:
            with _client(context, {ENABLED: "false"}) as client:
                for instant in left:
                    client.delete_savepoint(instant)


def _comment(record: VersionRecord) -> str:
    """Return the savepoint's comment, with the uid: another operation may have had the same name."""
    return f"before version {record.version_after} of the table, for HudiOperation {record.resource} (uid {record.uid})"


def change_version(context: TaskContext, record: VersionRecord) -> None:
    """Change the table to the record's version, from wherever an earlier run ended."""
    for version in _steps(record.version_before, record.version_after):
        found = _version(context)
        if found == version or (found < version) is not (record.version_before < record.version_after):
            continue
        context.log("changing the version of the table", found=found, version=version)
        with stage(f"The version of the table cannot be changed to {version}", otherwise=FailureReason.HUDI_ERROR):
            _change(context, found, version)
        reached = _version(context)
        if reached != version:
            raise TaskFailed(FailureReason.HUDI_ERROR, f"Hudi returned without an error, but the table has {reached}.")


def _steps(before: int, after: int) -> tuple[int, ...]:
    """Return the versions to pass through; from 9 to 6 at once, Hudi loses the payload class that 8 restores."""
    return (8, after) if {before, after} == {6, 9} else (after,)


def _change(context: TaskContext, found: int, version: int) -> None:
    is_newer = version >= LAYOUT_2_FROM
    is_move = (found < LAYOUT_2_FROM) is is_newer
    half_moved = is_move and _move_again_what_is_in_both(context, found)
    # Unreadable parts of an archive end the first run; a run that finishes the move leaves them behind.
    options = {"hoodie.fail.on.timeline.archiving": str(not half_moved).lower()}
    options[_BATCH] = _ARCHIVED_AT_ONCE if is_newer else _ALL
    with _client(context, {ENABLED: "false"}) as client:
        if is_move and (is_newer or half_moved):  # a downgrade that cannot move a file fails by itself
            client.move_timeline(version, **options)
            _require_moved(context, found)
        client.change_version(version, **options)


def _move_again_what_is_in_both(context: TaskContext, found: int) -> bool:
    """Tell whether a move has begun, and delete the second copy of each file in both layouts: the first is whole."""
    filesystem, path = _filesystem(context)
    first, second = timeline_folders(found)
    left = {_normal(name) for name in _instant_files(context, first)}
    moved = _instant_files(context, second)
    for name in moved:
        if _normal(name) in left:
            filesystem.delete(path(f"{second}/{name}"), _RECURSIVELY)
    return bool(moved)


def _require_moved(context: TaskContext, found: int) -> None:
    """Raise before the version is written when Hudi skipped a file that it could not move."""
    left = _instant_files(context, timeline_folders(found)[0])
    if left:
        raise TaskFailed(FailureReason.HUDI_ERROR, f"Hudi has not moved {', '.join(left[:3])} of the timeline.")


def mend_properties(context: TaskContext) -> None:
    """Restore properties lost with a killed driver: Hudi empties the file before it rewrites it."""
    filesystem, path = _filesystem(context)
    broken, backup = path(f"{META_FOLDER}/{_PROPERTIES}"), path(f"{META_FOLDER}/{_BACKUP}")
    if not filesystem.exists(backup) or filesystem.getFileStatus(backup).getLen() == 0:
        return
    if filesystem.exists(broken) and filesystem.getFileStatus(broken).getLen() > 0:
        return
    filesystem.delete(broken, _RECURSIVELY)
    utilities, configuration = classes(context.spark).org.apache.hadoop.fs.FileUtil, hadoop_configuration(context.spark)
    utilities.copy(filesystem, backup, filesystem, broken, _KEEP_BOTH, configuration)


def _instant_files(context: TaskContext, folder: str) -> list[str]:
    return instant_files(context.spark, context.task.table.base_path, folder)


def _normal(name: str) -> str:
    """Return a timeline file's name as it is in both layouts."""
    found = INSTANT_FILE.fullmatch(name)
    assert found is not None, "it was told by this pattern"
    return f"{found['time']}{found['rest'].replace('.clustering', '.replacecommit')}"


def _filesystem(context: TaskContext) -> tuple[JavaObject, JavaObject]:
    """Return the table's file system, and a function that makes its paths."""
    base, kind = context.task.table.base_path, classes(context.spark).org.apache.hadoop.fs.Path
    return kind(base).getFileSystem(hadoop_configuration(context.spark)), lambda name: kind(base, name)


def _version(context: TaskContext) -> int:
    return HudiTable.at(context.spark, context.task.table.base_path).version


def _client(context: TaskContext, options: dict[str, str]) -> AbstractContextManager[WriteClient]:
    return write_client(context.spark, context.task.table.base_path, {**context.task.hudi_options, **options})


def would_change_version(work: OperationRun) -> TaskResult:
    """Check an upgrade or downgrade and report its effect, without writing."""
    record = _checked(work)
    work.report(record.report().copy_with(phase=OperationPhase.CHECKING))
    return succeeded(work.context, f"Would change the table {_way(record)}; nothing was written.")


def finish_change(context: TaskContext, operation: TableOperation, journal: Journal) -> None:
    """Finish the change of a killed run: until then no reader finds the whole timeline."""
    own = journal.find(VersionRecord, operation.uid)
    record = own or _left_behind(context, operation, journal)
    if record is None or record.phase is not OperationPhase.RUNNING or record.target is None:
        return
    require_not_owned_elsewhere(open_table_files(context.spark, context.task.table.base_path), context.task)
    if own is None:
        record = journal.take_over(record, operation)
    mend_properties(context)
    change_version(context, record)


def _left_behind(context: TaskContext, operation: TableOperation, journal: Journal) -> VersionRecord | None:
    """Return the record of another operation that was changing the table to the same version, or None.

    The other operation is gone: the table would have finished it before beginning this one, and this run holds the
    lease. A timeline in one layout means that it changed nothing.
    """
    former = journal.unfinished_change()
    if former is None or (former.kind, former.version_after) != (operation.kind, operation.table_version):
        return None
    table = HudiTable.open(context.spark, context.task.table.base_path)
    return former if table is not None and in_other_layout(context.spark, table) else None


def change_table_version(work: OperationRun) -> TaskResult:
    """Change the table's version, or continue a change."""
    context, record = work.context, work.journal.find(VersionRecord, work.operation.uid)
    if record is not None:
        work.report(record.report())
    if record is not None and record.phase is OperationPhase.DONE:
        return succeeded(context, f"An earlier run has changed the table {_way(record)}.")
    with noting_affected(context, lambda: load_timeline(context)):
        if record is None or not record.is_prepared:
            record = _prepared(work, record)
        if record.phase is OperationPhase.RUNNING:
            record = _changed(work, record)
        record = _verified(work, record)
    lost = lost_metadata_table(context, record.metadata_options)
    rows = counted(record.expected.rows, "row")
    return succeeded(context, f"Changed the table {_way(record)}; {rows} compared. {lost}".rstrip())


def _prepared(work: OperationRun, earlier: VersionRecord | None) -> VersionRecord:
    """Check, record and prepare the change, also after an earlier run did a part."""
    context, known = work.context, Timeline(work.context.spark, work.table).commits()
    try:
        record = _checked(work)
    except Exception as error:
        if earlier is not None:
            if is_final(error):
                drop_savepoints(context, earlier)
            not_begun_again(work, earlier, error)
        raise
    if earlier is not None:
        record = record.following(earlier)
    work.save(record)
    reach(Phase.RECORDED)
    require_as_checked(context, known)
    record = record.copy_with(target=prepare_change(context, record, known))
    work.save(record)
    reach(Phase.PREPARED)
    return record


def _checked(work: OperationRun) -> VersionRecord:
    context, operation, version = work.context, work.operation, work.operation.table_version
    if version is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"The request names no version for the {operation.kind}.")
    with stage("The operation cannot be checked", otherwise=FailureReason.HUDI_ERROR):
        with work.obstacles.each():
            require_no_restore(context, work.journal, ours=None)
        require_changeable(work, version)
        newest = Timeline(context.spark, work.table).newest_instant()
    return VersionRecord.model_validate(
        {
            "uid": operation.uid,
            "resource": operation.resource,
            "kind": operation.kind,
            "phase": OperationPhase.RUNNING,
            "newest": newest,
            "version_before": work.table.version,
            "version_after": version,
            "expected": rows_now(context),
            "metadata_options": metadata_options_of(work.table),
        }
    )


def _changed(work: OperationRun, record: VersionRecord) -> VersionRecord:
    context = work.context
    change_version(context, record)
    reach(Phase.CHANGED)
    remove_metadata_table(context)  # an earlier run may have been killed while rebuilding it
    remake_metadata_table(context, record.metadata_options)
    record = record.copy_with(phase=OperationPhase.VERIFYING)
    work.save(record)
    reach(Phase.AFTER_COMMIT)
    return record


def _verified(work: OperationRun, record: VersionRecord) -> VersionRecord:
    """Compare the rows with those counted before the change."""
    context, found = work.context, rows_now(work.context)
    record = record.copy_with(rows_after=found.rows)
    wrong = compare(work, record.expected, found)
    if wrong is not None:
        raise work.not_verified(
            record,
            f"The table was changed {_way(record)}, but its rows are not as before: {wrong} The savepoint on commit "
            f"{record.target} keeps the earlier files.",
        )
    drop_where_rows_are_missed(context, record.expected)
    record = record.copy_with(phase=OperationPhase.DONE)
    reach(Phase.VERIFIED)
    work.save(record)
    return record


def _way(record: VersionRecord) -> str:
    return f"from version {record.version_before} to {record.version_after}"
