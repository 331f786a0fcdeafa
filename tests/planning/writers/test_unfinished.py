"""Whose pending instants are, what is left alone, and until when: other tools live beside the operator."""

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
    ended,
    failed,
    finding,
    job,
    memory,
    minutes,
    observe,
    outcome,
    plan_for,
    run,
    status,
    status_of,
    story,
    table,
)

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome, Service
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.table_parts import TakeoverPhase, TakeoverStatus
from hudi_operator.planning.model import JobPhase, LaunchJob, Mark, Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.timeline import Timeline

OPTIMISTIC = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
BESIDE: dict[str, Any] = {"type": "MergeOnRead", "ingestion": None, "clustering": {"mode": "Async"}, **OPTIMISTIC}
ALONE: dict[str, Any] = {"type": "MergeOnRead"}
DELTAS = [done("deltacommit", 50 - number) for number in range(2)]
T = ago(5)
OURS: dict[str, Any] = {"table_uid": UID, "operator": OPERATOR}
ALARM = 60
"""Minutes: the default of the class."""


def pending(action: str, *states: str, time: str = T) -> Timeline:
    names = [f"{time}.{action}.{state}" for state in states]
    return story(*DELTAS, *names, clusterings=[time] if action in {"clustering", "replacecommit"} else [])


FOREIGN = {
    "a clustering that is planned": pending("clustering", "requested"),
    "a clustering that is executed": pending("clustering", "requested", "inflight"),
    "a compaction that is planned": pending("compaction", "requested"),
    "a compaction that is executed": pending("compaction", "requested", "inflight"),
    "a log compaction": pending("logcompaction", "requested", "inflight"),
    "a write": pending("deltacommit", "requested", "inflight"),
    "a clean": pending("clean", "requested", "inflight"),
    "a rollback": pending("rollback", "requested", "inflight"),
    "an index": pending("indexing", "requested", "inflight"),
    "a restore": pending("restore", "requested", "inflight"),
}
DEALT_WITH = {
    "a clustering that is planned": [("Clustering", "Execute", T)],
    "a clustering that is executed": [("Clustering", "Execute", T)],
    "a compaction that is planned": [("Compaction", "Execute", T)],
    "a compaction that is executed": [("Compaction", "Execute", T)],
    "a log compaction": [],
    "a write": [("Cleaning", None, None)],
    "a clean": [("Cleaning", None, None)],
    "a rollback": [("Cleaning", None, None)],
    "an index": [],
    "a restore": [],
}


def seen(timeline: Timeline, *, beats: dict[str, datetime] | None = None, **changes: Any) -> Observation:
    heartbeats = tuple((time, int(moment.timestamp() * 1000)) for time, moment in (beats or {}).items())
    jobs, remembered = changes.pop("jobs", ()), changes.pop("remembered", {})
    runs = changes.pop("planned", {})
    planned = tuple(Mark(instant=one, run=runs[one.time], **OURS) for one in timeline.pending if one.time in runs)
    snapshot = TimelineSnapshot(timeline=timeline, heartbeats=heartbeats, planned=planned)
    one = table(status=status(**remembered), created=NOW - minutes(600), **changes)
    return observe(one, snapshot=snapshot, jobs=jobs)


def remembered_from(observation: Observation) -> Observation:
    """The same table after a first reconcile, whose status is remembered."""
    return again(observation, status_of(observation))


def launched(plan: Plan) -> list[tuple[str, str | None, str | None]]:
    jobs = [action.job for action in plan.actions if isinstance(action, LaunchJob)]
    return [(str(one.service), one.run_mode.value if one.run_mode else None, one.instant) for one in jobs]


def services_of(plan: Plan) -> list[Any]:
    return [plan.services.of(service) for service in Service if service is not Service.DELETION]


@pytest.mark.parametrize("what", FOREIGN)
def test_beside_others_nothing_of_another_tool_is_touched_until_it_is_overdue(what: str) -> None:
    first = seen(FOREIGN[what], **BESIDE)
    assert launched(plan_for(first)) == []
    following = remembered_from(first)
    for after in (0.1, 2, 3, 30, ALARM - 0.1):
        assert launched(plan_for(following, now=NOW + minutes(after))) == [], after
    plan = plan_for(following, now=NOW + minutes(ALARM))
    assert launched(plan) == DEALT_WITH[what]
    for action in plan.actions:
        assert isinstance(action, LaunchJob)
        assert action.job.abandoned == (T,)


