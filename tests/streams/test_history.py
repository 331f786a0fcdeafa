"""What the long trial of streams holds against the history of a database, held against a history of its own."""

from tests.e2e.followed import Observed


def test_a_state_that_the_database_was_not_in_is_noticed() -> None:
    observed = Observed({1: [None, "a", "b", None], 2: [None, "c"]})
    observed.look("1", [(1, "a"), (2, "c")])
    observed.look("2", [(2, "c")])
    assert (observed.unknown, observed.back) == ([], [])
    observed.look("3", [(1, "b")])
    assert len(observed.back) == 2
    observed.look("4", [(1, "x"), (2, "c"), (2, "c"), (3, "d")])
    assert len(observed.unknown) == 3
