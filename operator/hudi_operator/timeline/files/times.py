"""Derives completion times of layout-1 instants from file times, and finds the times that show a table's zone.

Instants are named by the writer's clock, and files carry the store's time. Where the clocks differ, all requested files
of a longer history are early or late by the same amount; the files of a copy are not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from hudi_jobs.contract import Location
from hudi_operator.storage import FileSystem, Listing, StorageError, StorageErrorKind
from hudi_operator.timeline.files.reading import as_unreadable

# A requested file is written when its instant time says, plus a whole time zone offset, within this many
# milliseconds. Copying a table gives its files new times, which say nothing about the order of events.
_CLOCK_TOLERANCE = 10_000
# The shortest history that shows the difference of two clocks, and how many of its instants must agree.
_LEAST_HISTORY = 60_000
_LEAST_INSTANTS = 3
_QUARTER_HOUR = 15 * 60 * 1000
_WIDEST_OFFSET = 14 * 60 * 60 * 1000
# The digits of an instant time (`yyyyMMddHHmmssSSS`).
_DIGITS = 17
_PARTS = ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTimes:
    """An instant time, and the write times of its requested and completed files (epoch milliseconds, None if gone)."""

    time: str
    requested: int | None
    completed: int | None

    @property
    def difference(self) -> int | None:
        """How much later than its instant time the requested file was written, or None if unknown."""
        time = epoch_milliseconds(self.time)
        return None if self.requested is None or time is None else self.requested - time

    def offset(self, shift: int) -> int | None:
        """Return the store's time minus the instant's, or None if the requested file does not show it.

        The offset is a time zone, a number of quarter hours, plus the clocks' difference `shift`.
        """
        if self.difference is None:
            return None
        zone = _nearest_zone(self.difference - shift)
        plausible = abs(zone) <= _WIDEST_OFFSET and abs(self.difference - shift - zone) <= _CLOCK_TOLERANCE
        return zone + shift if plausible else None


def clock_shift(history: Iterable[FileTimes]) -> int:
    """Return how far the store's clock is ahead of the writers', beyond quarter hours; 0 if unknown.

    Most requested files of at least a minute must be early or late by the same amount. Files of a copy agree only if
    they were copied as slowly as they were written, and then their order is true as well.
    """
    known = sorted((times.difference, times.time) for times in history if times.difference is not None)
    agreeing: list[tuple[int, str]] = []
    for first in range(len(known)):
        near = [one for one in known[first:] if one[0] - known[first][0] <= _CLOCK_TOLERANCE]
        agreeing = max(agreeing, near, key=len)
    moments = [epoch_milliseconds(time) or 0 for _, time in agreeing]
    if len(agreeing) < max(_LEAST_INSTANTS, len(known) // 2 + 1) or max(moments) - min(moments) < _LEAST_HISTORY:
        return 0
    shift = agreeing[0][0] - _nearest_zone(agreeing[0][0])
    return shift if abs(shift) > _CLOCK_TOLERANCE else 0


def _nearest_zone(difference: int) -> int:
    return (difference + _QUARTER_HOUR // 2) // _QUARTER_HOUR * _QUARTER_HOUR


def is_metadata_compaction(time: str) -> bool:
    """Whether an instant time belongs to a metadata compaction: a delta commit's time with digits appended."""
    return len(time) > _DIGITS


def completed_after(entry: FileTimes, compaction: FileTimes, *, shift: int = 0) -> bool | None:
    """Tell whether an instant older than a compaction completed after its request, or None if unknown.

    Hudi 1.2.0 formats the completed file's modification time in the counting JVM's zone. Here the instant's own files
    show the zone, so any machine gives the writer's answer.
    """
    start, time = epoch_milliseconds(compaction.time), epoch_milliseconds(entry.time)
    offset = entry.offset(shift)
    trusted = offset is not None
    if offset is None:
        offset = compaction.offset(shift)
    if entry.completed is None or offset is None or start is None or time is None:
        return None
    if entry.completed - offset < time - _CLOCK_TOLERANCE:
        return None
    later = entry.completed - offset > start
    if not trusted:
        # A file is copied after its instant completed, so a copy from before the compaction leaves no doubt.
        return None if later and entry.requested is not None else later
    if entry.requested is not None and entry.completed < entry.requested:
        return None
    return None if later and entry.completed == compaction.completed else later


def completed_before_request(times: FileTimes, *, in_utc: bool) -> bool:
    """Tell whether Hudi 1.2.0 believes that an instant completed before its request, judged by its files.

    Hudi formats the completed file's time in the table's zone, and compares the text with the instant.
    """
    time, zone = epoch_milliseconds(times.time), 0 if in_utc else times.offset(0)
    return None not in {time, zone, times.completed} and (times.completed or 0) - (zone or 0) < (time or 0)


def epoch_milliseconds(time: str) -> int | None:
    """Read an instant time as if it were UTC."""
    try:
        # `strptime` takes several times longer, and a timeline may hold thousands.
        year, month, day, hour, minute, second = [int(time[start:end]) for start, end in _PARTS]
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000 + int(time[14:_DIGITS].ljust(3, "0"))


FILES_DATED = 20
"""The number of newest files to date; as many as the zone rule needs."""


def newest_dated(filesystem: FileSystem, folder: Location, listing: Listing) -> tuple[tuple[str, int], ...]:
    """Return the newest files with a write time in their name, each with the store's time in milliseconds.

    Names hold the request time, and in layout 2 the completion time. Costs one request per file whose time the listing
    lacks.
    """
    names = sorted((name for name in listing.names if _written_at(name)), key=_written_at, reverse=True)[:FILES_DATED]
    known = listing.modified or {}
    times = ((name, known[name] if name in known else _modified(filesystem, folder.path_of(name))) for name in names)
    return tuple((name, written) for name, written in times if written is not None)


def dated_names(files: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return the time in each file's name with the store's time; files without a time in their name are left out."""
    return tuple((time, written) for name, written in files if (time := _written_at(name)))


def _written_at(name: str) -> str:
    requested, _, completed = name.partition(".")[0].partition("_")
    if not requested.isdigit():
        return ""
    return completed or (requested if name.endswith(".requested") else "")


def _modified(filesystem: FileSystem, path: str) -> int | None:
    try:
        return filesystem.modified(path)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None
        raise as_unreadable(error) from error
