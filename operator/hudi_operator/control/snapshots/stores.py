"""Threads for blocking reads of a store, shared fairly by namespaces.

A hanging store blocks only its own threads, and a namespace with slow reads only its own share.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import thread_time
from typing import NamedTuple, TypeVar

from hudi_operator.runtime.queue import FairLines

T = TypeVar("T")

_MEMORY_SECONDS = 60.0
"""The half-life of a namespace's recorded usage."""

_LOOK_PATIENCE = 4
"""How much longer a look waits for a thread than a read of a timeline."""

_MUCH_SECONDS = 5.0
"""Recent processor seconds above which a namespace may be over its share."""


class StoreBusy(Exception):
    """A read found no thread. `by_namespace` tells whether its own namespace's reads took them."""

    def __init__(self, *, by_namespace: bool) -> None:
        super().__init__()
        self.by_namespace = by_namespace


class _Read(NamedTuple):
    namespace: str
    began: float
    is_look: bool


class _Usage:
    """Seconds used by namespaces, decaying with age."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[float, float]] = {}

    def add(self, namespace: str, seconds: float, *, now: float) -> None:
        self._used[namespace] = (self.of(namespace, now=now) + seconds, now)
        if len(self._used) > 1000:
            self._used = {one: used for one, used in self._used.items() if self.of(one, now=now) > 0.01}

    def of(self, namespace: str, *, now: float) -> float:
        seconds, at = self._used.get(namespace, (0.0, now))
        return float(seconds * 0.5 ** ((now - at) / _MEMORY_SECONDS))

    @property
    def shared(self) -> bool:
        return len(self._used) > 1

    def total(self, *, now: float) -> float:
        return sum(self.of(namespace, now=now) for namespace in self._used)


class StoreThreads:
    """A bounded number of concurrent reads of a store; use it on a single event loop only.

    A namespace gets at most three quarters of the threads, and a third of these while it uses much of the processor and
    more than all others together. Among waiting reads, the namespace with the least recent usage comes first. A read
    waits for a free thread for at most `patience_seconds`. It does not wait while the store hangs: while all threads
    available to it are taken, one of them for longer than that.

    Looks at sources come behind reads of timelines: no look takes a thread that a waiting read could have, and all
    looks together take at most a quarter of the threads, those of a namespace leave one of these free.
    """

    def __init__(self, *, threads: int, patience_seconds: float) -> None:
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="timeline")
        self._threads = threads
        self._share = threads - threads // 4
        self._most_looks = max(1, threads // 4)
        self._look_share = max(1, self._most_looks - max(1, self._most_looks // 4))
        self._patience = patience_seconds
        self._reads: dict[object, _Read] = {}  # the reads that hold a thread, oldest first
        self._taken: Counter[str] = Counter()
        self._looking: Counter[str] = Counter()
        self._waiting: FairLines[str, asyncio.Future[None]] = FairLines()
        self._waiting_looks: FairLines[str, asyncio.Future[None]] = FairLines()
        self._used = _Usage()
        self._processor = _Usage()
        self._spent: dict[object, float] = {}

    async def run(
        self, call: Callable[[], T], *, timeout_seconds: float, namespace: str = "", is_look: bool = False
    ) -> T:
        """Return the result of a blocking call; raise `StoreBusy`, or `TimeoutError` when it takes too long."""
        await self._take_thread(namespace, is_look=is_look)
        loop = asyncio.get_running_loop()
        read = object()
        self._reads[read] = _Read(namespace, loop.time(), is_look)
        try:
            future = self._executor.submit(self._metered, read, call)
        except RuntimeError:  # closed meanwhile
            self._release(read)
            raise
        future.add_done_callback(lambda done: self._hand_back(loop, read, done))
        async with asyncio.timeout(timeout_seconds):
            return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Start no further reads; reads in progress continue with nobody waiting."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _metered(self, read: object, call: Callable[[], T]) -> T:
        began = thread_time()
        try:
            return call()
        finally:
            self._spent[read] = thread_time() - began

    async def _take_thread(self, namespace: str, *, is_look: bool) -> None:
        if self._may_begin(namespace, is_look=is_look):
            self._grant(namespace, is_look=is_look)
            return
        if self._hangs(namespace) and not is_look:
            raise StoreBusy(by_namespace=self._has_free_threads())
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting, patience = self._line(is_look=is_look)
        waiting.add(namespace, turn)
        try:
            async with asyncio.timeout(patience):
                await turn
        except (TimeoutError, asyncio.CancelledError) as error:
            if turn.done() and not turn.cancelled():
                self._give_up(namespace, is_look=is_look)  # granted at the last moment
            else:
                waiting.discard(namespace, turn)
            if isinstance(error, TimeoutError):
                raise StoreBusy(by_namespace=self._has_free_threads()) from error
            raise

    def _line(self, *, is_look: bool) -> tuple[FairLines[str, asyncio.Future[None]], float]:
        """Return where a read waits, and for how many seconds at most."""
        if is_look:
            return self._waiting_looks, self._patience * _LOOK_PATIENCE
        return self._waiting, self._patience

    def _has_free_threads(self) -> bool:
        return self._taken.total() < self._threads

    def _may_begin(self, namespace: str, *, is_look: bool) -> bool:
        if is_look and (self._looking.total() >= self._most_looks or self._looking[namespace] >= self._look_share):
            return False
        return self._has_free_threads() and not self._fills_its_share(namespace)

    def _fills_its_share(self, namespace: str) -> bool:
        return self._taken[namespace] >= self._most(namespace)

    def _most(self, namespace: str) -> int:
        now = asyncio.get_running_loop().time()
        spent = self._processor.of(namespace, now=now)
        greedy = spent > _MUCH_SECONDS and spent > self._processor.total(now=now) / 2 and self._processor.shared
        return max(1, self._share // 3) if greedy else self._share

    def _hangs(self, namespace: str) -> bool:
        own = self._fills_its_share(namespace)
        others = (read for read in self._reads.values() if not read.is_look)  # a look may take long
        reads = (read.began for read in others if not own or read.namespace == namespace)
        oldest = next(reads, None)
        return oldest is not None and asyncio.get_running_loop().time() - oldest > self._patience

    def _hand_back(self, loop: asyncio.AbstractEventLoop, read: object, _done: Future[T]) -> None:
        # Called in the thread. An abandoned read still holds its thread until it ends.
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._release, read)

    def _release(self, read: object) -> None:
        namespace, began, is_look = self._reads.pop(read)
        now = asyncio.get_running_loop().time()
        self._used.add(namespace, now - began, now=now)
        self._processor.add(namespace, self._spent.pop(read, 0.0), now=now)
        self._give_up(namespace, is_look=is_look)

    def _grant(self, namespace: str, *, is_look: bool) -> None:
        self._taken[namespace] += 1
        if is_look:
            self._looking[namespace] += 1

    def _give_up(self, namespace: str, *, is_look: bool) -> None:
        """Release a thread, and grant it to the waiting namespace with the least usage, looks last."""
        for taken in (self._taken, self._looking) if is_look else (self._taken,):
            taken[namespace] -= 1
            if not taken[namespace]:
                del taken[namespace]
        self._grant_waiting(is_look=False)
        self._grant_waiting(is_look=True)

    def _grant_waiting(self, *, is_look: bool) -> None:
        now = asyncio.get_running_loop().time()

        def usage(waiting: str) -> tuple[float, int] | None:
            if not self._may_begin(waiting, is_look=is_look):
                return None
            return self._used.of(waiting, now=now), self._taken[waiting]

        line, _ = self._line(is_look=is_look)
        while (chosen := line.take(usage)) is not None:
            namespace, turn = chosen
            if not turn.done():
                self._grant(namespace, is_look=is_look)
                turn.set_result(None)
