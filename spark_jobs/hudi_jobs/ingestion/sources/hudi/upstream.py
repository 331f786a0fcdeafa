"""The upstream table as Hudi's Java classes show it; nothing is written to it."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.archive import archive_files, archived_metadata, archived_rows
from hudi_jobs.commit_metadata import ERASED_KEY, OPERATION_KEY
from hudi_jobs.contract import FailureReason, HudiSource
from hudi_jobs.contract.table.properties import printable
from hudi_jobs.contract.table.zone import is_in_utc
from hudi_jobs.ingestion.sources.hudi.commits import Erasure, Look, Removal, UpstreamCommit, obstacles, removal_by
from hudi_jobs.schemas.types import column_named, plain_type
from hudi_jobs.schemas.writable import unread_partitions
from hudi_jobs.spark.failures import TaskFailed, causes_of, stage
from hudi_jobs.spark.jvm import JavaObject, classes, hadoop_configuration, schema_json
from hudi_jobs.table import HudiTable, commit_metadata, snapshot

COMMIT_TIME = "_hoodie_commit_time"
_HUDI_COLUMNS = "_hoodie_"
_READ_AS = {
    "hoodie.datasource.query.type": "snapshot",
    # A statistics index that lags behind would hide rows for good.
    "hoodie.enable.data.skipping": "false",
}
_PARTITION_PATH = "_hoodie_partition_path"
_ENCODED = "hoodie.datasource.write.partitionpath.urlencode"
_ESCAPE = "%[0-9A-Fa-f]{2}"
_DECODED = "A partition is read as another partition: "
_PROPERTIES = ("hoodie.properties", "hoodie.properties.backup")
_MOST_NAMED = 5_000
"""The most commits that a condition on rows names; with more, all rows are read."""


class Upstream:
    """A table as it was when it was opened; open it again to see later commits."""

    def __init__(self, spark: SparkSession, table: HudiTable) -> None:
        self._spark = spark
        self._table = table

    @classmethod
    def open(cls, spark: SparkSession, source: HudiSource) -> "Upstream":
        """Open the table; raise `TaskFailed` if it does not exist, or cannot be followed."""
        with looking_at(source.path):
            if not _is_there(spark, source.path):
                raise TaskFailed(
                    FailureReason.SOURCE_NOT_FOUND,
                    f"There is no Hudi table at {source.path}; create it, or correct the path.",
                )
            table = HudiTable.at(spark, source.path)
            _require_followable(table)
            return cls(spark, table)

    @property
    def name(self) -> str:
        """The name of the table in its own properties, for people."""
        return printable(self._table.properties.get("hoodie.table.name", ""))

    @property
    def is_in_utc(self) -> bool:
        """Whether the instants are known to be in UTC."""
        return is_in_utc(self._table.properties)

    def look(self) -> Look:
        """Return the timeline as it was when the table was opened, and the archive as it is now."""
        meta = self._table.meta
        commits = tuple(sorted(self._completed(meta)))
        pending = [str(one.requestedTime()) for one in _pending(meta)]
        cleans = meta.getActiveTimeline().getCleanerTimeline().filterCompletedInstants().getInstants()
        names = sorted(path.rpartition("/")[2] for path in archive_files(self._spark, meta))
        return Look(
            commits=commits,
            first_pending=min(pending, default=None),
            cleaned=frozenset(str(one.requestedTime()) for one in cleans),
            archive=hashlib.sha256("\n".join(names).encode()).hexdigest()[:32],
        )

    def _completed(self, meta: JavaObject) -> Iterator[UpstreamCommit]:
        for one in meta.getActiveTimeline().getCommitsTimeline().filterCompletedInstants().getInstants():
            completed = one.getCompletionTime()
            if one.isLegacy() or not completed:
                raise TaskFailed(
                    FailureReason.UPSTREAM_UNSUPPORTED,
                    f"The commit {one.requestedTime()} of the upstream table does not say when it completed.",
                )
            yield UpstreamCommit(str(completed), str(one.requestedTime()), str(one.getAction()))

    def archived(self, since: str, instants: Collection[str]) -> tuple[UpstreamCommit, ...]:
        """Return the archived commits that completed since then, and the commits of these instants."""
        files = archive_files(self._spark, self._table.meta)
        if not files:
            return ()
        completed = sf.coalesce("completionTime", "instantTime").alias("completed")
        wanted = (sf.col("completed") >= since) | sf.col("instantTime").isin(*instants)
        rows = archived_rows(self._spark, files).select(completed, "instantTime", "action").where(wanted)
        found = {UpstreamCommit(row[0], row[1], row[2], archived=True) for row in rows.distinct().collect()}
        return tuple(sorted(found))

    def retained_by_cleans(self, before: Look) -> Iterator[str]:
        """Yield the instant from which on each clean keeps files, for cleans not completed in a look.

        Empty if the clean does not record it, such as a clean that counts versions of files.
        """
        meta = self._table.meta
        timeline = meta.getActiveTimeline().getCleanerTimeline()
        for one in timeline.getInstants():
            instant = str(one.requestedTime())
            if instant in before.cleaned:
                continue
            if one.isCompleted():
                metadata = timeline.readCleanMetadata(one)
                if metadata.getTotalFilesDeleted():
                    yield str(metadata.getEarliestCommitToRetain() or "")
            else:
                requested = meta.getInstantGenerator().getCleanRequestedInstant(instant)
                retained = timeline.readCleanerPlan(requested).getEarliestInstantToRetain()
                yield "" if retained is None else str(retained.getTimestamp() or "")

    def removals(self, commits: Iterable[UpstreamCommit]) -> Iterator[Removal]:
        """Yield the removals of commits, by their own metadata."""
        wanted = list(commits)
        active = {one.instant for one in wanted if not one.archived}
        timeline = self._table.completed_commits()
        for instant in timeline.getInstants():
            time = str(instant.requestedTime())
            if time in active:
                metadata = commit_metadata(timeline, instant)
                kind = metadata.getOperationType()
                operation, deleted = "" if kind is None else str(kind.name()), metadata.getTotalRecordsDeleted()
                removal = removal_by(time, operation, deleted, _erased(metadata))
                if removal is not None:
                    yield removal
        yield from self._archived_removals([one.instant for one in wanted if one.archived])

    def _archived_removals(self, instants: Collection[str]) -> Iterator[Removal]:
        if not instants:
            return
        rows = archived_rows(self._spark, archive_files(self._spark, self._table.meta))
        for row in rows.where(sf.col("instantTime").isin(*instants)).toLocalIterator():
            metadata = archived_metadata(self._spark, row)
            statistics = metadata.getPartitionToWriteStats() or {}
            deleted = sum(int(each.getNumDeletes() or 0) for name in statistics for each in statistics[name])
            operation = str(metadata.getOperationType() or "")
            removal = removal_by(str(row["instantTime"]), operation, deleted, _erased(metadata))
            if removal is not None:
                yield removal

    def rows(self, commits: Collection[UpstreamCommit] | None) -> DataFrame:
        """Return the newest version of each row that one of the commits wrote last; without any commits, all rows.

        This is a snapshot, and no incremental query. An incremental query reads only the files of its commits, so that
        a losing update comes as if it had won against the row in a base file, and a partial update comes as a whole row
        (`MergeOnReadIncrementalRelationV2.listFileSplits`).
        """
        frame = _plain(snapshot(self._spark, self._table.base_path, _READ_AS))
        if commits is not None and len(commits) <= _MOST_NAMED:
            frame = frame.where(column_named(COMMIT_TIME).isin(*(one.instant for one in commits)))
        if self._table.partition_columns and self._table.properties.get(_ENCODED, "").lower() != "true":
            frame = frame.where(_is_read_as_written())
        return frame.drop(*(name for name in frame.columns if name.startswith(_HUDI_COLUMNS)))


def _is_read_as_written() -> Column:
    """Return a condition that fails for rows in a partition that readers decode although it is not encoded."""
    path = column_named(_PARTITION_PATH)
    return ~path.rlike(_ESCAPE) | sf.raise_error(sf.concat(sf.lit(_DECODED), path)).isNull()


def _erased(metadata: JavaObject) -> Erasure | None:
    """Return the erasure that a commit's metadata reports."""
    notes = metadata.getExtraMetadata() or {}
    digest = notes.get(ERASED_KEY)
    return None if digest is None else Erasure(str(digest), str(notes.get(OPERATION_KEY) or ""))


