"""Checks before any write whether a table's version can be changed without losing a row."""

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import TIMELINE_ZONE_OPTION, FailureReason, Location, OperationKind
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.contract.table.merging import columns_of, payload_of
from hudi_jobs.contract.table.support import COMPLEX, WRITTEN_VERSIONS, key_generator_of
from hudi_jobs.contract.table.zone import is_in_utc
from hudi_jobs.existing_table import metadata_partitions
from hudi_jobs.operations.check import KEPT_INDEXES, busy, come_since, require_same_rows
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.restore_steps import require_nothing_come
from hudi_jobs.spark.failures import stage
from hudi_jobs.spark.filesystem import located, statuses_below
from hudi_jobs.table_services.plans import require_plans_inside
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.timeline import Timeline

VERSION_KEPT = "the version was not changed"

_FIRST_WITH_SEVERAL_ORDERING_FIELDS = 9
_ENDED_HERE = frozenset({"commit", "deltacommit", "replacecommit", "rollback", "compaction", "clustering"})
_PLACES = {"hoodie.timeline.path": {"", "timeline"}, "hoodie.timeline.history.path": {"", "history"}}
_MERGE_PROPERTY, _LEGACY = "hoodie.record.merge.property.", "hoodie.table.legacy.payload.class"


def require_changeable(work: OperationRun, version: int) -> None:
    """Raise `TaskFailed` when the table cannot be changed to the version."""
    each = work.obstacles.each
    with each():
        _require_direction(work, version)
    timeline = Timeline(work.context.spark, work.table)
    require_plans_inside(work.context)
    _require_nothing_pending(work, timeline)
    properties, found = work.table.properties, work.table.version
    untold = untold_zone(properties, work.context.task.hudi_options, found, version)
    for sentence in chain(obstacles(properties, found, version), untold):
        with each():
            raise refused(sentence)
    with each():
        _require_whole(work, timeline, version)
    if str(work.table.meta.getTableType().name()) == "MERGE_ON_READ":
        if version < LAYOUT_2_FROM <= found and Location.parse(work.table.base_path).store != "file":
            with each():
                _require_no_log_file(work)
        with each():
            require_same_rows(work, "The change of the version")
    work.obstacles.require_none()


def require_as_checked(context: TaskContext, known: Collection[str]) -> None:
    """Raise `TaskFailed` when commits came or went, or others began something, after the check."""
    with stage("The table cannot be looked at again", otherwise=FailureReason.HUDI_ERROR):
        come = come_since(context, load_timeline(context), known)
    require_nothing_come(come, VERSION_KEPT)


def _require_whole(work: OperationRun, timeline: Timeline, version: int) -> None:
    if timeline.newest_commit() is None:
        raise refused("The table has no completed commit, so there is nothing to keep; write to it first.")
    if version < work.table.version and work.table.has_partitioned_record_index():
        raise refused("The metadata table has an index of record keys by partition, which older versions do not have.")


def _require_direction(work: OperationRun, version: int) -> None:
    found, is_upgrade = work.table.version, work.operation.kind is OperationKind.UPGRADE
    if version not in WRITTEN_VERSIONS:
        raise refused(f"This release does not write table version {version}; name 6, 8 or 9.")
    if (version <= found) if is_upgrade else (version >= found):
        raise refused(
            f"The table has version {found}, and {version} is not {'newer' if is_upgrade else 'older'}; there is "
            f"nothing to do, or ask for {'a downgrade' if is_upgrade else 'an upgrade'}."
        )
    pinned = work.context.task.table.version
    if pinned not in {None, version}:
        raise refused(f"spec.tableVersion of the table pins {pinned}, not {version}; change one of them.")


def _require_nothing_pending(work: OperationRun, timeline: Timeline) -> None:
    """Refuse instants of other writers, and pending instants of this table's runs that cannot be ended here."""
    others = {each.instant for each in busy(work.context, timeline)}
    for each in timeline.begun():
        if each.instant in others or each.action not in _ENDED_HERE:
            with work.obstacles.each():
                raise refused(
                    f"The {each.action} {each.instant} has not completed; let it finish, or end it with the tool that "
                    "began it."
                )


