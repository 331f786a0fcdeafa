"""Threads for blocking reads of one store, so that a store that hangs takes its own threads and nobody else's."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class StoreBusy(Exception):
    """All threads of a store have been waiting for it for too long: it is not asked for more at the moment."""


class StoreThreads:
    """A bounded number of reads of one store at once; use it on one event loop only.

    A read waits for a free thread for at most `patience_seconds`, and not at all while the store hangs: while all
    threads are taken and one of them has been for longer than that.
    """

    def __init__(self, *, threads: int, patience_seconds: float) -> None:
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="timeline")
        self._free = asyncio.Semaphore(threads)
        self._patience = patience_seconds
        self._began: dict[object, float] = {}  # the reads that take a thread, the oldest first

    async def run(self, call: Callable[[], T], *, timeout_seconds: float) -> T:
        """Return what a blocking call returns; raise `StoreBusy`, or `TimeoutError` when it takes too long."""
        await self._take_thread()
        loop = asyncio.get_running_loop()
        read = object()
        self._began[read] = loop.time()
        future = self._executor.submit(call)
        future.add_done_callback(lambda done: self._hand_back(loop, read, done))
        async with asyncio.timeout(timeout_seconds):
            return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Begin no further reads; those under way go on without anybody waiting."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _take_thread(self) -> None:
        if self._free.locked() and self._hangs():
            raise StoreBusy
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError as error:
            raise StoreBusy from error

    def _hangs(self) -> bool:
        oldest = next(iter(self._began.values()), None)
        return oldest is not None and asyncio.get_running_loop().time() - oldest > self._patience

    def _hand_back(self, loop: asyncio.AbstractEventLoop, read: object, _done: Future[T]) -> None:
        # Called in the thread. A read that nobody waits for any more still takes its thread until it ends.
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._release, read)

    def _release(self, read: object) -> None:
        self._began.pop(read, None)
        self._free.release()
