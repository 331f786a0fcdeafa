"""The API server's clock, learned from its responses.

Times that are compared with each other come from it: when a Job was created or a table deleted, and when a run ended,
which the next process reads from the status. So a wrong or adjusted clock of this machine neither abandons a Job too
early nor delays a run, and two processes agree.
"""

import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_TO_THE_SECOND = 1.0


def boot_time() -> float:
    """Return seconds of a clock that is never adjusted and runs on while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


class ApiServerClock:
    """Tells the API server's time; until the first response, this machine's time."""

    def __init__(self, *, wall_time: float | None = None, seconds: float | None = None) -> None:
        self._ahead = (time.time() if wall_time is None else wall_time) - (boot_time() if seconds is None else seconds)
        """The difference between seconds since 1970 and `boot_time`."""

    def now(self) -> datetime:
        """Return the API server's time."""
        return self.at(boot_time())

    def at(self, seconds: float) -> datetime:
        """Return the API server's time at a given value of `boot_time`."""
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=self._ahead + seconds)

    def heard(self, date: str | None, *, sent: float, received: float) -> None:
        """Learn from the `Date` header of a response, written between `sent` and `received` by `boot_time`.

        The header is uncertain by a second and by the duration of the call: the clock moves only if it lies outside
        that range.
        """
        written = _seconds(date)
        if written is not None:
            self._ahead = min(max(self._ahead, written - received), written + _TO_THE_SECOND - sent)


def _seconds(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except (ValueError, OverflowError):
        return None
