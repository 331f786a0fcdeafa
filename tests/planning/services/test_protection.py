"""The savepoint of a takeover: asked for by the first table service, told by runs, removed after the first cycle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    active,
    again,
    ago,
    at,
    done,
    ended,
    memory,
    minutes,
    observe,
    outcome,
    plan_for,
    reporting,
    run,
    status,
    status_of,
    story,
    table,
    table_class,
)

from hudi_jobs.contract import Outcome, SavepointStep, Service
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.table_parts import Protection, TakeoverPhase, TakeoverStatus
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.outcome.plan import Plan

TAKEN = at(NOW - minutes(60))
CLASS = table_class(takeover={"quietFor": "0s"})
DELTAS = [done("deltacommit", 50 - number) for number in range(6)]
SAVED = ago(45)
OFF: dict[str, Any] = {"mode": "Disabled"}


def taken(protection: Protection | None, savepoint: str | None = None) -> TakeoverStatus:
    return TakeoverStatus(phase=TakeoverPhase.DONE, since=TAKEN, protection=protection, savepoint=savepoint)


KEPT = taken(Protection.KEPT, SAVED)


def seen(takeover: TakeoverStatus | None, *, deltas: int = 6, jobs: Any = (), **changes: Any) -> Observation:
    """A MergeOnRead table without an ingestion; services remembered by their names, the rest is of the spec."""
    names = ("compaction", "clustering", "cleaning", "archival", "ingestion")
    remembered = {name: changes.pop(f"{name}_memory") for name in names if f"{name}_memory" in changes}
    known = status(takeover=takeover, history=(run(),), active_jobs=changes.pop("active_jobs", ()), **remembered)
    one = table(**{"status": known, "type": "MergeOnRead", "ingestion": None, **changes})
    return observe(one, snapshot=TimelineSnapshot(timeline=story(*DELTAS[:deltas])), jobs=jobs, table_class=CLASS)


def launched(plan: Plan) -> list[ActiveJob]:
    return [action.job for action in plan.actions if isinstance(action, LaunchJob)]


def after(kind: Outcome = Outcome.SUCCEEDED, *, ago_minutes: float = 5) -> Any:
    return memory(last_run=run(kind, finished_at=at(NOW - minutes(ago_minutes))))


@pytest.mark.parametrize("service", ["Compaction", "Clustering", "Cleaning", "Archival"])
def test_the_first_table_service_is_asked_for_the_savepoint(service: str) -> None:
    off: dict[str, Any] = {
        name: OFF for name in ("compaction", "clustering", "cleaning", "archival") if name != service.lower()
    }
    on: dict[str, Any] = {
        "compaction": {"trigger": {"deltaCommits": 2}},
        "clustering": {"mode": "Async", "trigger": {"commits": 2}},
        "cleaning": {"retainCommits": 2, "trigger": {"commits": 2}},
        "archival": {"minCommits": 2, "maxCommits": 3},
    }
    cleaned: dict[str, Any] = {"cleaning": {**OFF, "retainCommits": 1}} if service == "Archival" else {}
    one = seen(taken(Protection.WANTED), **{**off, **cleaned, service.lower(): on[service.lower()]})
    (job,) = launched(plan_for(one))
    assert (job.service, job.savepoint, job.taken_over_at) == (Service(service), SavepointStep.KEEP, TAKEN)
    request = build_manifest(one, job, default_image="spark")["spec"]["template"]["metadata"]["annotations"]
    assert any('"savepoint":{"step":"Keep"' in text.replace(" ", "") for text in request.values())


def test_ingestion_makes_the_savepoint_only_if_services_run_inside_the_writer() -> None:
    inline = {"compaction": {"mode": "Inline", "trigger": {"deltaCommits": 2}}}
    for spec, step in (({}, None), (inline, SavepointStep.KEEP)):
        off: dict[str, Any] = {"clustering": OFF, "cleaning": OFF, "archival": OFF, "compaction": OFF, **spec}
        (job,) = launched(plan_for(seen(taken(Protection.WANTED), ingestion={}, **off)))
        assert (job.service, job.savepoint) == (Service.INGESTION, step)


@pytest.mark.parametrize("protection", [Protection.KEPT, Protection.OVER, None])
def test_savepoint_of_a_takeover_is_requested_once(protection: Protection | None) -> None:
    assert [job.savepoint for job in launched(plan_for(seen(taken(protection, SAVED))))] == [None]


def concluded(takeover: TakeoverStatus | None, told: str | None, **changes: Any) -> TakeoverStatus | None:
    job = active(service="Compaction", instant=None)
    result = outcome(Outcome.NOTHING_TO_DO, savepoint=told)
    over = ended(service=Service.COMPACTION, outcome=result)
    return plan_for(seen(takeover, active_jobs=(job,), jobs=(over,), **changes)).takeover


def test_reported_savepoint_is_remembered() -> None:
    wanted = taken(Protection.WANTED)
    assert concluded(wanted, SAVED) == taken(Protection.KEPT, SAVED)
    assert concluded(wanted, "") == taken(Protection.OVER), "somebody else's is there"
    assert concluded(wanted, None) == wanted, "the run died"
    assert concluded(KEPT, "") == taken(Protection.OVER)
    assert concluded(taken(None), "") == taken(None)
    assert concluded(None, "") is None


def test_a_status_that_was_lost_learns_of_the_savepoint_from_the_next_run() -> None:
    found = concluded(None, SAVED)
    assert found is not None
    assert (found.phase, found.protection, found.savepoint) == (TakeoverPhase.DONE, Protection.KEPT, SAVED)


CYCLE: dict[str, Any] = {"compaction_memory": after(), "cleaning_memory": after(Outcome.NOTHING_TO_DO)}


def test_savepoint_is_removed_by_its_own_run_once_every_service_has_had_its_turn() -> None:
    plan = plan_for(seen(KEPT, deltas=2, **CYCLE))
    (job,) = launched(plan)
    assert (job.service, job.savepoint, job.taken_over_at) == (Service.CLEANING, SavepointStep.REMOVE, TAKEN)
    assert plan.services.cleaning.reason == "TakeoverComplete"
    assert SAVED in plan.services.cleaning.message


NOT_OVER: dict[str, dict[str, Any]] = {
    "a service that is due and has not run": {"deltas": 6, "cleaning_memory": after()},
    "cleaning has not run": {"deltas": 2, "compaction_memory": after()},
    "cleaning ran before the takeover": {"deltas": 2, "cleaning_memory": after(ago_minutes=61)},
    "a service has failed and waits": {
        "deltas": 2,
        "compaction_memory": after(Outcome.FAILED),
        "cleaning_memory": after(),
    },
    "cleaning has failed": {"deltas": 2, "cleaning_memory": after(Outcome.FAILED)},
}


@pytest.mark.parametrize("why", NOT_OVER)
def test_savepoint_stays_until_the_first_cycle_is_over(why: str) -> None:
    assert SavepointStep.REMOVE not in [job.savepoint for job in launched(plan_for(seen(KEPT, **NOT_OVER[why])))]


def test_where_cleaning_is_off_any_service_ends_the_cycle_and_where_it_is_inline_an_ingestion_does() -> None:
    off = seen(KEPT, deltas=2, cleaning=OFF, compaction_memory=after())
    assert [job.savepoint for job in launched(plan_for(off))] == [SavepointStep.REMOVE]
    inline: dict[str, Any] = {"cleaning": {"mode": "Inline"}, "ingestion": {}, "deltas": 2}
    resting = after(ago_minutes=1)
    assert [one.savepoint for one in launched(plan_for(seen(KEPT, ingestion_memory=resting, **inline)))] == [
        SavepointStep.REMOVE
    ]
    assert launched(plan_for(seen(KEPT, **inline)))[0].savepoint is None


def test_a_removal_that_fails_is_tried_again_later_and_is_over_when_a_run_says_so() -> None:
    job = active(service="Cleaning", savepoint="Remove", base_instant=DELTAS[1][:17])
    failed = ended(service=Service.CLEANING, outcome=outcome(Outcome.FAILED, reason="HudiError"))
    one = seen(KEPT, deltas=2, active_jobs=(job,), jobs=(failed,), **CYCLE)
    plan = plan_for(one)
    assert (launched(plan), plan.takeover) == ([], KEPT)
    removed = reporting(failed, outcome(Outcome.SUCCEEDED, savepoint=""))
    plan = plan_for(replace(one, jobs=(removed,)))
    assert [run.outcome for run in plan.finished] == [Outcome.SUCCEEDED], "it leaves no instant"
    assert plan.takeover == taken(Protection.OVER)
    assert launched(plan_for(again(one, status_of(replace(one, jobs=(removed,)))))) == []


def test_a_class_that_no_longer_asks_for_one_has_it_removed_at_once() -> None:
    changed = table_class(takeover={"savepoint": False})
    plan = plan_for(replace(seen(KEPT, deltas=2), table_class=changed))
    assert [job.savepoint for job in launched(plan)] == [SavepointStep.REMOVE]
