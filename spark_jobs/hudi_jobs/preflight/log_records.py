"""Reads the records of log files one by one, unmerged.

Hudi's block reader yields a file's content. This module decides which blocks count, and their order.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.contract import RUN_KEY
from hudi_jobs.spark.jvm import JavaObject, classes, elements, engine_context, iterated, texts
from hudi_jobs.table import HudiTable, commit_metadata

_BY_LISTING = False
_VERSION_AND_LENGTH = 8
"""Bytes before a delete block's list: two numbers (`HoodieDeleteBlock.getContentBytes`)."""

_MOST_DELETES = 64 * 1024**2
"""The most bytes of deleted keys to compare."""

_BLOCKS = "file_group string, instant string, place int, is_earlier boolean"
_DELETES = "file_group string, place int, is_earlier boolean, content binary"


class NotComparable(Exception):
    """Why the original tool's view of the log files cannot be determined."""


@dataclass(frozen=True)
class LogBlock:
    """A block of a log file: rows, or `deletes`, or an instant that it `undoes`."""

    instant: str
    undoes: str | None = None
    deletes: bytes | None = None


def kept_blocks(blocks: Sequence[LogBlock], completed: Collection[str]) -> list[LogBlock]:
    """Return the blocks that a reader merges, oldest first (`AbstractHoodieLogRecordReader.scanInternal`)."""
    kept: list[LogBlock] = []
    for block in blocks:
        if block.undoes is not None:
            kept = [each for each in kept if each.instant != block.undoes]
        elif block.instant in completed:
            kept.append(block)
    return kept


@dataclass(frozen=True)
class LoggedRecords:
    """The blocks of all file slices with log files, by file group, and the operator's own instants."""

    groups: dict[str, list[LogBlock]]
    own: frozenset[str]
    """The instants written by runs of the operator."""

    def written_earlier(self, *, behind_others: bool) -> "LoggedRecords":
        """Return the file groups with another tool's block; with `behind_others`, only if it follows another block."""
        first = 1 if behind_others else 0
        found = {
            group: blocks
            for group, blocks in self.groups.items()
            if any(block.instant not in self.own for block in blocks[first:])
        }
        return LoggedRecords(found, self.own)

    def blocks(self, spark: SparkSession) -> DataFrame:
        """Return file group, instant and place of each row block."""
        rows = [
            (group, block.instant, place, block.instant not in self.own)
            for group, blocks in self.groups.items()
            for place, block in _first_of_instants(blocks)
        ]
        return spark.createDataFrame(rows, _BLOCKS)

    def deletes(self, spark: SparkSession) -> DataFrame:
        """Return the content of each delete block, as Avro of `delete_schema`."""
        rows = [
            (group, place, block.instant not in self.own, bytearray(block.deletes))
            for group, blocks in self.groups.items()
            for place, block in enumerate(blocks)
            if block.deletes is not None
        ]
        return spark.createDataFrame(rows, _DELETES)

    @property
    def has_deletes(self) -> bool:
        """Whether a block lists deletes."""
        return any(block.deletes is not None for blocks in self.groups.values() for block in blocks)

    @property
    def oldest(self) -> str:
        """The oldest instant of all blocks."""
        return min(block.instant for blocks in self.groups.values() for block in blocks)


def _first_of_instants(blocks: Sequence[LogBlock]) -> Iterator[tuple[int, LogBlock]]:
    """Yield the first row block of each instant: a write across several blocks holds a key once."""
    found: dict[str, tuple[int, LogBlock]] = {}
    for place, block in enumerate(blocks):
        if block.deletes is None:
            found.setdefault(block.instant, (place, block))
    yield from found.values()


def delete_schema(spark: SparkSession) -> str:
    """Return the Avro schema of a delete block's list."""
    return str(classes(spark).org.apache.hudi.avro.model.HoodieDeleteRecordList.getClassSchema().toString())


def wrappers(schema: str) -> list[str]:
    """Return the type names of a delete's ordering value, in the order of the union."""
    record = json.loads(schema)["fields"][0]["type"]["items"]
    kinds = next(field["type"] for field in record["fields"] if field["name"] == "orderingVal")
    return [str(kind["name"]) for kind in kinds if kind != "null"]


