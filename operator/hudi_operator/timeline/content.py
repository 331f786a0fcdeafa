"""What is inside timeline files: JSON in layout 1's completed commits, Avro everywhere else.

Follows `CommitMetadataSerDeV1`/`V2`. The first bytes of a file decide, so that files which an upgrade renamed
but did not rewrite are read as what they are. An empty file is legal and means a record of defaults.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from hudi_operator.timeline.errors import CorruptContent
from hudi_operator.timeline.model import CleanSummary

AVRO_MAGIC = b"Obj\x01"
CLUSTER = "CLUSTER"
# `CleanerUtils.SAVEPOINTED_TIMESTAMPS`
_SAVEPOINTS = "savepointed_timestamps"

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteStat:
    """What one write did to one file (`HoodieWriteStat`). Sizes are bytes.

    `path` is relative to the base path. `base_file` and `log_files` are names; `base_file` is None for most
    log writes.
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
    """What a completed commit, deltacommit or replacecommit says.

    Hudi calls it `HoodieCommitMetadata` or `HoodieReplaceCommitMetadata`.

    `operation` is Hudi's `WriteOperationType` in capitals, or None where the writer left it out.
    """

    operation: str | None = None
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    write_stats: tuple[WriteStat, ...] = ()
    replaced_file_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    compacted: bool = False


def decode(data: bytes) -> Record | None:
    """Decode one timeline file, or return None if it is empty. Raises `CorruptContent` for anything else."""
    if not data:
        return None
    if data.startswith(AVRO_MAGIC):
        return _decode_avro(data)
    if data.lstrip()[:1] == b"{":
        return _decode_json(data)
    raise CorruptContent("the content is neither JSON nor an Avro file")


def operation_type(record: Record | None) -> str | None:
    """Return the operation type that a commit or a requested replace names, if it names one."""
    return _text_field(record, "operationType")


def clean_summary(record: Record | None) -> CleanSummary:
    """Return how far a completed clean went. Raises `CorruptContent` if a field has the wrong shape."""
    extra = (record or {}).get("extraMetadata") or {}
    if not isinstance(extra, Mapping):
        raise CorruptContent("extraMetadata is no map")
    return CleanSummary(
        last_completed_commit=_text_field(record, "lastCompletedCommitTimestamp") or "",
        earliest_retained=(_text_field(record, "earliestCommitToRetain") or "").strip(),
        savepoints=tuple(time for time in (_text_field(extra, _SAVEPOINTS) or "").split(",") if time),
    )


def _text_field(record: Record | None, name: str) -> str | None:
    """Return a field that must hold text or nothing. Raises `CorruptContent` otherwise."""
    value = (record or {}).get(name)
    if value is not None and not isinstance(value, str):
        raise CorruptContent(f"{name} is no text")
    return value


def commit_metadata(record: Record | None) -> CommitMetadata:
    """Turn a decoded commit into values. Raises `CorruptContent` if a field has the wrong shape."""
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
    except (AttributeError, TypeError, ValueError) as error:
        raise CorruptContent(f"the commit metadata has an unexpected shape: {error}") from error


def _mapping(record: Record, name: str) -> Record:
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is no map")
    return value


def _write_stat(stat: Record, partition: str) -> WriteStat:
    path = stat.get("path") or ""
    # Layout 1's JSON names the log files only in a delta write's `path`.
    log_files = tuple(str(name) for name in stat.get("logFiles") or ())
    return WriteStat(
        file_id=stat.get("fileId") or "",
        path=path,
        partition=str(stat.get("partitionPath") or partition),
        previous_commit=stat.get("prevCommit"),
        base_file=stat.get("baseFile"),
        log_files=log_files,
        file_size=int(stat.get("fileSizeInBytes") or 0),
        written_bytes=int(stat.get("totalWriteBytes") or 0),
        writes=int(stat.get("numWrites") or 0),
        inserts=int(stat.get("numInserts") or 0),
        updates=int(stat.get("numUpdateWrites") or 0),
        deletes=int(stat.get("numDeletes") or 0),
        errors=int(stat.get("totalWriteErrors") or 0),
    )


def _decode_json(data: bytes) -> Record:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CorruptContent(f"the JSON is damaged: {error}") from error
    if not isinstance(value, dict):
        raise CorruptContent("the JSON is no object")
    return value


def _decode_avro(data: bytes) -> Record:
    import fastavro  # noqa: PLC0415 - costs tens of milliseconds, and many looks read no Avro at all

    try:
        records = fastavro.reader(BytesIO(data))
        record = next(records)
    except StopIteration as error:
        raise CorruptContent("the Avro file holds no record") from error
    except Exception as error:  # on damaged bytes the library raises whatever its parts raise
        raise CorruptContent(f"the Avro file is damaged: {type(error).__name__} {error}".rstrip()) from error
    if not isinstance(record, dict):
        raise CorruptContent("the Avro file holds no record")
    return record
