"""When a run syncs the catalog of its table, in bounded time, and the record that it leaves for the next run.

A run compares the table with the record first: the settings of the catalog, the schema, the partitions, and dropped
partitions. If all are as at the last sync, it opens no connection to the catalog. The run has committed before, so
nothing here fails it. The lease is still held, so no other run writes the record.
"""

import hashlib
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from hudi_jobs.catalogs.bounded import bounded
from hudi_jobs.catalogs.definition import SyncFailed
from hudi_jobs.catalogs.registry import catalog_of
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    AnyCatalog,
    CatalogRecord,
    SyncTrouble,
    decode_catalog,
    encode_catalog,
    next_sync,
    target_of,
)
from hudi_jobs.contract.catalogs.catalog import CATALOG_FILE, SYNC_MESSAGE_LIMIT, is_look_due, sync_time
from hudi_jobs.contract.wording import escaped
from hudi_jobs.lease.stores import TableFiles, open_table_files
from hudi_jobs.spark.failures import causes_of
from hudi_jobs.spark.filesystem import Folder
from hudi_jobs.spark.jvm import classes, elements, engine_context
from hudi_jobs.table import HudiTable

AFTER_A_COMMIT = 30.0
"""The most seconds that a sync may take of a run that has committed."""

OF_ITS_OWN = 600.0
"""The most seconds of a run that only syncs."""

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Wanted:
    """What the catalog is to show: digests of settings and content, the newest commit, and the partitions."""

    target: str
    content: str
    instant: str
    partitions: tuple[str, ...]
    """Paths of all partitions below the table."""


def sync_after_commit(context: TaskContext) -> bool:
    """Sync the catalog if the run has changed what it shows; return whether the catalog shows the table.

    Raises nothing. After a failed sync, runs wait before they try again.
    """
    catalog = context.task.catalog
    if catalog is None:
        return True
    try:
        record = _sync_if_due(context, catalog)
    except Exception as error:
        # A driver without a JVM reports its commit all the same.
        _LOGGER.warning("the catalog could not be synced", exc_info=True)
        cause = escaped(causes_of(error)[-1].first_line)
        message = f"The catalog entry {catalog.entry} could not be compared with the table: {cause}"
        with suppress(Exception):
            last = _last_sync(context, catalog)
            last.leave(_behind(catalog, last, SyncFailed(SyncTrouble.REFUSED, message), datetime.now(UTC)))
        return False
    return record is None or record.behind_since is None


def sync_always(context: TaskContext, catalog: AnyCatalog, table: HudiTable) -> CatalogRecord | None:
    """Sync the catalog whether or not anything has changed; None if the table has no commit."""
    last = _last_sync(context, catalog)
    wanted = _wanted(context.spark, table, last.target)
    if wanted is None:
        return None
    return _sync(context, catalog, table, last, wanted, seconds=OF_ITS_OWN, dropped=_drops(context, table, last))


def drop_entries(context: TaskContext) -> str:
    """Drop the entries that are this resource's own, and return a sentence about it; empty without a catalog."""
    catalog, owner = context.task.catalog, context.task.owner
    if catalog is None or owner is None:
        return ""
    entries = catalog_of(context.spark, catalog, context.task.table, owner.table_uid)
    try:
        gone = bounded(entries.drop, AFTER_A_COMMIT, context.stopping)
    except SyncFailed as failure:
        return f"The catalog entry {catalog.entry} stays: {failure.message} Drop it there."
    return f"Dropped the catalog entries {', '.join(gone)}." if gone else f"No entry {catalog.entry} was ours to drop."


@dataclass(frozen=True)
class _LastSync:
    """The record of the last sync in the table's folder, and the digest of the current settings."""

    files: TableFiles
    version: str | None
    record: CatalogRecord | None
    target: str

    def leave(self, record: CatalogRecord) -> None:
        """Replace the record."""
        self.files.write(CATALOG_FILE, encode_catalog(record), expected=self.version)


def _last_sync(context: TaskContext, catalog: AnyCatalog) -> _LastSync:
    files = open_table_files(context.spark, context.task.table.base_path)
    found = files.read(CATALOG_FILE)
    return _LastSync(
        files=files,
        version=None if found is None else found[1],
        record=None if found is None else decode_catalog(found[0]),
        target=target_of(catalog, _uid(context)),
    )


def _uid(context: TaskContext) -> str:
    return context.task.owner.table_uid if context.task.owner is not None else ""