def _plain(frame: DataFrame) -> DataFrame:
    """Return the frame without any notes on its columns besides name, type and nullability."""
    described = schema_json(frame)
    plain = plain_type(described)
    if plain == described:
        return frame
    columns = zip(frame.schema.fields, StructType.fromJson(plain).fields, strict=True)
    return frame.select(*(column_named(has.name).cast(wanted.dataType).alias(has.name) for has, wanted in columns))


def looking_at(path: str) -> AbstractContextManager[None]:
    """Return a block with failures that say that the upstream table cannot be read."""
    return stage(f"The upstream table {path} cannot be read", otherwise=FailureReason.SOURCE_UNREADABLE)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Explain every failure while the rows are read."""
    with looking_at(path):
        try:
            yield
        except TaskFailed:
            raise
        except Exception as error:
            causes = causes_of(error)
            if any("FileNotFoundException" in f"{one.kind} {one.message}" for one in causes):
                raise cleaned(path) from error
            decoded = next((one.message for one in causes if _DECODED in one.message), None)
            if decoded is not None:
                raise _changed(path, decoded.partition(_DECODED)[2].splitlines()[0]) from error
            raise


def cleaned(path: str) -> TaskFailed:
    """Return the failure of a batch with files that may have gone while it was read."""
    return TaskFailed(
        FailureReason.UPSTREAM_CLEANED,
        f"The cleaning of the upstream table {path} may have removed files while they were read, so nothing was "
        "written. The next run reads them again. If this happens every time, retain more commits in the upstream "
        "table (retainCommits), or give this run more memory and processors.",
    )


def _changed(path: str, partition: str) -> TaskFailed:
    """Return the failure of a batch with a partition that readers change."""
    return TaskFailed(
        FailureReason.UPSTREAM_UNSUPPORTED,
        f"The table at {path} cannot be followed: readers of its partition {printable(partition)} decode the escape in "
        "the name, which is a part of the value, so its rows would change. Nothing was written. Let its rows be "
        f"written to a table with {_ENCODED} true, and follow that table.",
    )


def _require_followable(table: HudiTable) -> None:
    found = list(obstacles(table.properties))
    facts = table.facts()
    if not found and facts.keeps_operations:
        found = ["its rows record what was done to them (changelog.enabled of Flink), and deleted rows stay in it"]
    if not found and facts.evolution.is_marked:
        found = [
            "its columns were changed with hoodie.schema.on.read.enable, so column names in older files may "
            "mean other columns"
        ]
    found += [
        f"the unit of time of its column {one.column} differs between commits"
        for one in facts.types
        if one.unit_changed
    ]
    found += _partitions_unread(table)
    if found:
        raise TaskFailed(
            FailureReason.UPSTREAM_UNSUPPORTED,
            f"The table at {table.base_path} cannot be followed: {'; '.join(found)}.",
        )


def _partitions_unread(table: HudiTable) -> list[str]:
    """Return the partition columns that Hudi reads from the names of folders, with changed values.

    Encoded names may come from a writer with times that can be read back, but in the zone of its JVM.
    """
    columns = table.partition_columns
    schema = table.schema() if columns else None
    found = [] if schema is None else unread_partitions(schema, columns, frozenset())
    return [
        f"its partition column {one.column} {one.what} (let its rows be written to a table that is partitioned by a "
        f"text or a day made of {one.column}, and follow that table)"
        for one in found
    ]


def _is_there(spark: SparkSession, base_path: str) -> bool:
    path = classes(spark).org.apache.hadoop.fs.Path
    folder = path(base_path, ".hoodie")
    filesystem = folder.getFileSystem(hadoop_configuration(spark))
    return any(filesystem.exists(path(folder, name)) for name in _PROPERTIES)


def _pending(meta: JavaObject) -> Iterator[JavaObject]:
    return iter(meta.getCommitsAndCompactionTimeline().filterInflightsAndRequested().getInstants())
