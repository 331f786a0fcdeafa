"""Failures belong to the spec, the class, the Spark image and the operator under which they happened."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    IMAGE,
    NOW,
    active,
    class_spec,
    ended,
    failed,
    minutes,
    observe,
    outcome,
    run,
    status,
    table,
)

from hudi_jobs.contract import FailureReason, Outcome, Service
from hudi_operator.api.resources import HudiTableClass, ObjectMetadata
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import JobObservation, PodTrouble, TimelineSnapshot, healing
from hudi_operator.planning.outcome.life import refused
from hudi_operator.planning.outcome.plan import Plan

LATER = NOW + minutes(1)
BEFORE: dict[str, Any] = {"name": "standard", "uid": "class-uid", "generation": 4}
CHANGES: dict[str, dict[str, Any]] = {
    "the class was changed": {"generation": 5},
    "another class is named": {"name": "large"},
    "the class was deleted and made again": {"uid": "another-uid", "generation": 4},
    "the class names another image": {"sparkImage": "registry.example/hudi-spark:2"},
    "the operator starts another image": {"image": "registry.example/hudi-spark:2"},
    "the operator is of another release": {"version": "99.0.0"},
}


def decided(
    before: HudiTableStatus, monkeypatch: pytest.MonkeyPatch, jobs: tuple[JobObservation, ...] = (), **change: Any
) -> Plan:
    metadata = {**BEFORE, **{key: change[key] for key in BEFORE if key in change}}
    classes = {"sparkImage": change["sparkImage"]} if "sparkImage" in change else {}
    seen = observe(
        table(status=before),
        table_class=HudiTableClass(metadata=ObjectMetadata(**metadata), spec=class_spec(**classes)),
        jobs=jobs,
        snapshot=TimelineSnapshot(),
    )
    with monkeypatch.context() as patch:
        patch.setattr(healing, "__version__", change.get("version", "1.0.0"))
        return decide(seen, default_image=change.get("image", IMAGE), now=LATER)


def failed_once(reason: FailureReason, monkeypatch: pytest.MonkeyPatch) -> HudiTableStatus:
    """The status after a run that failed under the circumstances before."""
    launched = decided(HudiTableStatus(), monkeypatch)
    over = ended(launched.active_jobs[0].name, outcome=failed(reason))
    plan = decided(status(active_jobs=launched.active_jobs), monkeypatch, (over,))
    return status(ingestion=plan.services.ingestion)


def given_up(before: HudiTableStatus) -> HudiTableStatus:
    exhausted = before.services.ingestion.copy_with(failures=10)
    return status(ingestion=exhausted)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_invalid_request_is_tried_again_at_once_when(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = failed_once(FailureReason.INVALID_REQUEST, monkeypatch)
    assert decided(before, monkeypatch).services.ingestion.reason == "WaitingForSpecChange"
    after = decided(before, monkeypatch, **change)
    assert [job.attempt for job in after.active_jobs] == [1]
    assert after.services.ingestion.failures == 0


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_budget_that_is_used_up_is_given_anew_when(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    before = given_up(failed_once(FailureReason.HUDI_ERROR, monkeypatch))
    assert decided(before, monkeypatch).services.ingestion.reason == "RetriesExhausted"
    assert [job.attempt for job in decided(before, monkeypatch, **change).active_jobs] == [1]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_run_that_failed_under_earlier_circumstances_says_nothing_when(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (launched,) = decided(HudiTableStatus(), monkeypatch).active_jobs
    over = ended(launched.name, outcome=failed(FailureReason.INVALID_REQUEST))
    after = decided(status(active_jobs=(launched,)), monkeypatch, (over,), **change)
    assert [done.outcome for done in after.finished] == [Outcome.FAILED]
    assert after.services.ingestion.failures == 0
    assert [job.service for job in after.active_jobs] == [Service.INGESTION]


def test_failures_that_an_earlier_release_counted_are_not_reset_without_a_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last = run(Outcome.FAILED, finished_at="2026-03-10T12:00:00Z", reason="HudiError")
    before = ServiceStatus(last_run=last, failures=10, failures_generation=1)
    assert decided(status(ingestion=before), monkeypatch).services.ingestion.reason == "RetriesExhausted"


def test_a_class_that_vanished_resets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = given_up(failed_once(FailureReason.HUDI_ERROR, monkeypatch))
    seen = observe(table(status=before), table_class=None)
    plan = decide(seen, default_image=IMAGE, now=LATER)
    assert plan.services.ingestion.failures == 10
    assert decided(status(ingestion=plan.services.ingestion), monkeypatch).services.ingestion.failures == 10


def test_memory_that_was_grown_stays_when_only_the_circumstances_change(monkeypatch: pytest.MonkeyPatch) -> None:
    (launched,) = decided(HudiTableStatus(), monkeypatch).active_jobs
    over = ended(launched.name, trouble=PodTrouble.OUT_OF_MEMORY)
    grown = decided(status(active_jobs=(launched,)), monkeypatch, (over,)).services.ingestion
    assert grown.driver_memory == "3072Mi"
    after = decided(status(ingestion=grown), monkeypatch, generation=5).services.ingestion
    assert (after.failures, after.driver_memory) == (0, "3072Mi")


def test_a_job_that_the_api_server_refuses_is_counted_under_the_circumstances_of_its_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = decided(HudiTableStatus(), monkeypatch)
    after = refused(plan, plan.active_jobs[0], message="quota", now=LATER)
    counted = status(ingestion=after.services.ingestion)
    assert counted.services.ingestion.infrastructure_failures == 1
    assert decided(counted, monkeypatch).services.ingestion.infrastructure_failures == 1
    assert decided(counted, monkeypatch, generation=5).services.ingestion.infrastructure_failures == 0


def test_a_success_forgets_under_which_circumstances_runs_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = failed_once(FailureReason.HUDI_ERROR, monkeypatch)
    nothing = ended(active().name, outcome=outcome(Outcome.NOTHING_TO_DO))
    one = before.copy_with(active_jobs=(active(),))
    assert decided(one, monkeypatch, (nothing,)).services.ingestion.failures_circumstances is None
