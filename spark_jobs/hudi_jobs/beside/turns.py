"""Who of one process has a table to itself: batches run one after another, and some steps of a service between two.

A plan is made, and anything is rolled back, while no batch is under way: a clustering then never includes a file group
that a batch has begun to change, and a batch never sees a rollback that is halfway. Everything else of a service runs
beside the batches, under Hudi's own lock.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """The turns of one batch loop and one service. A service that waits is let in before the next batch."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._batch: int | None = None
        self._resting: int | None = None
        self._waiting = 0

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Hold the turn of a batch."""
        with self._changed:
            self._changed.wait_for(lambda: self._resting is None and not self._waiting)
            self._batch = threading.get_ident()
        try:
            yield
        finally:
            with self._changed:
                self._batch = None
                self._changed.notify_all()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Keep batches from beginning once the one under way has ended; it is no wait within one's own turn."""
        if threading.get_ident() in {self._batch, self._resting}:
            yield
            return
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._batch is None and self._resting is None)
            finally:
                self._waiting -= 1
            self._resting = threading.get_ident()
        try:
            yield
        finally:
            with self._changed:
                self._resting = None
                self._changed.notify_all()
