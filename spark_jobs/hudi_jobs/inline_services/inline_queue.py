"""Serialises batches with the exclusive steps of a service in one process.

A service plans and rolls back only between batches: a clustering then never includes a file group that a batch has
begun to change, and a batch never sees a half-done rollback. The rest of a service runs beside the batches, under
Hudi's own lock.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class InlineQueue:
    """Gives turns to a batch loop and a service. A waiting service goes before the next batch."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._batch: int | None = None
        self._resting: int | None = None
        self._waiting = 0

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Hold a batch's turn."""
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
        """Block new batches once the current batch has ended; nested use in one's own turn does not wait."""
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
