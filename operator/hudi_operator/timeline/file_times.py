"""When instants of layout 1 completed: their names do not record it, the times of their files do, if they are true."""

from dataclasses import dataclass
from datetime import UTC, datetime

# A requested file is written when its instant time says, plus a whole time zone offset, within this many
# milliseconds. Copying a table gives its files new times, which say nothing about the order of events.
_CLOCK_TOLERANCE = 10_000
_QUARTER_HOUR = 15 * 60 * 1000
_WIDEST_OFFSET = 14 * 60 * 60 * 1000
# Of an instant time (`yyyyMMddHHmmssSSS`).
_DIGITS = 17
_PARTS = ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTimes:
    """An instant time, and when its requested and completed files were written (epoch milliseconds, None if gone)."""

    time: str
    requested: int | None
    completed: int | None

    @property
    def zone_offset(self) -> int | None:
        """How far the zone of the instant time is from UTC, or None if its requested file does not show it."""
        time = epoch_milliseconds(self.time)
        if self.requested is None or time is None:
            return None
        difference = self.requested - time
        offset = (difference + _QUARTER_HOUR // 2) // _QUARTER_HOUR * _QUARTER_HOUR
        plausible = abs(offset) <= _WIDEST_OFFSET and abs(difference - offset) <= _CLOCK_TOLERANCE
        return offset if plausible else None


def is_metadata_compaction(time: str) -> bool:
    """Whether an instant time is that of a compaction of the metadata table: a delta commit's, with digits appended."""
    return len(time) > _DIGITS


def completed_after(entry: FileTimes, compaction: FileTimes) -> bool | None:
    """Tell whether an instant older than a compaction completed after it was requested. None if that cannot be told.

    Hudi 1.2.0 formats the completed file's modification time in the zone of the JVM that counts. Here the zone is the
    one that the instant's own files show, so that any machine gives the answer of the writer's.
    """
    start, time = epoch_milliseconds(compaction.time), epoch_milliseconds(entry.time)
    offset = entry.zone_offset
    trusted = offset is not None
    if offset is None:
        offset = compaction.zone_offset
    if entry.completed is None or offset is None or start is None or time is None:
        return None
    if entry.completed - offset < time - _CLOCK_TOLERANCE:
        return None
    later = entry.completed - offset > start
    if not trusted:
        # A file is copied after its instant completed: a copy from before the compaction leaves no doubt.
        return None if later and entry.requested is not None else later
    if entry.requested is not None and entry.completed < entry.requested:
        return None
    return None if later and entry.completed == compaction.completed else later


def epoch_milliseconds(time: str) -> int | None:
    """Read an instant time as if it were UTC."""
    try:
        # `strptime` takes several times longer, and there may be thousands.
        year, month, day, hour, minute, second = [int(time[start:end]) for start, end in _PARTS]
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000 + int(time[14:_DIGITS].ljust(3, "0"))
