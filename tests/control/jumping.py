"""An event loop whose clock jumps to the next thing that is due, so that hours pass in no time."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.SelectSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise RuntimeError("everything waits and nothing is due: the test would never end")
        self.now += max(0.0, timeout)
        return super().select(0)


class _JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run(story: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=_JumpingLoop) as runner:
        return runner.run(story())


def now() -> float:
    return asyncio.get_running_loop().time()
