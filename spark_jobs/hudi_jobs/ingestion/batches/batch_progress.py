"""Writes the progress of a continuous ingestion to the table's operator folder, with the instants that it makes.

A write leaves no name in the timeline before it completes, and Hudi offers no way to choose its instant. So the JVM's
newest instant is polled ten times a second: none is missed, because Hudi takes a fifth of a second for each
(`SkewAdjustingTimeGenerator`). The report stays valid if the driver dies within the batch.

The progress is a hint to the operator: if writing fails, ingestion continues.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from py4j.protocol import Py4JError
from pydantic import ValidationError

from hudi_jobs.commit_metadata import CommitStats
from hudi_jobs.contract import (
    MOST_MADE,
    OPERATOR_FILE_LIMIT,
    PROGRESS_FILE,
    PROGRESS_NAMES,
    Progress,
    ProgressState,
    RunUsage,
    encode_progress,
    pod_name,
)
from hudi_jobs.inline_services.inline_server import InlineServer
from hudi_jobs.lease.leases import VersionConflict
from hudi_jobs.lease.stores import TableFiles
from hudi_jobs.usage.run_usage import driver_usage

_LOOKS_EVERY_SECONDS = 0.1
_TELLS_EVERY_SECONDS = 2.0
_FIRST = MOST_MADE // 2
"""The number of first instants to report if there are too many."""


class MadeInstants:
    """The instants of consecutive batches, in a list shared with the run; first and last ones if there are many.

    A batch's write is among the first: services beside it generate instants while it runs. `newest` returns the JVM's
    last instant. `tell` reports the list and returns whether it was accepted. A thread of its own reports, so that a
    slow store hides no instant.
    """

    def __init__(
        self,
        made: list[str],
        newest: Callable[[], str],
        tell: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._made = made
        self._newest = newest
        self._tell = tell
        self._clock = clock
        self._last: str | None = None
        self._untold = False
        self._told_at: float | None = None
        self.of_the_last: list[str] = []
        """All instants of the current or last batch."""

    @contextmanager
    def of_a_batch(self) -> Iterator[None]:
        """Collect the instants generated within the block; a successful batch reports none."""
        self._made.clear()
        self.of_the_last.clear()
        self._last, self._untold, self._told_at = self._look_up(), False, None
        over = threading.Event()
        threads = [threading.Thread(target=_again, args=(each, over), daemon=True) for each in (self.look, self.tell)]
        for thread in threads:
            thread.start()
        try:
            yield
        except BaseException:
            _end(over, threads)
            self.look()
            self.tell(now=True)
            raise
        _end(over, threads)
        self._made.clear()

    def look(self) -> None:
        """Record the newest instant if it is new."""
        newest = self._look_up()
        if newest is None or newest == self._last:
            return
        self._last = newest
        self.of_the_last.append(newest)
        first, last = self.of_the_last[:_FIRST], self.of_the_last[_FIRST:]
        self._made[:] = [*first, *last[-(MOST_MADE - _FIRST) :]]
        self._untold = True

    def tell(self, *, now: bool = False) -> None:
        """Report new instants: the first instants at once, later instants every few seconds."""
        rests = self._told_at is not None and self._clock() - self._told_at < _TELLS_EVERY_SECONDS
        if not self._untold or (rests and not now):
            return
        self._told_at, self._untold = self._clock(), False
        if not self._tell():
            self._untold = True

    def _look_up(self) -> str | None:
        """Return the newest instant; None if the JVM has ended."""
        try:
            return self._newest()
        except (Py4JError, ConnectionError, EOFError):
            return None


def _again(each: Callable[[], None], over: threading.Event) -> None:
    while not over.wait(_LOOKS_EVERY_SECONDS):
        each()


def _end(over: threading.Event, threads: list[threading.Thread]) -> None:
    over.set()
    for thread in threads:
        thread.join()


_PAUSE_SECONDS = 10.0
"""The pause between two versions of the document, except after a batch."""
_SIGN_OF_LIFE_SECONDS = 60.0
"""The pause between two versions that differ only in their times."""
_SHOWN = 500
_NAME_SHOWN = 128
_LOGGER = logging.getLogger(__name__)


class ProgressWriter:
    """The progress document of a run; `write` is called often but writes seldom.

    `made` are the instants of the current batch; another thread than the batch's reports them.
    """

    def __init__(
        self,
        files: TableFiles,
        run: str,
        totals: CommitStats,
        *,
        inline_server: InlineServer | None = None,
        made: Sequence[str] = (),
        usage: Callable[[], RunUsage | None] = driver_usage,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._run = run
        self._totals = totals
        self._inline_server = inline_server
        self._made = made
        self._usage = usage
        self._clock = clock
        self._lock = threading.Lock()
        self._sequence = 0
        self._polls = 0
        self._polled_at: str | None = None
        self._written = -_SIGN_OF_LIFE_SECONDS
        self._state: ProgressState | None = None
        self._version: str | None = None
        self._known = False

    def polled(self, *, committed: bool) -> None:
        """Record a poll of the source, and write at once after a commit."""
        self._polls += 1
        self._polled_at = _now()
        self.write(ProgressState.WAITING, now=committed or self._polls == 1)

    def write(self, state: ProgressState, *, now: bool = False) -> bool:
        """Write the document if it is due; return True if it was written."""
        with self._lock:
            pause = _SIGN_OF_LIFE_SECONDS if state is self._state else _PAUSE_SECONDS
            if not now and self._clock() - self._written < pause:
                return False
            self._written, self._state = self._clock(), state
            self._sequence += 1
            try:
                return self._put(encode_progress(self._document(state)))
            except Exception:
                _LOGGER.warning("the progress of the run could not be written", exc_info=True)
                return False

    def tell_made(self) -> bool:
        """Write the current batch's instants at once; return True if they were written."""
        return self.write(ProgressState.INGESTING, now=True)

    def _put(self, content: bytes) -> bool:
        """Replace the document, whoever wrote the current version: this run holds the lease."""
        if not self._known:
            self._look()
        try:
            self._version = self._files.write(PROGRESS_FILE, content, expected=self._version)
        except VersionConflict:
            self._look()
            try:
                self._version = self._files.write(PROGRESS_FILE, content, expected=self._version)
            except VersionConflict:
                return False
        return True

    def _look(self) -> None:
        found = self._files.read(PROGRESS_FILE)
        self._version, self._known = None if found is None else found[1], True

    def _document(self, state: ProgressState) -> Progress:
        figures = {name: value for name, value in self._totals.figures.items() if name in Progress.model_fields}
        for name in ("checkpoint", "rescan"):
            figures[name] = figures[name][:_SHOWN] if figures.get(name) else None
        lost = figures.get("skipped", ()) if figures.get("records_skipped") is not None else ()
        figures["skipped"] = tuple(name[:_NAME_SHOWN] for name in lost[:PROGRESS_NAMES])
        base: dict[str, object] = {"run": self._run, "pod": pod_name(socket.gethostname()), "sequence": self._sequence}
        base |= {"state": state, "written_at": _now(), "usage": self._usage()}
        polls: dict[str, object] = {"polls": self._polls, "polled_at": self._polled_at, "made": tuple(self._made)}
        if self._inline_server is not None:
            polls |= {"takes": self._inline_server.takes, "serves": self._inline_server.serves}
        with suppress(ValidationError):
            found = Progress.model_validate({**base, **polls, **figures})
            if len(encode_progress(found)) <= OPERATOR_FILE_LIMIT:
                return found
        # A figure of the source has a form or size that the operator cannot read.
        return Progress.model_validate({**base, **polls, "batches": self._totals.batches})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
