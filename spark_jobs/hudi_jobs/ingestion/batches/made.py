"""Which instants the JVM makes while a batch is under way, known before the batch has ended.

A write leaves no name in the timeline before it completes, and Hudi offers no way to choose its instant. So the newest
instant that the JVM has made is looked at ten times a second: none passes unseen, because Hudi takes a fifth of a
second for each (`SkewAdjustingTimeGenerator`). What is told of them is true of a driver that dies within the batch too.
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
"""How many of the first are told of more than can be told."""


class MadeInstants:
    """The instants of one batch after another, in a list of the run's; the first and the last where there are many.

    The write of a batch is among the first: what services make beside it comes while it is under way.
    `newest` says which instant the JVM has made last. `tell` tells what is in the list, and whether that was taken.
    A thread of its own tells, so that a store that is slow keeps none from being seen.
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
        """All that was made in the last batch, or has been in the one that is under way."""

    @contextmanager
    def of_a_batch(self) -> Iterator[None]:
        """Gather what is made within the block; of one that ends well nothing is kept to be told."""
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
        """Note the newest instant if it is new."""
        newest = self._look_up()
        if newest is None or newest == self._last:
            return
        self._last = newest
        self.of_the_last.append(newest)
        first, last = self.of_the_last[:_FIRST], self.of_the_last[_FIRST:]
        self._made[:] = [*first, *last[-(MOST_MADE - _FIRST) :]]
        self._untold = True

    def tell(self, *, now: bool = False) -> None:
        """Tell what is new: at once what came first, and later ones every few seconds."""
        rests = self._told_at is not None and self._clock() - self._told_at < _TELLS_EVERY_SECONDS
        if not self._untold or (rests and not now):
            return
        self._told_at, self._untold = self._clock(), False
        if not self._tell():
            self._untold = True

    def _look_up(self) -> str | None:
        """Return the newest instant; None where the JVM has ended."""
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
