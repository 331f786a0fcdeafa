"""Which of several due services goes first, and which may run beside one another."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    active,
    ago,
    at,
    done,
    ended,
    job,
    memory,
    minutes,
    observe,
    outcome,
    plan_for,
    run,
    status,
    story,
    table,
)
from tests.planning.world import table_class as a_class

from hudi_jobs.contract import Outcome
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.outcome.plan import Plan

OPTIMISTIC: dict[str, Any] = {
    "index": {"type": "Bucket"},
    "concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}},
}
OFF = {"mode": "Disabled"}
EVERYTHING: dict[str, Any] = {
    "type": "MergeOnRead",
    "compaction": {"trigger": {"deltaCommits": 20}},
    "clustering": {"mode": "Async", "trigger": {"commits": 20}},
    "cleaning": {"retainCommits": 3, "trigger": {"commits": 20}},
    "archival": {"minCommits": 10, "maxCommits": 19},
}
"""All services are due after 20 commits, and none is starving before 58."""

RESTED = {"ingestion": memory(last_run=run(started_at=at(NOW)))}


def world(commits: int = 20, *, ingested: bool = False, **changes: Any) -> Observation:
    remembered = {**(RESTED if ingested else {}), **changes.pop("remembered", {})}
    seen = story(*(done("deltacommit", 100 - number) for number in range(commits)))
    jobs, classes = changes.pop("jobs", ()), changes.pop("classes", {})
    one = table(status=status(**remembered), **{**EVERYTHING, **changes})
    return observe(one, snapshot=TimelineSnapshot(timeline=seen), jobs=jobs, table_class=a_class(**classes))


def launched(plan: Plan) -> list[str]:
    return [str(action.job.service) for action in plan.actions if isinstance(action, LaunchJob)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["Ingestion"]),
        ({"ingested": True}, ["Compaction"]),
        ({"ingested": True, "compaction": OFF}, ["Clustering"]),
        ({"ingested": True, "compaction": OFF, "clustering": OFF}, ["Cleaning"]),
        (
            {"ingested": True, "compaction": OFF, "clustering": OFF, "cleaning": {**OFF, "retainCommits": 3}},
            ["Archival"],
        ),
        ({"commits": 19, "ingested": True}, []),
    ],
)
def test_one_service_starts_at_a_time_in_a_fixed_order(changes: dict[str, Any], expected: list[str]) -> None:
    assert launched(plan_for(world(**changes))) == expected


def test_a_service_that_waits_for_another_says_for_which() -> None:
    plan = plan_for(world())
    (launch,) = plan.active_jobs
    assert plan.services.compaction.due
    assert plan.services.compaction.reason == "Running"
    assert plan.services.compaction.message == (
        f"20 of 20 delta commits since the last compaction. Job {launch.name}: Decided."
    )


@pytest.mark.parametrize(
    ("commits", "changes", "expected"),
    [
        (59, {}, ["Ingestion"]),
        (60, {}, ["Compaction"]),
        (60, {"compaction": OFF}, ["Clustering"]),
        (60, {"compaction": OFF, "clustering": OFF}, ["Cleaning"]),
        (60, {"compaction": OFF, "clustering": OFF, "cleaning": {**OFF, "retainCommits": 3}}, ["Archival"]),
        # What somebody asked for goes before what is late.
        (60, {"annotations": {"hudi-operator.io/requested-at": "now"}}, ["Ingestion"]),
    ],
)
def test_a_service_that_is_three_times_over_its_threshold_goes_before_ingestion(
    commits: int, changes: dict[str, Any], expected: list[str]
) -> None:
    assert launched(plan_for(world(commits, **changes))) == expected


def test_a_compaction_that_is_three_times_over_its_time_goes_before_ingestion() -> None:
    late: dict[str, Any] = {"compaction": {"trigger": {"strategy": "TimeElapsed", "elapsed": "33m"}}}
    in_time: dict[str, Any] = {"compaction": {"trigger": {"strategy": "TimeElapsed", "elapsed": "34m"}}}
    assert launched(plan_for(world(**late))) == ["Compaction"]
    assert launched(plan_for(world(**in_time))) == ["Ingestion"]


@pytest.mark.parametrize(
    ("strategy", "elapsed", "expected"),
    [("NumAndTime", "33m", "Compaction"), ("NumAndTime", "40m", "Ingestion"), ("NumOrTime", "40m", "Compaction")],
)
def test_where_number_and_time_decide_both_must_be_far_behind(strategy: str, elapsed: str, expected: str) -> None:
    trigger = {"strategy": strategy, "elapsed": elapsed, "deltaCommits": 5}
    assert launched(plan_for(world(compaction={"trigger": trigger}))) == [expected]


@pytest.mark.parametrize(
    ("runs", "serialized", "optimistic"),
    [
        ([], ["Ingestion"], ["Ingestion", "Compaction"]),
        (["Ingestion"], [], ["Compaction"]),
        (["Compaction"], [], ["Ingestion"]),
        (["Cleaning"], [], ["Ingestion"]),
        (["Ingestion", "Clustering"], [], []),
    ],
)
def test_only_where_a_lock_is_shared_a_service_runs_beside_ingestion(
    runs: list[str], serialized: list[str], optimistic: list[str]
) -> None:
    jobs = tuple(job(name.lower()) for name in runs)
    remembered = {"active_jobs": tuple(active(name.lower(), service=name) for name in runs)}
    assert launched(plan_for(world(jobs=jobs, remembered=remembered))) == serialized
    assert launched(plan_for(world(jobs=jobs, remembered=remembered, **OPTIMISTIC))) == optimistic


def test_two_runs_of_one_table_both_count_for_the_limits_of_the_class() -> None:
    tight = {"jobQuota": {"runningJobs": 1}}
    plan = plan_for(world(classes=tight, **OPTIMISTIC))
    assert launched(plan) == ["Ingestion"]
    assert plan.services.compaction.reason == "ClassQuotaReached"


def test_a_launch_names_since_when_it_was_due() -> None:
    first = plan_for(world(ingested=True, suspend=True))
    assert first.services.compaction.due_since == at(NOW)
    second = world(ingested=True, suspend=True, remembered={"compaction": first.services.compaction})
    assert plan_for(second, now=NOW + minutes(1)).services.compaction.due_since == at(NOW)

    later = world(ingested=True, remembered={"compaction": first.services.compaction})
    (launch,) = plan_for(later, now=NOW + minutes(3)).actions
    assert isinstance(launch, LaunchJob)
    assert launch.due_at == NOW


def test_being_due_begins_anew_after_each_run() -> None:
    before = memory(due=True, due_since=at(NOW - minutes(90)))
    over = ended("compacted", outcome=outcome(Outcome.NOTHING_TO_DO))
    remembered = {"compaction": before, "active_jobs": (active("compacted", service="Compaction"),)}
    plan = plan_for(world(ingested=True, jobs=(over,), remembered=remembered))
    assert plan.services.compaction.due_since == at(NOW)


def test_a_run_that_found_nothing_makes_room_for_the_next_service_in_the_same_reconcile() -> None:
    over = ended("compacted", outcome=outcome(Outcome.NOTHING_TO_DO, message="All logs are merged."))
    job = active("compacted", service="Compaction", base_instant=ago(81))
    plan = plan_for(world(ingested=True, jobs=(over,), remembered={"active_jobs": (job,)}))
    assert launched(plan) == ["Clustering"]
    assert plan.services.compaction.last_no_op_instant == ago(81)
    assert plan.services.compaction.message.endswith(f"since {ago(81)}. All logs are merged.")
