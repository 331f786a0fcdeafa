"""Fair lines as values, and the queue that shares its workers by them."""

import asyncio
from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st
from tests.control.jumping import run

from hudi_operator.runtime.controller import Trigger
from hudi_operator.runtime.queue import FairLines, KeyedQueue

Key = tuple[str, int]
GROUPS = ("a", "b", "c", "d")

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(GROUPS), st.integers(0, 9)),
        st.tuples(st.just("discard"), st.sampled_from(GROUPS), st.integers(0, 9)),
        st.tuples(st.just("take"), st.just(""), st.just(0)),
    ),
    max_size=80,
)
requests = st.lists(
    st.tuples(st.sampled_from(GROUPS), st.integers(0, 30), st.sampled_from(Trigger)), min_size=1, max_size=60
)


@given(steps)
def test_lines_hand_out_each_waiting_item_once_and_in_the_order_of_its_group(play: list[tuple[str, str, int]]) -> None:
    lines: FairLines[str, Key] = FairLines()
    expected: dict[str, list[Key]] = defaultdict(list)
    for what, group, number in play:
        item = (group, number)
        if what == "add":
            lines.add(group, item)
            expected[group] += [item] if item not in expected[group] else []
        elif what == "discard":
            lines.discard(group, item)
            expected[group] = [one for one in expected[group] if one != item]
        elif (taken := lines.take(lambda _group: 0)) is not None:
            assert taken[1] == expected[taken[0]].pop(0)
        else:
            assert not any(expected.values())
        assert len(lines) == sum(map(len, expected.values()))


@given(st.dictionaries(st.sampled_from(GROUPS), st.integers(0, 40), min_size=1), st.integers(0, 30))
def test_new_item_of_a_group_waits_for_at_most_one_item_of_each_other_group(
    others: dict[str, int], taken_before: int
) -> None:
    lines: FairLines[str, Key] = FairLines()
    for group, count in others.items():
        for number in range(count):
            lines.add(group, (group, number))
    for _ in range(taken_before):
        lines.take(lambda _group: 0)
    lines.add("new", ("new", 0))
    before: Counter[str] = Counter()
    while (taken := lines.take(lambda _group: 0)) is not None and taken[0] != "new":
        before[taken[0]] += 1
    assert taken == ("new", ("new", 0))
    assert all(count <= 1 for count in before.values())


def test_group_that_holds_fewest_goes_first_and_an_excluded_group_waits() -> None:
    lines: FairLines[str, Key] = FairLines()
    held = {"a": 2, "b": 1, "c": None}
    for group in held:
        lines.add(group, (group, 1))
    assert lines.take(held.get) == ("b", ("b", 1))
    assert lines.take(held.get) == ("a", ("a", 1))
    assert lines.take(held.get) is None
    assert len(lines) == 1


class Passes:
    """A handler of a queue that counts which keys are in progress."""

    def __init__(self, *, seconds: float = 1.0) -> None:
        self.order: list[Key] = []
        self.most: Counter[str] = Counter()
        self.twice = False
        self._now: list[Key] = []
        self._seconds = seconds

    async def __call__(self, key: Key, _trigger: Trigger) -> None:
        self.order.append(key)
        self.twice |= key in self._now
        self._now.append(key)
        for group, count in Counter(group for group, _ in self._now).items():
            self.most[group] = max(self.most[group], count)
        await asyncio.sleep(self._seconds)
        self._now.remove(key)


async def played(asked: list[tuple[str, int, Trigger]], *, workers: int, gap: float = 0.0) -> Passes:
    queue: KeyedQueue[Key] = KeyedQueue(group=lambda key: key[0])
    passes = Passes()
    working = asyncio.create_task(queue.run(workers=workers, handler=passes))
    for group, number, trigger in asked:
        queue.add((group, number), trigger)
        await asyncio.sleep(gap)
    await asyncio.sleep(300)
    assert queue.depth == 0
    await queue.stop(grace_seconds=0)
    await working
    return passes


@given(requests, st.integers(1, 12), st.sampled_from((0.0, 0.3)))
def test_queue_loses_no_key_and_never_processes_a_key_twice_at_once(
    asked: list[tuple[str, int, Trigger]], workers: int, gap: float
) -> None:
    passes = run(lambda: played(asked, workers=workers, gap=gap))
    assert set(passes.order) == {(group, number) for group, number, _ in asked}
    assert not passes.twice


@given(st.integers(0, 200), st.integers(1, 40), st.sampled_from(Trigger), st.sampled_from(Trigger))
def test_wait_of_a_group_does_not_depend_on_the_number_of_keys_of_another(
    many: int, workers: int, theirs: Trigger, own: Trigger
) -> None:
    passes = run(lambda: played([*(("many", n, theirs) for n in range(many)), ("one", 0, own)], workers=workers))
    # All workers take a key at once; of two kinds of requests, up to three events go before a poll.
    assert passes.order.index(("one", 0)) <= workers // 4 + 4


@given(st.integers(2, 40))
def test_one_group_leaves_three_quarters_of_the_workers_to_others(workers: int) -> None:
    passes = run(lambda: played([("many", number, Trigger.EVENT) for number in range(60)], workers=workers))
    assert passes.most["many"] == -(-workers // 4)


def test_late_group_finds_a_free_worker_while_others_hang() -> None:
    async def story() -> list[Key]:
        queue: KeyedQueue[Key] = KeyedQueue(group=lambda key: key[0])
        hanging = Passes(seconds=10_000)
        working = asyncio.create_task(queue.run(workers=32, handler=hanging))
        for group in GROUPS:
            for number in range(300):
                queue.add((group, number))
        await asyncio.sleep(1)
        queue.add(("late", 0))
        await asyncio.sleep(1)
        await queue.stop(grace_seconds=0)
        await working
        return hanging.order

    assert run(story)[-1] == ("late", 0)
