"""A table of others is taken over after quiet: watched in any policy, named while it waits, and never for less."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    OPERATOR,
    UID,
    active,
    again,
    ago,
    at,
    done,
    instant,
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
    table_class,
)

from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.table_parts import TakeoverPhase, TakeoverStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import Blocker, BlockerReason, LaunchJob, Mark, Observation, TimelineSnapshot
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.timeline import Timeline

QUIET = 10
"""Minutes: the default of the class."""
LAKE: dict[str, Any] = {"type": "MergeOnRead"}
OPTIMISTIC: dict[str, Any] = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
OBSERVED: dict[str, Any] = {"managementPolicy": "Observe"}
WROTE = [done("deltacommit", minute) for minute in (65, 60, 55, 50)]
STANDARD = table_class(takeover={})


def found(*names: str, beats: dict[str, datetime] | None = None, **changes: Any) -> Observation:
    """A table of four delta commits of somebody else, and these instants."""
    return seen(story(*WROTE, *names), beats=beats, **changes)


def seen(timeline: Timeline, *, beats: dict[str, datetime] | None = None, **changes: Any) -> Observation:
    heartbeats = tuple((time, int(moment.timestamp() * 1000)) for time, moment in (beats or {}).items())
    commits = tuple(one for one in reversed(timeline.completed) if one.action.value == "deltacommit")
    snapshot = TimelineSnapshot(timeline=timeline, heartbeats=heartbeats, unmarked=changes.pop("unmarked", commits))
    snapshot = replace(snapshot, **changes.pop("snapshot", {}))
    of = changes.pop("of", STANDARD)
    return observe(table(**{**LAKE, **changes}), snapshot=snapshot, table_class=of)


def later(observation: Observation, *, now: datetime = NOW, policy: ManagementPolicy | None = None) -> Observation:
    """The same timeline with the status of a look at this time, under this policy by then."""
    after = again(observation, status_of(observation, now=now))
    spec = after.table.spec
    changed = spec.copy_with(management_policy=policy or spec.management_policy)
    return replace(after, table=after.table.copy_with(spec=changed))


def moved(observation: Observation, *names: str, beats: dict[str, datetime] | None = None) -> Observation:
    """The table of an observation after its timeline has moved."""
    return replace(observation, snapshot=found(*names, beats=beats).snapshot)


def launches(plan: Plan) -> list[str]:
    return [str(action.job.service) for action in plan.actions if isinstance(action, LaunchJob)]


def ready(after: HudiTableStatus) -> tuple[str, str, str]:
    condition = find_condition(after.conditions, ConditionType.READY)
    assert condition is not None
    return condition.status.value, condition.reason, condition.message


def phase(plan: Plan) -> TakeoverPhase | None:
    return plan.takeover.phase if plan.takeover else None


def test_table_of_others_waits_until_it_is_quiet_for_as_long_as_the_class_asks() -> None:
    first = found()
    assert launches(plan_for(first)) == []
    following = later(first)
    for after in (0.1, 5, QUIET - 0.1):
        assert launches(plan_for(following, now=NOW + minutes(after))) == [], after
    plan = plan_for(following, now=NOW + minutes(QUIET))
    assert launches(plan) == ["Ingestion"]
    assert phase(plan) is TakeoverPhase.DONE


def test_waiting_table_says_why_until_when_and_what_to_do() -> None:
    after = status_of(found())
    state, reason, message = ready(after)
    assert (state, reason) == ("Unknown", "WaitingForQuiet")
    assert f"for 10m. It has been quiet since {at(NOW)} and is taken over at {at(NOW + minutes(QUIET))}" in message
    assert "is the newest commit; of the newest 4, a commit came about every 5m" in message
    assert "Stop every other writer" in message
    assert "spec.concurrency.mode: Optimistic" in message
    assert after.services.ingestion.reason == "WaitingForQuiet"
    assert find_condition(after.conditions, ConditionType.STALLED) is None
    assert find_condition(after.conditions, ConditionType.RECONCILING) is not None
    assert plan_for(later(found()), now=NOW + minutes(QUIET) - timedelta(seconds=3)).changes_in == 3


MOVES = {
    "a commit": (done("deltacommit", 0.1),),
    "a write that begins": (f"{ago(1)}.deltacommit.requested",),
    "a write that continues": (f"{ago(1)}.deltacommit.requested", f"{ago(1)}.deltacommit.inflight"),
    "a rollback": (done("rollback", 0.1),),
    "a clean": (done("clean", 0.1),),
    "a plan": (f"{ago(1)}.compaction.requested",),
}


@pytest.mark.parametrize("what", MOVES)
def test_any_movement_restarts_the_wait(what: str) -> None:
    waiting = moved(later(found()), *MOVES[what])
    now = NOW + minutes(QUIET)
    assert launches(plan_for(waiting, now=now)) == []
    following = later(waiting, now=now)
    assert launches(plan_for(following, now=now + minutes(QUIET - 0.1))) == []
    assert phase(plan_for(following, now=now + minutes(QUIET))) is TakeoverPhase.DONE


def test_an_archival_has_moved_although_it_leaves_no_instant() -> None:
    first = found()
    archived = replace(later(first), snapshot=seen(story(*WROTE[1:])).snapshot)
    assert launches(plan_for(archived, now=NOW + minutes(QUIET))) == []


def test_a_write_that_becomes_inflight_and_one_that_is_given_up_have_moved() -> None:
    requested = f"{ago(1)}.deltacommit.requested"
    waiting = later(found(requested))
    now = NOW + minutes(QUIET)
    for names in ((requested, f"{ago(1)}.deltacommit.inflight"), ()):
        assert launches(plan_for(moved(waiting, *names), now=now)) == [], names


def test_a_heartbeat_that_beats_is_a_writer_that_lives_however_old_its_write_is() -> None:
    write = [f"{ago(40)}.deltacommit.{state}" for state in ("requested", "inflight")]
    observation = found(*write, beats={ago(40): NOW})
    for step in range(1, 30):
        now = NOW + minutes(step)
        observation = moved(later(observation, now=now - minutes(1)), *write, beats={ago(40): now})
        assert launches(plan_for(observation, now=now)) == []
        assert ready(status_of(observation, now=now))[1] == "WaitingForQuiet"
        assert (
            f"deltacommit {ago(40)} is inflight, with a heartbeat of {at(now)}"
            in (ready(status_of(observation, now=now))[2])
        )


def test_continued_commits_of_others_are_reported_and_stall_nothing() -> None:
    observation = found()
    for step in range(1, 40):
        now = NOW + minutes(5 * step)
        names = [done("deltacommit", -5 * one) for one in range(max(step - 8, 1), step + 1)]
        observation = moved(later(observation, now=now - minutes(5)), *names)
        plan = plan_for(observation, now=now)
        assert (launches(plan), plan.foreign) == ([], ())
        assert "a commit came about every 5m" in ready(status_of(observation, now=now))[2]


def test_commits_from_before_the_takeover_are_nobodys_fault_and_later_ones_are_a_foreign_writers() -> None:
    waiting = moved(later(found(done("deltacommit", 30))), done("deltacommit", 30), done("deltacommit", 20))
    managed = later(later(waiting, now=NOW), now=NOW + minutes(QUIET))
    assert managed.table.status.takeover is not None
    assert managed.table.status.takeover.phase is TakeoverPhase.DONE
    assert plan_for(managed, now=NOW + minutes(QUIET + 1)).foreign == ()
    beside = moved(managed, done("deltacommit", 30), done("deltacommit", 20), done("deltacommit", -QUIET - 2))
    assert len(plan_for(beside, now=NOW + minutes(QUIET + 3)).foreign) == 1


def test_an_observed_table_is_watched_and_taken_over_at_once_when_it_was_still_for_long() -> None:
    observed = later(found(**OBSERVED))
    plan = plan_for(observed, now=NOW + minutes(QUIET))
    assert (phase(plan), launches(plan)) == (TakeoverPhase.QUIET, [])
    assert ready(status_of(observed, now=NOW + minutes(QUIET)))[:2] == ("True", "Observed")
    managed = later(observed, now=NOW + minutes(QUIET), policy=ManagementPolicy.MANAGE)
    assert launches(plan_for(managed, now=NOW + minutes(QUIET + 1))) == ["Ingestion"]


def test_an_observed_table_that_moved_just_now_waits_when_it_is_managed() -> None:
    observed = moved(later(found(**OBSERVED)), done("deltacommit", -59))
    managed = later(observed, now=NOW + minutes(60), policy=ManagementPolicy.MANAGE)
    assert launches(plan_for(managed, now=NOW + minutes(60 + QUIET - 0.1))) == []
    assert launches(plan_for(managed, now=NOW + minutes(60 + QUIET))) == ["Ingestion"]


def test_movement_while_nobody_looked_counts_from_when_it_is_seen() -> None:
    managed = moved(later(found(**OBSERVED), policy=ManagementPolicy.MANAGE), done("deltacommit", -1))
    now = NOW + minutes(600)
    assert launches(plan_for(managed, now=now)) == []
    assert launches(plan_for(later(managed, now=now), now=now + minutes(QUIET))) == ["Ingestion"]


LOST = {
    "all of it": None,
    "its time": TakeoverStatus(seen="x"),
    "a time that has not come": TakeoverStatus(since=at(NOW + minutes(600)), seen="x"),
    "a text that is no time": TakeoverStatus(since="soon", seen="x"),
}


@pytest.mark.parametrize("what", LOST)
def test_a_memory_that_is_lost_or_wrong_is_waiting_again(what: str) -> None:
    following, kept = later(found()), LOST[what]
    known = following.table.status.takeover
    assert known is not None
    if kept is not None:
        kept = kept.copy_with(seen=known.seen)
    lost = following.table.status.copy_with(takeover=kept)
    now = NOW + minutes(QUIET)
    waiting = replace(following, table=following.table.copy_with(status=lost))
    assert launches(plan_for(waiting, now=now)) == []
    assert launches(plan_for(later(waiting, now=now), now=now + minutes(QUIET))) == ["Ingestion"]


def test_a_status_that_was_lost_altogether_is_waiting_again() -> None:
    following = later(found())
    empty = replace(following, table=following.table.copy_with(status=HudiTableStatus()))
    assert launches(plan_for(empty, now=NOW + minutes(QUIET))) == []


OURS: dict[str, dict[str, Any]] = {
    "its history": {"status": status(history=(run(),))},
    "a service that ran": {"status": status(ingestion=memory(last_run=run()))},
    "what a run left": {"status": status(left_behind=(ago(5),))},
    "a commit of a run that is forgotten": {
        "snapshot": {"marks": (Mark(instant=instant(ago(50)), run="a-run", table_uid=UID, operator=OPERATOR),)}
    },
}


@pytest.mark.parametrize("what", OURS)
def test_a_table_that_the_operator_already_manages_never_waits(what: str) -> None:
    plan = plan_for(found(**OURS[what]))
    assert plan.takeover is None
    assert plan.facts.takeover.waits is None


@pytest.mark.parametrize(("operator", "waits"), [(OPERATOR, False), ("elsewhere/hudi-operator", True)])
def test_a_table_that_is_declared_again_goes_on_and_that_of_another_operator_waits(operator: str, waits: bool) -> None:
    mark = Mark(instant=instant(ago(50)), run="a-run", table_uid="a-former-uid", operator=operator)
    assert (plan_for(found(snapshot={"marks": (mark,)})).facts.takeover.waits is not None) is waits


def test_a_run_of_ours_that_works_is_enough() -> None:
    working = replace(found(status=status(active_jobs=(active(),))), jobs=(job(),))
    assert plan_for(working).takeover is None


def test_a_table_that_is_not_there_is_created_at_once() -> None:
    plan = plan_for(observe(table_class=STANDARD))
    assert (launches(plan), plan.takeover) == (["Ingestion"], None)


def test_beside_others_under_a_lock_nothing_waits() -> None:
    plan = plan_for(found(**OPTIMISTIC))
    assert (launches(plan), phase(plan)) == (["Ingestion"], TakeoverPhase.DONE)


def test_without_a_wait_a_table_is_taken_over_at_the_first_reconcile_and_what_is_inflight_is_still_protected() -> None:
    at_once = table_class(takeover={"quietFor": "0s"})
    old = NOW - minutes(30)
    assert launches(plan_for(found(of=at_once, created=old))) == ["Ingestion"]
    write = [f"{ago(1)}.deltacommit.{state}" for state in ("requested", "inflight")]
    plan = plan_for(found(*write, of=at_once, created=old))
    assert (launches(plan), plan.services.ingestion.reason) == ([], "WaitingForOther")


def test_after_the_quiet_a_write_that_nobody_ended_is_still_left_alone_until_it_is_overdue() -> None:
    write = [f"{ago(1)}.deltacommit.{state}" for state in ("requested", "inflight")]
    following = later(later(found(*write)), now=NOW + minutes(QUIET))
    plan = plan_for(following, now=NOW + minutes(QUIET + 1))
    assert (launches(plan), plan.services.ingestion.reason) == ([], "WaitingForOther")
    (launched,) = plan_for(following, now=NOW + minutes(60)).actions
    assert isinstance(launched, LaunchJob)
    assert launched.job.abandoned == (ago(1),)


def test_a_table_that_others_write_again_while_it_is_observed_is_watched_anew() -> None:
    managed = later(later(found()), now=NOW + minutes(QUIET))
    handed_back = later(managed, now=NOW + minutes(20), policy=ManagementPolicy.OBSERVE)
    still = plan_for(later(handed_back, now=NOW + minutes(21)), now=NOW + minutes(60))
    assert phase(still) is TakeoverPhase.DONE
    written = moved(later(handed_back, now=NOW + minutes(21)), done("deltacommit", -59))
    assert phase(plan_for(written, now=NOW + minutes(60))) is TakeoverPhase.WATCHING
    managed = later(written, now=NOW + minutes(60), policy=ManagementPolicy.MANAGE)
    assert launches(plan_for(managed, now=NOW + minutes(61))) == []


def test_a_table_that_may_not_be_looked_at_keeps_only_that_it_was_taken_over() -> None:
    hides = (Blocker(reason=BlockerReason.PATH_NOT_ALLOWED, message="No."),)
    waiting = replace(later(found()), blockers=hides)
    assert plan_for(waiting).takeover is None
    managed = replace(later(later(found()), now=NOW + minutes(QUIET)), blockers=hides)
    kept = plan_for(managed).takeover
    assert kept is not None
    assert (kept.phase, kept.savepoint, kept.writers) == (TakeoverPhase.DONE, None, ())
