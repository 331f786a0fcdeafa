"""Checks the files that plans name before Hudi executes them, because Hudi does not check that they are the table's.

Compaction and clustering read the named files, cleaning and rollback delete them. Plans lie in the store, and so do
their inputs: partition names, commits, markers. The metadata table has its own plans, which every writer executes.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.run_progress import ProgressUnit
from hudi_jobs.contract.table.location import relative_names
from hudi_jobs.contract.wording import listed
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import Folder
from hudi_jobs.spark.jvm import JavaObject, classes, elements
from hudi_jobs.table import REPLACE_ACTION, HudiTable, commit_metadata
from hudi_jobs.usage.run_meter import UNKNOWN, Extent

_METADATA_TABLE = ".hoodie/metadata"
_NAMED = 3
_NO_FILE = "-"
_SHOWN = 200
_READ_MEBIBYTES = "TOTAL_IO_READ_MB"
_MERGING = ("hoodie.compact.inline", "hoodie.clustering.inline")
_INSIDE_THE_WRITER = ("hoodie.clean.automatic", *_MERGING)

_WITHOUT_METADATA_TABLE = (
    "hoodie.properties of {0} declares a metadata table, but .hoodie/metadata does not exist. Hudi would create a new "
    "metadata table while instants are pending, which can leave rows out. Nothing was executed: rebuild the metadata "
    "table with a HudiOperation (repair.rebuildMetadataTable) while nothing is pending, or disable it with the Hudi "
    "CLI (metadata delete) or with one write of the old tool with hoodie.metadata.enable=false."
)

Document = Mapping[str, Any]
File = tuple[str, str]
"""A file's partition, and its name or path."""


