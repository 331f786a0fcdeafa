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


class MadeInstants:
    """The instants of one batch after another, in a list of the run's; the first and the last where there are many.

    The write of a batch is among the first: what services make beside it comes while it is under way.

    `newest` says which instant the JVM has made last. `tell` tells what is in the list, and whether that was taken.
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
        self._before: str | None = None
        self._untold = False
        self._told_at: float | None = None

    @contextmanager
    def of_a_batch(self) -> Iterator[None]:
        """Gather what is made within the block; of one that ends well nothing is kept."""
        self._made.clear()
        self._before, self._untold, self._told_at = self._look_up(), False, None
        over = threading.Event()
        thread = threading.Thread(target=self._look_until, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        except BaseException:
            self._end(over, thread)
            self.look(now=True)
            raise
        self._end(over, thread)
        self._made.clear()

    def look(self, *, now: bool = False) -> None:
        """Look once, and tell what is new: at once what came first, and later ones every few seconds."""
        newest = self._look_up()
        if newest is not None and newest != self._before and newest not in self._made:
            made = [*self._made, newest]
            self._made[:] = made if len(made) <= MOST_MADE else [*made[: MOST_MADE // 2], *made[-MOST_MADE // 2 :]]
            self._untold = True
        rests = self._told_at is not None and self._clock() - self._told_at < _TELLS_EVERY_SECONDS
        if self._untold and (now or not rests):
            self._told_at = self._clock()
            self._untold = not self._tell()

    def _look_until(self, over: threading.Event) -> None:
        while not over.wait(_LOOKS_EVERY_SECONDS):
            self.look()

    def _end(self, over: threading.Event, thread: threading.Thread) -> None:
        over.set()
        thread.join()

    def _look_up(self) -> str | None:
        """Return the newest instant; None where the JVM has ended."""
        try:
            return self._newest()
        except (Py4JError, ConnectionError, EOFError):
            return None
