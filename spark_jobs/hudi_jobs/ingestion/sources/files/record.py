"""The record of every read file: sorted fingerprints in immutable segments, in files of the table's own folder.

A fingerprint identifies a version of a file: its path in the store, with a single spelling of the store's scheme, its
modification time and its size. So it does not matter which source found the file. Segments are merged in tiers, each at
least twice as large as the next, so that a table has few segments and a run writes little.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from struct import Struct

from pyspark.sql import SparkSession

from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, store_of
from hudi_jobs.ingestion.checkpoint import expired
from hudi_jobs.ingestion.sources.files.selection import SourceFile
from hudi_jobs.spark.failures import TaskFailed, causes_of, stage
from hudi_jobs.spark.jvm import JavaObject, classes, hadoop_configuration

MOST_FINGERPRINTS = 4_000_000
"""40 MB. Beyond it, the record forgets files that the source no longer holds."""

SMALL_SEGMENT = 4_096
"""The most fingerprints of a segment that is always merged: a request of 40 kB costs as much as a request of 40 bytes.
"""

_GROWTH = 2
_PRINT = Struct("10s")
_HEADER = Struct(">8sQ")
_MAGIC = b"hudifls1"
_NAME = re.compile(r"[0-9]{12}-[A-Za-z0-9-]{1,64}-[0-9a-f]{16}")


@dataclass(frozen=True)
class Segment:
    """A file of the record as the checkpoint names it."""

    name: str
    count: int
    checksum: str

    def __post_init__(self) -> None:
        sound = _NAME.fullmatch(self.name) and 0 < self.count <= MOST_FINGERPRINTS and len(self.checksum) == 64
        if not sound:
            raise ValueError(self.name)

    @property
    def length(self) -> int:
        """The bytes of the file."""
        return _HEADER.size + self.count * _PRINT.size

    @property
    def sequence(self) -> int:
        """The sequence of the checkpoint that the file was written for."""
        return sequence_of_name(self.name)


@dataclass(frozen=True)
class LoadedSegment:
    """A segment with its sorted fingerprints in a row."""

    segment: Segment
    prints: bytes


@dataclass(frozen=True)
class Draft:
    """Fingerprints that will become a segment."""

    prints: bytes

    def sealed(self, *, sequence: int, run: str) -> tuple[Segment, bytes]:
        """Return the segment and the content of its file; the name is different in every run."""
        count = len(self.prints) // _PRINT.size
        content = _HEADER.pack(_MAGIC, count) + self.prints
        checksum = hashlib.sha256(content).hexdigest()
        author = re.sub(r"[^A-Za-z0-9-]", "-", run)[:64] or "run"
        return Segment(f"{sequence:012}-{author}-{checksum[:16]}", count, checksum), content


def sequence_of_name(name: str) -> int:
    """Return the sequence at the beginning of a segment's name; raise `ValueError` for any other name."""
    if not _NAME.fullmatch(name):
        raise ValueError(name)
    return int(name.partition("-")[0])


def opened(segment: Segment, content: bytes) -> LoadedSegment | None:
    """Return the content of a segment's file, or None if it differs from the checkpoint's."""
    if len(content) != segment.length or hashlib.sha256(content).hexdigest() != segment.checksum:
        return None
    magic, count = _HEADER.unpack_from(content)
    if magic != _MAGIC or count != segment.count:
        return None
    return LoadedSegment(segment, content[_HEADER.size :])


def canonical(path: str) -> str:
    """Return a single spelling of a path that Hadoop has qualified: S3's schemes are one store, `file:` has no host.

    Hadoop has removed dot segments and trailing slashes. Percent signs stay, because keys of S3 are literal.
    """
    scheme, _, rest = path.partition(":")
    if scheme == "file":
        rest = f"/{rest.lstrip('/')}"
    return f"{store_of(scheme)}:{rest}".rstrip("/")


def below(path: str, folder: str) -> str | None:
    """Return the part of a canonical path below a folder, empty for the folder itself, None outside of it."""
    if path == folder:
        return ""
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


def fingerprint(root: str, file: SourceFile) -> bytes:
    """Return 80 bits that identify this version of a file below a canonical source."""
    path = f"{root}/{file.path}" if file.path else root
    text = f"{file.time} {file.size} {path}"
    # A name may hold halves of characters, which have no bytes in UTF-8.
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[: _PRINT.size]


def each(prints: bytes) -> Iterator[bytes]:
    """Yield the fingerprints."""
    return chain.from_iterable(_PRINT.iter_unpack(prints))


def known_among(wanted: Collection[bytes], record: Iterable[LoadedSegment]) -> set[bytes]:
    """Return which of the fingerprints are in the record."""
    return {found for loaded in record for found in filter(wanted.__contains__, each(loaded.prints))}


@dataclass(frozen=True)
class Growth:
    """The next record: segments that stay, and segments to write."""

    kept: tuple[Segment, ...]
    drafts: tuple[Draft, ...]


def grown(
    record: Sequence[LoadedSegment],
    added: Collection[bytes],
    *,
    forgotten: Collection[bytes] = frozenset(),
    listed: bytes = b"",
) -> Growth:
    """Return the record with the added and without the forgotten fingerprints.

    `listed` are the fingerprints of everything in the source now: if the record would exceed its bound, the rest is
    dropped.
    """
    if sum(loaded.segment.count for loaded in record) + len(added) > MOST_FINGERPRINTS:
        return Growth((), _drafted(_pruned(record, added, forgotten=forgotten, listed=listed)))
    kept, prints = _tiered(record, set(added), forgotten)
    return Growth(tuple(kept), _drafted(prints))


