"""Observes the instants that the JVM generates during a batch, before the batch ends.

A write leaves no name in the timeline before it completes, and Hudi offers no way to choose its instant. So the JVM's
newest instant is polled ten times a second: none is missed, because Hudi takes a fifth of a second for each
(`SkewAdjustingTimeGenerator`). The report stays valid if the driver dies within the batch.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError

from hudi_jobs.contract import MOST_MADE

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
