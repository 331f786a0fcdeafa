"""A compaction is beside no ingestion of ours where the index does not find keys that are in log files alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.continuous_world import LOCK, a_table, launches, live, progress, running, seen, stops
from tests.planning.world import (
    JOB,
    NOW,
    active,
    ago,
    at,
    done,
    job,
    minutes,
    observe,
    plan_for,
    snapshot,
    status,
    story,
    table,
)

from hudi_jobs.contract import Service
from hudi_operator.api.spec.table_writing import IndexType
from hudi_operator.planning.outcome.plan import Plan

COMPACTION: dict[str, Any] = {"type": "MergeOnRead", "compaction": {"trigger": {"deltaCommits": 2}}}
DUE = story(*(done("deltacommit", 30 - one) for one in range(3)))
MAY_NOT_FIND = sorted(set(IndexType) - {IndexType.BUCKET})


def started(plan: Plan) -> list[Service | None]:
    return [one.service for one in launches(plan)]


def beside_a_driver(index: str) -> Plan:
    known = running(live=live(running_since=at(NOW - minutes(45)), polled_at=at(NOW)))
    shows = snapshot((JOB, ago(2)), timeline=DUE, progress=progress())
    return plan_for(seen(a_table(index={"type": index}, **COMPACTION, **LOCK), known=known, shows=shows))


def test_compaction_runs_beside_the_driver_if_the_index_finds_the_keys() -> None:
    plan = beside_a_driver("Bucket")
    assert (started(plan), stops(plan)) == ([Service.COMPACTION], [])


@pytest.mark.parametrize("index", MAY_NOT_FIND)
def test_driver_ends_for_the_compaction_between_two_batches(index: str) -> None:
    plan = beside_a_driver(index)
    assert (started(plan), stops(plan)) == ([], ["Draining"])
    assert "Compaction is due, and could leave keys only in log files" in plan.active_jobs[0].message


@pytest.mark.parametrize(
    ("index", "expected"), [("Bloom", [Service.COMPACTION]), ("Bucket", [Service.COMPACTION, Service.INGESTION])]
)
def test_compaction_goes_first_and_alone_once_the_driver_has_ended(index: str, expected: list[Service]) -> None:
    one = a_table(index={"type": index}, **COMPACTION, **LOCK)
    plan = plan_for(observe(one, snapshot=snapshot((JOB, ago(2)), timeline=DUE)))
    assert sorted(filter(None, started(plan))) == sorted(expected)


def test_a_scheduled_ingestion_waits_for_it_too() -> None:
    one = table(
        ingestion={"schedule": {"every": "1m"}},
        status=status(active_jobs=(active("flights-compaction-1", service="Compaction"),)),
        **COMPACTION,
        **LOCK,
    )
    jobs = (job("flights-compaction-1", service="Compaction"),)
    plan = plan_for(observe(one, jobs=jobs, snapshot=snapshot((JOB, ago(2)), timeline=DUE)))
    assert plan.services.ingestion.due
    assert started(plan) == []
