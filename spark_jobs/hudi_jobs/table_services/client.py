"""Drives Hudi's own write client from Python: the SQL procedures neither take every option nor report their results."""

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import islice

from pyspark.sql import SparkSession

from hudi_jobs.clock import LONGEST_WAIT, instants_in_order
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.instants import LAYOUT_2_FROM, store_behind
from hudi_jobs.contract.operations.operation import MOST_FILES_NAMED
from hudi_jobs.existing_table import existing_options
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import (
    JavaObject,
    classes,
    java_map,
    java_objects,
    java_spark_context,
    scala_map,
    spark_session,
)
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.plans import require_plan_inside

_SOME_TIME_LATER = "20991231235959999"
"""The instant of a plan that is never written: late enough for every time trigger."""

_UNPUBLISHED = True
_RESTORE = True
_BY_LISTING = False
_REMOVED = True
_UNLOCKED = False
_LOCKED = True
_UNINITIALISED = False
_LATER = False
"""`cluster` and `compact` leave the commit to its own call, which adds our metadata."""


class WriteClient:
    """The client calls that services need; instants are requested times. Use `write_client`: it closes the client."""

    def __init__(self, spark: SparkSession, client: JavaObject) -> None:
        self._spark = spark
        self._client = client
        self._option = classes(spark).org.apache.hudi.common.util.Option

    def schedule_compaction(self, notes: Mapping[str, str]) -> str | None:
        """Write a compaction plan with these notes; None if there is nothing to compact."""
        return self._instant(self._client.scheduleCompaction(self._option.of(java_map(self._spark, notes))))

    def schedule_clustering(self, notes: Mapping[str, str]) -> str | None:
        """Write a clustering plan with these notes; None if there is nothing to cluster."""
        return self._instant(self._client.scheduleClustering(self._option.of(java_map(self._spark, notes))))

    def compact(self, instant: str, notes: Mapping[str, str], *, at_rest: AbstractContextManager[None]) -> None:
        """Execute a compaction plan and, within `at_rest`, commit it with the notes.

        Rolls back the work of an earlier attempt. Hudi would write the new files in `commitCompaction`, within
        `at_rest`; counting the results, which Hudi keeps in Spark's cache, writes them before.
        """
        written = self._client.compact(instant)
        _note(written, notes)
        written.getWriteStatuses().count()
        with at_rest:
            self._wait_for_store(instant)
            self._client.commitCompaction(instant, written, self._option.empty())

    def _wait_for_store(self, instant: str) -> None:
        """Wait until the store's clock is past an inflight compaction, so that it completes after its request.

        Otherwise, in layout 1, it would complete earlier if the store's clock is behind or has whole seconds: Hudi
        would count the log files of its new slices to older slices (`contract/table/layout.py`).
        """
        table = HudiTable(self._spark, self._table().getMetaClient())
        if table.version >= LAYOUT_2_FROM:
            return
        left = store_behind(instant, table.times_of_pending("compaction.inflight").get(instant))
        if left > LONGEST_WAIT:
            raise TaskFailed(
                FailureReason.CLOCK_BEHIND,
                f"The clock of the store is {left} behind the compaction {instant}, so Hudi would take it for complete "
                "before it began, and updates would be lost. It stays pending. Correct the clock of the store.",
            )
        time.sleep(left.total_seconds())

    def cluster(self, instant: str, notes: Mapping[str, str]) -> None:
        """Execute a clustering plan and commit it with the notes.

        Hudi 1.2.0 has no public call that commits a clustering with notes, so this calls the private method behind its
        own `cluster`.
        """
        written = self._client.cluster(instant, _LATER)
        _note(written, notes)
        services = self._client.getTableServiceClient()
        commit = _method(services, "commitClustering")
        commit.invoke(services, java_objects(self._spark, written, self._table(), instant))

    def rollback(self, instant: str) -> bool:
        """Remove a pending instant and its files; Hudi refuses compactions (returns False).

        The files to delete are checked first: the list is built from markers and partition names.
        """
        self._require_rollback_inside(instant)
        return bool(self._client.rollback(instant))

    def undo(self, instant: str) -> None:
        """Remove a pending instant of any kind, as a restore does (`MergeOnReadRestoreActionExecutor`).

        `rollback` refuses compactions, and finds files by markers, which a formerly completed instant lacks.
        """
        table, context = self._table(), self._client.getEngineContext()
        found = _pending(table, instant)
        if found is None:
            return
        self._require_inside(table, found, by_markers=_BY_LISTING, is_restore=_RESTORE)
        time = str(self._client.createNewInstantTime(_LOCKED))
        table.scheduleRollback(context, time, found, not _UNPUBLISHED, _BY_LISTING, _RESTORE)
        table.rollback(context, time, found, _REMOVED, _UNLOCKED)

    def _require_rollback_inside(self, instant: str) -> None:
        table = self._table()
        found = _pending(table, instant)
        if found is not None:
            by_markers = bool(self._client.getConfig().shouldRollbackUsingMarkers())
            self._require_inside(table, found, by_markers=by_markers, is_restore=not _RESTORE)

    def _require_inside(self, table: JavaObject, found: JavaObject, *, by_markers: bool, is_restore: bool) -> None:
        instant = str(found.requestedTime())
        plan = table.scheduleRollback(
            self._client.getEngineContext(), instant, found, _UNPUBLISHED, by_markers, is_restore
        )
        if plan.isPresent():
            base_path = str(table.getMetaClient().getBasePath().toString())
            require_plan_inside(plan.get(), "rollback", instant, base_path)

    def plan_clean(self) -> str | None:
        """Return the instant of the pending clean, or of a new plan; None if there is nothing to clean."""
        services, table = self._client.getTableServiceClient(), self._table()
        pending = table.getCleanTimeline().filterInflightsAndRequested().firstInstant()
        if pending.isPresent():
            return str(pending.get().requestedTime())
        schedule = _method(services, "scheduleCleaning")
        planned = schedule.invoke(services, java_objects(self._spark, table, self._option.empty()))
        return str(planned.get()) if planned.isPresent() else None

    def clean_beside_others(self, instant: str | None) -> int | None:
        """Execute a planned clean like `clean`, without rolling back anything first.

        Hudi's own `clean` first rolls back every write whose heartbeat has expired by its own clock, and executes every
        pending rollback, even one in progress elsewhere (`BaseHoodieTableServiceClient.clean`).
        """
        if instant is None:
            return None
        metadata = self._table().clean(self._client.getEngineContext(), instant)
        return None if metadata is None else int(metadata.getTotalFilesDeleted())

    def clean(self) -> int | None:
        """Execute the planned clean and return the number of deleted files; None without a plan."""
        metadata = self._client.clean()
        return None if metadata is None else int(metadata.getTotalFilesDeleted())

    def savepoint(self, instant: str, *, user: str, comment: str) -> None:
        """Make a savepoint on a completed commit; Hudi refuses a second savepoint on it."""
        self._client.savepoint(instant, user, comment)

    def delete_savepoint(self, instant: str) -> None:
        """Delete a savepoint; the first clean after another commit deletes its files."""
        self._client.deleteSavepoint(instant)

    def restore(self, instant: str) -> None:
        """Undo everything completed after a commit, or finish a restore to it."""
        self._client.restoreToInstant(instant, _UNINITIALISED)

    def initialise_metadata_table(self) -> None:
        """Create the metadata table of this client's options, and nothing else."""
        unknown = classes(self._spark).org.apache.hudi.common.model.WriteOperationType.UNKNOWN
        self._client.initTable(unknown, self._option.empty())

    def change_version(self, version: int, **options: str) -> None:
        """Migrate the table to another version with Hudi's own handlers.

        No instant may be pending, and no log file unmerged. Hudi refuses an upgrade while automatic upgrades are off,
        so they are on for this call alone.
        """
        jvm, config = classes(self._spark).org.apache.hudi, self._version_config(version, options)
        meta, helper = self._table().getMetaClient(), jvm.table.upgrade.SparkUpgradeDowngradeHelper.getInstance()
        change = jvm.table.upgrade.UpgradeDowngrade(meta, config, self._client.getEngineContext(), helper)
        change.run(jvm.common.table.HoodieTableVersion.fromVersionCode(version), None)

    def move_timeline(self, version: int, **options: str) -> None:
        """Move the existing timeline to a version's layout, before the table declares that version."""
        jvm, config = classes(self._spark).org.apache.hudi, self._version_config(version, options)
        handlers, context = jvm.table.upgrade, self._client.getEngineContext()
        helper = handlers.SparkUpgradeDowngradeHelper.getInstance()
        if version >= LAYOUT_2_FROM:
            handlers.SevenToEightUpgradeHandler().upgrade(config, context, None, helper)
        else:
            handlers.EightToSevenDowngradeHandler().downgrade(config, context, None, helper)

    def _version_config(self, version: int, options: Mapping[str, str]) -> JavaObject:
        config = self._client.getConfig()
        wanted = {"hoodie.write.auto.upgrade": "true", "hoodie.write.table.version": str(version), **options}
        for key, value in wanted.items():
            config.setValue(key, value)
        return config

    def archive(self) -> None:
        """Move the oldest instants from the active timeline into the archive."""
        self._client.archive()

    def would_compact(self) -> int:
        """Return the number of file groups that a compaction would merge, without writing a plan."""
        hudi = classes(self._spark).org.apache.hudi
        kind = hudi.common.model.WriteOperationType.COMPACT
        executors = hudi.table.action.compact.ScheduleCompactionActionExecutor
        executor = executors(*self._planning(), _SOME_TIME_LATER, self._option.empty(), kind)
        plan = _method(executor, "scheduleCompaction").invoke(executor, java_objects(self._spark))
        return len(plan.getOperations() or ())

    def would_cluster(self) -> int:
        """Return the number of file groups that a clustering would rewrite, without writing a plan."""
        executors = classes(self._spark).org.apache.hudi.table.action.cluster.ClusteringPlanActionExecutor
        executor = executors(*self._planning(), _SOME_TIME_LATER, self._option.empty())
        plan = _method(executor, "createClusteringPlan").invoke(executor, java_objects(self._spark))
        groups = plan.get().getInputGroups() if plan.isPresent() else None
        return sum(len(group.getSlices()) for group in groups or ())

    def would_clean(self) -> tuple[int, list[str]]:
        """Return the number of files that a clean would delete, and the first paths, without writing a plan."""
        found = dict(sorted(self._files_to_clean(self._table()).items()))
        return sum(map(len, found.values())), [*islice(_paths_below(found), MOST_FILES_NAMED)]

    def would_clean_without_savepoints(self) -> set[str]:
        """Return the files that a clean would delete without savepoints, as paths below the table."""
        incremental = classes(self._spark).org.apache.hudi.config.HoodieCleanConfig.CLEANER_INCREMENTAL_MODE_ENABLE
        self._client.getConfig().setValue(incremental.key(), "false")
        table = self._table()
        active, left = table.getMetaClient().getActiveTimeline(), classes(self._spark).java.util.ArrayList()
        for each in active.getInstants():
            if str(each.getAction()) != "savepoint":
                left.add(each)
        active.setInstants(left)
        return set(_paths_below(self._files_to_clean(table)))

    def _files_to_clean(self, table: JavaObject) -> Mapping[str, Collection[JavaObject]]:
        """Return the files of each partition that a clean would delete, without writing a plan."""
        context = self._client.getEngineContext()
        executors = classes(self._spark).org.apache.hudi.table.action.clean.CleanPlanActionExecutor
        executor = executors(context, self._client.getConfig(), table, self._option.empty())
        plan = _method(executor, "requestClean", count=1).invoke(executor, java_objects(self._spark, context))
        files: Mapping[str, Collection[JavaObject]] = plan.getFilePathsToBeDeletedPerPartition() or {}
        return files

    def would_archive(self) -> int:
        """Return the number of instants that an archival would move, without writing."""
        archivers = classes(self._spark).org.apache.hudi.client.timeline.TimelineArchivers
        table, config = self._table(), self._client.getConfig()
        layout = table.getMetaClient().getTimelineLayoutVersion()
        archiver = archivers.getInstance(layout, config, table)
        found = _method(archiver, "getInstantsToArchive").invoke(archiver, java_objects(self._spark))
        return int(found.count())

    def _planning(self) -> tuple[JavaObject, JavaObject, JavaObject]:
        return self._client.getEngineContext(), self._client.getConfig(), self._table()

    def _table(self) -> JavaObject:
        tables = classes(self._spark).org.apache.hudi.table.HoodieSparkTable
        return tables.create(self._client.getConfig(), self._client.getEngineContext())

    def _instant(self, option: JavaObject) -> str | None:
        return str(option.get()) if option.isPresent() else None


