"""A lease on a table, as a file in the table's own folder naming the active run, and its renewal.

The holder renews its lease file. Another run watches it for the whole lease: if it is renewed, the holder lives;
otherwise it is replaced, on the condition that no other run has replaced it. The clocks of two machines need not agree.

Times are from CLOCK_BOOTTIME, which continues while the process is stopped or the machine sleeps. A process frozen past
its lease notices on waking and ends the JVM before it completes anything. A short stop is harmless: no run can take
over before the lease expires.
"""

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol, Self

_CHECKS_PER_LEASE = 12

Report = Callable[[], Mapping[str, object] | None]
"""Returns the progress of a run at once, or None; never raises."""

_ATTEMPT = os.urandom(8).hex()
"""Distinguishes two processes of the same run, so that no two lease files ever have the same content."""


def boot_time() -> float:
    """Return the seconds since the machine started, including sleep and stopped time."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class VersionConflict(Exception):
    """The file is not in the expected version: another process has written it."""


class LeaseStore(Protocol):
    """Storage for a lease file. Writes are conditional on the version found before; None means no lease file."""

    def read(self) -> tuple[bytes, str] | None:
        """Return the content and its version, or None without a lease file."""

    def write(self, content: bytes, *, expected: str | None) -> str:
        """Write if the current version is expected and return the new version; otherwise raise `VersionConflict`."""


class State(StrEnum):
    """Whether the holder of a lease file still works."""

    HELD = "Held"
    RELEASED = "Released"


@dataclass(frozen=True)
class Content:
    """A lease file's content.

    `taken_over` means that an earlier holder never released it, and may be frozen rather than dead. Once true it stays
    true: the holders in between may not have dealt with the frozen run's work. `progress` is for the operator
    (`contract/run_progress.py`); a run that reads the lease file ignores it.
    """

    run: str
    host: str
    attempt: str
    state: State
    refreshed_at: str
    taken_over: bool = False
    progress: Mapping[str, object] | None = None

    def encode(self) -> bytes:
        """Return the lease file as JSON, without absent progress: an earlier release refuses unknown fields."""
        return json.dumps({name: value for name, value in asdict(self).items() if value is not None}).encode()

    def is_of(self, run: str) -> bool:
        """Tell whether this very process wrote the content for the run."""
        return self.run == run and self.attempt == _ATTEMPT


def decode(content: bytes) -> Content | None:
    """Parse a lease file; None for invalid content, which counts as held by an unknown run."""
    try:
        document = json.loads(content)
        known = {name: document[name] for name in _READ if name in document}
        return Content(**{**known, "state": State(document["state"])})
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


_READ = tuple(field.name for field in fields(Content) if field.name != "progress")


@dataclass(frozen=True)
class HeldElsewhere:
    """Another run holds the lease file, and renews it or has just taken it."""

    holder: Content | None

    def __str__(self) -> str:
        if self.holder is None:
            return "another run"
        return f"the run {self.holder.run} on {self.holder.host}"


def nothing_to_report() -> None:
    """Report no progress."""


class LeaseFile:
    """A lease file held by this run.

    `written_at` is when the newest successful write began, on `boot_time`. `taken_over` means that another run has held
    it without releasing it: that run may be frozen rather than dead.
    """

    def __init__(self, store: LeaseStore, run: str, *, found: str | None, taken_over: bool) -> None:
        self._store = store
        self._run = run
        self._version = found
        self.taken_over = taken_over
        self.report: Report = nothing_to_report
        self.renew()

    def renew(self) -> None:
        """Renew the lease; raise `VersionConflict` when another run has taken it."""
        begun = boot_time()
        self._write(State.HELD, self.report())
        self.written_at = begun

    def release(self) -> None:
        """Release the lease, so that the next run need not wait for it to expire."""
        with suppress(VersionConflict):
            self._write(State.RELEASED)

    def _write(self, state: State, progress: Mapping[str, object] | None = None) -> None:
        content = Content(self._run, socket.gethostname(), _ATTEMPT, state, _now(), self.taken_over, progress)
        try:
            self._version = self._store.write(content.encode(), expected=self._version)
        except VersionConflict:
            # The response to an earlier write of this run may have been lost.
            found = self._store.read()
            if found is None or (current := decode(found[0])) is None or not current.is_of(self._run):
                raise
            self._version = found[1]


class Lease:
    """Several lease files held, and lost, together by a run."""

    def __init__(self, lease_files: Sequence[LeaseFile]) -> None:
        self._lease_files = tuple(lease_files)

    @property
    def written_at(self) -> float:
        """The oldest renewal of the lease files."""
        return min(lease_file.written_at for lease_file in self._lease_files)

    @property
    def taken_over(self) -> bool:
        """Whether an earlier holder of any of them may be frozen rather than dead."""
        return any(lease_file.taken_over for lease_file in self._lease_files)

    @contextmanager
    def reporting(self, report: Report, *, of_ingestion: bool) -> Iterator[None]:
        """Write a run's progress with each renewal, into the first lease file for an ingestion, else into the last.

        A service inside a continuous ingestion holds both, and each reports into its own.
        """
        lease_file = self._lease_files[0 if of_ingestion else -1]
        before, lease_file.report = lease_file.report, report
        try:
            yield
        finally:
            lease_file.report = before

    def renew(self) -> None:
        """Renew all lease files; raise `VersionConflict` when another run has one of them."""
        for lease_file in self._lease_files:
            lease_file.renew()

    def release(self) -> None:
        """Release all lease files, last taken first, so that the next run need not wait."""
        for lease_file in reversed(self._lease_files):
            lease_file.release()


def take(
    stores: Sequence[LeaseStore],
    *,
    run: str,
    lease_seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = boot_time,
) -> Lease | HeldElsewhere:
    """Take all lease files or none; wait out a lease that another, possibly dead, run holds.

    It waits without holding any, and the files are taken in the given order, so two runs never wait for each other.
    """
    found = [store.read() for store in stores]
    since = clock()
    while any(map(_is_held, found)) and clock() - since < lease_seconds:
        sleep(lease_seconds / _CHECKS_PER_LEASE)
        for number, store in enumerate(stores):
            before = found[number]
            if not _is_held(before):
                continue
            seen = store.read()
            if seen is not None and before is not None and seen[1] != before[1] and _is_held(seen):
                return HeldElsewhere(decode(seen[0]))
            found[number] = seen
    return _take_as_found(stores, found, run)


def _take_as_found(
    stores: Sequence[LeaseStore], found: Sequence[tuple[bytes, str] | None], run: str
) -> Lease | HeldElsewhere:
    lease_files: list[LeaseFile] = []
    for store, seen in zip(stores, found, strict=True):
        version = None if seen is None else seen[1]
        try:
            lease_files.append(LeaseFile(store, run, found=version, taken_over=_may_be_frozen(seen)))
        except Exception as error:
            Lease(lease_files).release()
            if not isinstance(error, VersionConflict):
                raise
            winner = store.read()
            return HeldElsewhere(None if winner is None else decode(winner[0]))
    return Lease(lease_files)


def _is_held(found: tuple[bytes, str] | None) -> bool:
    if found is None:
        return False
    content = decode(found[0])
    return content is None or content.state is not State.RELEASED


def _may_be_frozen(found: tuple[bytes, str] | None) -> bool:
    """Tell whether any earlier holder has not released a lease file."""
    if found is None:
        return False
    content = decode(found[0])
    return content is None or content.state is not State.RELEASED or content.taken_over is not False


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


_LOGGER = logging.getLogger(__name__)
_RENEWALS_PER_LEASE = 6
_LOOKS_PER_LEASE = 60
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
            if self._closing.wait(min(1.0, self._seconds / _LOOKS_PER_LEASE)):
                return
