"""Which writes keep an operation from beginning, told by values alone: those beside its target, and those alive."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudi_jobs.contract import OPERATOR_FOLDER, ConcurrencyMode, FailureReason
from hudi_jobs.contract.run_progress import SERVICES_LEASE
from hudi_jobs.journal.history import History, Write
from hudi_jobs.operations.refusal import UNCHANGED, require_contiguous, require_latest
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table_services.unfinished_work import HEARTBEATS, Others

BEFORE, TIME, LATER, LAST = (f"2026031013{minute}00000" for minute in ("00", "10", "20", "30"))
TARGET = Write(TIME, "commit", TIME)
NEXT = Write(LATER, "commit", LATER)


@dataclass(frozen=True)
class Past:
    """A timeline of these writes beside the target, and of these commits in the archive."""

    others: tuple[Write, ...]
    archived: frozenset[str]

    @property
    def writes(self) -> list[Write]:
        return sorted((TARGET, *self.others), key=lambda write: write.instant)

    def archived_from(self, instant: str) -> set[str]:
        return {time for time in self.archived if time >= instant}


def check(*, goes: tuple[Write, ...] = (), stays: tuple[Write, ...] = (), archived: tuple[str, ...] = ()) -> None:
    past = cast("History", Past((*goes, *stays), frozenset(archived)))
    require_contiguous(past, TARGET, sorted(goes, key=lambda write: write.instant, reverse=True))


def named_as_overlapping(write: Write, example: str | None) -> str:
    again = "name another commit" + (f", for example {example}" if example else "")
    return (
        f"The write {write.instant} overlapped with commit {TIME}, so the rows .* not certain; {again}\\. {UNCHANGED}"
    )


@pytest.mark.parametrize("action", ["commit", "deltacommit", "replacecommit"])
def test_a_write_that_began_before_the_target_and_ended_after_it_would_go_and_is_named(action: str) -> None:
    overlapped = Write(BEFORE, action, LATER)
    with pytest.raises(TaskFailed, match=named_as_overlapping(overlapped, LAST)) as refused:
        check(goes=(overlapped, Write(LAST, action, LAST)))
    assert refused.value.reason is FailureReason.OPERATION_REFUSED


@pytest.mark.parametrize(
    "stays",
    [
        Write(LATER, "commit", BEFORE),
        Write(LATER, "deltacommit", None),
        Write(LATER, "compaction", BEFORE, is_service=True),
    ],
    ids=["completed before it", "pending", "a service"],
)
def test_a_write_that_began_after_the_target_and_would_stay_is_named(stays: Write) -> None:
    example = TIME if stays.completed is None else LAST
    with pytest.raises(TaskFailed, match=named_as_overlapping(stays, example)):
        check(stays=(stays,), goes=(Write(LAST, "commit", LAST),))


def test_a_commit_that_overlapped_with_no_other_is_named_instead_the_newest_from_before_if_there_is_any() -> None:
    first, second = Write(f"{BEFORE[:-1]}1", "commit", f"{BEFORE[:-1]}2"), Write(f"{BEFORE[:-1]}3", "commit", LATER)
    third = Write(f"{BEFORE[:-1]}4", "commit", f"{BEFORE[:-1]}5")
    with pytest.raises(TaskFailed, match=named_as_overlapping(second, first.instant)):
        check(stays=(first, third), goes=(second, NEXT))
    with pytest.raises(TaskFailed, match=named_as_overlapping(second, None)):
        check(goes=(second,))


@pytest.mark.parametrize(
    ("archived", "named"),
    [
        ((BEFORE, TIME, LATER), rf"\({LATER}\)"),
        (tuple(f"{TIME[:-1]}{number}" for number in range(1, 8)), rf"\(({TIME[:-1]}[1-5](, )?){{5}} and 2 more\)"),
    ],
    ids=["one", "seven"],
)
def test_later_commits_that_only_the_archive_has_would_stay_so_it_is_refused(
    archived: tuple[str, ...], named: str
) -> None:
    with pytest.raises(TaskFailed, match=rf"Commits after {TIME} are in the archive {named}, and a restore cannot"):
        check(archived=archived)


def test_action_that_hudi_does_not_undo_has_to_be_finished_first() -> None:
    with pytest.raises(TaskFailed, match=f"A restore cannot undo the logcompaction {LAST}; finish it first"):
        check(goes=(NEXT, Write(LAST, "logcompaction", None, is_service=True)))


@pytest.mark.parametrize(
    "goes",
    [
        (),
        (NEXT, Write(LAST, "replacecommit", None)),
        (NEXT, *(Write(BEFORE, action, LAST, is_service=True) for action in ("compaction", "clustering"))),
        (*(Write(BEFORE, action, None) for action in ("commit", "deltacommit", "replacecommit")), NEXT),
    ],
    ids=[
        "nothing",
        "what came after it",
        "services that were planned before it, which change no row",
        "writes from before it that never completed, which have no rows",
    ],
)
def test_a_target_with_all_others_before_or_after_it_is_accepted(goes: tuple[Write, ...]) -> None:
    plan = Write(f"{BEFORE[:-1]}1", "compaction", None, is_service=True)
    earlier = Write(f"{BEFORE[:-1]}2", "commit", BEFORE)
    check(goes=goes, stays=(earlier, plan), archived=(BEFORE, earlier.instant, TIME, *(one.instant for one in goes)))


@dataclass(frozen=True)
class Merged:
    """A MergeOnRead table: its completed commits, of which a restore undoes compactions by the times of requests."""

    writes: tuple[Write, ...]

    def completed(self) -> list[Write]:
        return sorted(self.writes, key=lambda write: write.completed or "")

    def after(self, target: Write) -> list[Write]:
        def goes(write: Write) -> bool:
            if write.action == "commit":
                return write.instant > target.instant
            return (write.completed or "") > (target.completed or "")

        return [write for write in self.writes if goes(write)]


FIRST = Write(BEFORE, "deltacommit", f"{BEFORE[:-1]}1")
COMPACTION = Write(TIME, "commit", LAST, is_service=True)


def latest_of(*writes: Write) -> Write:
    return require_latest(cast("History", Merged((FIRST, *writes))), TIME)


def test_a_rollback_of_a_compaction_that_hudi_orders_before_a_later_commit_is_refused() -> None:
    beside = Write(f"{TIME[:-1]}1", "deltacommit", LATER)
    match = f"orders {TIME} before {beside.instant}.*restore the table to a commit from before {TIME}.*{UNCHANGED}"
    with pytest.raises(TaskFailed, match=match) as refused:
        latest_of(COMPACTION, beside)
    assert refused.value.reason is FailureReason.OPERATION_REFUSED


def test_a_rollback_of_a_compaction_beside_which_nothing_was_written_goes_to_the_commit_before_it() -> None:
    assert latest_of(COMPACTION) == FIRST
    with pytest.raises(TaskFailed, match=f"is not the latest: {LATER} completed after it"):
        latest_of(Write(TIME, "commit", TIME, is_service=True), Write(LATER, "deltacommit", LAST))


@pytest.mark.parametrize(("is_dry", "is_alive"), [(True, False), (False, True)])
def test_a_dry_run_does_not_take_the_lease_of_the_last_run_for_the_present(
    is_dry: bool, is_alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {f"{HEARTBEATS}/{TIME}": 90.0, f"{OPERATOR_FOLDER}/{SERVICES_LEASE}": 100.0}
    monkeypatch.setattr(Others, "_written_at", lambda _, path: times[path])
    asked = SimpleNamespace(dry_run=is_dry)
    task = SimpleNamespace(concurrency=ConcurrencyMode.SERIALIZED, hudi_options={}, dead=())
    assert Others(cast("Any", SimpleNamespace(task=task, asked_operation=asked))).is_alive(TIME) is is_alive
