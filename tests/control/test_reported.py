"""What a run did to instants of others is told by one Event each, whatever befalls the operator meanwhile."""

from __future__ import annotations

import pytest
from tests.control.test_reconciler import Operator, living_table

from hudi_jobs.contract import AffectedInstant, Effect

TIMES = tuple(f"2026031011300000{number}" for number in range(3))
AFFECTED = tuple(AffectedInstant(instant=time, action="deltacommit", effect=Effect.ROLLED_BACK) for time in TIMES)
SENTENCES = [f"Rolled back deltacommit {time} of another tool or an unknown run." for time in TIMES]


def operator() -> Operator:
    cluster = living_table()
    cluster.affected = AFFECTED
    return Operator(cluster)


def reported(one: Operator) -> list[str]:
    return [message for kind, reason, message in one.cluster.events if (kind, reason) == ("Warning", "RolledBack")]


async def test_each_instant_is_an_event_and_a_line_of_history_and_told_once() -> None:
    one = operator()
    await one.settle()
    assert reported(one) == SENTENCES
    (line,) = one.status["history"]
    assert [each["time"] for each in line["affected"]] == list(TIMES)
    await Operator(one.cluster).settle()
    await one.reconcile()
    assert reported(one) == SENTENCES


async def test_a_lost_reply_to_any_write_neither_doubles_nor_drops_an_event() -> None:
    reference = operator()
    await reference.settle()
    for number in range(1, reference.cluster.writes + 1):
        one = operator()
        one.cluster.lose = number.__eq__
        await one.settle()
        assert sorted(reported(one)) == SENTENCES, f"write {number}"


@pytest.mark.parametrize("takes_effect", [False, True], ids=["before", "after"])
async def test_a_process_that_dies_tells_nothing_twice_and_the_history_holds_it(*, takes_effect: bool) -> None:
    reference = operator()
    await reference.settle()
    for number in range(1, reference.cluster.writes + 1):
        one = operator()
        one.cluster.kill_at = (number, takes_effect)
        await one.settle()
        assert len(set(reported(one))) == len(reported(one)) <= len(TIMES), f"write {number}"
        assert [each["time"] for each in one.status["history"][0]["affected"]] == list(TIMES)