@pytest.mark.parametrize("what", [what for what in FOREIGN if DEALT_WITH[what]])
def test_instant_left_alone_is_shown_with_its_owner_and_until_when(what: str) -> None:
    after = status_of(seen(FOREIGN[what], **BESIDE))
    (shown,) = [one for service in services_of(plan_for(seen(FOREIGN[what], **BESIDE))) for one in service.pending]
    assert (shown.owner, shown.left_alone_until) == ("Other", at(NOW + minutes(ALARM)))
    messages = [service.message for service in services_of(plan_for(seen(FOREIGN[what], **BESIDE)))]
    told = any("of another tool or an unknown run is left alone until" in message for message in messages)
    assert told is (what != "a write"), "writes beside others are nothing to speak of"
    assert find_condition(after.conditions, ConditionType.STALLED) is None


@pytest.mark.parametrize("what", ["a clustering that is executed", "a write", "a rollback"])
def test_overdue_instant_is_announced_as_another_tools_before_it_is_handled(what: str) -> None:
    following = remembered_from(seen(FOREIGN[what], **BESIDE))
    after = status_of(following, now=NOW + minutes(ALARM - 1))
    alarm = finding(after, FindingCode.PENDING_INSTANT_OVERDUE)
    assert alarm is not None
    assert (
        f"Another tool or an unknown run began it. The operator leaves it alone until {at(NOW + minutes(ALARM))}."
        in (alarm.message)
    )
    plan = plan_for(following, now=NOW + minutes(ALARM - 1))
    assert plan.changes_in == 60


@pytest.mark.parametrize("what", [what for what in FOREIGN if DEALT_WITH[what]])
@pytest.mark.parametrize("skew", [-10, 0, 10])
def test_a_heartbeat_keeps_it_alive_however_old_it_is_and_whatever_the_clock_of_the_store(
    what: str, skew: float
) -> None:
    following = remembered_from(seen(FOREIGN[what], **BESIDE))
    now = NOW + minutes(10 * ALARM)
    beat = int((now + minutes(skew) - timedelta(seconds=119)).timestamp() * 1000)
    alive = replace(following, snapshot=replace(following.snapshot, heartbeats=((T, beat),)))
    assert launched(plan_for(alive, now=now)) == []
    assert launched(plan_for(alive, now=now + minutes(23))) == DEALT_WITH[what]


def test_a_plan_that_waited_for_its_turn_is_watched_anew_once_it_is_begun() -> None:
    planned = remembered_from(seen(FOREIGN["a clustering that is planned"], **BESIDE))
    begun = replace(planned, snapshot=replace(planned.snapshot, timeline=FOREIGN["a clustering that is executed"]))
    now = NOW + minutes(ALARM - 1)
    following = again(begun, status_of(begun, now=now))
    assert launched(plan_for(following, now=NOW + minutes(2 * ALARM - 2))) == []
    assert launched(plan_for(following, now=NOW + minutes(2 * ALARM - 1))) != []


@pytest.mark.parametrize("action", ["clustering", "compaction"])
def test_a_plan_that_names_a_run_of_this_table_is_dealt_with_at_once(action: str) -> None:
    ours = seen(pending(action, "requested"), planned={T: "flights-run"}, **BESIDE)
    plan = plan_for(ours)
    assert launched(plan) == [(action.capitalize(), "Execute", T)]
    (shown,) = getattr(plan.services, action).pending
    assert (shown.owner, shown.left_alone_until) == ("ThisTable", None)


def test_plan_of_a_working_run_belongs_to_nobody_else() -> None:
    """A writer of ours that ran its services inside itself when it began: it may be executing the plan right now."""
    working = {"active_jobs": (active("writer", pending=()),)}
    plan = plan_for(
        seen(
            FOREIGN["a clustering that is executed"],
            planned={T: "writer"},
            remembered=working,
            jobs=(job("writer"),),
            **{**BESIDE, "ingestion": {}},
        )
    )
    assert launched(plan) == []


