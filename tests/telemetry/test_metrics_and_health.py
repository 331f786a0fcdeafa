from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.status.findings import Finding, FindingCode, Severity
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.planning.outcome.status.transitions import event_of
from hudi_operator.telemetry.health import HealthServer
from hudi_operator.telemetry.metrics import Metrics

OUTCOMES = ("Succeeded", "Failed", "NotVerified")
"""How an operation can end."""


def sample(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"hudi_operator_{name}", labels)


def test_a_reconcile_is_counted_by_its_result_and_timed() -> None:
    metrics = Metrics()
    with metrics.reconcile():
        pass
    with pytest.raises(RuntimeError), metrics.reconcile():
        raise RuntimeError
    assert sample(metrics, "reconcile_total", result="success") == 1
    assert sample(metrics, "reconcile_total", result="error") == 1
    assert sample(metrics, "reconcile_duration_seconds_count") == 2


def test_active_jobs_are_counted_over_all_tables_and_never_drift() -> None:
    metrics = Metrics()
    metrics.set_active_jobs("n/a", ["Ingestion"])
    metrics.set_active_jobs("n/b", ["Ingestion", "Compaction"])
    metrics.set_active_jobs("n/b", ["Ingestion", "Compaction"])
    assert sample(metrics, "jobs_active", service="Ingestion") == 2
    assert sample(metrics, "jobs_active", service="Compaction") == 1
    metrics.set_active_jobs("n/b", ["Compaction"])
    metrics.set_active_jobs("n/a", [])
    metrics.set_active_jobs("n/never-seen", [])
    assert sample(metrics, "jobs_active", service="Ingestion") == 0
    assert sample(metrics, "jobs_active", service="Compaction") == 1


def finding(code: FindingCode, severity: Severity) -> Finding:
    return Finding(code=code, severity=severity, since="2026-03-10T12:00:00Z", message="It is so.", remedy="Act.")


def test_findings_are_counted_over_all_tables_by_code_and_severity() -> None:
    metrics = Metrics()
    foreign = finding(FindingCode.FOREIGN_WRITER, Severity.CRITICAL)
    overdue = finding(FindingCode.PENDING_INSTANT_OVERDUE, Severity.WARNING)

    def exported() -> list[float | None]:
        return [sample(metrics, "findings", code=one.code, severity=one.severity) for one in (foreign, overdue)]

    metrics.set_findings("n/a", (foreign, overdue))
    metrics.set_findings("n/a", (foreign, overdue))
    metrics.set_findings("n/b", (foreign,))
    assert exported() == [2, 1]
    metrics.set_findings("n/a", ())
    metrics.set_findings("n/never-seen", ())
    assert exported() == [1, 0]


def test_quarantined_rows_are_counted() -> None:
    metrics = Metrics()
    metrics.quarantined(3)
    metrics.quarantined(0)
    metrics.quarantined(4)
    assert sample(metrics, "rows_quarantined_total") == 7


def test_ended_jobs_are_counted_by_service_and_outcome() -> None:
    metrics = Metrics()
    run = RunStatus(job="j", service=Service.INGESTION, outcome=Outcome.FAILED)
    metrics.run_finished(run)
    metrics.run_finished(run)
    assert sample(metrics, "jobs_total", service="Ingestion", outcome="Failed") == 2


ENDS: dict[str, tuple[dict[str, Any], str]] = {
    "done": ({"kind": "Restore", "state": "Succeeded", "reason": "Succeeded", "begun": True}, "Succeeded"),
    "refused": ({"kind": "Restore", "state": "Failed", "reason": "OperationRefused"}, "Failed"),
    "a repair that used up its retries": ({"kind": "Repair", "state": "Failed", "reason": "HudiError"}, "Failed"),
    "a restore with other rows": (
        {"kind": "Restore", "state": "Failed", "reason": "NotVerified", "begun": True},
        "NotVerified",
    ),
    "a repair with other rows, which never begins": (
        {"kind": "Repair", "state": "Failed", "reason": "NotVerified"},
        "NotVerified",
    ),
    "files that hold keys": ({"kind": "Erase", "state": "Failed", "reason": "NotErased", "begun": True}, "Failed"),
    "keys that are lost": ({"kind": "Erase", "state": "Failed", "reason": "KeysLost", "begun": True}, "Failed"),
}


@pytest.mark.parametrize(("told", "outcome"), ENDS.values(), ids=ENDS)
def test_an_ended_operation_is_counted_with_the_outcome_of_its_event(told: dict[str, Any], outcome: str) -> None:
    metrics = Metrics()
    ended = TableOperation.model_validate({"resource": "back", "uid": "uid-of-back", **told})
    metrics.operation_finished(ended)
    metrics.operation_finished(ended.copy_with(dry_run=True))
    counted = {label: sample(metrics, "operations_total", kind=ended.kind.value, outcome=label) for label in OUTCOMES}
    assert counted == {label: 1.0 if label == outcome else None for label in OUTCOMES}
    assert event_of(ended) == f"Operation{outcome}"


def test_the_queue_is_read_when_the_metrics_are() -> None:
    metrics = Metrics()
    depth = [3.0]
    metrics.observe_queue(depth=lambda: depth[0], oldest_seconds=lambda: 1.5)
    depth[0] = 4.0
    assert b"hudi_operator_queue_depth 4.0" in metrics.exposition()
    assert b"hudi_operator_queue_oldest_seconds 1.5" in metrics.exposition()


@pytest.mark.parametrize(
    ("problem", "status", "text"),
    [(None, 200, "loop: ok\nother: ok\n"), ("it stands still", 503, "loop: it stands still\nother: ok\n")],
)
async def test_health_is_what_the_checks_say(problem: str | None, status: int, text: str) -> None:
    checks = {"loop": lambda: problem, "other": lambda: None}
    server = HealthServer(live=checks, ready=checks, health_port=0, metrics_port=0, host="127.0.0.1")
    async with server, aiohttp.ClientSession() as session:
        for path in ("healthz", "readyz"):
            async with session.get(f"http://127.0.0.1:{server.health_port}/{path}") as answer:
                assert (answer.status, await answer.text()) == (status, text)
        async with session.get(f"http://127.0.0.1:{server.metrics_port}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