def _sync_if_due(context: TaskContext, catalog: AnyCatalog) -> CatalogRecord | None:
    """Return the record of a failed sync that has to wait or of a new sync; None if no sync is due."""
    now, last = datetime.now(UTC), _last_sync(context, catalog)
    record = last.record
    if record is not None and _waits(record, last.target, now=now):
        return record
    table = HudiTable.open(context.spark, context.task.table.base_path)
    if table is None or (wanted := _wanted(context.spark, table, last.target)) is None:
        return None
    dropped = _drops(context, table, last)
    if record is not None and not _is_due(record, wanted, dropped=dropped, now=now):
        return None
    return _sync(context, catalog, table, last, wanted, seconds=AFTER_A_COMMIT, dropped=dropped)


def _sync(
    context: TaskContext,
    catalog: AnyCatalog,
    table: HudiTable,
    last: _LastSync,
    wanted: _Wanted,
    *,
    seconds: float,
    dropped: bool,
) -> CatalogRecord:
    """Sync the catalog in bounded time, and leave a record of success or failure."""
    now = datetime.now(UTC)
    entries = catalog_of(context.spark, catalog, context.task.table, _uid(context))
    try:
        bounded(lambda: entries.sync(table, wanted.partitions, dropped=dropped), seconds, context.stopping)
        after = _synced(catalog, wanted, now)
    except SyncFailed as failure:
        context.log("the catalog is behind", cause=failure.message)
        after = _behind(catalog, last, failure, now)
    last.leave(after)
    return after


def _waits(record: CatalogRecord, target: str, *, now: datetime) -> bool:
    """Tell whether a failed sync with the same settings is not to be tried again yet."""
    again = next_sync(record, now)
    return again is not None and record.target == target and now < again


def _is_due(record: CatalogRecord, wanted: _Wanted, *, dropped: bool, now: datetime) -> bool:
    """Tell whether a run that has committed syncs: the last sync failed, or something has changed since."""
    if record.behind_since is not None:
        return True
    same = (record.target, record.content) == (wanted.target, wanted.content)
    return not same or dropped or is_look_due(record, now)


def _synced(catalog: AnyCatalog, wanted: _Wanted, now: datetime) -> CatalogRecord:
    return CatalogRecord(
        entry=catalog.entry,
        instant=wanted.instant,
        target=wanted.target,
        content=wanted.content,
        synced_at=sync_time(now),
    )


def _behind(catalog: AnyCatalog, last: _LastSync, failure: SyncFailed, now: datetime) -> CatalogRecord:
    """Return the record after a failed sync: the last successful sync stays in it, for the same settings."""
    moment = sync_time(now)
    same = last.record if last.record is not None and last.record.target == last.target else None
    return CatalogRecord(
        entry=catalog.entry,
        instant=same.instant if same is not None else None,
        target=last.target,
        content=None,
        synced_at=same.synced_at if same is not None else None,
        behind_since=(same.behind_since if same is not None else None) or moment,
        trouble=failure.trouble,
        message=failure.message[:SYNC_MESSAGE_LIMIT],
        tried_at=moment,
        attempts=(same.attempts if same is not None else 0) + 1,
    )


def _wanted(spark: SparkSession, table: HudiTable, target: str) -> _Wanted | None:
    """Return what the catalog is to show; None before the first commit. Refuses partitions outside the table."""
    commits = table.completed_commits()
    newest, schema = commits.lastInstant(), table.schema()
    if not newest.isPresent() or schema is None:
        return None
    partitions = _partitions(spark, table) if table.partition_columns else []
    content = "\0".join((table.properties.get("hoodie.table.type", ""), schema.json(), *sorted(partitions)))
    digest = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()
    instant = str(newest.get().requestedTime())
    return _Wanted(target=target, content=digest, instant=instant, partitions=tuple(partitions))


def _partitions(spark: SparkSession, table: HudiTable) -> list[str]:
    """Return the paths of all partitions, from the metadata table if there is one."""
    utilities = classes(spark).org.apache.hudi.common.fs.FSUtils
    listed = bool(table.meta.getTableConfig().isMetadataTableAvailable())
    found = [str(each) for each in elements(utilities.getAllPartitionPaths(engine_context(spark), table.meta, listed))]
    folder = Folder(table.base_path)
    stranger = next((each for each in found if folder.partition(each) is None), None)
    if stranger is not None:
        raise ValueError(f"the metadata of the table puts the partition {stranger[:200]!a} outside of it")
    return found


def _drops(context: TaskContext, table: HudiTable, last: _LastSync) -> bool:
    """Tell whether a commit after the last synced commit dropped partitions."""
    spark, since = context.spark, last.record.instant if last.record is not None else None
    timeline = table.meta.getActiveTimeline().filterCompletedInstants()
    if since is None or timeline.isBeforeTimelineStarts(since):
        return False
    option = classes(spark).org.apache.hudi.common.util.Option
    utilities = classes(spark).org.apache.hudi.common.table.timeline.TimelineUtils
    return int(utilities.getDroppedPartitions(table.meta, option.of(since), option.empty()).size()) > 0
