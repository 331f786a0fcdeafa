"""Which commits a HudiSavepoint cannot keep, by timelines that are plain values."""

from __future__ import annotations

from typing import cast

import pytest

from hudi_jobs.table_services.savepoints import _refusal
from hudi_jobs.table_services.timeline import Clean, PendingRollback, Timeline

EARLY, COMMIT, LATE = "20260310115900000", "20260310120000000", "20260310120100000"


class TimelineParts:
    """A timeline with three commits."""

    def __init__(self, *cleans: Clean, rollbacks: tuple[PendingRollback, ...] = ()) -> None:
        self._cleans = cleans
        self._rollbacks = rollbacks

    def commits(self) -> set[str]:
        return {EARLY, COMMIT, LATE}

    def cleans(self) -> list[Clean]:
        return [*self._cleans]

    def unfinished_rollbacks(self) -> list[PendingRollback]:
        return [*self._rollbacks]


def refusal(instant: str, seen: TimelineParts) -> str | None:
    return _refusal(cast("Timeline", seen), instant)


@pytest.mark.parametrize(
    ("clean", "refused"),
    [
        (Clean(LATE, keeps_from=LATE), True),
        (Clean(LATE, keeps_from=COMMIT), False),
        (Clean(LATE, keeps_from=None), True),
        (Clean(EARLY, keeps_from=None), False),
    ],
    ids=["keeps from a later one", "keeps from this one", "does not say", "was before"],
)
def test_a_clean_that_may_have_taken_files_of_a_commit_refuses_it(clean: Clean, refused: bool) -> None:
    assert (refusal(COMMIT, TimelineParts(clean)) is not None) is refused
    assert (refusal(COMMIT, TimelineParts(clean, Clean(LATE, keeps_from=EARLY))) is not None) is refused


def test_a_commit_that_somebody_has_begun_to_roll_back_is_refused() -> None:
    seen = TimelineParts(rollbacks=(PendingRollback(LATE, COMMIT),))
    assert refusal(COMMIT, seen) == f"The rollback {LATE} of commit {COMMIT} has not completed."
    assert refusal(EARLY, seen) is None


def test_instant_that_is_no_commit_is_refused() -> None:
    assert refusal("20200101000000000", TimelineParts()) is not None
