"""A budget of the class for table services: what it holds, what it never holds, and until when."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    ago,
    done,
    finding,
    memory,
    minutes,
    observe,
    plan_for,
    snapshot,
    status,
    story,
    table,
    table_class,
)

from hudi_jobs.contract import Service
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.decide import requeue_after
from hudi_operator.planning.model import LaunchJob, Observation, Spent
from hudi_operator.planning.outcome.plan import Plan

HOUR = 3_600_000
MIDNIGHT = datetime(2026, 3, 11, tzinfo=UTC)
BUDGET = {"budgets": {"tableServices": {"cpuTimePerNamespaceAndDay": "2h"}}}
USED = "2026-03-10 5 0 {} 0 0"
DUE = story(*(done("deltacommit", 30 - one) for one in range(8)))


def due(*, own: int = 0, elsewhere: int = 0, compaction: Any = None, limit: Any = None, **changes: Any) -> Observation:
    """A table whose compaction is due; the figures are what services used today."""
    memories = {"compaction": compaction or memory(), "clustering": memory(costs=(USED.format(own),))}
    one = table(
        type="MergeOnRead",
        status=status(observed_generation=1, **memories),
        **{"ingestion": None, "compaction": {"trigger": {"deltaCommits": 5}}, **changes.pop("spec", {})},
    )
    ours = tuple((f"run-{one}", ago(29 - one)) for one in range(8))
    shows = changes.pop("shows", DUE)
    return observe(
        one,
        snapshot=snapshot(*ours, timeline=shows),
        table_class=table_class(**(BUDGET if limit is None else limit)),
        spent_elsewhere=Spent(day=changes.pop("day", NOW.date()), milliseconds=elsewhere),
        **changes,
    )


def launched(plan: Plan) -> list[Service | None]:
    return [one.job.service for one in plan.actions if isinstance(one, LaunchJob)]


@pytest.mark.parametrize(
    ("own", "elsewhere", "held"),
    [(0, 0, False), (2 * HOUR - 1, 0, False), (2 * HOUR, 0, True), (HOUR, HOUR, True), (0, 2 * HOUR, True)],
)
def test_due_service_waits_once_services_of_its_namespace_have_used_the_budget(
    own: int, elsewhere: int, *, held: bool
) -> None:
    plan = plan_for(due(own=own, elsewhere=elsewhere))
    assert launched(plan) == ([] if held else [Service.COMPACTION])
    assert (plan.services.compaction.reason == "BudgetReached") == held


def test_held_service_is_a_finding_that_says_what_is_used_and_when_it_continues() -> None:
    plan = plan_for(due(own=HOUR, elsewhere=HOUR * 3 // 2))
    found = finding(plan.status, FindingCode.SERVICE_HELD_BY_BUDGET)
    assert found is not None
    assert "used 2.50 of 2.00 CPU hours in namespace team-a on 2026-03-10 (UTC), so none are left" in found.message
    assert "2026-03-11T00:00:00Z" in found.message
    assert found.blocks == ("Compaction",)
    assert "BudgetReached" not in {one.reason for one in plan.status.conditions}


def test_table_of_a_held_service_is_reconciled_at_the_next_midnight_and_then_starts_it() -> None:
    observation = due(elsewhere=2 * HOUR)
    plan = plan_for(observation)
    until = (MIDNIGHT - NOW).total_seconds()
    assert plan.changes_in == until
    late = plan_for(observation, now=MIDNIGHT - minutes(5))
    assert requeue_after(late, poll=3600.0) == 300
    assert launched(plan_for(observation, now=MIDNIGHT)) == [Service.COMPACTION]


@pytest.mark.parametrize("limit", [{}, {"budgets": {}}, {"budgets": {"tableServices": {}}}])
def test_class_without_a_budget_holds_nothing(limit: dict[str, Any]) -> None:
    assert launched(plan_for(due(own=10**12, limit=limit))) == [Service.COMPACTION]


def test_what_was_used_on_another_day_holds_nothing() -> None:
    assert launched(plan_for(due(elsewhere=9 * HOUR, day=datetime(2026, 3, 9, tzinfo=UTC).date()))) == [
        Service.COMPACTION
    ]


def test_service_passed_over_ten_times_is_not_held() -> None:
    assert launched(plan_for(due(own=9 * HOUR, compaction=memory(passed_over=9)))) == []
    assert launched(plan_for(due(own=9 * HOUR, compaction=memory(passed_over=10)))) == [Service.COMPACTION]


def test_pending_plan_is_not_held() -> None:
    begun = story(
        *(done("deltacommit", 30 - one) for one in range(8)),
        f"{ago(20)}.compaction.requested",
        f"{ago(20)}.compaction.inflight",
    )
    observation = due(own=9 * HOUR, shows=begun)
    left = observation.table.status.copy_with(left_behind=(ago(20),))
    observation = replace(observation, table=observation.table.copy_with(status=left))
    assert launched(plan_for(observation)) == [Service.COMPACTION]


def test_budget_never_holds_ingestion_and_a_held_service_is_passed_over_by_it() -> None:
    schedule = {"source": {"files": {"path": "s3a://landing/x/", "format": "csv"}}, "schedule": {"every": "5m"}}
    plan = plan_for(due(own=9 * HOUR, spec={"ingestion": schedule}))
    assert launched(plan) == [Service.INGESTION]
    assert (plan.services.compaction.reason, plan.services.compaction.passed_over) == ("BudgetReached", 1)