@pytest.mark.parametrize(
    "what", ["a write", "a clustering that is executed", "a compaction that is executed", "a rollback", "a clean"]
)
def test_alone_nothing_starts_beside_what_somebody_unknown_has_begun_and_it_does_not_last_for_ever(what: str) -> None:
    """Hudi's writer would roll it back, or execute it too, before or after its own work."""
    first = seen(FOREIGN[what], **ALONE)
    plan = plan_for(first)
    assert launched(plan) == []
    assert plan.foreign == ()
    assert plan.services.ingestion.reason == "WaitingForOther"
    assert "Nothing starts on a Serialized table beside it." in plan.services.ingestion.message
    following = remembered_from(first)
    assert launched(plan_for(following, now=NOW + minutes(ALARM - 0.1))) == []
    assert launched(plan_for(following, now=NOW + minutes(ALARM))) != []


def test_alone_a_plan_that_nobody_has_begun_is_executed_at_once() -> None:
    assert launched(plan_for(seen(FOREIGN["a compaction that is planned"], **ALONE))) == [("Compaction", "Execute", T)]


def test_a_plan_of_another_tool_for_a_service_that_is_off_is_ended_when_it_is_overdue() -> None:
    first = seen(FOREIGN["a clustering that is planned"], **ALONE)
    assert launched(plan_for(first)) == [("Ingestion", None, None)]
    assert "is left alone until" in plan_for(first).services.clustering.message
    ended_later = plan_for(remembered_from(first), now=NOW + minutes(ALARM))
    assert launched(ended_later) == [("Clustering", "RollBack", T)]


FILES_AFTER = pending("deltacommit", "requested", "inflight")
WORKED = active(pending=(), started_at=at(NOW - minutes(6)))


def concluded(timeline: Timeline, observed: Any, *, remembered: Any = WORKED, **spec: Any) -> Plan:
    return plan_for(seen(timeline, remembered={"active_jobs": (remembered,)}, jobs=(observed,), **spec))


@pytest.mark.parametrize("skew", [-1000, -10, -1, 0, 1, 10, 1000])
def test_instant_left_by_a_run_is_known_whatever_clock_named_it(skew: float) -> None:
    time = ago(5 + skew)
    plan = concluded(pending("deltacommit", "requested", "inflight", time=time), ended(exit_code=137), **ALONE)
    assert plan.left_behind == (time,)
    assert plan.foreign == ()
    assert [one.owner for one in plan.services.ingestion.pending] == ["ThisTable"]


def test_a_write_that_began_while_a_run_of_ours_failed_before_its_own_is_nobodys_of_ours() -> None:
    """A 0.15.0 write began, and 6 s later it was rolled back as left behind by a run that had failed beside it."""
    began = pending("deltacommit", "requested", "inflight", time=ago(0.1))
    told = failed(reason=FailureReason.HUDI_ERROR).results[0].copy_with(newest_instant="")
    plan = concluded(began, ended(outcome=JobOutcome(results=(told,))), **ALONE)
    assert plan.left_behind == ()
    assert launched(plan) == []
    (shown,) = plan.services.ingestion.pending
    assert (shown.owner, shown.left_alone_until) == ("Other", at(NOW + minutes(ALARM)))


@pytest.mark.parametrize(("newest", "is_ours"), [(ago(6), False), (T, True), (ago(4), True)])
def test_a_run_that_reports_is_believed_about_up_to_where_its_instants_are(newest: str, is_ours: bool) -> None:
    told = failed(reason=FailureReason.HUDI_ERROR).results[0].copy_with(newest_instant=newest)
    plan = concluded(FILES_AFTER, ended(outcome=JobOutcome(results=(told,))), **ALONE)
    assert plan.left_behind == ((T,) if is_ours else ())


@pytest.mark.parametrize("service", ["Compaction", "Clustering", "Cleaning", "Archival"])
def test_a_table_service_makes_no_write_alone_either(service: str) -> None:
    worked = WORKED.copy_with(service=Service(service))
    died = ended(exit_code=137, service=Service(service))
    assert concluded(FILES_AFTER, died, remembered=worked, **ALONE).left_behind == ()


