"""How often timelines are read, and when a read of the timeline alone is enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hudi_jobs.contract import Location
from hudi_operator.control.snapshots.polling import LastReconcile, Polling, age_of
from hudi_operator.kube.keys import table_key
from hudi_operator.planning.model import NamespaceObservation

KEY = table_key("n", "t")
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def polling(draw: float = 0.5) -> Polling:
    return Polling(least=10, most=300, draw=lambda: draw)


def last(fingerprint: int | None = 1, *, moved_at: float = 0.0, whole_at: float = 1e9) -> LastReconcile:
    return LastReconcile(
        location=Location.parse("s3://b/t"),
        store=None,
        fingerprint=fingerprint,
        namespace=NamespaceObservation(),
        moved_at=moved_at,
        whole_at=whole_at,
    )


@pytest.mark.parametrize(
    ("unmoved", "pause"), [(0, 10), (60, 10), (100, 10), (600, 60), (3000, 300), (86_400, 300), (-5, 10)]
)
def test_the_pause_grows_with_the_time_for_which_nothing_has_moved(unmoved: float, pause: float) -> None:
    one = polling()
    one.end_reconcile(KEY, last(moved_at=1000 - unmoved), moved=False)
    assert one.pause(KEY, now=1000) == pause


def test_a_table_that_is_not_known_is_looked_at_soon() -> None:
    assert polling().pause(KEY, now=1000) == 10


def test_pauses_are_spread_evenly_around_what_they_should_be() -> None:
    assert polling(0.0).pause(KEY, now=0) == pytest.approx(9)
    assert polling(1.0).pause(KEY, now=0) == pytest.approx(11)


def test_a_quick_reconcile_is_enough_until_the_whole_table_has_to_be_seen() -> None:
    one = polling()
    assert one.quick(KEY, now=0) is None
    one.end_reconcile(KEY, last(), moved=False)
    one.reconcile_from(KEY, 100)
    assert one.quick(KEY, now=99) == last(whole_at=100)
    assert one.quick(KEY, now=100) is None


def test_a_reconcile_that_was_begun_and_has_not_succeeded_has_to_be_repeated_whole() -> None:
    one = polling()
    one.end_reconcile(KEY, last(), moved=False)
    one.begin_reconcile(KEY)
    assert one.quick(KEY, now=0) is None
    one.begin_reconcile(KEY)
    one.end_reconcile(KEY, last(moved_at=500), moved=False)
    assert one.quick(KEY, now=0) == last(moved_at=0), "it has not moved since the reconcile before"


@pytest.mark.parametrize(("fingerprint", "moved"), [(2, False), (1, True)])
def test_changed_timeline_is_polled_often_again(fingerprint: int, *, moved: bool) -> None:
    one = polling()
    one.end_reconcile(KEY, last(moved_at=-10_000), moved=False)
    assert one.pause(KEY, now=0) == 300
    one.begin_reconcile(KEY)
    one.end_reconcile(KEY, last(fingerprint, moved_at=0), moved=moved)
    assert one.pause(KEY, now=0) == 10


def test_a_timeline_that_could_not_be_read_is_never_compared_with() -> None:
    one = polling()
    one.end_reconcile(KEY, last(None), moved=False)
    assert one.quick(KEY, now=0) is None


def test_a_forgotten_table_leaves_nothing() -> None:
    one = polling()
    one.end_reconcile(KEY, last(), moved=False)
    one.begin_reconcile(KEY)
    one.forget(KEY)
    assert (one._last, one._interrupted) == ({}, {})


@pytest.mark.parametrize(
    ("time", "age"),
    [
        ("20260310115900000", timedelta(minutes=1)),
        ("20260310115900", timedelta(minutes=1)),
        ("20260310130000000", timedelta()),
        ("00000000000000000", timedelta()),
        ("damaged", timedelta()),
        ("", timedelta()),
    ],
)
def test_the_age_of_an_instant_comes_from_its_time(time: str, age: timedelta) -> None:
    assert age_of(time, now=NOW) == age
