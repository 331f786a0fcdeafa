"""The Hudi table as described by its own metadata, read with Hudi's Java classes in the zone of its instants.

Opening the table inside the zone is enough. Its timeline is loaded then, and files listed later, when rows are
computed, are ordered by the loaded times.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from hudi_jobs.archive import newest_archived_note
from hudi_jobs.clock import completions_in_order
from hudi_jobs.contract import FailureReason, Service, TableDefinition, differences, differences_message
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.contract.table.facts import COMMITS_ASKED, TableFacts, facts_of
from hudi_jobs.contract.table.properties import partition_columns_of
from hudi_jobs.contract.table.schema_history import HISTORY_FOLDER, HISTORY_LIMIT, MARK, newest_history_file
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.filesystem import Folder, delete_whole, located, statuses_below
from hudi_jobs.spark.jvm import (
    JavaObject,
    classes,
    elements,
    engine_context,
    hadoop_configuration,
    input_files,
    iterated,
    texts,
)

REPLACE_ACTION = "replacecommit"

_PROPERTIES = "hoodie.properties"
_META_FOLDER = ".hoodie"
_SCHEMA = "schema"
_RECORD_INDEX = "record_index"
_LAYOUT_OF_HISTORY = 2
_WITHOUT_INSTANTS = False
_ARCHIVED_PAGE = 500
_WITH_HUDI_COLUMNS = False
_LATEST_STATE_ALONE = False


@dataclass(frozen=True)
class Commit:
    """A completed commit: its instant time and its notes."""

    instant: str
    notes: dict[str, str]


class HudiTable:
    """An existing table as of its opening; open it again to see later commits."""

    def __init__(self, spark: SparkSession, meta: JavaObject) -> None:
        self._spark = spark
        self._meta = meta

    @classmethod
    def open(cls, spark: SparkSession, base_path: str) -> "HudiTable | None":
        """Open the table at a path, or return None if it does not exist."""
        return cls.at(spark, base_path) if cls.exists(spark, base_path) else None

    @classmethod
    def exists(cls, spark: SparkSession, base_path: str) -> bool:
        """Tell whether there is a table at a path.

        A driver killed while Hudi created the table leaves folders without files. Hudi would treat them as a table and
        fail for ever, so they are removed: the table must be the task's own.
        """
        filesystem, folder = located(spark, base_path, _META_FOLDER)
        # A listing can fail while another writer removes files, so an existing table is not listed.
        if not filesystem.exists(classes(spark).org.apache.hadoop.fs.Path(folder, _PROPERTIES)):
            if not filesystem.exists(folder):
                return False
            if next(statuses_below(filesystem, folder), None) is None:
                delete_whole(spark, filesystem, folder)
                return False
        return True

    @classmethod
    def existing(cls, spark: SparkSession, base_path: str) -> "HudiTable":
        """Open a table known to exist."""
        table = cls.open(spark, base_path)
        assert table is not None, "a table does not vanish"
        return table

    @classmethod
    def at(cls, spark: SparkSession, base_path: str) -> "HudiTable":
        """Open the table at a path without changing anything."""
        jvm, configuration = classes(spark), hadoop_configuration(spark)
        storage = jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(configuration)
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        meta = builder.setConf(storage).setBasePath(base_path).setLoadActiveTimelineOnLoad(True).build()
        return cls(spark, meta)

    @property
    def meta(self) -> JavaObject:
        """Hudi's `HoodieTableMetaClient`, with the active timeline as of opening."""
        return self._meta

    @property
    def version(self) -> int:
        """The table's version, which decides who can read and write it."""
        return int(self._meta.getTableConfig().getTableVersion().versionCode())

    @cached_property
    def properties(self) -> dict[str, str]:
        """The content of `hoodie.properties`."""
        return texts(self._spark, self._meta.getTableConfig().getProps())

    @property
    def base_path(self) -> str:
        """The table's location."""
        return str(self._meta.getBasePath().toString())

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns that form partitions."""
        return partition_columns_of(self.properties)

    def has_partitioned_record_index(self) -> bool:
        """Tell whether the metadata table's record index treats keys as unique only within their partition."""
        indexes = self._meta.getIndexMetadata()
        if not indexes.isPresent() or not indexes.get().getIndexDefinitions().containsKey(_RECORD_INDEX):
            return False
        options = indexes.get().getIndexDefinitions().get(_RECORD_INDEX).getIndexOptions()
        return str(options.get("isPartitioned")) == "true"

    def require(self, definition: TableDefinition, service: Service) -> None:
        """Raise `TaskFailed` if the table differs from its declaration, or has features a service cannot honour.

        The zone is checked where an instant is made (`instants_in_order`).
        """
        ingests = service is Service.INGESTION
        differing = differences(self.properties, definition, ingests=ingests, facts=self.facts())
        found = [one for one in differing if service in one.refuses]
        if found:
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"The table at {definition.base_path} is not as declared. {differences_message(found)}",
            )

    def facts(self) -> TableFacts:
        """Return the table's facts outside its properties, except its instants' zone."""
        timeline = self.completed_commits()
        newest = islice(iterated(timeline.getReverseOrderedInstantsByCompletionTime().iterator()), COMMITS_ASKED)
        notes = [commit_metadata(timeline, one).getExtraMetadata() for one in newest]
        found = facts_of(
            schemas=[str(one[_SCHEMA]) for one in notes if one.get(_SCHEMA)],
            is_marked=any(one.get(MARK) for one in notes),
            history=self._schema_history(),
        )
        # If a table's commits hold no schema, a data file tells.
        return replace(found, keeps_operations=found.keeps_operations or bool(self._resolver().hasOperationField()))

    def _schema_history(self) -> str | None:
        """Return the newest file of the schema history; empty if too large, None if none exists."""
        filesystem, folder = located(self._spark, self.base_path, HISTORY_FOLDER)
        if not filesystem.exists(folder):
            return None
        sizes = {str(each.getPath().getName()): int(each.getLen()) for each in filesystem.listStatus(folder)}
        newest = newest_history_file(sizes)
        if newest is None or sizes[newest] > HISTORY_LIMIT:
            return None if newest is None else ""
        stream = filesystem.open(classes(self._spark).org.apache.hadoop.fs.Path(folder, newest))
        try:
            return str(classes(self._spark).org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def schema(self) -> StructType | None:
        """Return the newest schema without Hudi's own columns, or None before the first commit."""
        found = self._schema()
        if not found.isPresent():
            return None
        utilities = classes(self._spark).org.apache.hudi.HoodieSchemaConversionUtils
        return StructType.fromJson(json.loads(utilities.convertHoodieSchemaToStructType(found.get()).json()))

    @property
    def has_schema(self) -> bool:
        """Whether any commit has recorded a schema."""
        return bool(self._schema().isPresent())

    def _schema(self) -> JavaObject:
        return self._resolver().getTableSchemaIfPresent(_WITH_HUDI_COLUMNS)

    def _resolver(self) -> JavaObject:
        return classes(self._spark).org.apache.hudi.common.table.TableSchemaResolver(self._meta)

    def listed_view(self) -> JavaObject:
        """Return Hudi's view of the files from folder listings; the caller closes it.

        Slices of a pending compaction include their base. In layout 1 they match a reader's view if the table was
        opened with `reading.with_times`.
        """
        views = classes(self._spark).org.apache.hudi.common.table.view.HoodieTableFileSystemView
        timeline = self._meta.getActiveTimeline().getWriteTimeline().filterCompletedAndCompactionInstants()
        return views.fileListingBasedFileSystemView(engine_context(self._spark), self._meta, timeline)

    def times_of_requests(self, *actions: str) -> dict[str, str]:
        """Return the store's times of requests of these actions, by instant; empty in layout 2.

        In layout 1 the store's clock records when an instant completed, and it may differ from the drivers' clock,
        which names instants. A request's file was written by the same clock, after the time in its name.
        """
        if self.version >= LAYOUT_2_FROM:
            return {}
        return self.times_of_pending(*(f"{action}.requested" for action in actions))

    def times_of_pending(self, *endings: str) -> dict[str, str]:
        """Return the store's times of instant files with these endings, by instant."""
        kinds = classes(self._spark).java.util.HashSet([f".{each}" for each in endings])
        found = self._meta.scanHoodieInstantsFromFileSystem(self._meta.getTimelinePath(), kinds, _LATEST_STATE_ALONE)
        return {str(each.requestedTime()): str(each.getCompletionTime()) for each in elements(found)}

    def commits(self) -> Iterator[Commit]:
        """Yield the completed commits of the active timeline, newest completion first, read lazily."""
        yield from self._read(self.completed_commits())

    def commits_by_request(self) -> Iterator[Commit]:
        """Yield the commits as `commits` does, newest request first.

        In layout 1 a file's time is the commit's completion, and a copy of the table has other times.
        """
        timeline = self.completed_commits()
        yield from self._each(timeline, timeline.getReverseOrderedInstants())

    def completed_commits(self) -> JavaObject:
        """Return the completed commits of the active timeline, as a timeline of Hudi."""
        return self._meta.getActiveTimeline().getCommitsTimeline().filterCompletedInstants()

    def _archived_commits(self) -> Iterator[Commit]:
        """Yield the completed commits of a layout-1 archive, newest first.

        `loadCompletedInstantDetailsInMemory()` would hold the metadata of all commits at once, so they are loaded page
        by page.
        """
        timelines = classes(self._spark).org.apache.hudi.common.table.timeline.versioning.v1
        archived = self._meta.getArchivedTimeline().getCommitsTimeline().filterCompletedInstants().getInstants()
        times = sorted({str(each.requestedTime()) for each in elements(archived)}, reverse=True)
        for first in range(0, len(times), _ARCHIVED_PAGE):
            page = times[first : first + _ARCHIVED_PAGE]
            loaded = timelines.ArchivedTimelineV1(self._meta, _WITHOUT_INSTANTS)
            loaded.loadCompletedInstantDetailsInMemory(page[-1], page[0])
            yield from self._read(loaded.getCommitsTimeline().filterCompletedInstants())

    def _read(self, timeline: JavaObject) -> Iterator[Commit]:
        return self._each(timeline, timeline.getReverseOrderedInstantsByCompletionTime())

    def _each(self, timeline: JavaObject, instants: JavaObject) -> Iterator[Commit]:
        for instant in iterated(instants.iterator()):
            notes = texts(self._spark, commit_metadata(timeline, instant).getExtraMetadata())
            yield Commit(str(instant.requestedTime()), {key: notes[key] for key in notes.keys() - {"schema"}})

    def archived_note(self, key: str) -> str | None:
        """Return the value of this key in the newest archived commit that has it.

        Other tools' commits lack our notes, so older commits are searched.
        """
        layout = self._meta.getTableConfig().getTimelineLayoutVersion()
        if layout.isPresent() and int(layout.get().getVersion()) == _LAYOUT_OF_HISTORY:
            return newest_archived_note(self._spark, self._meta, key)
        return next((commit.notes[key] for commit in self._archived_commits() if key in commit.notes), None)

    def active_note(self, key: str) -> str | None:
        """Return the value of this key in the newest active commit that has it."""
        return next((commit.notes[key] for commit in self.commits() if key in commit.notes), None)

    def newest_commit_notes(self, key: str) -> bool:
        """Tell whether the newest completed commit has this key; another tool's commit has none of ours."""
        newest = next(self.commits(), None)
        return newest is not None and key in newest.notes

    def find_commit(self, notes: dict[str, str]) -> str | None:
        """Return the instant of the newest completed commit with all these notes."""
        return next((commit.instant for commit in self.commits() if notes.items() <= commit.notes.items()), None)


def commit_metadata(timeline: JavaObject, instant: JavaObject) -> JavaObject:
    """Return a completed commit's metadata: `HoodieReplaceCommitMetadata` for a replace, else its base class."""
    replaces = str(instant.getAction()) == REPLACE_ACTION
    read = timeline.readReplaceCommitMetadata if replaces else timeline.readCommitMetadata
    return read(instant)


def names_in(file_slice: JavaObject) -> Iterator[str]:
    """Yield the names of a slice's base file, if any, and of its log files."""
    base = file_slice.getBaseFile()
    if base.isPresent():
        yield str(base.get().getFileName())
    yield from (str(each.getFileName()) for each in iterated(file_slice.getLogFiles().iterator()))


def saved_files(timeline: JavaObject, instant: str | None = None) -> set[str]:
    """Return the files kept by a timeline's completed savepoints, or by a single one, as paths below the table."""
    found: set[str] = set()
    for each in elements(timeline.getSavePointTimeline().filterCompletedInstants().getInstants()):
        if instant in {None, str(each.requestedTime())}:
            for part in timeline.readSavepointMetadata(each).getPartitionMetadata().values():
                within = f"{part.getPartitionPath()}/".removeprefix("/")
                found |= {within + str(name).rpartition("/")[2] for name in elements(part.getSavepointDataFile())}
    return found


_NAMED_LIMIT = 300


@contextmanager
def with_times(spark: SparkSession, table: HudiTable, options: Mapping[str, str]) -> Iterator[HudiTable]:
    """Yield a table with completion times that compare with instants; reopened in layout 1."""
    if table.version >= LAYOUT_2_FROM:  # the open table knows its version, so no file is read again
        yield table
        return
    with completions_in_order(spark, table.base_path, options) as are_of_files:
        yield HudiTable.existing(spark, table.base_path) if are_of_files else table


def read_rows(spark: SparkSession, base_path: str, options: Mapping[str, str], **how: str) -> DataFrame:
    """Return the rows of a table as a reader sees them, with Hudi's own columns.

    `options` are the task's, and `how` are options of the read.
    """
    with completions_in_order(spark, base_path, options):
        return snapshot(spark, base_path, how)


def snapshot(spark: SparkSession, base_path: str, options: Mapping[str, str]) -> DataFrame:
    """Return a table as Hudi reads it; raise `TaskFailed` if its metadata names a file outside its folder."""
    frame = spark.read.format("hudi").options(**options).load(base_path)
    folder = Folder(base_path)
    stranger = next((path for path in input_files(frame) if not folder.holds("", path)), None)
    if stranger is not None:
        raise TaskFailed(
            FailureReason.PATH_OUTSIDE_TABLE,
            f"The metadata of {base_path} puts the file {stranger[:_NAMED_LIMIT]!a} outside the table, so no row was "
            "read. Find out who wrote the metadata.",
        )
    return frame
