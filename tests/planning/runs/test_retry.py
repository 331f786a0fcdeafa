"""Waiting after failures."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.planning.model.times import retry_delay


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (8, 600), (1000, 600), (10**9, 600)]
)
def test_the_wait_doubles_up_to_the_ceiling(failures: int, seconds: int) -> None:
    assert retry_delay(failures, RetrySettings()) == timedelta(seconds=seconds)


@pytest.mark.parametrize("failures", [0, -1])
def test_a_count_that_makes_no_sense_still_waits(failures: int) -> None:
    assert retry_delay(failures, RetrySettings()) == timedelta(seconds=10)


def test_the_longest_durations_do_not_overflow() -> None:
    longest = RetrySettings(initial_delay="2562047h", max_delay="2562047h")
    assert retry_delay(1, longest) == timedelta(hours=2562047)
    assert retry_delay(40, longest) == timedelta(hours=2562047)


@given(failures=st.integers(1, 200), initial=st.integers(1, 10**6), ceiling=st.integers(1, 10**7))
def test_the_wait_never_shrinks_with_further_failures(failures: int, initial: int, ceiling: int) -> None:
    settings = RetrySettings(initial_delay=f"{initial}s", max_delay=f"{ceiling}s")
    assert timedelta(0) < retry_delay(failures, settings) <= retry_delay(failures + 1, settings)
    assert retry_delay(failures, settings) <= timedelta(seconds=ceiling)
