"""Reads a table's files from its timelines: the active timeline, the archive, and the savepoints.

An archive that cannot be read completely refuses the repair: lost instants would seem never to have existed. Hudi fails
on missing parts of an archive of layout 2, and skips damaged parts of layout 1.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hudi_jobs.archive import archive_files
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.folder import stays_below
from hudi_jobs.jvm import JavaObject, classes, elements
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.files.orphans import INSTANTS_IN_LOGS_FROM, Known, oldest_version
from hudi_jobs.table import HudiTable, commit_metadata, saved_files

MOST_ARCHIVED = 500_000
"""Most archived instants to hold in memory."""

_ARCHIVE_OF_LAYOUT_1 = ".commits_.archive"
_CORRUPT = "CORRUPT_BLOCK"


def known_of(work: OperationRun, table: HudiTable) -> Known:
    """Return the content of the timelines; raise `TaskFailed` when they cannot be read completely."""
    with stage("The commits of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        active = table.meta.getActiveTimeline()
        instants = {str(each.requestedTime()) for each in elements(active.getInstants())}
        commits, listed = _commits(active)
        kept = {path.rpartition("/")[2] for path in saved_files(active)}
        saved = {str(each.requestedTime()) for each in elements(active.getSavePointTimeline().getInstants())}
    return Known(
        version=oldest_version(table.properties, table.version),
        instants=frozenset(instants | _archived(work, table)),
        commits=frozenset(commits - saved),
        listed=frozenset(listed),
        kept=frozenset(kept),
    )


def _commits(active: JavaObject) -> tuple[set[str], set[str]]:
    """Return the completed commits, and the paths of the files that they wrote."""
    timeline = active.getCommitsTimeline().filterCompletedInstants()
    commits, listed = set[str](), set[str]()
    for instant in elements(timeline.getInstants()):
        document = json.loads(str(commit_metadata(timeline, instant).toJsonString()))
        listed |= set(paths_of(document))
        commits.add(str(instant.requestedTime()))
    return commits, listed


def paths_of(commit: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths below the table of all files that a commit names; files elsewhere are left out."""
    for partition, stats in (commit.get("partitionToWriteStats") or {}).items():
        for stat in stats:
            within = f"{partition}/" if partition else ""
            named = [stat.get("path"), *(stat.get("cdcStats") or {})]
            names = [stat.get("baseFile"), *(stat.get("logFiles") or ())]
            yield from (str(path) for path in named if path and stays_below(str(path)))
            yield from (f"{within}{name}" for name in names if name)


def _archived(work: OperationRun, table: HudiTable) -> set[str]:
    """Return the requested times of all archived instants."""
    try:
        with stage("The archive of the timeline cannot be read", otherwise=FailureReason.HUDI_ERROR):
            _require_whole(work, table)
            found = elements(table.meta.getArchivedTimeline().getInstants())
    except TaskFailed as error:
        if error.reason is not FailureReason.HUDI_ERROR:
            raise
        raise refused(
            f"{error.message} Without it the earlier instants are not known, so no file counts as an orphan."
        ) from error
    if len(found) > MOST_ARCHIVED:
        raise refused(f"The archive has {len(found):,} instants, but at most {MOST_ARCHIVED:,} can be compared.")
    return {str(each.requestedTime()) for each in found}


def _require_whole(work: OperationRun, table: HudiTable) -> None:
    """Raise when a file of the archive is missing or damaged."""
    spark, meta = work.context.spark, table.meta
    jvm, storage = classes(spark), meta.getStorage()
    if table.version >= INSTANTS_IN_LOGS_FROM:  # the same versions have the archive of layout 2
        for file in archive_files(spark, meta):
            if not storage.exists(jvm.org.apache.hudi.storage.StoragePath(file)):
                raise TaskFailed(FailureReason.HUDI_ERROR, f"The archive of the timeline lacks {file[-200:]}.")
        return
    if not storage.exists(meta.getArchivePath()):
        return
    for status in elements(storage.listDirectEntries(meta.getArchivePath())):
        if str(status.getPath().getName()).startswith(_ARCHIVE_OF_LAYOUT_1) and not _is_sound(jvm, storage, status):
            raise TaskFailed(FailureReason.HUDI_ERROR, f"{str(status.getPath().toString())[-200:]} is damaged.")


def _is_sound(jvm: JavaObject, storage: JavaObject, status: JavaObject) -> bool:
    """Tell whether a layout-1 archive file has blocks, and all of them are readable."""
    schema = jvm.org.apache.hudi.avro.model.HoodieArchivedMetaEntry.getClassSchema()
    file = jvm.org.apache.hudi.common.model.HoodieLogFile(status.getPath())
    reader = jvm.org.apache.hudi.common.table.log.HoodieLogFormat.newReader(
        storage, file, jvm.org.apache.hudi.common.schema.HoodieSchema.fromAvroSchema(schema)
    )
    blocks = 0
    try:
        while reader.hasNext():
            blocks += 1
            if str(reader.next().getBlockType().name()) == _CORRUPT:
                return False
    finally:
        reader.close()
    return blocks > 0 or int(status.getLength()) == 0
