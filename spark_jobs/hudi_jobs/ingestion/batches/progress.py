"""Writes a continuous ingestion's progress to the table's operator folder, at most every ten seconds.

It is a hint to the operator: if writing fails, ingestion continues.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from pydantic import ValidationError

from hudi_jobs.commit_stats import CommitStats
from hudi_jobs.contract import (
    OPERATOR_FILE_LIMIT,
    PROGRESS_FILE,
    PROGRESS_NAMES,
    Progress,
    ProgressState,
    encode_progress,
    pod_name,
)
from hudi_jobs.inline_services.inline_server import InlineServer
from hudi_jobs.lease.leases import VersionConflict
from hudi_jobs.lease.stores import TableFiles

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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._run = run
        self._totals = totals
        self._inline_server = inline_server
        self._made = made
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
        base = {"run": self._run, "pod": pod_name(socket.gethostname()), "sequence": self._sequence}
        base |= {"state": state, "written_at": _now()}
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