def logged_records(spark: SparkSession, table: HudiTable) -> LoggedRecords:
    """Read the blocks of all newest file slices, including those with a pending compaction.

    The table needs completion times that compare with instants (`with_times`).
    """
    read: dict[str, list[LogBlock]] = {}
    deletes = 0
    for part in _slices_with_logs(spark, table):
        blocks = list(_blocks(spark, table, part))
        deletes += sum(len(block.deletes) for block in blocks if block.deletes is not None)
        if deletes > _MOST_DELETES:
            raise NotComparable(f"its log files hold more than {_MOST_DELETES:,} bytes of deleted keys.")
        read[str(part.getFileId())] = blocks
    instants = {block.instant for blocks in read.values() for block in blocks}
    completed = _completed(table, instants)
    kept = {group: kept_blocks(blocks, completed) for group, blocks in read.items()}
    return LoggedRecords({group: blocks for group, blocks in kept.items() if blocks}, _own(spark, table, instants))


def _slices_with_logs(spark: SparkSession, table: HudiTable) -> Iterator[JavaObject]:
    completed = table.meta.getActiveTimeline().getWriteTimeline().filterCompletedInstants().lastInstant()
    if not completed.isPresent():
        return
    newest, fs = str(completed.get().requestedTime()), classes(spark).org.apache.hudi.common.fs.FSUtils
    partitions = fs.getAllPartitionPaths(engine_context(spark), table.meta, _BY_LISTING)
    with closing(table.listed_view()) as view:
        view.loadPartitions(partitions)
        for partition in elements(partitions):
            for part in iterated(view.getLatestMergedFileSlicesBeforeOrOn(str(partition), newest).iterator()):
                if part.hasLogFiles():
                    yield part


def _blocks(spark: SparkSession, table: HudiTable, part: JavaObject) -> Iterator[LogBlock]:
    """Yield the blocks of a slice in merge order."""
    common = classes(spark).org.apache.hudi.common
    order = common.model.HoodieLogFile.getLogFileComparator()
    for file in iterated(part.getLogFiles().sorted(order).iterator()):
        with closing(common.table.log.HoodieLogFormat.newReader(table.meta.getStorage(), file, None)) as reader:
            for block in iterated(reader):
                if (found := _block(spark, table, block)) is not None:
                    yield found


def _block(spark: SparkSession, table: HudiTable, block: JavaObject) -> LogBlock | None:
    """Return a block, or None for a damaged block, which every reader skips."""
    kind = str(block.getBlockType().name())
    if kind == "CORRUPT_BLOCK":
        return None
    header = texts(spark, block.getLogBlockHeader())
    instant = header["INSTANT_TIME"]
    if "COMPACTED_BLOCK_TIMES" in header:
        raise NotComparable(f"a log file holds blocks of the log compaction {instant[:32]}, which 0.x reads otherwise.")
    if kind == "COMMAND_BLOCK":
        return LogBlock(instant, undoes=header["TARGET_INSTANT_TIME"])
    if kind == "DELETE_BLOCK":
        block.getRecordsToDelete()  # from here on, its content is rewritten in the newest form
        content = bytes(block.getContentBytes(table.meta.getStorage()).toByteArray())
        return LogBlock(instant, deletes=content[_VERSION_AND_LENGTH:])
    return LogBlock(instant)


def _completed(table: HudiTable, instants: Collection[str]) -> set[str]:
    """Return the instants visible to readers: completed, or older than the active timeline."""
    timeline = table.meta.getCommitsTimeline()
    done, begun = timeline.filterCompletedInstants(), timeline.filterInflights()
    return {each for each in instants if done.containsOrBeforeTimelineStarts(each) and not begun.containsInstant(each)}


def _own(spark: SparkSession, table: HudiTable, instants: Collection[str]) -> frozenset[str]:
    """Return the instants written by runs of the operator; archived instants are unknown."""
    timeline = table.completed_commits()
    found = set()
    for each in elements(timeline.getInstants()):
        instant = str(each.requestedTime())
        if instant in instants and RUN_KEY in texts(spark, commit_metadata(timeline, each).getExtraMetadata()):
            found.add(instant)
    return frozenset(found)
