"""Savepoints, restores and rollbacks of completed commits: reported once, marked, blocking nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import (
    JOB,
    NOW,
    active,
    again,
    ago,
    at,
    done,
    job,
    memory,
    minutes,
    observe,
    plan_for,
    run,
    status,
    status_of,
    story,
    table,
)

from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.status.timeline import ActStatus
from hudi_operator.planning.facts.writers.acts import ACT_REASONS
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot, Undoing
from hudi_operator.planning.outcome.status.transitions import Transition, transitions

FIRST, SECOND, THIRD = done("commit", 50), done("commit", 40), done("commit", 30)
RAN: dict[str, Any] = {"started_at": at(NOW - minutes(30)), "finished_at": at(NOW - minutes(29))}
RUNS = tuple(run(job=f"run-{number}", instant=ago(number), **RAN) for number in (30, 40, 50))
SERVED = {"history": RUNS, "ingestion": memory(last_run=RUNS[0], last_no_op_instant=ago(30))}
RESTORE, ROLLBACK, SAVEPOINT = done("restore", 10), done("rollback", 10), f"{ago(50)}_{ago(12)}.savepoint"


def seen(
    *files: str, undoing: tuple[float, ...] = (), remembered: HudiTableStatus | None = None, **changes: Any
) -> Any:
    """A snapshot of a table; `undoing` are the ages of the instants that its rollback or restore names."""
    timeline = story(*files)
    names = tuple(ago(number) for number in undoing)
    undoings = tuple(
        Undoing(instant=one, targets=names) for one in timeline.instants if one.action in {"rollback", "restore"}
    )
    one = table(status=remembered or status(**SERVED))
    return observe(one, snapshot=TimelineSnapshot(timeline=timeline, undoings=undoings), **changes)


def before(**changes: Any) -> HudiTableStatus:
    """The status after a whole look at three commits of ours, beside which no Job runs unless one is given."""
    after = status_of(seen(FIRST, SECOND, THIRD, remembered=status(**{**SERVED, **changes})))
    return after.copy_with(active_jobs=changes.get("active_jobs", ()))


def reported(observation: Observation) -> list[Transition]:
    found = transitions(observation.table.status, status_of(observation))
    return [one for one in found if one.reason in ACT_REASONS.values()]


def undone(observation: Observation) -> dict[str | None, str | None]:
    return {one.instant: one.undone_by for one in plan_for(observation).history}


def test_a_restore_is_reported_and_marks_what_it_undid() -> None:
    observation = seen(FIRST, RESTORE, undoing=(40, 30), remembered=before())
    assert undone(observation) == {ago(30): ago(10), ago(40): ago(10), ago(50): None}
    last = plan_for(observation).services.ingestion.last_run
    assert last is not None
    assert last.undone_by == ago(10)
    assert reported(observation) == [
        Transition(
            warning=True,
            reason="Restored",
            message=f"Restored by restore {ago(10)} of another tool: undid {ago(40)}, {ago(30)}. Ingestion continues "
            "from the newest checkpoint that the timeline holds, so that the input of undone commits is read again.",
        )
    ]


def test_restore_is_reported_once_and_its_marks_stay_when_it_is_archived() -> None:
    observation = seen(FIRST, RESTORE, undoing=(40, 30), remembered=before())
    later = again(observation, status_of(observation))
    assert reported(later) == []
    archived = seen(done("commit", 5), remembered=later.table.status)
    assert undone(archived) == undone(observation)
    assert reported(archived) == []


def test_archived_commit_is_not_undone() -> None:
    observation = seen(THIRD, remembered=before())
    assert set(undone(observation).values()) == {None}
    assert reported(observation) == []


def test_commit_archived_behind_a_savepoint_is_not_undone() -> None:
    """Hudi can archive past a savepoint, whose commit then is the first of the active timeline."""
    observation = seen(FIRST, SAVEPOINT, done("commit", 5), remembered=before())
    assert set(undone(observation).values()) == {None}
    assert [one.reason for one in reported(observation)] == ["Savepointed"]


def test_a_rollback_of_a_completed_commit_is_reported_and_one_of_a_failed_write_is_not() -> None:
    observation = seen(FIRST, SECOND, ROLLBACK, undoing=(30,), remembered=before())
    (event,) = reported(observation)
    assert (event.warning, event.reason) == (True, "CommitsUndone")
    assert f"by rollback {ago(10)} of another tool: undid {ago(30)}." in event.message
    assert undone(observation)[ago(30)] == ago(10)
    later = again(observation, status_of(observation))
    assert reported(later) == []
    assert status_of(later).timeline == status_of(observation).timeline

    failed = seen(FIRST, SECOND, THIRD, ROLLBACK, undoing=(25,), remembered=before())
    assert reported(failed) == []
    assert set(undone(failed).values()) == {None}


def test_a_rollback_of_a_commit_that_nobody_here_made_is_told_where_it_was_seen_completed() -> None:
    seen_before = status_of(seen(FIRST, SECOND, THIRD, remembered=status()))
    assert len(reported(seen(FIRST, SECOND, ROLLBACK, undoing=(30,), remembered=seen_before))) == 1


def test_of_commits_that_others_follow_it_is_said_that_their_files_are_not_read_again() -> None:
    (event,) = reported(seen(FIRST, THIRD, ROLLBACK, undoing=(40,), remembered=before()))
    assert "so ingestion does not read it again. Where rows are missing, read files again" in event.message


def test_a_compaction_that_completes_under_the_instant_that_was_rolled_back_is_not_undone() -> None:
    made = run(job="compact", service="Compaction", instant=ago(40))
    remembered = before(history=(made,))
    assert undone(seen(FIRST, SECOND, ROLLBACK, undoing=(40,), remembered=remembered)) == {ago(40): None}


def test_rollback_by_our_cleanup_after_a_restore_is_no_act_of_another_tool() -> None:
    """A restore over a completed clustering leaves it pending."""
    files = (FIRST, RESTORE, done("rollback", 5))
    observation = seen(*files, undoing=(40, 30), remembered=before())
    assert [one.reason for one in reported(observation)] == ["Restored"]


@pytest.mark.parametrize("timeline", ["as an older release left it", "hidden", "new"])
def test_a_first_reconcile_shows_acts_and_tells_of_none(timeline: str) -> None:
    known = before()
    assert known.timeline is not None
    old = known.timeline.copy_with(acts=None)
    remembered = {"as an older release left it": known.copy_with(timeline=old), "new": HudiTableStatus()}
    observation = seen(FIRST, SAVEPOINT, RESTORE, undoing=(40,), remembered=remembered.get(timeline, status(**SERVED)))
    assert reported(observation) == []
    shown = status_of(observation).timeline
    assert shown is not None
    assert [one.action for one in shown.acts or ()] == ["restore", "savepoint"]


def test_a_savepoint_that_came_while_a_job_of_the_table_was_at_work_is_not_told_as_anothers() -> None:
    busy = before(active_jobs=(active(),))
    observation = seen(FIRST, SECOND, THIRD, SAVEPOINT, remembered=busy, jobs=(job(JOB),))
    assert reported(observation) == []
    assert reported(again(observation, status_of(observation))) == []


def test_many_acts_are_bounded_and_an_old_one_that_comes_into_sight_again_is_not_new() -> None:
    numbers = range(59, 45, -1)
    files = [done("commit", number) for number in numbers]
    saved = [f"{ago(number)}_{ago(number - 20)}.savepoint" for number in numbers]
    first = status_of(seen(*files, *saved))
    assert first.timeline is not None
    assert len(first.timeline.acts or ()) == 10
    fewer = seen(*files, *saved[:-3], remembered=first)
    assert reported(fewer) == []
    many = seen(FIRST, RESTORE, undoing=tuple(range(20, 49)), remembered=before())
    (event,) = reported(many)
    assert event.message.count(",") < 6
    assert "and 26 more" in event.message


def test_nothing_stops_and_nothing_is_blocked_by_what_was_remembered_of_a_vanished_instant() -> None:
    """A service that had settled on an undone instant is tried again, and no commit of ours becomes foreign."""
    for files, undoing in (((FIRST, RESTORE), (40, 30)), ((FIRST, SECOND, ROLLBACK), (30,))):
        observation = seen(*files, undoing=undoing, remembered=before())
        plan = plan_for(observation)
        assert [one.job.service for one in plan.actions if isinstance(one, LaunchJob)] == ["Ingestion"]
        assert plan.foreign == ()
        assert plan.verified_up_to == (ago(49.9) if len(undoing) == 2 else ago(39.9))
        next_commit = (*files, done("commit", 5))
        known = status_of(observation)
        later = seen(*next_commit, undoing=undoing, remembered=known)
        mine = replace(later.snapshot, runs=(("run-5", ago(5)),))
        assert plan_for(replace(later, snapshot=mine)).foreign == ()


PENDING = f"{ago(10)}.rollback.requested"


def test_a_rollback_that_a_savepoint_keeps_is_a_reason_of_its_own_and_starts_nothing() -> None:
    observation = seen(FIRST, SAVEPOINT, PENDING, undoing=(50,))
    after, plan = status_of(observation), plan_for(observation)
    assert not [one for one in plan.actions if isinstance(one, LaunchJob)]
    for kind in (ConditionType.READY, ConditionType.STALLED):
        condition = find_condition(after.conditions, kind)
        assert condition is not None
        assert condition.reason == "RollbackOfSavepoint"
        assert (
            f"The pending rollback {ago(10)} is to undo commit {ago(50)}, which a savepoint keeps" in condition.message
        )
    assert after.services.ingestion.reason == "RollbackOfSavepoint"
    assert [one.reason for one in transitions(HudiTableStatus(), after)] == ["RollbackOfSavepoint"]


@pytest.mark.parametrize(
    "files",
    [
        (FIRST, PENDING),
        (FIRST, SECOND, f"{ago(40)}_{ago(12)}.savepoint", PENDING),
        (FIRST, SAVEPOINT, ROLLBACK),
        (FIRST, SAVEPOINT),
    ],
)
def test_without_the_savepoint_or_the_rollback_everything_goes_on(files: tuple[str, ...]) -> None:
    after = status_of(seen(*files, undoing=(50,)))
    assert after.conditions[0].reason != "RollbackOfSavepoint"


def test_a_table_that_is_only_observed_is_not_stalled_for_it() -> None:
    observation = seen(FIRST, SAVEPOINT, PENDING, undoing=(50,))
    observed = table(managementPolicy="Observe", status=status(**SERVED))
    assert status_of(replace(observation, table=observed)).conditions[0].reason == "Observed"


def test_an_act_that_names_nothing_is_reported_all_the_same() -> None:
    observation = seen(FIRST, RESTORE, remembered=before())
    (event,) = reported(observation)
    assert "undid no known instant" in event.message


def test_message_of_an_act_for_a_person() -> None:
    shown = status_of(seen(FIRST, RESTORE, undoing=(40, 30), remembered=before())).timeline
    assert shown is not None
    assert shown.acts == (
        ActStatus(time=ago(10), action="restore", completed_at=ago(9.9), undone=(ago(40), ago(30)), undone_count=2),
    )
