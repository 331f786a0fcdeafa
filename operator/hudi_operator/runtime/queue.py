"""A queue of keys that never processes a key twice at once.

Behaves like client-go's workqueue: adding a waiting key changes nothing; adding a key in progress runs it again
afterwards; failures back off per key. There are two differences. Starting work on a key drops its earlier delayed
request, because the outcome decides the next time. And requests of events go before requests of polls, so that a person
does not wait behind thousands of newly found objects.
"""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import structlog

from hudi_operator.runtime.controller import Trigger

Key = TypeVar("Key", bound=Hashable)
Handler: TypeAlias = Callable[[Key, Trigger], Awaitable[float | None]]

_POLLS_OVERTAKEN = 10_000
"""The most later events that may overtake a poll."""

_log = structlog.get_logger(__name__)


class _Waiting(NamedTuple):
    since: float
    trigger: Trigger


class _Later(NamedTuple):
    timer: asyncio.TimerHandle
    trigger: Trigger


class KeyedQueue(Generic[Key]):
    """Keys to process now or later; use it on one event loop only. Times are seconds of that loop's clock."""

    def __init__(
        self,
        *,
        first_backoff: float = 1.0,
        last_backoff: float = 60.0,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._first_backoff = first_backoff
        self._last_backoff = last_backoff
        self._draw = draw
        self._waiting: dict[Key, _Waiting] = {}  # the longest waiting first
        self._later: dict[Key, _Later] = {}
        self._working: set[Key] = set()
        self._again: dict[Key, Trigger] = {}
        self._failures: dict[Key, int] = {}
        self._order: asyncio.PriorityQueue[tuple[int, int, Key]] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._workers: list[asyncio.Task[None]] = []
        self._last_taken = 0.0
        self._stopping = False
        self._ended = asyncio.Event()

    @property
    def depth(self) -> int:
        """The number of keys waiting for work now."""
        return len(self._waiting)

    @property
    def oldest_seconds(self) -> float:
        """How long the oldest waiting key has waited."""
        longest = next(iter(self._waiting.values()), None)
        return 0.0 if longest is None else max(0.0, _now() - longest.since)

    @property
    def seconds_without_progress(self) -> float:
        """How long keys have waited without any being taken; 0 if none waits."""
        return min(self.oldest_seconds, _now() - self._last_taken)

    def failures(self, key: Key) -> int:
        """Return the number of consecutive failures of a key."""
        return self._failures.get(key, 0)

    def __contains__(self, key: Key) -> bool:
        """Whether a key is in progress, waiting or scheduled."""
        return key in self._working or key in self._waiting or key in self._later

    def add(self, key: Key, trigger: Trigger = Trigger.EVENT) -> None:
        """Process a key as soon as a worker is free, after its current work if it is in progress."""
        if self._stopping:
            return
        if key in self._working:
            self._again[key] = max(trigger, self._again.get(key, trigger))
            return
        waiting = self._waiting.get(key)
        if waiting is not None and waiting.trigger >= trigger:
            return
        # A key queued by a poll and now by an event stands in the order twice; the second entry is skipped.
        self._waiting[key] = _Waiting(waiting.since if waiting else _now(), trigger)
        number = next(self._numbers)
        place = number if trigger is Trigger.EVENT else number + _POLLS_OVERTAKEN
        self._order.put_nowait((place, number, key))

    def add_after(self, key: Key, seconds: float, trigger: Trigger = Trigger.POLL) -> None:
        """Process a key after some seconds; of several requests the earliest wins."""
        if self._stopping:
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + max(0.0, seconds)
        earlier = self._later.get(key)
        if earlier is not None:
            trigger = max(trigger, earlier.trigger)
            due = min(due, earlier.timer.when())
            earlier.timer.cancel()
        self._later[key] = _Later(loop.call_at(due, self._fall_due, key), trigger)

    def retry(self, key: Key, *, at_least: float = 0.0) -> float:
        """Process a key after its backoff, which doubles with every consecutive failure; return the seconds.

        Half of the backoff is random, so that objects that failed together do not return together.
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        backoff = min(self._last_backoff, self._first_backoff * 2.0 ** min(failures, 62))
        seconds = max(at_least, backoff * (0.5 + 0.5 * self._draw()))
        self.add_after(key, seconds, Trigger.EVENT)
        return seconds

    def forget(self, key: Key) -> None:
        """Reset the backoff of a key."""
        self._failures.pop(key, None)

    def discard(self, key: Key) -> None:
        """Drop a removed key; work in progress ends by itself."""
        self.forget(key)
        self._waiting.pop(key, None)
        self._again.pop(key, None)
        later = self._later.pop(key, None)
        if later is not None:
            later.timer.cancel()

    async def run(self, *, workers: int, handler: Handler[Key], timeout_seconds: float | None = None) -> None:
        """Process keys until `stop`.

        The handler returns the seconds until the key's next run, or None. An exception or a timeout sends the key into
        its backoff and never ends a worker.
        """
        self._workers = [
            asyncio.create_task(self._work(handler, timeout_seconds), name=f"queue-worker-{number}")
            for number in range(workers)
        ]
        await asyncio.gather(*self._workers, return_exceptions=True)

    async def stop(self, *, grace_seconds: float) -> bool:
        """Take no more keys, wait for work in progress, then cancel it; return True if all work ended by itself."""
        self._stopping = True
        for later in self._later.values():
            later.timer.cancel()
        self._later.clear()
        self._waiting.clear()
        self._again.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                while self._working:
                    self._ended.clear()
                    await self._ended.wait()
        finished = not self._working
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        return finished

    def _fall_due(self, key: Key) -> None:
        self.add(key, self._later.pop(key).trigger)

    async def _work(self, handler: Handler[Key], timeout_seconds: float | None) -> None:
        while True:
            _, _, key = await self._order.get()
            waiting = self._waiting.pop(key, None)
            if waiting is None:
                continue  # discarded while waiting, or taken at its better place
            trigger = waiting.trigger
            later = self._later.pop(key, None)
            if later is not None:
                later.timer.cancel()
                trigger = max(trigger, later.trigger)
            self._last_taken = _now()
            self._working.add(key)
            try:
                await self._handle(key, trigger, handler, timeout_seconds)
            finally:
                self._working.discard(key)
                self._ended.set()
                again = self._again.pop(key, None)
                if again is not None:
                    self.add(key, again)

    async def _handle(self, key: Key, trigger: Trigger, handler: Handler[Key], timeout_seconds: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_seconds):
                next_reconcile = await handler(key, trigger)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._failed(key, error)  # something the handler waited for was cancelled, not this worker
        except Exception as error:  # noqa: BLE001 - one bad key must not end a worker
            self._failed(key, error)
        else:
            self.forget(key)
            if next_reconcile is not None:
                self.add_after(key, next_reconcile)

    def _failed(self, key: Key, error: BaseException) -> None:
        asked_for = getattr(error, "retry_after", None)
        seconds = self.retry(key, at_least=asked_for if isinstance(asked_for, int | float) else 0.0)
        _log.warning(
            "reconcile failed",
            object=str(key),
            error=f"{type(error).__name__}: {error}",
            failures=self.failures(key),
            retry_seconds=round(seconds, 1),
            exc_info=error,
        )


def _now() -> float:
    return asyncio.get_running_loop().time()
