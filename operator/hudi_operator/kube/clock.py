"""The API server's clock, as its replies tell it.

The times that are compared with each other come from it: when a Job was created or a table deleted, and when a run
ended, which the next process reads from the status. So neither a wrong clock of this machine nor one that is set right
meanwhile lets a Job be given up too early or a run wait too long, and two processes agree.
"""

import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_TO_THE_SECOND = 1.0


def boot_time() -> float:
    """Return seconds of a clock that nobody sets, and that also runs while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


class ApiServerClock:
    """Tells the time of the API server, and until its first reply that of this machine."""

    def __init__(self, *, wall_time: float | None = None, seconds: float | None = None) -> None:
        self._ahead = (time.time() if wall_time is None else wall_time) - (boot_time() if seconds is None else seconds)
        """What is to be added to `boot_time` for seconds since 1970."""

    def now(self) -> datetime:
        """Return the API server's time."""
        return self.at(boot_time())

    def at(self, seconds: float) -> datetime:
        """Return the API server's time at a time of `boot_time`."""
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=self._ahead + seconds)

    def heard(self, date: str | None, *, sent: float, received: float) -> None:
        """Learn from the header `Date` of a reply, which was written between `sent` and `received` by `boot_time`.

        The header leaves room of a second and of the time that the call took: the clock moves only where it is outside.
        """
        written = _seconds(date)
        if written is not None:
            self._ahead = min(max(self._ahead, written - received), written + _TO_THE_SECOND - sent)


def _seconds(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except (ValueError, OverflowError):
        return None