def obstacles(properties: Mapping[str, str], found: int, version: int) -> Iterator[str]:
    """Yield the obstacles that Hudi's handlers fail on, some after moving the timeline, or lose silently."""
    for key, usual in _PLACES.items():
        if properties.get(key, "") not in usual:
            yield f"{key} is {properties[key]}, but Hudi converts only the default folders of a timeline."
    unknown = sorted(metadata_partitions(properties) - KEPT_INDEXES)
    if unknown:
        yield f"The metadata table has the index {unknown[0]}, which cannot be rebuilt afterwards; drop it first."
    keys = columns_of(properties.get("hoodie.table.recordkey.fields"))
    if key_generator_of(properties) == COMPLEX and len(keys) == 1:
        yield (
            f"The table makes its keys of the single column {keys[0]} with a Complex key generator. Hudi releases "
            "write such keys in two ways, so Hudi does not change the version; write the rows to another table."
        )
    if version < found:
        yield from _lost_by_a_downgrade(properties, version)


def untold_zone(properties: Mapping[str, str], options: Mapping[str, str], found: int, version: int) -> Iterator[str]:
    """Yield a sentence when a table in local time changes its layout without a declared time zone.

    Hudi rewrites the timeline's files in the other layout, so their times do not show the zone any more.
    """
    is_move = (found < LAYOUT_2_FROM) is not (version < LAYOUT_2_FROM)
    if is_move and not is_in_utc(properties) and TIMELINE_ZONE_OPTION not in options:
        yield (
            "The instants of the table are in the local time of the tool that wrote them, and its files do not show in "
            f"which zone once Hudi has moved them to the timeline of version {version}; declare that zone as "
            "timelineTimeZone first."
        )


def _lost_by_a_downgrade(properties: Mapping[str, str], version: int) -> Iterator[str]:
    ordering = columns_of(properties.get("hoodie.table.ordering.fields"))
    if len(ordering) > 1 and version < _FIRST_WITH_SEVERAL_ORDERING_FIELDS:
        yield f"The table orders by several fields ({', '.join(ordering)}), which versions before 9 do not support."
    if _LEGACY in properties or payload_of(properties) is not None:
        return
    if properties.get("hoodie.record.merge.mode", "").upper() == "CUSTOM":
        yield "The table merges with a custom class (hoodie.record.merge.mode CUSTOM), which Hudi cannot carry over."
    if properties.get("hoodie.table.partial.update.mode", "NONE").upper() != "NONE":
        yield "The table has hoodie.table.partial.update.mode, which versions before 9 do not support."
    merging = sorted(key for key in properties if key.startswith(_MERGE_PROPERTY))
    if merging:
        yield f"The table has {merging[0]}, which versions before 9 do not support."


def _require_no_log_file(work: OperationRun) -> None:
    """Refuse a downgrade when the store would assign log files to other slices.

    In layout 1 an instant's completion time is its file's modification time, and a log file belongs to the newest base
    file from before it (`HoodieFileGroup.getBaseInstantTime`). An upgrade keeps those times, and the slice gate has
    compared them with the file names.
    """
    path = _log_file(work)
    if path is not None:
        raise refused(
            "The store does not keep file modification times, by which version 6 tells apart log files of older "
            f"file slices, and there is one: {path[-200:]}. Compact and clean the table until no log file is "
            "left, then downgrade."
        )


def _log_file(work: OperationRun) -> str | None:
    """Return the path of a log file of the table, or None."""
    base = work.table.base_path
    for status in statuses_below(*located(work.context.spark, base)):
        path = str(status.getPath().toString())
        if ".log." in path.rpartition("/")[2] and "/.hoodie/" not in path.removeprefix(base):
            return path
    return None
