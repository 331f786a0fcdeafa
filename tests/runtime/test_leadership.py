"""The election on its own clock: who may write, and when another may."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.control.jumping import now, run

from hudi_operator.kube.errors import AlreadyExists, ApiUnavailable, Conflict, WriteRefused
from hudi_operator.runtime.leadership import Leadership, LeadershipLost, LeaseTimes

Document = dict[str, Any]
TIMES = LeaseTimes(lease=15, renew_deadline=10, retry=2)


class FakeLeases:
    """One Lease, with versions as the API server checks them; it can be made to fail, or to lose its replies."""

    def __init__(self) -> None:
        self.lease: Document | None = None
        self.failing = False
        self.losing_replies = False
        self._version = 0

    @property
    def holder(self) -> str:
        assert self.lease is not None
        return str(self.lease["spec"]["holderIdentity"])

    async def get_lease(self, _name: str) -> Document | None:
        self._answer()
        return copy.deepcopy(self.lease)

    async def create_lease(self, name: str, spec: Document) -> Document:
        self._answer()
        if self.lease is not None:
            raise AlreadyExists("there is one")
        return self._store({"metadata": {"name": name}, "spec": spec})

    async def replace_lease(self, lease: Document) -> Document:
        self._answer()
        if self.lease is None or lease["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise Conflict("somebody else wrote")
        return self._store(lease)

    def write_from_outside(self, **spec: Any) -> None:
        assert self.lease is not None
        self._store({**self.lease, "spec": {**self.lease["spec"], **spec}})

    def _store(self, lease: Document) -> Document:
        self._version += 1
        self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": str(self._version)}}
        if self.losing_replies:
            raise ApiUnavailable("the reply was lost")
        return copy.deepcopy(self.lease)

    def _answer(self) -> None:
        if self.failing:
            raise ApiUnavailable("no answer")


class Frozen:
    """A clock that can jump, as it does for a process that was stopped."""

    def __init__(self) -> None:
        self.jumped = 0.0

    def __call__(self) -> float:
        return now() + self.jumped


def candidate(leases: FakeLeases, identity: str, clock: Callable[[], float] = now) -> Leadership:
    return Leadership(leases=leases, name="leader", identity=identity, times=TIMES, clock=clock, draw=lambda: 0.5)


async def holding(leader: Leadership) -> asyncio.Task[None]:
    await leader.acquire()
    return asyncio.create_task(leader.hold())


async def cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_the_first_process_leads_and_the_second_stands_by() -> None:
    async def story() -> None:
        leases = FakeLeases()
        first, second = candidate(leases, "first"), candidate(leases, "second")
        held = await holding(first)
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(600)
        assert first.is_leader
        first.check()
        assert not second.is_leader
        assert second.holder == "first"
        with pytest.raises(WriteRefused):
            second.check()
        await cancel(held)
        await cancel(waiting)

    run(story)


def test_the_successor_of_a_leader_that_died_takes_over_within_the_lease_and_one_attempt() -> None:
    async def story() -> float:
        leases = FakeLeases()
        first, second = candidate(leases, "first"), candidate(leases, "second")
        held = await holding(first)
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(60)
        await cancel(held)
        died = now()
        await waiting
        return now() - died

    assert 10 < run(story) <= TIMES.lease + 1.5 * TIMES.retry


def test_a_lease_that_was_released_is_taken_at_the_next_attempt() -> None:
    async def story() -> float:
        leases = FakeLeases()
        first, second = candidate(leases, "first"), candidate(leases, "second")
        held = await holding(first)
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(60)
        await cancel(held)
        await first.release()
        with pytest.raises(WriteRefused):
            first.check()
        released = now()
        await waiting
        return now() - released

    assert run(story) <= 1.5 * TIMES.retry


def test_a_process_that_was_frozen_writes_nothing_when_it_wakes_and_never_renews() -> None:
    async def story() -> None:
        leases, clock = FakeLeases(), Frozen()
        first = candidate(leases, "first", clock)
        held = await holding(first)
        await asyncio.sleep(3)
        first.check()
        clock.jumped = TIMES.renew_deadline
        with pytest.raises(WriteRefused):
            first.check()
        version = leases.lease
        with pytest.raises(LeadershipLost):
            await held
        assert leases.lease == version
        await first.release()
        assert leases.lease == version, "it may be another's by now"

    run(story)


def test_an_api_server_that_is_away_for_less_than_the_deadline_costs_nothing() -> None:
    async def story() -> None:
        leases = FakeLeases()
        first = candidate(leases, "first")
        held = await holding(first)
        await asyncio.sleep(5)
        leases.failing = True
        await asyncio.sleep(TIMES.renew_deadline - 4.1)
        leases.failing = False
        await asyncio.sleep(5)
        first.check()
        leases.failing = True
        with pytest.raises(LeadershipLost, match="not renewed for 10 seconds"):
            await held
        assert not first.is_leader

    run(story)


def test_the_lease_is_not_free_before_its_holder_has_stopped() -> None:
    async def story() -> None:
        leases = FakeLeases()
        first, second = candidate(leases, "first"), candidate(leases, "second")
        held = await holding(first)
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(60)
        await cancel(held)
        while not waiting.done():
            assert not (first.is_leader and second.is_leader)
            await asyncio.sleep(0.1)
        assert not first.is_leader

    run(story)


def test_a_lost_reply_does_not_end_the_leadership_nor_hinder_winning_it() -> None:
    async def story() -> None:
        leases = FakeLeases()
        leases.losing_replies = True
        first = candidate(leases, "first")
        winning = asyncio.create_task(first.acquire())
        await asyncio.sleep(1)
        leases.losing_replies = False
        await winning
        held = asyncio.create_task(first.hold())
        leases.losing_replies = True
        await asyncio.sleep(3)
        leases.losing_replies = False
        await asyncio.sleep(60)
        first.check()
        assert not held.done()
        await cancel(held)

    run(story)


def test_whoever_finds_the_lease_in_other_hands_stops_at_once() -> None:
    async def story() -> None:
        leases = FakeLeases()
        first = candidate(leases, "first")
        held = await holding(first)
        leases.write_from_outside(holderIdentity="other")
        with pytest.raises(LeadershipLost, match="held by other"):
            await held
        assert not first.is_leader
        assert leases.holder == "other"

    run(story)


def test_a_holder_that_promised_a_longer_lease_is_believed() -> None:
    async def story() -> float:
        leases = FakeLeases()
        await candidate(leases, "first").acquire()
        leases.write_from_outside(leaseDurationSeconds=60)
        await candidate(leases, "second").acquire()
        return now()

    assert run(story) >= 60


@pytest.mark.parametrize("spec", [{}, None, {"holderIdentity": None, "leaseDurationSeconds": "15"}])
def test_a_lease_that_says_nothing_is_free(spec: Any) -> None:
    async def story() -> str:
        leases = FakeLeases()
        await leases.create_lease("leader", spec)
        await candidate(leases, "first").acquire()
        return leases.holder

    assert run(story) == "first"
