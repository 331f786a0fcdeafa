"""Reads a table's archive in the layout set in its properties: layout 1 here, layout 2 in its own module.

Layout 1's archive: Hudi log files with Avro blocks of entries (`ArchivedTimelineLoaderV1`).
"""

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO

from hudi_jobs.contract import Location
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline.archive.parts import (
    INSTANTS_LIMIT,
    ArchiveDamaged,
    ArchivedTimeline,
    Found,
    archived_instant,
    beyond_the_limit,
    read_part,
)
from hudi_operator.timeline.avro.records import read_datum
from hudi_operator.timeline.files.names import FAMILIES, RANKS
from hudi_operator.timeline.files.reading import as_unreadable
from hudi_operator.timeline.model import Action, CorruptContent, Instant, Layout, Problem, TableProperties

_FILE = re.compile(r"^\.commits_\.archive\.(\d+)")
_MAGIC = b"#HUDI#"
# `HoodieLogBlock.HoodieLogBlockType` and `HeaderMetadataType`, by ordinal.
_AVRO_BLOCK = 3
_SCHEMA_HEADER = 2
_FIELDS = frozenset({"commitTime", "actionType", "actionState"})


def read_log_archive(filesystem: FileSystem, folder: Location, names: Sequence[str]) -> Found:
    """Read the completed entries of every archive file.

    An instant has an entry for each of its states, but only
    completed instants are archived: a lone earlier state only shows that a block is missing.
    """
    instants: list[Instant] = []
    problems: list[Problem] = []
    for name in sorted((name for name in names if _FILE.match(name)), key=_sequence):
        try:
            data = read_part(filesystem, folder, name)
        except ArchiveDamaged as error:
            problems.append(Problem(name, f"The archive file cannot be read: {error}."))
            continue
        if len(instants) > INSTANTS_LIMIT:
            problems.append(beyond_the_limit(name))
            break
        for block in _blocks(data):
            try:
                instants.extend(_instants(block))
            except ArchiveDamaged as error:
                problems.append(
                    Problem(name, f"A block of the archive file is damaged, its instants are missing: {error}.")
                )
    return instants, problems


def _sequence(name: str) -> int:
    match = _FILE.match(name)
    return int(match.group(1)) if match else 0


def _blocks(data: bytes) -> Iterator[bytes]:
    """Split a log file at its block sizes; after damage, continue at the next magic (`HoodieLogFileReader`)."""
    position = data.find(_MAGIC)
    while position >= 0:
        start = position + len(_MAGIC) + 8
        size = int.from_bytes(data[start - 8 : start], "big", signed=True)
        end = start + size
        whole = size >= 0 and end <= len(data) and (end == len(data) or data.startswith(_MAGIC, end))
        following = end if whole else data.find(_MAGIC, start)
        yield data[start : following if following >= 0 else len(data)]
        position = data.find(_MAGIC, following) if following >= 0 else -1


def _instants(block: bytes) -> list[Instant]:
    try:
        return _entries(BytesIO(block), limit=len(block))
    except (CorruptContent, struct.error, KeyError) as error:
        raise ArchiveDamaged(f"{type(error).__name__} {error}".rstrip()) from error


def _entries(source: BytesIO, *, limit: int) -> list[Instant]:
    """Take a block apart: format version, type, header, length, content (`HoodieAvroDataBlock`)."""
    _, kind = _integers(source, ">ii")
    if kind != _AVRO_BLOCK:
        return []
    schema = _header(source).get(_SCHEMA_HEADER)
    if schema is None:
        raise ArchiveDamaged("it has no schema")
    _integers(source, ">qi")
    (count,) = _integers(source, ">i")
    payloads = [_take(source, _integers(source, ">i")[0]) for _ in range(_bounded(count, limit))]
    records = (read_datum(payload, schema, _FIELDS) for payload in payloads)
    return [instant for record in records if (instant := _instant(record)).is_completed]


def _header(source: BytesIO) -> dict[int, bytes]:
    (entries,) = _integers(source, ">i")
    header: dict[int, bytes] = {}
    for _ in range(_bounded(entries, 64)):
        key, size = _integers(source, ">ii")
        header[key] = _take(source, size)
    return header


def _integers(source: BytesIO, layout: str) -> tuple[int, ...]:
    return struct.unpack(layout, source.read(struct.calcsize(layout)))


def _take(source: BytesIO, size: int) -> bytes:
    data = source.read(size) if size >= 0 else b""
    if len(data) != size:
        raise ArchiveDamaged("it ends early")
    return data


def _bounded(count: int, limit: int) -> int:
    if not 0 <= count <= limit:
        raise ArchiveDamaged(f"a count of {count} is not valid")
    return count


def _instant(record: object) -> Instant:
    if not isinstance(record, dict):
        raise ArchiveDamaged("an entry is not a record")
    # The first releases archived only completed instants and wrote no state.
    return archived_instant(record["commitTime"], record["actionType"], record.get("actionState") or "COMPLETED", None)


def read_archive(filesystem: FileSystem, base: Location, properties: TableProperties) -> ArchivedTimeline:
    """Read the archived timeline of a table; it is empty for a table without an archive.

    Raises `TableUnreadable` if the store does not answer; damaged files become problems.
    """
    folder = base / properties.archive_path
    try:
        names = filesystem.list_directory(folder.path).names
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return ArchivedTimeline(())
        raise as_unreadable(error) from error
    if properties.layout is Layout.ONE:
        found, problems = read_log_archive(filesystem, folder, names)
    else:
        from hudi_operator.timeline.archive.v2 import read_lsm_history  # noqa: PLC0415 - loads pyarrow

        found, problems = read_lsm_history(filesystem, folder, names)
    relative = tuple(Problem(f"{properties.archive_path}/{problem.file}", problem.reason) for problem in problems)
    return ArchivedTimeline(_highest_states(found), tuple(sorted(set(relative))))


def _highest_states(instants: Iterable[Instant]) -> tuple[Instant, ...]:
    best: dict[tuple[str, Action], Instant] = {}
    for instant in instants:
        key = (instant.time, FAMILIES.get(instant.action, instant.action))
        known = best.get(key)
        if known is None or RANKS[instant.state] > RANKS[known.state]:
            best[key] = instant
    return tuple(best[key] for key in sorted(best))
