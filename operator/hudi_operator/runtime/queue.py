"""A queue of keys that never processes a key twice at once, shared fairly by groups of keys, such as namespaces.

Behaves like client-go's workqueue: adding a waiting key changes nothing; adding a key in progress runs it again
afterwards; failures back off per key. There are three differences. Starting work on a key drops its earlier delayed
request, because the outcome decides the next time. Requests of events go before requests of polls, so that a person
does not wait behind thousands of newly found objects; every fourth key is that of a poll. And the group with the fewest
keys in progress goes first, so that no group waits behind all keys of another.
"""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Hashable
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import structlog

from hudi_operator.runtime.controller import Trigger

Group = TypeVar("Group", bound=Hashable)
Item = TypeVar("Item", bound=Hashable)


class FairLines(Generic[Group, Item]):
    """Lines of items, one per group; the caller ranks groups, and groups of equal rank take turns.

    With a rank that grows with what a group already holds, a new item waits for at most one item of each other group.
    """

    def __init__(self) -> None:
        self._lines: dict[Group, dict[Item, None]] = {}  # the group that waits longest for its turn first
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def groups(self) -> Collection[Group]:
        """The groups with waiting items; the longest without a turn comes first."""
        return self._lines.keys()

    def add(self, group: Group, item: Item) -> None:
        """Put an item at the end of its group's line; an item that already waits there keeps its place."""
        line = self._lines.setdefault(group, {})
        if item not in line:
            line[item] = None
            self._size += 1

    def discard(self, group: Group, item: Item) -> None:
        """Remove an item if it waits."""
        line = self._lines.get(group, {})
        if item in line:
            self._remove(group, line, item)

    def take(self, rank: Callable[[Group], Any]) -> tuple[Group, Item] | None:
        """Remove and return the first item of the group with the lowest rank; rank None excludes a group."""
        ranks = ((rank(group), group) for group in self._lines)
        chosen = min(((value, group) for value, group in ranks if value is not None), key=_first, default=None)
        if chosen is None:
            return None
        group = chosen[1]
        line = self._lines.pop(group)
        item = next(iter(line))
        self._lines[group] = line  # at the end: the group has had its turn
        self._remove(group, line, item)
        return group, item

    def _remove(self, group: Group, line: dict[Item, None], item: Item) -> None:
        del line[item]
        self._size -= 1
        if not line:
            del self._lines[group]


def _first(pair: tuple[Any, object]) -> Any:  # noqa: ANN401 - ranks of one caller compare with each other
    return pair[0]


Key = TypeVar("Key", bound=Hashable)
Handler: TypeAlias = Callable[[Key, Trigger], Awaitable[float | None]]

_EVENTS_BEFORE_POLL = 3
"""The most events in a row while a poll waits."""

_FREE_FOR_EACH_HELD = 3
"""A group takes another worker only while more than this many workers are free for each worker that the group holds.

A group alone holds a quarter of the workers. A pass is mostly work of this process, so more passes of one group at once
only slow down the passes of other groups.
"""

_log = structlog.get_logger(__name__)


class _Waiting(NamedTuple):
    since: float
    trigger: Trigger


class _Later(NamedTuple):
    timer: asyncio.TimerHandle
    trigger: Trigger


def _itself(key: Hashable) -> Hashable:
    return key


class KeyedQueue(Generic[Key]):
    """Keys to process now or later; use it on one event loop only. Times are seconds of that loop's clock.

    `group` returns the group of a key; by default each key is a group of its own. A group holds at most a
    quarter of the workers, and fewer beside other groups, so that some stay free.
    """

    def __init__(
        self,
        *,
        group: Callable[[Key], Hashable] = _itself,
        first_backoff: float = 1.0,
        last_backoff: float = 60.0,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._group = group
        self._first_backoff = first_backoff
        self._last_backoff = last_backoff
        self._draw = draw
        self._waiting: dict[Key, _Waiting] = {}  # the longest waiting first
        self._later: dict[Key, _Later] = {}
        self._working: set[Key] = set()
        self._again: dict[Key, Trigger] = {}
        self._failures: dict[Key, int] = {}
        self._events: FairLines[Hashable, Key] = FairLines()
        self._polls: FairLines[Hashable, Key] = FairLines()
        self._events_in_row = 0
        self._held: Counter[Hashable] = Counter()  # keys in progress by group
        self._idle: deque[asyncio.Future[None]] = deque()
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
        """Seconds for which keys have waited without any being taken; 0 if none waits."""
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
        self._waiting[key] = _Waiting(waiting.since if waiting else _now(), trigger)
        group = self._group(key)
        if trigger is Trigger.EVENT:
            self._polls.discard(group, key)
            self._events.add(group, key)
        else:
            self._polls.add(group, key)
        self._wake_worker()

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
        if self._waiting.pop(key, None) is not None:
            group = self._group(key)
            self._events.discard(group, key)
            self._polls.discard(group, key)
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
        self._events, self._polls = FairLines(), FairLines()
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
            key = self._take()
            if key is None:
                await self._become_idle()
                continue
            self._wake_worker()  # another key may have a turn as well
            trigger = self._waiting.pop(key).trigger
            later = self._later.pop(key, None)
            if later is not None:
                later.timer.cancel()
                trigger = max(trigger, later.trigger)
            self._last_taken = _now()
            group = self._group(key)
            self._working.add(key)
            self._held[group] += 1
            try:
                await self._handle(key, trigger, handler, timeout_seconds)
            finally:
                self._release(key, group)

    def _take(self) -> Key | None:
        """Remove and return the next key, or None if no waiting key may begin."""
        events_first = self._events_in_row < _EVENTS_BEFORE_POLL
        for lines in (self._events, self._polls) if events_first else (self._polls, self._events):
            taken = lines.take(self._rank)
            if taken is not None:
                self._events_in_row = self._events_in_row + 1 if lines is self._events else 0
                return taken[1]
        return None

    def _rank(self, group: Hashable) -> int | None:
        """Return the group's keys in progress; None if the free workers are the reserve of other groups."""
        held, free = self._held[group], len(self._workers) - len(self._working)
        return held if _FREE_FOR_EACH_HELD * held < free else None

    def _release(self, key: Key, group: Hashable) -> None:
        self._working.discard(key)
        self._held[group] -= 1
        if not self._held[group]:
            del self._held[group]
        self._ended.set()
        again = self._again.pop(key, None)
        if again is not None:
            self.add(key, again)

    async def _become_idle(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle.append(turn)
        await turn

    def _wake_worker(self) -> None:
        while self._idle:
            turn = self._idle.popleft()
            if not turn.done():
                turn.set_result(None)
                return

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