def _drafted(prints: bytes) -> tuple[Draft, ...]:
    return (Draft(prints),) if prints else ()


def _tiered(
    record: Sequence[LoadedSegment], added: set[bytes], forgotten: Collection[bytes]
) -> tuple[list[Segment], bytes]:
    pile = [sorted(added)]
    rest = sorted(record, key=lambda loaded: -loaded.segment.count)
    for loaded in record if forgotten else ():
        if any(map(forgotten.__contains__, each(loaded.prints))):
            pile.append([one for one in each(loaded.prints) if one not in forgotten])
            rest.remove(loaded)
    size = sum(map(len, pile))
    while size and rest and rest[-1].segment.count <= max(SMALL_SEGMENT, size * _GROWTH):
        absorbed = rest.pop()
        pile.append(list(each(absorbed.prints)))
        size += absorbed.segment.count
    return [loaded.segment for loaded in rest], _joined(chain.from_iterable(pile))


def _pruned(
    record: Sequence[LoadedSegment], added: Collection[bytes], *, forgotten: Collection[bytes], listed: bytes
) -> bytes:
    stay = set(each(listed)).intersection(chain.from_iterable(each(loaded.prints) for loaded in record))
    prints = _joined(stay.difference(forgotten).union(added))
    if len(prints) > MOST_FINGERPRINTS * _PRINT.size:
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"The source holds more than {MOST_FINGERPRINTS:,} files, the most that a run can tell apart. Move files "
            "that have been read out of the source.",
        )
    return prints


def _joined(prints: Iterable[bytes]) -> bytes:
    return b"".join(sorted(set(prints)))


FOLDER = f"{OPERATOR_FOLDER}/files"

_PIECE = 1_000_000
"""The most bytes to pass between the JVM and this process at once."""
_DAMAGE = {
    "java.io.FileNotFoundException": "missing",
    "org.apache.hadoop.fs.ChecksumException": "not what was written",
}
_ONLY_NEW = False
_ALONE = False


class SegmentFolder:
    """The folder of a table's segments. A segment is written once and never changed."""

    def __init__(self, spark: SparkSession, base_path: str) -> None:
        self._path = classes(spark).org.apache.hadoop.fs.Path
        self._folder = self._path(self._path(base_path), FOLDER)
        self._filesystem = self._folder.getFileSystem(hadoop_configuration(spark))

    def load(self, segments: Iterable[Segment]) -> tuple[LoadedSegment, ...]:
        """Read segments; raise `TaskFailed` when a segment is missing or differs from the checkpoint."""
        with stage("The record of the files that were read cannot be read", otherwise=FailureReason.HUDI_ERROR):
            return tuple(self._load(segment) for segment in segments)

    def write(self, segment: Segment, content: bytes) -> None:
        """Write a new segment; an existing file of its name is not ours, and stays."""
        with stage("The record of the files that were read cannot be written", otherwise=FailureReason.HUDI_ERROR):
            stream = self._filesystem.create(self._path(self._folder, segment.name), _ONLY_NEW)
            try:
                for start in range(0, len(content), _PIECE):
                    stream.write(content[start : start + _PIECE])
            finally:
                stream.close()

    def sweep(self, named: Collection[str], *, before: int) -> int:
        """Remove segments of earlier checkpoints than the given sequence that no commit names.

        They must also be a day older than the newest segment, by the store's own clock. Returns how many were removed.
        """
        statuses = self._filesystem.listStatus(self._folder)
        written = {str(status.getPath().getName()): int(status.getModificationTime()) for status in statuses}
        old = expired(written, named, lambda name: _is_before(name, before))
        return sum(bool(self._filesystem.delete(self._path(self._folder, name), _ALONE)) for name in old)

    def _load(self, segment: Segment) -> LoadedSegment:
        try:
            content = self._content(self._path(self._folder, segment.name), segment.length)
        except Exception as error:
            how = next((_DAMAGE[cause.kind] for cause in causes_of(error) if cause.kind in _DAMAGE), None)
            if how is None:
                raise
            raise self._damaged(segment, how) from error
        loaded = None if content is None else opened(segment, content)
        if loaded is None:
            raise self._damaged(segment, "not what was written")
        return loaded

    def _content(self, path: JavaObject, length: int) -> bytes | None:
        if int(self._filesystem.getFileStatus(path).getLen()) != length:
            return None
        stream = self._filesystem.open(path)
        try:
            pieces = [bytes(stream.readNBytes(min(_PIECE, length - at))) for at in range(0, length, _PIECE)]
        finally:
            stream.close()
        return b"".join(pieces)

    def _damaged(self, segment: Segment, how: str) -> TaskFailed:
        return TaskFailed(
            FailureReason.CHECKPOINT_DAMAGED,
            f"{self._folder.toString()}/{segment.name}, which records the files that were read, is {how}. Restore it "
            "from a copy or an older version of the object. If reading every file again does no harm, as with "
            "Upsert, create a HudiOperation with rescan instead.",
        )


def _is_before(name: str, sequence: int) -> bool:
    try:
        return sequence_of_name(name) < sequence
    except ValueError:
        return False
