"""Which erasures of an upstream table one of a derived table follows, by their digests."""

import pytest

from hudi_jobs.ingestion.sources.hudi.commits import Erasure, Removal, refuse
from hudi_jobs.operations.erase.erase_check import MOST_COMPARED, matching
from hudi_jobs.operations.erase.keys import digest_of, keys_of
from hudi_jobs.spark.failures import TaskFailed

FIELDS, VALUES = ("id", "day"), frozenset({("1", "x"), ("2", "y")})
KEYS = keys_of(FIELDS, VALUES, "uid-here")


def erasure(uid: str, values: frozenset[tuple[str, ...]] = VALUES) -> Erasure:
    return Erasure(digest_of(FIELDS, values, uid), uid)


def test_an_earlier_erasure_of_the_same_keys_is_followed_and_one_of_other_keys_is_not() -> None:
    others = erasure("uid-of-others", frozenset({("1", "x")}))
    found = matching(KEYS, "uid-again", [erasure("uid-first"), others, erasure("uid-second")])
    assert found == tuple(erasure(uid).digest for uid in ("uid-again", "uid-first", "uid-second"))
    assert matching(KEYS, "uid-first", [erasure("uid-first")]) == (erasure("uid-first").digest,)


def test_erasure_without_a_parent_follows_only_erasures_of_the_same_keys() -> None:
    others = erasure("uid-of-others", frozenset({("1", "x")}))
    assert matching(KEYS, None, [others]) == ()
    assert matching(KEYS, None, [others, erasure("uid-first")]) == (erasure("uid-first").digest,)


def test_whoever_meets_an_erasure_is_told_to_erase_the_same_and_not_to_keep_the_rows() -> None:
    erased = Removal("20260310120000000", "DELETE", 1, Erasure("a" * 64, "uid-first"))
    odd = Removal("20260310120000001", "DELETE", 1, Erasure("a" * 64, "uid of nobody"))
    plain = Removal("20260310120000002", "DELETE", 1)
    with pytest.raises(TaskFailed) as alone:
        refuse([erased, odd], "/lake/events")
    assert "2 of them are erasures (uid of the operation: uid-first). Erase exactly the same keys" in str(alone.value)
    assert "first erase from this table all that comes of these records, then set onRemovedRows" in str(alone.value)
    assert "To continue and keep the rows" not in str(alone.value)
    with pytest.raises(TaskFailed) as beside:
        refuse([erased, plain], "/lake/events")
    assert "1 of them is an erasure" in str(beside.value)
    assert "To continue and keep the rows that are removed upstream, set onRemovedRows to Ignore" in str(beside.value)
    refuse([], "/lake/events")


@pytest.mark.parametrize("uid", ["", "uid\0", "uid of nobody", "\ud800", "u" * 65, "uid-first\n"])
def test_a_commit_that_names_no_operation_is_followed_by_none(uid: str) -> None:
    told = Erasure(erasure("uid-first").digest, uid)
    assert matching(KEYS, "uid-again", [told]) == (erasure("uid-again").digest,)


def test_number_of_compared_erasures_is_bounded() -> None:
    many = [Erasure("0" * 64, f"uid-{number}") for number in range(MOST_COMPARED)]
    assert len(matching(KEYS, "uid-again", [*many[1:], erasure("uid-last")])) == 2
    assert len(matching(KEYS, "uid-again", [*many, erasure("uid-last")])) == 1
