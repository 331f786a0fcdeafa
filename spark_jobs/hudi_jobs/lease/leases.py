"""A lease on a table, as a file in the table's own folder: which run works on it.

The holder renews its lease file. Whoever else wants it watches it for the whole lease: when it is renewed, the holder
lives; otherwise it is replaced, on the condition that nobody else has replaced it. The clocks of two machines
need not agree.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

_CHECKS_PER_LEASE = 12

_ATTEMPT = os.urandom(8).hex()
"""Tells two processes of one run apart, so that no two lease files ever have the same content."""


def boot_time() -> float:
    """Return the seconds since the machine started, also those while the process is stopped or the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class VersionConflict(Exception):
    """The file is not in the version that was expected: somebody else has written it."""


class LeaseStore(Protocol):
    """Where a lease file lies. Writing is conditional on the version found before; None stands for no lease file."""

    def read(self) -> tuple[bytes, str] | None:
        """Return the content and its version, or None where there is no lease file."""

    def write(self, content: bytes, *, expected: str | None) -> str:
        """Write if the current version is the expected one and return the new version; else raise `VersionConflict`."""


class State(StrEnum):
    """Whether a lease file's holder says that it still executes."""

    HELD = "Held"
    RELEASED = "Released"


@dataclass(frozen=True)
class Content:
    """What a lease file says about its holder.

    `taken_over` says that an earlier holder has never released it, and may be frozen and not dead. It stays once it is
    true: the holders in between need not have dealt with what the frozen one has begun.
    """

    run: str
    host: str
    attempt: str
    state: State
    refreshed_at: str
    taken_over: bool = False

    def encode(self) -> bytes:
        """Write the lease file as JSON."""
        return json.dumps(self.__dict__).encode()

    def is_of(self, run: str) -> bool:
        """Tell whether this very process has written it for the run."""
        return self.run == run and self.attempt == _ATTEMPT


def decode(content: bytes) -> Content | None:
    """Read a lease file; None for what is not one, which counts as held by somebody unknown."""
    try:
        document = json.loads(content)
        return Content(**{**document, "state": State(document["state"])})
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


@dataclass(frozen=True)
class HeldElsewhere:
    """Another run has the lease file, and renews it or has just taken it."""

    holder: Content | None

    def __str__(self) -> str:
        if self.holder is None:
            return "another run"
        return f"the run {self.holder.run} on {self.holder.host}"


class LeaseFile:
    """The lease file in the hands of this run.

    `written_at` is the moment at which the newest write that succeeded was begun, on `boot_time`. `taken_over` says
    that another run has had it and has not released it: that run may be frozen and not dead.
    """

    def __init__(self, store: LeaseStore, run: str, *, found: str | None, taken_over: bool) -> None:
        self._store = store
        self._run = run
        self._version = found
        self.taken_over = taken_over
        self.renew()

    def renew(self) -> None:
        """Say that this run still works; raise `VersionConflict` when another has taken its place."""
        begun = boot_time()
        self._write(State.HELD)
        self.written_at = begun

    def release(self) -> None:
        """Let the next run begin without waiting for the lease."""
        with suppress(VersionConflict):
            self._write(State.RELEASED)

    def _write(self, state: State) -> None:
        content = Content(self._run, socket.gethostname(), _ATTEMPT, state, _now(), self.taken_over)
        try:
            self._version = self._store.write(content.encode(), expected=self._version)
        except VersionConflict:
            # The reply to an earlier write of ours may have been lost.
            found = self._store.read()
            if found is None or (current := decode(found[0])) is None or not current.is_of(self._run):
                raise
            self._version = found[1]


class Lease:
    """Several lease files that one run holds together, and loses together."""

    def __init__(self, lease_files: Sequence[LeaseFile]) -> None:
        self._lease_files = tuple(lease_files)

    @property
    def written_at(self) -> float:
        """The moment at which the lease file that was renewed longest ago was."""
        return min(lease_file.written_at for lease_file in self._lease_files)

    @property
    def taken_over(self) -> bool:
        """Whether an earlier holder of any of them may be frozen and not dead."""
        return any(lease_file.taken_over for lease_file in self._lease_files)

    def renew(self) -> None:
        """Renew all; raise `VersionConflict` when another run has one of them."""
        for lease_file in self._lease_files:
            lease_file.renew()

    def release(self) -> None:
        """Let the next run begin without waiting for the lease, the lease file that was taken last first."""
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
    """Take all lease files or none; wait out the lease where another run seems to have one and may be dead.

    Nothing is held while it waits, and the files are taken in the order given, so two runs never wait for each other.
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
    """Tell whether an earlier holder has not released a lease file, be it the last one or one before."""
    if found is None:
        return False
    content = decode(found[0])
    return content is None or content.state is not State.RELEASED or content.taken_over is not False


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
