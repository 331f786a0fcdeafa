"""A table's files, as listed, as its timelines name them and as readers use them, and which of them are orphans.

A name tells the instant that wrote the file (`FSUtils.makeBaseFileName`, `FSUtils.makeLogFileName`), except for log
files before table version 8: they carry the instant of their base file, and rolled back rows stay in them beside a
rollback block. They keep their names when the table is upgraded, so all log files of such a table stay. Files with
other names are not judged.

An archive that cannot be read completely refuses the repair: lost instants would seem never to have existed. Hudi fails
on missing parts of an archive of layout 2, and skips damaged parts of layout 1.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pyspark.sql import functions as sf

from hudi_jobs.archive import archive_files
from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location
from hudi_jobs.contract.table.location import beginning_of, relative_names
from hudi_jobs.frames import local_frame
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import children_of, located, statuses_below
from hudi_jobs.spark.jvm import JavaObject, classes, elements, iterated
from hudi_jobs.table import HudiTable, commit_metadata, names_in, saved_files, with_times

INSTANTS_IN_LOGS_FROM = 8
"""The first version with the write's instant in the names of log files."""

_INSTANT = r"(?P<instant>[0-9]{14}(?:[0-9]{3})?)"
_ATTEMPT = r"[0-9]+-[0-9]+-[0-9]+"
_BASE = re.compile(rf"[0-9A-Za-z-]+_{_ATTEMPT}_{_INSTANT}\.parquet", re.ASCII)
_LOG = re.compile(rf"\.[0-9A-Za-z-]+_{_INSTANT}\.log\.[0-9]+_{_ATTEMPT}", re.ASCII)
_FIRST_VERSION = "hoodie.table.initial.version"
_META_FOLDER = ".hoodie"
# With `hoodie.partition.metafile.use.base.format` the mark of a partition has the format of the base files.
_PARTITION_FILES = frozenset(f".hoodie_partition_metadata{ending}" for ending in ("", ".parquet", ".orc"))


@dataclass(frozen=True, order=True)
class File:
    """A file with its path below the table; `changed` is its modification time in seconds of Unix time."""

    path: str
    size: int
    changed: float

    @property
    def folder(self) -> str:
        """The folder; the partition of a data file."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Known:
    """The content of the timelines.

    `version` is the oldest that the table has had. `instants` are all requested times of the active timeline and the
    archive, in any state. `listed` are the paths of all files that completed commits of the active timeline wrote,
    `commits` those of them without a savepoint, and `kept` the names of files that savepoints keep.
    """

    version: int
    instants: frozenset[str]
    commits: frozenset[str]
    listed: frozenset[str]
    kept: frozenset[str]


class Kind(StrEnum):
    """The verdict on a file."""

    ACCOUNTED = "accounted"
    ORPHAN = "orphan"
    YOUNG = "young"
    UNKNOWN = "unknown"
    """Not a data file's name, a name without an instant, or a file outside the table's partitions."""


def kinds_of(files: Collection[File], known: Known, *, until: float) -> Mapping[Kind, list[File]]:
    """Return the files by their verdict; a file changed after `until` is too young for an orphan.

    Whether a reader or the metadata table shows an orphan is checked elsewhere.
    """
    partitions, foreign = _partitions(files), _foreign(files)
    found: dict[Kind, list[File]] = {kind: [] for kind in Kind}
    for file in sorted(files):
        if file.name in _PARTITION_FILES:
            continue
        inside = file.folder in partitions and not _is_below(file.folder, foreign)
        found[_kind(file, known, until=until) if inside else Kind.UNKNOWN].append(file)
    return found


def oldest_version(properties: Mapping[str, str], version: int) -> int:
    """Return the oldest version of a table since its creation; 0 when it came from before version 8."""
    first = properties.get(_FIRST_VERSION, "")
    return min(version, int(first)) if first.isascii() and first.isdecimal() else 0


def instant_of(name: str, version: int) -> str | None:
    """Return the instant that wrote a data file; None when the name does not tell."""
    match = _BASE.fullmatch(name)
    if match is None and version >= INSTANTS_IN_LOGS_FROM:
        match = _LOG.fullmatch(name)
    return match["instant"] if match is not None else None


def _kind(file: File, known: Known, *, until: float) -> Kind:
    instant = instant_of(file.name, known.version)
    if instant is None:
        return Kind.UNKNOWN
    if file.path in known.listed or file.name in known.kept or not _is_unaccounted(instant, known):
        return Kind.ACCOUNTED
    return Kind.ORPHAN if file.changed < until else Kind.YOUNG


def _is_unaccounted(instant: str, known: Known) -> bool:
    """Tell whether an instant cannot have written a file that no active commit lists.

    Archived commits are not read again, so their files stay. Nothing is known of instants older than the oldest known
    instant.
    """
    if instant in known.instants:
        return instant in known.commits
    return bool(known.instants) and min(known.instants) < instant


def _partitions(files: Iterable[File]) -> set[str]:
    """Return the folders with Hudi's partition marker."""
    return {file.folder for file in files if file.name in _PARTITION_FILES}


