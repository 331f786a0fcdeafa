"""The API server's clock is told by the dates of its replies, whatever the clock of this machine says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_operator.kube.transport import ApiServerClock

TRUE = datetime(2026, 3, 10, 12, tzinfo=UTC)


def date_at(moment: datetime) -> str:
    return format_datetime(moment.replace(microsecond=0), usegmt=True)


def clock_that_is(ahead: timedelta) -> ApiServerClock:
    return ApiServerClock(wall_time=(TRUE + ahead).timestamp(), seconds=0.0)


@pytest.mark.parametrize("minutes", [-10, 0, 10, 60 * 24 * 365])
def test_one_reply_sets_a_wrong_clock_right(minutes: int) -> None:
    clock = clock_that_is(timedelta(minutes=minutes))
    clock.heard(date_at(TRUE), sent=-0.1, received=0.1)
    assert abs(clock.at(0.0) - TRUE) <= timedelta(seconds=1.1)


def test_a_clock_that_is_right_is_not_moved_by_dates_without_fractions() -> None:
    clock = clock_that_is(timedelta())
    for tenth in range(100):
        written = TRUE + timedelta(seconds=tenth / 10)
        clock.heard(date_at(written), sent=tenth / 10 - 0.01, received=tenth / 10 + 0.01)
    assert clock.at(0.0) == TRUE


@given(
    ahead=st.floats(-1e6, 1e6),
    replies=st.lists(st.tuples(st.floats(0, 3600), st.floats(0, 10), st.floats(0, 1)), min_size=1, max_size=20),
)
def test_clock_is_off_by_at_most_a_second_and_the_last_call(
    ahead: float, replies: list[tuple[float, float, float]]
) -> None:
    clock = clock_that_is(timedelta(seconds=ahead))
    for sent, took, share in sorted(replies):
        written = TRUE + timedelta(seconds=sent + took * share)
        clock.heard(date_at(written), sent=sent, received=sent + took)
        assert abs(clock.at(0.0) - TRUE) <= timedelta(seconds=1 + took + 0.001)


def test_clock_follows_a_corrected_clock_of_the_api_server() -> None:
    clock = clock_that_is(timedelta())
    clock.heard(date_at(TRUE - timedelta(minutes=10)), sent=-0.1, received=0.1)
    clock.heard(date_at(TRUE + timedelta(seconds=60)), sent=59.9, received=60.1)
    assert abs(clock.at(60.0) - (TRUE + timedelta(seconds=60))) <= timedelta(seconds=1.1)


@pytest.mark.parametrize("date", [None, "", "soon", "Tue, 10 Mar 99999 12:00:00 GMT", "Tue, 99 Mar 2026 12:00:00 GMT"])
def test_a_date_that_is_none_is_ignored(date: str | None) -> None:
    clock = clock_that_is(timedelta())
    clock.heard(date, sent=0.0, received=0.0)
    assert clock.at(0.0) == TRUE
