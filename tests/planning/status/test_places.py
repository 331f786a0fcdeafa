"""A table that waits for a place among the Jobs of its class says so, which limit it is and who uses the places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import (
    JOB,
    NOW,
    active,
    at,
    job,
    memory,
    minutes,
    observe,
    run,
    snapshot,
    status_of,
    table,
    table_class,
)
from tests.planning.world import status as status_with

from hudi_jobs.contract import Service
from hudi_operator.api.status.conditions import Condition, ConditionType, find_condition
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import JobPhase, Observation, PlaceHolders

IN_CLASS: dict[str, Any] = {"table_class": table_class(jobQuota={"runningJobs": 3}), "running_in_class": 3}
IN_NAMESPACE: dict[str, Any] = {
    "table_class": table_class(jobQuota={"runningJobsPerNamespace": 1}),
    "running_in_namespace": 1,
}


def condition(after: HudiTableStatus, kind: ConditionType) -> Condition:
    found = find_condition(after.conditions, kind)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("limit", "holders", "sentence"),
    [
        (IN_CLASS, PlaceHolders(), "The class runs 3 jobs, which is its limit."),
        (
            IN_CLASS,
            PlaceHolders(tables=("orders",), elsewhere=True),
            "jobQuota.runningJobs is used by orders in this namespace and by tables of other namespaces.",
        ),
        (IN_CLASS, PlaceHolders(elsewhere=True), "jobQuota.runningJobs is used by tables of other namespaces."),
        (
            IN_NAMESPACE,
            PlaceHolders(tables=("a", "b", "c", "d", "e"), elsewhere=True),
            "jobQuota.runningJobsPerNamespace is used by a, b, c and 2 more in this namespace.",
        ),
    ],
)
def test_first_run_without_a_place_names_the_limit_and_who_uses_the_places(
    limit: dict[str, Any], holders: PlaceHolders, sentence: str
) -> None:
    after = status_of(observe(table(created=NOW), holders=holders, **limit))
    reason = "ClassQuotaReached" if limit is IN_CLASS else "NamespaceQuotaReached"
    ready, reconciling = condition(after, ConditionType.READY), condition(after, ConditionType.RECONCILING)
    assert (ready.status, ready.reason, reconciling.reason) == ("Unknown", reason, reason)
    assert (after.services.ingestion.due, after.services.ingestion.reason) == (True, reason)
    assert ready.message.startswith("The first run of this spec waits for a place.")
    for message in (ready.message, reconciling.message, after.services.ingestion.message, after.message):
        assert message is not None
        assert message.endswith(sentence)


def waiting(since: float, **changes: Any) -> Observation:
    before = status_of(observe(table(), **IN_CLASS))
    ingestion = before.services.ingestion.copy_with(due_since=at(NOW - minutes(since)), **changes)
    return observe(
        table(status=before.copy_with(services=before.services.replaced({Service.INGESTION: ingestion}))), **IN_CLASS
    )


@pytest.mark.parametrize(("since", "ready"), [(4.9, "Unknown"), (5, "False"), (600, "False")])
def test_wait_for_a_place_has_the_time_limit_of_a_start_and_uses_up_no_retry(since: float, ready: str) -> None:
    after = status_of(waiting(since))
    found = condition(after, ConditionType.READY)
    assert (found.status, found.reason) == (ready, "ClassQuotaReached")
    assert ("longer than job.startTimeout of the class" in found.message) is (ready == "False")
    assert find_condition(after.conditions, ConditionType.STALLED) is None
    assert condition(after, ConditionType.RECONCILING).status == "True"
    ingestion = after.services.ingestion
    assert (ingestion.failures, ingestion.infrastructure_failures, ingestion.due) == (0, 0, True)
    free = status_of(replace(waiting(since), running_in_class=0))
    assert [one.service for one in free.active_jobs] == [Service.INGESTION]


def test_ready_table_that_waits_for_a_place_stays_ready_and_says_so() -> None:
    ran = table(
        status=status_with(
            ingestion=memory(last_run=run(started_at=at(NOW - minutes(9)), finished_at=at(NOW - minutes(8))))
        )
    )
    after = status_of(observe(ran, snapshot=snapshot((JOB, "20260310115900000")), **IN_CLASS))
    assert condition(after, ConditionType.READY).status == "True"
    assert after.message is not None
    assert after.message.startswith("Ingestion waits for a place.")
    assert "The class runs 3 jobs, which is its limit." in after.message


def test_run_that_a_queue_holds_is_not_said_to_be_under_way() -> None:
    held = job(phase=JobPhase.SUSPENDED, message="A queue holds the Job.")
    after = status_of(observe(table(status=status_with(active_jobs=(active(),))), jobs=(held,)))
    message = condition(after, ConditionType.READY).message
    assert message == f"The first run of this spec waits. Job {JOB}: A queue holds the Job."
    assert after.message == message


def test_ready_table_with_a_part_of_its_executors_says_what_the_others_wait_for() -> None:
    part = job(message="1 of 2 executors have not started: 0/3 nodes are available.")
    known = status_with(active_jobs=(active(),), ingestion=memory(last_run=run()))
    after = status_of(observe(table(status=known), jobs=(part,)))
    assert after.message == "Ingestion is running. 1 of 2 executors have not started: 0/3 nodes are available."