@pytest.mark.parametrize("beside", [ALONE, {**BESIDE, "ingestion": {}}], ids=["alone", "beside others"])
@pytest.mark.parametrize(
    ("asked", "is_ours"),
    [
        ({"kind": "Erase"}, True),
        ({"kind": "Restore"}, True),
        ({"kind": "Repair", "repair": {"step": "Deduplicate"}}, True),
        ({"kind": "Repair", "repair": {"step": "RollbackInflight"}}, False),
        ({"kind": "Upgrade"}, False),
    ],
)
def test_a_write_of_an_operation_that_writes_is_left_by_its_run(
    asked: dict[str, Any], beside: dict[str, Any], *, is_ours: bool
) -> None:
    operation = {**asked, "resource": "back", "uid": "uid-of-back"}
    worked = active(pending=(), started_at=at(NOW - minutes(6)), service="Operation", operation=operation)
    died = ended(exit_code=137, service=Service.OPERATION)
    assert concluded(FILES_AFTER, died, remembered=worked, **beside).left_behind == ((T,) if is_ours else ())


def test_of_two_writes_that_came_while_a_run_died_neither_is_taken_for_its_own() -> None:
    names = [f"{time}.deltacommit.{state}" for time in (T, ago(4)) for state in ("requested", "inflight")]
    plan = concluded(story(*DELTAS, *names), ended(exit_code=137), **ALONE)
    assert (plan.left_behind, launched(plan)) == ((), [])


def test_a_write_with_a_heartbeat_is_not_that_of_a_run_that_shows_none() -> None:
    observation = seen(FILES_AFTER, remembered={"active_jobs": (WORKED,)}, beats={T: NOW}, **ALONE)
    plan = plan_for(replace(observation, jobs=(ended(exit_code=137),)))
    assert (plan.left_behind, launched(plan)) == ((), [])


@pytest.mark.parametrize("protection", ["Wanted", "Kept", "Over", None])
def test_run_that_died_without_an_outcome_in_the_first_cycle_after_a_takeover_has_made_no_write(
    protection: Any,
) -> None:
    taken = TakeoverStatus(phase=TakeoverPhase.DONE, protection=protection)
    remembered = {"active_jobs": (WORKED,), "takeover": taken}
    observation = seen(FILES_AFTER, remembered=remembered, jobs=(ended(exit_code=137),), **ALONE)
    left = plan_for(observation).left_behind
    assert left == (() if protection in {"Wanted", "Kept"} else (T,))


def test_left_instant_is_remembered_through_any_number_of_failed_runs() -> None:
    plan = concluded(FILES_AFTER, ended(exit_code=137), **ALONE)
    behind = plan.left_behind
    for number in range(40):
        name = f"run-{number}"
        working = {"active_jobs": (active(name, pending=(T,)),), "left_behind": behind}
        observation = seen(FILES_AFTER, remembered=working, jobs=(ended(name, outcome=failed()),), **ALONE)
        after = plan_for(observation, now=NOW + minutes(10 * number))
        assert (after.foreign, after.left_behind) == ((), (T,))
        assert after.services.ingestion.pending[0].left_alone_until is None
    gone = seen(story(*DELTAS), remembered={"left_behind": behind}, **ALONE)
    assert plan_for(gone).left_behind == ()


@pytest.mark.parametrize(
    ("observed", "remembered"),
    [
        # It had begun before the run was decided.
        (ended(exit_code=137), WORKED.copy_with(pending=(T,))),
        # The run left the table to whoever is at work, and says so.
        (ended(outcome=outcome(Outcome.CONFLICT)), WORKED),
        (ended(outcome=outcome(Outcome.NOTHING_TO_DO)), WORKED),
        # The run was adopted: what was there before it is not known.
        (ended(exit_code=137), WORKED.copy_with(pending=None)),
    ],
)
def test_instant_that_a_run_cannot_have_begun_is_not_its_own(observed: Any, remembered: Any) -> None:
    plan = concluded(FILES_AFTER, observed, remembered=remembered, **ALONE)
    assert plan.left_behind == ()
    assert [one.owner for one in plan.services.ingestion.pending] == ["Other"]


