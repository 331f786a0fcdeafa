"""Decodes timeline files: JSON in layout 1's completed commits, Avro everywhere else.

Follows `CommitMetadataSerDeV1`/`V2`. The first bytes of a file decide the format, so files that an upgrade renamed
without rewriting are read correctly. An empty file is legal and means a record of defaults.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hudi_operator.timeline.avro.records import KEPT_LIMIT, MAGIC, read_avro
from hudi_operator.timeline.cache import memory_of
from hudi_operator.timeline.content.skim import WHOLE_LIMIT, skim_json
from hudi_operator.timeline.model import CleanSummary, CorruptContent, TooMuchKept

CLUSTER = "CLUSTER"
# `CleanerUtils.SAVEPOINTED_TIMESTAMPS`
_SAVEPOINTS = "savepointed_timestamps"

_STATISTICS = frozenset(
    {
        *("partitionToWriteStats", "partitionToReplaceFileIds"),
        *("fileId", "path", "partitionPath", "prevCommit", "baseFile", "logFiles", "fileSizeInBytes"),
        *("totalWriteBytes", "numWrites", "numInserts", "numUpdateWrites", "numDeletes", "totalWriteErrors"),
    }
)
_MARKS = frozenset({"operationType", "extraMetadata", "compacted"})
COMMIT_FIELDS = _MARKS | _STATISTICS
"""The fields to read from a commit."""

OPERATION_FIELDS = frozenset({"operationType"})
"""The field that tells a clustering from an overwrite."""

CLEAN_FIELDS = frozenset({"lastCompletedCommitTimestamp", "earliestCommitToRetain", "extraMetadata"})
"""The fields that say how far a clean went."""

_STATISTICS_LIMIT = 6 * 2**20
"""The memory limit for a commit's statistics, in bytes: about 7,000 files. The cache holds ten of these."""

_LARGEST = 2**63 - 1

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteStat:
    """The changes of a write to a file (`HoodieWriteStat`). Sizes are bytes.

    `path` is relative to the base path. `base_file` and `log_files` are names; `base_file` is None for most log writes.
    """

    file_id: str
    path: str
    partition: str
    previous_commit: str | None = None
    base_file: str | None = None
    log_files: tuple[str, ...] = ()
    file_size: int = 0
    written_bytes: int = 0
    writes: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """The metadata of a completed commit, deltacommit or replacecommit.

    Hudi calls it `HoodieCommitMetadata` or `HoodieReplaceCommitMetadata`.

    `operation` is Hudi's `WriteOperationType` in capitals, or None where the writer left it out. For a commit with very
    many files, `complete` is False and `write_stats` and `replaced_file_ids` are empty.
    """

    operation: str | None = None
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    write_stats: tuple[WriteStat, ...] = ()
    replaced_file_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    compacted: bool = False
    complete: bool = True

    @property
    def memory(self) -> int:
        """The approximate memory of the values, in bytes."""
        stats = sum(700 + len(one.path) + len(one.file_id) + 100 * len(one.log_files) for one in self.write_stats)
        replaced = sum(100 + len(one) for group in self.replaced_file_ids.values() for one in group)
        return 500 + stats + memory_of(self.extra_metadata) + replaced


def decode(data: bytes, wanted: frozenset[str]) -> Record | None:
    """Decode the wanted fields of a timeline file, or return None if it is empty.

    Fields are wanted at any depth; a small JSON file returns all of them. Raises `CorruptContent` for any other format,
    and `ContentTooLarge` beyond the limits of memory and time.
    """
    if not data:
        return None
    if data.startswith(MAGIC):
        return read_avro(data, wanted)
    if data[:64].lstrip()[:1] == b"{":
        return _decode_json(data) if len(data) <= WHOLE_LIMIT else skim_json(data, wanted, kept=KEPT_LIMIT)
    raise CorruptContent("the content is neither JSON nor an Avro file")


def operation_type(record: Record | None) -> str | None:
    """Return the operation type of a commit or a requested replace, or None."""
    return _text_field(record, "operationType")


def clean_summary(record: Record | None) -> CleanSummary:
    """Return how far a completed clean went. Raises `CorruptContent` if a field has the wrong shape."""
    extra = (record or {}).get("extraMetadata") or {}
    if not isinstance(extra, Mapping):
        raise CorruptContent("extraMetadata is not a map")
    return CleanSummary(
        last_completed_commit=_text_field(record, "lastCompletedCommitTimestamp") or "",
        earliest_retained=(_text_field(record, "earliestCommitToRetain") or "").strip(),
        savepoints=tuple(time for time in (_text_field(extra, _SAVEPOINTS) or "").split(",") if time),
    )


def _text_field(record: Record | None, name: str) -> str | None:
    """Return a text field, or None if it is missing. Raises `CorruptContent` for any other type."""
    value = (record or {}).get(name)
    if value is not None and not isinstance(value, str):
        raise CorruptContent(f"{name} is not text")
    return value


def read_commit(data: bytes) -> CommitMetadata:
    """Decode a commit's file. Raises `CorruptContent` if the content is damaged."""
    try:
        whole = commit_metadata(decode(data, COMMIT_FIELDS))
    except TooMuchKept:
        return replace(commit_metadata(decode(data, _MARKS)), complete=False)
    if whole.memory <= _STATISTICS_LIMIT:
        return whole
    return replace(whole, write_stats=(), replaced_file_ids={}, complete=False)


def commit_metadata(record: Record | None) -> CommitMetadata:
    """Convert a decoded commit into values. Raises `CorruptContent` if a field has the wrong shape."""
    if record is None:
        return CommitMetadata()
    try:
        stats = tuple(
            _write_stat(stat, partition)
            for partition, group in _mapping(record, "partitionToWriteStats").items()
            for stat in group or ()
            if stat is not None
        )
        replaced = {
            str(partition): tuple(str(file_id) for file_id in file_ids or ())
            for partition, file_ids in _mapping(record, "partitionToReplaceFileIds").items()
        }
        extra = {str(key): str(value) for key, value in _mapping(record, "extraMetadata").items() if value is not None}
        return CommitMetadata(operation_type(record), extra, stats, replaced, bool(record.get("compacted")))
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise CorruptContent(f"the commit metadata has an unexpected shape: {error}") from error


def _mapping(record: Record, name: str) -> Record:
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is not a map")
    return value


def _write_stat(stat: Record, partition: str) -> WriteStat:
    path = str(stat.get("path") or "")
    # Layout 1's JSON names the log files only in a delta write's `path`.
    log_files = tuple(str(name) for name in stat.get("logFiles") or ())
    return WriteStat(
        file_id=str(stat.get("fileId") or ""),
        path=path,
        partition=str(stat.get("partitionPath") or partition),
        previous_commit=stat.get("prevCommit"),
        base_file=stat.get("baseFile"),
        log_files=log_files,
        file_size=_number(stat.get("fileSizeInBytes")),
        written_bytes=_number(stat.get("totalWriteBytes")),
        writes=_number(stat.get("numWrites")),
        inserts=_number(stat.get("numInserts")),
        updates=_number(stat.get("numUpdateWrites")),
        deletes=_number(stat.get("numDeletes")),
        errors=_number(stat.get("totalWriteErrors")),
    )


def _number(value: Any) -> int:  # noqa: ANN401 - JSON
    number = int(value or 0)
    if abs(number) > _LARGEST:
        raise ValueError("a number is too large")
    return number


def _decode_json(data: bytes) -> Record:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CorruptContent(f"the JSON is damaged: {error}") from error
    if not isinstance(value, dict):
        raise CorruptContent("the JSON is not an object")
    return value
