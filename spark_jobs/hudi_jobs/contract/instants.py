"""Names of instants as times: pure values."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field

Instant = Annotated[str, Field(pattern=r"^[0-9]{1,32}$")]
"""The name of an instant. Hudi accepts any digits, and other tools write names that are no times or longer than a time.
"""

LAYOUT_2_FROM = 8
"""The first version with the timeline in its own folder, and completion times in the names of instants."""

_NAME = re.compile(r"^(\d+)(?:_(\d+))?\.\w+(?:\.\D+)?$")
_SECONDS = len("yyyyMMddHHmmss")
_MILLISECONDS = _SECONDS + 3


@dataclass(frozen=True)
class InstantFile:
    """A file of a timeline: its name, and the time at which the store wrote it."""

    name: str
    written_ms: int

    @property
    def requested(self) -> str | None:
        """The requested time in the name."""
        return self._time(1)

    @property
    def completed(self) -> str | None:
        """The completion time in the name, which only layout 2 has."""
        return self._time(2)

    def _time(self, part: int) -> str | None:
        found = _NAME.match(self.name)
        return found[part] if found else None


def newest(files: Iterable[InstantFile]) -> str | None:
    """Return the greatest requested or completion time, as Hudi compares them: as text."""
    times = (time for file in files for time in (file.requested, file.completed))
    return max((time for time in times if time is not None), default=None)


def wall_time(instant: str) -> datetime | None:
    """Return the wall clock time of an instant, marked as UTC whatever the zone was; None if it is no time.

    Instants may have seconds only; instants of a metadata table of an older layout have extra digits
    (`HoodieInstantTimeGenerator.fixInstantTimeCompatibility`).
    """
    digits = instant[:_MILLISECONDS]
    if len(digits) not in {_SECONDS, _MILLISECONDS}:
        return None
    try:
        time = datetime.strptime(digits[:_SECONDS], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return time + timedelta(milliseconds=int(digits[_SECONDS:] or 0))


def store_behind(instant: str, written: str | None) -> timedelta:
    """Return how long a store that dated a file so must wait until its clock is past the instant.

    The store may give whole seconds: its clock has to reach the second after the instant.
    """
    begun, shown = wall_time(instant), wall_time(written or "")
    if begun is None or shown is None or shown >= begun:
        return timedelta(0)
    return begun.replace(microsecond=0) + timedelta(seconds=1) - shown