def _paths_below(files: Mapping[str, Collection[JavaObject]]) -> Iterator[str]:
    """Yield the files in a clean plan's partitions, as paths below the table."""
    for partition, each in files.items():
        yield from (f"{partition}/{str(one.getFilePath()).rpartition('/')[2]}".removeprefix("/") for one in each)


@contextmanager
def write_client(spark: SparkSession, base_path: str, options: Mapping[str, str]) -> Iterator[WriteClient]:
    """Open a write client; its threads and heartbeat end with the block."""
    with instants_in_order(spark, base_path, options) as zoned:
        table = HudiTable.existing(spark, base_path)
        client = _open(spark, base_path, table, existing_options(table, zoned))
        try:
            yield WriteClient(spark, client)
        finally:
            client.close()


def _open(spark: SparkSession, base_path: str, table: HudiTable, options: Mapping[str, str]) -> JavaObject:
    """Return Hudi's client; without a schema before the first commit.

    `HoodieCLIUtils.createHoodieWriteClient` fails on a table without commits, and a first write that died must be
    rolled back.
    """
    jvm = classes(spark)
    if table.has_schema:
        given, none = scala_map(spark, options), jvm.scala.Option.apply(None)
        return jvm.org.apache.hudi.HoodieCLIUtils.createHoodieWriteClient(spark_session(spark), base_path, given, none)
    config = table.meta.getTableConfig()
    known = {**table.properties, **options}
    wanted = jvm.org.apache.hudi.HoodieWriterUtils.parametersWithWriteDefaults(scala_map(spark, known))
    parameters = jvm.scala.collection.JavaConverters.mapAsJavaMapConverter(wanted).asJava()
    return jvm.org.apache.hudi.DataSourceUtils.createHoodieClient(
        java_spark_context(spark), None, base_path, config.getTableName(), parameters
    )


def _pending(table: JavaObject, instant: str) -> JavaObject | None:
    """Return a pending instant, or None if a part of it has completed, as Hudi's own look may find."""
    found = [each for each in table.getActiveTimeline().getInstants() if str(each.requestedTime()) == instant]
    return found[0] if found and not any(each.isCompleted() for each in found) else None


def _note(written: JavaObject, notes: Mapping[str, str]) -> None:
    metadata = written.getCommitMetadata().get()
    for key, value in notes.items():
        metadata.addMetadata(key, value)


def _method(target: JavaObject, name: str, *, count: int | None = None) -> JavaObject:
    """Return the method with this name and parameter count from an object's class or its superclasses."""
    kind = target.getClass()
    while kind is not None:
        for method in kind.getDeclaredMethods():
            if method.getName() == name and count in {None, method.getParameterCount()}:
                method.setAccessible(True)
                return method
        kind = kind.getSuperclass()
    raise LookupError(f"Hudi has no method {name}")