def _foreign(files: Iterable[File]) -> set[str]:
    """Return the folders of other tables below this table."""
    found = set()
    for file in files:
        names = file.path.split("/")
        if _META_FOLDER in names[1:-1]:
            found.add("/".join(names[: names.index(_META_FOLDER, 1)]))
    return found


def _is_below(folder: str, others: Collection[str]) -> bool:
    names = folder.split("/")
    is_reserved = any(name in {_META_FOLDER, OPERATOR_FOLDER, "..", "."} for name in names)
    return is_reserved or any("/".join(names[:count]) in others for count in range(1, len(names) + 1))


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
            yield from (str(path) for path in named if path and relative_names(str(path)) is not None)
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


MOST_FILES = 500_000
"""Most file names to hold in the driver's memory."""

_RESERVED = frozenset({".hoodie", OPERATOR_FOLDER})


def files_of_table(work: OperationRun) -> list[File]:
    """Return the files; raise `TaskFailed` when there are too many, or a folder leads elsewhere."""
    filesystem, base = located(work.context.spark, work.table.base_path)
    above = beginning_of(str(base.toUri().getPath()))
    found: list[File] = []
    with stage("The files of the table cannot be listed", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        for status in _statuses(filesystem, base):
            path = str(status.getPath().toUri().getPath())
            if not path.startswith(above):
                raise refused(f"The store lists {path[-200:]} as a file of the table, which is not below its folder.")
            changed = float(status.getModificationTime()) / 1000
            found.append(File(path.removeprefix(above), int(status.getLen()), changed))
            if len(found) > MOST_FILES:
                raise refused(f"The table has more than {MOST_FILES:,} files, the most that one repair can compare.")
    _require_no_links(work.table.base_path, {file.folder for file in found})
    return found


def _statuses(filesystem: JavaObject, base: JavaObject) -> Iterator[JavaObject]:
    for child in children_of(filesystem, base):
        if str(child.getPath().getName()) in _RESERVED:
            continue
        if child.isFile():
            yield child
            continue
        yield from statuses_below(filesystem, child.getPath())


def _require_no_links(base_path: str, folders: set[str]) -> None:
    """Refuse folders of a local table that are links: their content lies elsewhere."""
    location = Location.parse(base_path)
    if location.store != "file":
        return
    base = Path("/", *location.names).resolve()
    for folder in sorted(folders):
        if (base / folder).resolve() != base / folder:
            raise refused(f"The folder {folder[-200:]} of the table is a link, so its files may lie elsewhere.")


_METADATA_TABLE, _FILES_OF_A_PARTITION = ".hoodie/metadata", 2
_ROOT = "."


def paths_seen(work: OperationRun, table: HudiTable, files: Collection[File]) -> set[str]:
    """Return the files that readers see by listing folders, as paths below the table."""
    if not files:
        return set()
    found = set[str]()
    with (
        stage("The file slices of the table cannot be listed", otherwise=FailureReason.HUDI_ERROR),
        with_times(work.context.spark, table, work.context.task.hudi_options) as timed,
    ):
        view = timed.listed_view()
        try:
            for partition in sorted({file.folder for file in files}):
                within = f"{partition}/" if partition else ""
                for part in iterated(view.getLatestFileSlices(partition).iterator()):
                    found |= {f"{within}{name}" for name in names_in(part)}
        finally:
            view.close()
    return found & {file.path for file in files}


def paths_in_metadata_table(work: OperationRun, table: HudiTable, files: Collection[File]) -> set[str]:
    """Return the files that the metadata table lists; an empty set without a metadata table."""
    if not files or not table.meta.getTableConfig().isMetadataTableAvailable():
        return set()
    session = work.context.spark.newSession()
    rows = [(file.folder or _ROOT, file.name, file.path) for file in files]
    wanted = local_frame(session, rows, "folder STRING, name STRING, path STRING")
    with stage("The metadata table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        entries = session.read.format("hudi").load((Location.parse(table.base_path) / _METADATA_TABLE).url)
        entries = entries.where(sf.col("type") == _FILES_OF_A_PARTITION)
        listed = entries.select(sf.col("key").alias("folder"), sf.explode("filesystemMetadata").alias("name", "entry"))
        listed = listed.where(~sf.col("entry.isDeleted")).select("folder", "name")
        return {str(row["path"]) for row in wanted.join(listed, ["folder", "name"]).select("path").collect()}