def require_plans_inside(context: TaskContext, opened: HudiTable | None = None) -> Mapping[str, Extent]:
    """Raise `TaskFailed` when a pending plan names a file outside the table; else return how much each has to do.

    Checks the given open table, else the current table.
    """
    with stage("The plans of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        base_path = context.task.table.base_path
        table = opened or HudiTable.open(context.spark, base_path)
        if table is None:
            return {}
        extents = _require(context.spark, table.meta)
        if table.meta.getTableConfig().isMetadataTableAvailable():
            inner = HudiTable.open(context.spark, (context.task.table.location / _METADATA_TABLE).url)
            if inner is None:
                raise TaskFailed(FailureReason.TABLE_MISMATCH, _WITHOUT_METADATA_TABLE.format(base_path))
            _require(context.spark, inner.meta)
        return extents


def require_partitions_inside(context: TaskContext, table: HudiTable) -> None:
    """Raise `TaskFailed` when services run inside the writer and a commit wrote to an outside partition.

    There Hudi plans and executes at once, from the partitions that commits name.
    """
    options, base_path = context.task.hudi_options, context.task.table.base_path
    if not any(options.get(option) == "true" for option in _INSIDE_THE_WRITER):
        return
    with stage("The commits of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        outside = next(_partitions_outside(table, Folder(base_path)), None)
    if outside is not None:
        instant, partition = outside
        raise TaskFailed(
            FailureReason.PATH_OUTSIDE_TABLE,
            f"The commit {instant} of {base_path} wrote to the partition {partition[:_SHOWN]!a}, which is outside the "
            "table. Nothing was executed: a service inside the writer would read and delete files there. Set the "
            "services to Async or Disabled, and move the rows.",
        )


def merges_inside_the_writer(options: Mapping[str, str]) -> bool:
    """Tell whether a writer compacts or clusters after its commit."""
    return any(options.get(option) == "true" for option in _MERGING)


def require_commits_inside(table: HudiTable, instants: Collection[str]) -> None:
    """Raise `TaskFailed` when a commit to be undone names a file outside the table: Hudi would delete it."""
    folder = Folder(table.base_path)
    timeline = table.completed_commits()
    for instant in timeline.getInstants():
        if str(instant.requestedTime()) not in instants:
            continue
        document = json.loads(str(commit_metadata(timeline, instant).toJsonString()))
        outside = folder.strangers(_written(document))
        if outside:
            raise TaskFailed(
                FailureReason.PATH_OUTSIDE_TABLE,
                f"The commit {instant.requestedTime()} of {table.base_path} names files outside the table: "
                f"{', '.join(outside[:_NAMED])}. Nothing was executed; find out who wrote the commit.",
            )


def _written(commit: Document) -> Iterator[File]:
    """Yield the files a commit has written, and the partitions where it replaced files."""
    for partition, stats in (commit["partitionToWriteStats"] or {}).items():
        for stat in stats:
            yield str(partition), str(stat["fileId"] or _NO_FILE)
            if stat.get("path"):
                yield "", str(stat["path"])
    for partition in commit.get("partitionToReplaceFileIds") or {}:
        yield str(partition), _NO_FILE


def _partitions_outside(table: HudiTable, folder: Folder) -> Iterator[tuple[str, str]]:
    timeline = table.completed_commits()
    for instant in elements(timeline.getInstants()):
        metadata = commit_metadata(timeline, instant)
        replaces = str(instant.getAction()) == REPLACE_ACTION
        replaced = elements(metadata.getPartitionToReplaceFileIds().keySet()) if replaces else ()
        for partition in (*elements(metadata.getWritePartitionPaths()), *replaced):
            if folder.partition(str(partition)) is None:
                yield str(instant.requestedTime()), str(partition)


def require_plan_inside(plan: JavaObject, kind: str, instant: str, base_path: str) -> Document:
    """Raise `TaskFailed` when a plan names a file outside the table; else return the plan as a document."""
    document: Document = json.loads(str(plan.toString()))
    outside = Folder(base_path).strangers(files_of(kind, document))
    if outside:
        raise TaskFailed(
            FailureReason.PATH_OUTSIDE_TABLE,
            f"The {kind} {instant} of {base_path} names files outside the table: {listed(outside, _NAMED)}. "
            "Nothing was executed; find out who wrote it, and remove it from the timeline.",
        )
    return document


def files_of(kind: str, plan: Document) -> Iterator[File]:
    """Yield the files that a plan reads or deletes; raise `KeyError` for a missing field.

    A missed field would mean an unchecked file.
    """
    yield from _READERS[kind](plan)


def _compaction(plan: Document) -> Iterator[File]:
    for operation in plan["operations"] or ():
        yield from _slice(operation)


def _clustering(plan: Document) -> Iterator[File]:
    for group in plan["inputGroups"] or ():
        for one in group["slices"] or ():
            yield from _slice(one)


def _slice(document: Document) -> Iterator[File]:
    partition = str(document["partitionPath"] or "")
    # The folder is written to even if it holds no file.
    yield partition, str(document["fileId"] or _NO_FILE)
    paths = (document["dataFilePath"], *(document["deltaFilePaths"] or ()), document["bootstrapFilePath"])
    yield from ((partition, str(path)) for path in paths if path)


def _cleaning(plan: Document) -> Iterator[File]:
    for partition, names in (plan["filesToBeDeletedPerPartition"] or {}).items():
        yield from ((str(partition), str(name)) for name in names)
    for partition, infos in (plan["filePathsToBeDeletedPerPartition"] or {}).items():
        yield from ((str(partition), str(info["filePath"])) for info in infos)
    # A whole partition is deleted: it must have a name.
    yield from (("", str(partition)) for partition in plan["partitionsToBeDeleted"] or ())


def _rollback(plan: Document) -> Iterator[File]:
    for request in plan["RollbackRequests"] or ():
        partition = str(request["partitionPath"] or "")
        yield partition, str(request["fileId"] or _NO_FILE)
        yield from ((partition, str(path)) for path in request["filesToBeDeleted"] or ())
        yield from ((partition, str(path)) for path in request["logBlocksToBeDeleted"] or {})


_READERS: Mapping[str, Callable[[Document], Iterator[File]]] = {
    "compaction": _compaction,
    "log compaction": _compaction,
    "clustering": _clustering,
    "clean": _cleaning,
    "rollback": _rollback,
}


def require_properties_inside(meta: JavaObject, base_path: str) -> None:
    """Refuse a table with properties that place its timeline, archive or base files elsewhere."""
    config = meta.getTableConfig()
    index, bootstrap = config.getRelativeIndexDefinitionPath(), config.getBootstrapBasePath()
    folders = (config.getTimelinePath(), config.getTimelineHistoryPath(), config.getArchivelogFolder())
    named = [str(path) for path in (*folders, index.orElse("")) if path is not None]
    outside = [path for path in named if relative_names(path) is None]
    if bootstrap.isPresent() and not Folder(base_path).holds("", str(bootstrap.get())):
        outside.append(str(bootstrap.get()))
    if outside:
        raise TaskFailed(
            FailureReason.PATH_OUTSIDE_TABLE,
            f"The properties of {base_path} name a folder outside the table: {outside[0][:_SHOWN]!a}. Nothing was "
            "executed; correct .hoodie/hoodie.properties.",
        )


def _require(spark: SparkSession, meta: JavaObject) -> dict[str, Extent]:
    base_path = str(meta.getBasePath().toString())
    require_properties_inside(meta, base_path)
    extents: dict[str, Extent] = {}
    for instant in elements(meta.getActiveTimeline().filterInflightsAndRequested().getInstants()):
        found = _plan_of(spark, meta, instant)
        if found is not None:
            (kind, plan), time = found, str(instant.requestedTime())
            extents[time] = extent_of(kind, require_plan_inside(plan, kind, time, base_path))
    return extents


def extent_of(kind: str, plan: Document) -> Extent:
    """Return how much a plan has to do: Hudi has a task for each file group of a compaction, or new file."""
    if kind == "compaction":
        groups = plan["operations"] or ()
        return Extent(units=len(groups), unit=ProgressUnit.FILE_GROUPS, bytes_to_read=_bytes_to_read(groups))
    if kind == "clustering":
        groups = plan["inputGroups"] or ()
        files = sum(int(group.get("numOutputFileGroups") or 0) for group in groups)
        return Extent(units=files or None, unit=ProgressUnit.FILES, bytes_to_read=_bytes_to_read(groups))
    return UNKNOWN


def _bytes_to_read(parts: Sequence[Document]) -> int | None:
    """Sum the bytes that Hudi expects to read, which it rounds to MiB; None if it expects none."""
    return round(sum(float((part.get("metrics") or {}).get(_READ_MEBIBYTES) or 0) for part in parts) * 2**20) or None


def _plan_of(spark: SparkSession, meta: JavaObject, instant: JavaObject) -> tuple[str, JavaObject] | None:
    """Return an instant's kind of plan and the plan; None without a plan, or if Hudi cannot read it either."""
    try:
        return _read_plan(spark, meta, instant)
    except Py4JJavaError:
        return None


def _read_plan(spark: SparkSession, meta: JavaObject, instant: JavaObject) -> tuple[str, JavaObject] | None:
    kind, read = PLANS.get(str(instant.getAction()), ("", _no_plan))
    plan = read(classes(spark).org.apache.hudi, meta, instant)
    return None if plan is None else (kind, plan)


def can_be_read(spark: SparkSession, meta: JavaObject, instant: str) -> bool:
    """Tell whether Hudi can read a pending instant's plan.

    A replacecommit without a plan is a write that overwrites rows (`ClusteringUtils.getClusteringPlan`).
    """
    for each in elements(meta.getActiveTimeline().filterInflightsAndRequested().getInstants()):
        if str(each.requestedTime()) == instant:
            try:
                plan = _read_plan(spark, meta, each)
            except Py4JJavaError:
                return False
            return plan is not None or str(each.getAction()) == REPLACE_ACTION
    return False


def _no_plan(_hudi: JavaObject, _meta: JavaObject, _instant: JavaObject) -> JavaObject:
    return None


def _clustering_plan(hudi: JavaObject, meta: JavaObject, instant: JavaObject) -> JavaObject:
    found = hudi.common.util.ClusteringUtils.getClusteringPlan(meta, instant)
    return found.get().getRight() if found.isPresent() else None


def _compaction_plan(hudi: JavaObject, meta: JavaObject, instant: JavaObject) -> JavaObject:
    return hudi.common.util.CompactionUtils.getCompactionPlan(meta, instant.requestedTime())


def _log_compaction_plan(hudi: JavaObject, meta: JavaObject, instant: JavaObject) -> JavaObject:
    return hudi.common.util.CompactionUtils.getLogCompactionPlan(meta, instant.requestedTime())


def _clean_plan(hudi: JavaObject, meta: JavaObject, instant: JavaObject) -> JavaObject:
    return hudi.common.util.CleanerUtils.getCleanerPlan(meta, instant)


def _rollback_plan(hudi: JavaObject, meta: JavaObject, instant: JavaObject) -> JavaObject:
    return hudi.table.action.rollback.RollbackUtils.getRollbackPlan(meta, instant)


PLANS: Mapping[str, tuple[str, Callable[[JavaObject, JavaObject, JavaObject], JavaObject]]] = {
    "compaction": ("compaction", _compaction_plan),
    "logcompaction": ("log compaction", _log_compaction_plan),
    "clean": ("clean", _clean_plan),
    "rollback": ("rollback", _rollback_plan),
    "replacecommit": ("clustering", _clustering_plan),
    "clustering": ("clustering", _clustering_plan),
}
"""Kinds of plans and Hudi's functions to read them, by instant action."""
