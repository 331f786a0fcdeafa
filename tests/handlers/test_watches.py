"""kopf that ends by itself: the watches begin again, and the operator goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hudi_operator.control.keys import TableKey
from hudi_operator.control.queue import KeyedQueue
from hudi_operator.handlers import watches
from hudi_operator.handlers.informer import Informer
from hudi_operator.handlers.known import KnownObjects
from hudi_operator.handlers.watches import Watcher

Eventually = Callable[..., Awaitable[Any]]
TABLE = {"metadata": {"namespace": "n", "name": "a", "uid": "u", "generation": 1}, "spec": {}}


class FakeKopf:
    """Plays kopf: each life ends as it is told, or brings one event and lasts until it is stopped."""

    def __init__(self, *ends: Exception | None) -> None:
        self.ends = list(ends)
        self.lives = 0
        self.stopped = 0
        self.threads: set[str] = set()

    async def operator(self, *, registry: Any, stop_flag: asyncio.Event, **_: Any) -> None:
        self.lives += 1
        self.threads.add(threading.current_thread().name)
        if self.ends:
            error = self.ends.pop(0)
            if error is not None:
                raise error
            return
        handler = next(one for one in registry._watching._handlers if one.fn.__name__ == "table")
        await handler.fn(event={"type": "ADDED", "object": TABLE})
        await stop_flag.wait()
        self.stopped += 1


async def test_watches_that_end_are_begun_again_and_say_so_meanwhile(
    monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    kopf = FakeKopf(RuntimeError("Error in the watch-stream: 500"), None)
    monkeypatch.setattr(watches.kopf, "operator", kopf.operator)
    monkeypatch.setattr(watches, "_FIRST_PAUSE", 0.2)
    queue: KeyedQueue[TableKey] = KeyedQueue()
    watcher = Watcher(informer=Informer(queue=queue, known=KnownObjects()))
    running = asyncio.create_task(watcher.run())
    try:
        await eventually(lambda: "watch-stream: 500" in str(watcher.problem))
        assert not running.done()
        await eventually(lambda: TableKey("n", "a") in queue)
        assert watcher.problem is None
        assert kopf.lives == 3
        assert kopf.threads == {"watches"}, "kopf cancels what runs on its loop, so it has one of its own"
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert kopf.stopped == 1
