"""An atomic marker per table: which run works on it. Only the holder may plan, execute, clean or archive.

The marker lies at `.hoodie/.hudi-operator/services.json` of the table, where Hudi looks for nothing. Its holder renews
it. Whoever else wants it watches it for the whole lease: when it is renewed meanwhile, the holder lives; otherwise it
is replaced, on the condition that nobody else has replaced it. The clocks of two machines need not agree.
"""

import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

FOLDER = ".hoodie/.hudi-operator"
NAME = "services.json"

_LOOKS_PER_LEASE = 12

_ATTEMPT = os.urandom(8).hex()
"""Tells two processes of one run apart, so that no two markers ever have the same content."""


def boot_time() -> float:
    """Return the seconds since the machine started; they go on while the process is stopped or the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class MarkerMoved(Exception):
    """The marker is not in the version that was expected: somebody else has written it."""


class MarkerStore(Protocol):
    """Where the marker lies. Writing is conditional on the version found before; None stands for no marker."""

    def read(self) -> tuple[bytes, str] | None:
        """Return the content and its version, or None where there is no marker."""

    def write(self, content: bytes, *, expected: str | None) -> str:
        """Write if the current version is the expected one and return the new version; else raise `MarkerMoved`."""


class State(StrEnum):
    """Whether a marker's holder says that it still executes."""

    HELD = "Held"
    RELEASED = "Released"


@dataclass(frozen=True)
class Content:
    """What a marker says about its holder."""

    run: str
    host: str
    attempt: str
    state: State
    refreshed_at: str

    def encode(self) -> bytes:
        """Write the marker as JSON."""
        return json.dumps(self.__dict__).encode()

    def is_of(self, run: str) -> bool:
        """Tell whether this very process has written it for the run."""
        return self.run == run and self.attempt == _ATTEMPT


def decode(content: bytes) -> Content | None:
    """Read a marker; None for what is not one, which counts as held by somebody unknown."""
    try:
        document = json.loads(content)
        return Content(**{**document, "state": State(document["state"])})
    except (ValueError, TypeError, KeyError):
        return None


@dataclass(frozen=True)
class HeldElsewhere:
    """Another run has the marker, and renews it or has just taken it."""

    holder: Content | None

    def __str__(self) -> str:
        if self.holder is None:
            return "another run"
        return f"the run {self.holder.run} on {self.holder.host}"


class Marker:
    """The marker in the hands of this run.

    `written_at` is the moment at which the newest write that succeeded was begun, on `boot_time`. `taken_over` says
    that another run has had it and has not released it: that run may be frozen and not dead.
    """

    def __init__(self, store: MarkerStore, run: str, *, found: str | None, taken_over: bool) -> None:
        self._store = store
        self._run = run
        self._version = found
        self.taken_over = taken_over
        self.renew()

    def renew(self) -> None:
        """Say that this run still works; raise `MarkerMoved` when another has taken its place."""
        begun = boot_time()
        self._write(State.HELD)
        self.written_at = begun

    def release(self) -> None:
        """Let the next run begin without waiting for the lease."""
        with suppress(MarkerMoved):
            self._write(State.RELEASED)

    def _write(self, state: State) -> None:
        content = Content(self._run, socket.gethostname(), _ATTEMPT, state, _now())
        try:
            self._version = self._store.write(content.encode(), expected=self._version)
        except MarkerMoved:
            # The reply to an earlier write of ours may have been lost.
            found = self._store.read()
            if found is None or (current := decode(found[0])) is None or not current.is_of(self._run):
                raise
            self._version = found[1]


def take(
    store: MarkerStore,
    *,
    run: str,
    lease_seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = boot_time,
) -> Marker | HeldElsewhere:
    """Take the marker; wait out the lease where another run seems to have it and may be dead."""
    found = store.read()
    since = clock()
    while found is not None and not _is_released(found[0]) and clock() - since < lease_seconds:
        sleep(lease_seconds / _LOOKS_PER_LEASE)
        seen = store.read()
        if seen is not None and seen[1] != found[1] and not _is_released(seen[0]):
            return HeldElsewhere(decode(seen[0]))
        found = seen
    try:
        return Marker(
            store,
            run,
            found=None if found is None else found[1],
            taken_over=found is not None and not _is_released(found[0]),
        )
    except MarkerMoved:
        winner = store.read()
        return HeldElsewhere(None if winner is None else decode(winner[0]))


def _is_released(content: bytes) -> bool:
    found = decode(content)
    return found is not None and found.state is State.RELEASED


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
