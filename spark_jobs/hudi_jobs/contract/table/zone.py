"""The zone of the instants of a LOCAL table, inferred from the table itself: pure values.

Each writer of a LOCAL table uses the default zone of its JVM, and the table stores no zone. Two signs show the zone.
`hoodie.properties` begins with two comments of the same moment. The first is in UTC, the second in the writer's zone
(`HoodieTableConfig.storeProperties`, `java.util.Properties.store`). And the name of a timeline file is the time of its
writing, so that the difference to the store's time is the offset; for copies of a table it is not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hudi_jobs.contract.instants import InstantFile, newest, wall_time

ZONE_PROPERTY = "hoodie.table.timeline.timezone"
"""The property with the zone: UTC, or LOCAL, which also holds if it is missing."""

_STEP = timedelta(minutes=15)
"""Offsets of zones are multiples of this."""
_TOLERANCE = timedelta(minutes=2)
"""The most time between the name of a file and the store's time of writing it."""
_EARLIEST, _LATEST = timedelta(hours=-12), timedelta(hours=14)
_FILES = 20
"""The number of the newest files that are read."""
_MOST = 0.75
"""The share of the files that has to agree on the offset; no file may contradict it."""


@dataclass(frozen=True, kw_only=True)
class ShownZone:
    """The offset of a LOCAL table's instants from UTC, None if its files do not show it.

    `newest_ms` is the time at which the store wrote the newest file, in milliseconds since 1970.
    """

    offset: timedelta | None
    newest_ms: int


@dataclass(frozen=True, kw_only=True)
class ZoneProblem:
    """Why the zone of a table's instants is not certain, and what to do."""

    found: str
    advice: str


_IN_UTC = re.compile(r"^#.*?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z\s*$")
_IN_THE_ZONE = re.compile(r"^#\w{3} (\w{3} \d\d \d\d:\d\d:\d\d) \S+ (\d{4})\s*$")


def is_in_utc(properties: Mapping[str, str]) -> bool:
    """Tell whether the instants of a table with these properties are known to be in UTC."""
    return properties.get(ZONE_PROPERTY, "").strip().upper() == "UTC"


def shown_zone(properties: str, files: Sequence[InstantFile]) -> ShownZone | None:
    """Return the zone that the newest files of a LOCAL table show; None if it has no instant."""
    if newest(files) is None:
        return None
    return ShownZone(offset=infer_offset(properties, files), newest_ms=max(file.written_ms for file in files))


def zone_problem(shown: ShownZone | None, declared: str | None, offset: timedelta | None) -> ZoneProblem | None:
    """Return why no new instant is safe for a table, or None if its zone is known.

    `offset` is the offset of the declared zone from UTC when the newest file was written; None if the caller does not
    know that zone.
    """
    if shown is None:
        return None
    if declared is None:
        return _NOT_SHOWN if shown.offset is None else None
    if shown.offset is None or offset is None or offset == shown.offset:
        return None
    return ZoneProblem(
        found=f"instants that were written at UTC{signed(shown.offset)}, while {declared} was UTC{signed(offset)}",
        advice="declare the zone of the tool that writes the table",
    )


def offset_at(zone: str, moment_ms: int) -> timedelta | None:
    """Return the offset of a zone from UTC at a moment; None for an unknown zone."""
    try:
        return datetime.fromtimestamp(moment_ms / 1000, ZoneInfo(zone)).utcoffset()
    except (KeyError, ValueError, OSError, OverflowError):
        return None


def signed(offset: timedelta) -> str:
    """Return an offset as in +05:30."""
    minutes = round(offset.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


_NOT_SHOWN = ZoneProblem(
    found="instants in a local time, and files that do not show its zone, as in a copy of a table",
    advice="declare the zone of that tool",
)


def infer_offset(properties: str, files: Sequence[InstantFile]) -> timedelta | None:
    """Return the offset of a table's instants from UTC, or None if it is not certain.

    The files have to agree with one another, and with the properties. Without the properties the files have to span
    more time than the difference between two zones, because all files of a copy may have been written within a minute.
    """
    dated = _newest_dated(files)
    offsets = [offset for offset in (_offset(wall, written) for wall, written in dated) if offset is not None]
    if not offsets or len(set(offsets)) > 1 or len(offsets) < _MOST * len(dated):
        return None
    walls = [wall for wall, _ in dated]
    if offsets[0] == stamped_offset(properties) or max(walls) - min(walls) > _STEP:
        return offsets[0]
    return None


def stamped_offset(properties: str) -> timedelta | None:
    """Return the offset between the two comments of `hoodie.properties`, or None without such comments."""
    lines = [*properties.splitlines()[:2], "", ""]
    in_utc, in_the_zone = _IN_UTC.match(lines[0]), _IN_THE_ZONE.match(lines[1])
    if in_utc is None or in_the_zone is None:
        return None
    try:
        moment = datetime.fromisoformat(in_utc[1]).replace(tzinfo=UTC)
        wall = datetime.strptime(f"{in_the_zone[1]} {in_the_zone[2]}", "%b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
    return _offset(wall, moment)


def _newest_dated(files: Sequence[InstantFile]) -> list[tuple[datetime, datetime]]:
    """Return for the newest files the time in the name and the store's time of writing."""
    times = [(_written_at(file), file.written_ms) for file in files]
    dated = [(wall, written) for time, written in times if time and (wall := wall_time(time)) is not None]
    dated.sort(reverse=True)
    return [(wall, datetime.fromtimestamp(written / 1000, UTC)) for wall, written in dated[:_FILES]]


def _written_at(file: InstantFile) -> str | None:
    """Return the time in a name at which the file was written: its completion, or its request."""
    return file.completed or (file.requested if file.name.endswith(".requested") else None)


def _offset(wall: datetime, moment: datetime) -> timedelta | None:
    difference = wall - moment
    offset = round(difference / _STEP) * _STEP
    if abs(difference - offset) > _TOLERANCE or not _EARLIEST <= offset <= _LATEST:
        return None
    return offset
