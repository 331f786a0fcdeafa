"""The queue on a clock that jumps to the next thing that is due, so that hours pass in no time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.control.jumping import now, run

from hudi_operator.kube.errors import ApiUnavailable
from hudi_operator.runtime.controller import Trigger
from hudi_operator.runtime.queue import KeyedQueue

Queue = KeyedQueue[str]
Handler = Callable[[str, Trigger], Awaitable[float | None]]


async def work_for(queue: Queue, seconds: float, handler: Handler, *, workers: int = 2, **options: Any) -> None:
    """Let workers work for some virtual seconds, then stop them."""
    working = asyncio.create_task(queue.run(workers=workers, handler=handler, **options))
    await asyncio.sleep(seconds)
    await queue.stop(grace_seconds=0)
    await working


class Recorder:
    """A handler that notes when it began each key, and may take time, fail or ask to come again."""

    def __init__(self, *, takes: float = 0, answers: float | None = None, fails: int = 0) -> None:
        self.reconciles: list[tuple[float, str]] = []
        self.triggers: list[Trigger] = []
        self.at_once = 0
        self.most_at_once = 0
        self.same_key_twice = False
        self._now_working: set[str] = set()
        self._takes = takes
        self._answers = answers
        self._fails = fails

    async def __call__(self, key: str, trigger: Trigger) -> float | None:
        self.reconciles.append((now(), key))
        self.triggers.append(trigger)
        self.same_key_twice |= key in self._now_working
        self._now_working.add(key)
        self.most_at_once = max(self.most_at_once, len(self._now_working))
        try:
            await asyncio.sleep(self._takes)
        finally:
            self._now_working.discard(key)
        if len(self.reconciles) <= self._fails:
            raise RuntimeError("this reconcile fails")
        return self._answers

    @property
    def times(self) -> list[float]:
        return [round(when, 3) for when, _ in self.reconciles]

    @property
    def keys(self) -> list[str]:
        return [key for _, key in self.reconciles]


def test_a_key_added_many_times_is_worked_on_once() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder()
        for _ in range(5):
            queue.add("a")
        assert queue.depth == 1
        await work_for(queue, 1, recorder)
        return recorder

    assert run(story).keys == ["a"]


def test_a_key_added_while_it_is_worked_on_comes_again_afterwards_and_never_at_the_same_time() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder(takes=10)
        queue.add("a")
        asyncio.get_running_loop().call_later(5, queue.add, "a")
        asyncio.get_running_loop().call_later(6, queue.add, "a")
        await work_for(queue, 60, recorder, workers=4)
        return recorder

    recorder = run(story)
    assert recorder.times == [0, 10]
    assert not recorder.same_key_twice


def test_keys_are_taken_in_the_order_in_which_they_came() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder(takes=1)
        for key in ("c", "a", "b", "c"):
            queue.add(key)
        await work_for(queue, 10, recorder, workers=1)
        return recorder

    assert run(story).keys == ["c", "a", "b"]


def test_requests_of_events_go_before_requests_of_polls() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder(takes=1)
        for key in ("a", "b", "c"):
            queue.add(key, Trigger.POLL)
        queue.add("c", Trigger.EVENT)
        queue.add("d", Trigger.EVENT)
        queue.add("d", Trigger.POLL)
        await work_for(queue, 10, recorder, workers=1)
        return recorder

    recorder = run(story)
    assert recorder.keys == ["c", "d", "a", "b"]
    assert recorder.triggers == [Trigger.EVENT, Trigger.EVENT, Trigger.POLL, Trigger.POLL]


def test_a_poll_has_its_turn_however_many_events_there_are() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(group=lambda _key: "team-a"), Recorder(takes=1)
        queue.add("polled", Trigger.POLL)
        for number in range(20_000):
            queue.add(str(number))
        await work_for(queue, 5, recorder, workers=1)
        return recorder

    assert run(story).keys == ["0", "1", "2", "polled", "3"]


def test_a_reconcile_that_failed_comes_back_as_one_for_which_nothing_known_counts() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder(fails=1, answers=30)
        queue.add("a", Trigger.POLL)
        await work_for(queue, 40, recorder)
        return recorder

    assert run(story).triggers == [Trigger.POLL, Trigger.EVENT, Trigger.POLL]


def test_an_event_during_a_reconcile_is_remembered_beside_a_poll() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder(takes=10)
        queue.add("a", Trigger.POLL)
        asyncio.get_running_loop().call_later(5, queue.add, "a", Trigger.EVENT)
        asyncio.get_running_loop().call_later(6, queue.add, "a", Trigger.POLL)
        await work_for(queue, 60, recorder)
        return recorder

    assert run(story).triggers == [Trigger.POLL, Trigger.EVENT]


def test_the_queue_knows_which_keys_come_again_without_being_asked() -> None:
    async def story() -> list[bool]:
        queue = Queue()
        queue.add("waits")
        queue.add_after("later", 5)
        return [key in queue for key in ("waits", "later", "nobody")]

    assert run(story) == [True, True, False]


def test_no_more_keys_are_worked_on_at_once_than_there_are_workers() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder(takes=1)
        for number in range(20):
            queue.add(str(number))
        await work_for(queue, 100, recorder, workers=3)
        return recorder

    recorder = run(story)
    assert (len(recorder.reconciles), recorder.most_at_once) == (20, 3)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([30], [30]),
        ([30, 10], [10]),
        ([10, 30], [10]),
        ([0], [0]),
        ([-5], [0]),
    ],
)
def test_of_several_requests_to_reconcile_later_the_earliest_counts(
    requests: list[float], expected: list[float]
) -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder()
        for seconds in requests:
            queue.add_after("a", seconds)
        await work_for(queue, 100, recorder)
        return recorder

    assert run(story).times == expected


def test_the_outcome_of_a_reconcile_replaces_an_earlier_request() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder(answers=40)
        queue.add_after("a", 15)
        queue.add("a")
        await work_for(queue, 100, recorder)
        return recorder

    assert run(story).times == [0, 40, 80]


def test_a_request_made_during_a_reconcile_is_kept() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder(takes=10)
        queue.add("a")
        asyncio.get_running_loop().call_later(5, queue.add_after, "a", 20)
        await work_for(queue, 100, recorder)
        return recorder

    assert run(story).times == [0, 25]


def test_failures_back_off_doubling_to_a_ceiling_and_success_starts_anew() -> None:
    async def story() -> tuple[Recorder, int]:
        queue = Queue(first_backoff=1, last_backoff=10, draw=lambda: 1.0)
        recorder = Recorder(fails=6)
        queue.add("a")
        await work_for(queue, 36, recorder)
        return recorder, queue.failures("a")

    recorder, failures = run(story)
    assert recorder.times == [0, 1, 3, 7, 15, 25, 35]
    assert failures == 0


@pytest.mark.parametrize(("draw", "expected"), [(0.0, 4.0), (0.5, 6.0), (1.0, 8.0)])
def test_half_of_a_backoff_is_random(draw: float, expected: float) -> None:
    async def story() -> float:
        queue = Queue(first_backoff=8, draw=lambda: draw)
        return queue.retry("a")

    assert run(story) == expected


def test_a_key_that_fails_does_not_hold_up_another() -> None:
    async def story() -> list[str]:
        queue, done = Queue(), []

        async def handler(key: str, _trigger: Trigger) -> None:
            if key == "poison":
                raise ValueError("poison")
            done.append(key)

        queue.add("poison")
        queue.add("good")
        await work_for(queue, 1000, handler, workers=1)
        return done

    assert run(story) == ["good"]


def test_delay_requested_by_the_server_is_the_least_wait() -> None:
    async def story() -> list[float]:
        queue, times = Queue(), []

        async def handler(_key: str, _trigger: Trigger) -> None:
            times.append(now())
            if len(times) == 1:
                raise ApiUnavailable("too many requests", status=429, retry_after=77)

        queue.add("a")
        await work_for(queue, 200, handler)
        return times

    assert run(story) == [0, 77]


def test_a_reconcile_that_takes_too_long_is_cut_off_and_counts_as_a_failure() -> None:
    async def story() -> tuple[Recorder, int]:
        queue, recorder = Queue(draw=lambda: 1.0), Recorder(takes=1000)
        queue.add("a")
        await work_for(queue, 15, recorder, workers=1, timeout_seconds=5)
        return recorder, queue.failures("a")

    recorder, failures = run(story)
    assert recorder.times == [0, 6, 13]
    assert failures == 2


def test_a_reconcile_whose_own_task_is_cancelled_does_not_end_the_worker() -> None:
    async def story() -> list[str]:
        queue, done = Queue(), []

        async def handler(key: str, _trigger: Trigger) -> None:
            if key == "cancelled":
                part = asyncio.create_task(asyncio.sleep(100))
                part.cancel()
                await part
            done.append(key)

        queue.add("cancelled")
        queue.add("good")
        await work_for(queue, 0.1, handler, workers=1)
        return done

    assert run(story) == ["good"]


def test_stopping_lets_running_reconciles_end_and_takes_no_new_ones() -> None:
    async def story() -> tuple[bool, Recorder, list[str], float]:
        queue, recorder, ended = Queue(), Recorder(takes=10), []

        async def handler(key: str, trigger: Trigger) -> float | None:
            await recorder(key, trigger)
            ended.append(key)
            return 1

        working = asyncio.create_task(queue.run(workers=1, handler=handler))
        queue.add("running")
        queue.add("waiting")
        queue.add_after("later", 3)
        await asyncio.sleep(1)
        finished = await queue.stop(grace_seconds=30)
        queue.add("too late")
        await working
        await asyncio.sleep(100)
        return finished, recorder, ended, now()

    finished, recorder, ended, _ = run(story)
    assert finished
    assert recorder.keys == ended == ["running"]


def test_stopping_cuts_off_a_reconcile_that_does_not_end_in_time() -> None:
    async def story() -> tuple[bool, float]:
        queue = Queue()
        working = asyncio.create_task(queue.run(workers=2, handler=Recorder(takes=1000)))
        queue.add("stuck")
        await asyncio.sleep(1)
        finished = await queue.stop(grace_seconds=5)
        await working
        return finished, now()

    assert run(story) == (False, 6)


def test_a_discarded_key_is_neither_worked_on_nor_remembered() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder()
        queue.add("waits")
        queue.add_after("later", 5)
        queue.retry("failed")
        for key in ("waits", "later", "failed"):
            queue.discard(key)
        queue.add("other")
        assert queue.depth == 1
        assert queue.failures("failed") == 0
        await work_for(queue, 100, recorder)
        return recorder

    assert run(story).keys == ["other"]


def test_a_key_discarded_and_added_again_is_worked_on_once() -> None:
    async def story() -> Recorder:
        queue, recorder = Queue(), Recorder()
        queue.add("a")
        queue.discard("a")
        queue.add("a")
        await work_for(queue, 100, recorder)
        return recorder

    assert run(story).keys == ["a"]


def test_the_queue_tells_its_depth_and_how_long_the_oldest_key_has_waited() -> None:
    async def story() -> list[tuple[int, float, float]]:
        queue, seen = Queue(), []

        def measure() -> None:
            seen.append((queue.depth, queue.oldest_seconds, queue.seconds_without_progress))

        measure()
        queue.add("a")
        await asyncio.sleep(20)
        queue.add("b")
        queue.add("a")
        await asyncio.sleep(10)
        measure()
        working = asyncio.create_task(queue.run(workers=1, handler=Recorder(takes=50)))
        await asyncio.sleep(5)
        measure()
        await queue.stop(grace_seconds=0)
        await working
        measure()
        return seen

    assert run(story) == [(0, 0, 0), (2, 30, 30), (1, 15, 5), (0, 0, 0)]