def test_unfinished_service_after_a_commit_is_the_writers_own_if_nobody_else_writes() -> None:
    over = ended(outcome=outcome(Outcome.SUCCEEDED, instant=DELTAS[-1].partition("_")[0]))
    for what, left in (("a clean", (T,)), ("a compaction that is executed", (T,)), ("a write", ())):
        seen_then = seen(FOREIGN[what], remembered={"active_jobs": (WORKED,)}, jobs=(over,), **ALONE)
        marked = replace(seen_then.snapshot, runs=((WORKED.name, DELTAS[-1].partition("_")[0]),))
        plan = plan_for(replace(seen_then, snapshot=marked))
        assert [run.outcome for run in plan.finished] == [Outcome.SUCCEEDED]
        assert plan.left_behind == left, what


def test_run_beside_other_writers_leaves_only_instants_of_its_kind() -> None:
    for what in ("a clustering that is executed", "a compaction that is executed", "a clean", "a rollback"):
        assert concluded(FOREIGN[what], ended(exit_code=137), **{**BESIDE, "ingestion": {}}).left_behind == (), what
    assert concluded(FOREIGN["a write"], ended(exit_code=137), **{**BESIDE, "ingestion": {}}).left_behind == (T,)
    cleaned = WORKED.copy_with(service=Service.CLEANING)
    over = ended(service=Service.CLEANING, exit_code=137)
    assert concluded(FOREIGN["a clean"], over, remembered=cleaned, **BESIDE).left_behind == (T,)
    assert concluded(FOREIGN["a write"], over, remembered=cleaned, **BESIDE).left_behind == ()


def test_a_write_of_a_run_that_still_works_is_its_own_and_no_failed_write() -> None:
    for spec in (ALONE, {**BESIDE, "ingestion": {}}):
        plan = plan_for(seen(FILES_AFTER, remembered={"active_jobs": (WORKED,)}, jobs=(job(),), **spec))
        (shown,) = plan.services.ingestion.pending
        assert (shown.owner, shown.left_alone_until) == ("ThisTable", None)
        assert plan.services.cleaning.reason != "FailedWrite"


def test_a_job_is_told_what_was_pending_and_what_it_may_end() -> None:
    names = [f"{ago(30)}.clustering.requested", f"{ago(20)}.deltacommit.inflight", f"{ago(10)}.deltacommit.inflight"]
    timeline = story(*DELTAS, *names, clusterings=[ago(30)])
    remembered = {"left_behind": (ago(20),), "cleaning": memory(last_run=run(service="Cleaning"))}
    observation = seen(timeline, planned={ago(30): "flights-run"}, remembered=remembered, **BESIDE)
    (action,) = [one for one in plan_for(observation).actions if isinstance(one, LaunchJob)]
    assert action.job.pending == (ago(30), ago(20), ago(10))
    assert action.job.abandoned == (ago(30), ago(20))


def test_the_phase_of_a_job_does_not_matter_while_it_may_write() -> None:
    for phase in (JobPhase.STARTING, JobPhase.RUNNING, JobPhase.ENDING):
        plan = plan_for(seen(FILES_AFTER, remembered={"active_jobs": (WORKED,)}, jobs=(job(phase=phase),), **ALONE))
        assert launched(plan) == []
        assert plan.left_behind == ()


def test_since_when_an_instant_has_been_there_is_not_forgotten_while_the_store_is_away() -> None:
    first = remembered_from(seen(FOREIGN["a write"], **BESIDE))
    away = replace(first, snapshot=TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="Down."))
    after = again(away, status_of(away, now=NOW + minutes(30)))
    back = replace(after, snapshot=first.snapshot)
    assert launched(plan_for(back, now=NOW + minutes(ALARM - 0.1))) == []
    assert launched(plan_for(back, now=NOW + minutes(ALARM))) == DEALT_WITH["a write"]


@pytest.mark.parametrize("how", [ALONE, BESIDE])
def test_beside_a_restore_that_has_not_ended_nothing_starts_however_old_it_is(how: dict[str, Any]) -> None:
    following = remembered_from(seen(FOREIGN["a restore"], **how))
    for after in (0, 1, ALARM, 60 * ALARM):
        assert launched(plan_for(following, now=NOW + minutes(after))) == [], after
    after_all = status_of(following)
    ready = find_condition(after_all.conditions, ConditionType.READY)
    assert ready is not None
    assert ready.reason == "RestorePending"
    assert f"The restore {T} was started and has not completed" in ready.message
