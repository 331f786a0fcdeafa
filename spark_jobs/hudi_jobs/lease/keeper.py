"""Renews a run's lease while it works on a table, and ends the JVM when another run may own the table.

Times are from CLOCK_BOOTTIME, which continues while the process is stopped or the machine sleeps. A process frozen past
its lease notices on waking and ends the JVM before it completes anything. A short stop is harmless: no run can take
over before the lease expires.
"""

import logging
import threading
from collections.abc import Callable
from typing import Self

from hudi_jobs.lease.leases import Lease, VersionConflict, boot_time

_LOGGER = logging.getLogger(__name__)
_RENEWALS_PER_LEASE = 6
_CHECKS_PER_LEASE = 60
_SAFE_PART = 0.75
"""The part of the lease after which the run stops trusting it; the rest is for ending the JVM."""


class LeaseKeeper:
    """A context manager that renews the lease. `lost` means that another run owns, or may own, the table."""

    def __init__(
        self, lease: Lease, *, lease_seconds: float, end: Callable[[], None], clock: Callable[[], float] = boot_time
    ) -> None:
        self._lease = lease
        self._seconds = lease_seconds
        self._end = end
        self._clock = clock
        self._closing = threading.Event()
        self._moved = threading.Event()
        self._threads = [
            threading.Thread(target=self._renew_until_closed, daemon=True),
            threading.Thread(target=self._watch_until_closed, daemon=True),
        ]
        self.lost = False

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        for thread in self._threads:
            thread.join(timeout=self._seconds)

    def check(self) -> bool:
        """Check once: end the JVM and return False when another run may own the table."""
        if self._moved.is_set() or self._clock() - self._lease.written_at > _SAFE_PART * self._seconds:
            self.lost = True
            self._end()
        return not self.lost

    def renew(self) -> None:
        """Renew the lease once. Failures of the store are retried until the lease expires."""
        try:
            self._lease.renew()
        except VersionConflict:
            self._moved.set()
        except Exception:  # whatever the store did, the lease decides
            _LOGGER.warning("the lease could not be renewed", exc_info=True)

    def _renew_until_closed(self) -> None:
        while not self._closing.wait(self._seconds / _RENEWALS_PER_LEASE) and not self.lost:
            self.renew()

    def _watch_until_closed(self) -> None:
        while self.check():
            if self._closing.wait(min(1.0, self._seconds / _CHECKS_PER_LEASE)):
                return
