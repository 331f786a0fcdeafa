"""The operator keeps the end of the log of a failed run; no trouble with a log changes anything else."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from tests.control.test_reconciler import Cluster, Operator, living_table
from tests.planning.world import IMAGE, job

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.control.jobs.failed_logs import FailedRunLogs
from hudi_operator.kube.errors import ApiUnavailable, Forbidden, KubernetesError, NotFound, Rejected
from hudi_operator.planning.model import JobPhase

REFUSALS = [
    Forbidden("pods/log is forbidden", status=403),
    NotFound("pods not found", status=404),
    Rejected("container driver is waiting to start", status=400),
    ApiUnavailable("the kubelet does not answer", status=500),
]


def failing(log: bytes | KubernetesError, **settings: Any) -> Operator:
    """A table whose ingestion fails."""
    operator = Operator(living_table(), **{"failed_run_logs": True, **settings})
    operator.cluster.outcome, operator.cluster.failure = Outcome.FAILED, FailureReason.BAD_RECORDS
    operator.cluster.log = log
    return operator


def kept(operator: Operator) -> list[tuple[str, str]]:
    return [(one["service"], one["text"]) for one in operator.status.get("failedLogs", [])]


async def run_once(operator: Operator) -> None:
    """Let a run start, fail and be concluded."""
    began, cluster = operator.cluster.clock(), operator.cluster
    cluster.clock = lambda: began + timedelta(hours=1)
    count = len(cluster.created)
    for _ in range(4):
        await operator.reconcile()
        cluster.kubelet()
    assert len(cluster.created) == count + 1


async def test_the_end_of_the_log_of_a_failed_run_is_kept_and_read_once() -> None:
    operator = failing(b"INFO\npassword=hunter2\nERROR row 7 is bad\n")
    await run_once(operator)
    assert kept(operator) == [("Ingestion", "INFO\npassword=[redacted]\nERROR row 7 is bad")]
    assert operator.status["failedLogs"][0]["job"] == operator.cluster.created[0]
    assert operator.cluster.calls.count("read log") == 1


async def test_the_log_stays_after_its_pod_and_a_success_until_the_next_failed_run() -> None:
    operator = failing(b"the first")
    await run_once(operator)
    operator.cluster.outcome, operator.cluster.failure = Outcome.NOTHING_TO_DO, None
    await run_once(operator)
    operator.cluster.jobs.clear()
    operator.cluster.pods.clear()
    await operator.reconcile()
    assert kept(operator) == [("Ingestion", "the first")]
    operator.cluster.outcome, operator.cluster.failure = Outcome.FAILED, FailureReason.BAD_RECORDS
    operator.cluster.log = b"the second"
    await run_once(operator)
    assert kept(operator) == [("Ingestion", "the second")]


async def test_no_log_is_read_of_a_run_that_succeeds() -> None:
    operator = failing(b"INFO")
    operator.cluster.outcome, operator.cluster.failure = Outcome.NOTHING_TO_DO, None
    await run_once(operator)
    assert kept(operator) == []
    assert "read log" not in operator.cluster.calls


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: type(one).__name__)
async def test_a_refused_log_changes_nothing_else(refusal: KubernetesError) -> None:
    operator, other = failing(refusal), failing(b"", failed_run_logs=False)
    await run_once(operator)
    await run_once(other)
    assert kept(operator) == []
    one, two = (each.status["services"]["ingestion"] for each in (operator, other))
    assert (one["lastRun"]["reason"], one["failures"]) == (two["lastRun"]["reason"], two["failures"])
    assert one["lastRun"]["reason"] == "BadRecords"


async def test_a_kept_log_goes_when_logs_are_switched_off() -> None:
    operator = failing(b"row 7: Alice")
    await run_once(operator)
    assert "Alice" in json.dumps(operator.cluster.tables["flights"]["status"])
    later = Operator(operator.cluster)
    await later.reconcile()
    assert "Alice" not in json.dumps(operator.cluster.tables["flights"]["status"])


async def test_no_log_is_read_unless_it_is_switched_on() -> None:
    operator = Operator(living_table())
    operator.cluster.outcome, operator.cluster.failure = Outcome.FAILED, FailureReason.BAD_RECORDS
    operator.cluster.log = b"row 7"
    await run_once(operator)
    assert "read log" not in operator.cluster.calls


async def test_the_kept_log_is_one_line_of_the_object() -> None:
    operator = failing(b"one\ntwo\n" + b'"\\' * 10_000)
    await run_once(operator)
    line = operator.cluster.tables["flights"]["status"]["memory"]["failedLogs"]
    assert line.count("\n") == 1
    assert len(line) < 9_000


class Slow(Cluster):
    """A cluster whose kubelet is silent."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once = self.most_at_once = 0

    async def read_log(self, *_: Any, **__: Any) -> bytes:
        self.calls.append("read log")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0.01 if self.log == b"slow" else 60)
        finally:
            self.at_once -= 1
        return b"slow"


def runs(number: int) -> tuple[Any, ...]:
    ended = {"phase": JobPhase.OVER, "has_run": True, "image": IMAGE}
    return tuple(job(f"run-{one}", pods=(f"run-{one}-pod",), **ended) for one in range(number))


async def test_few_logs_are_read_at_once() -> None:
    cluster = Slow()
    cluster.log = b"slow"
    found = await FailedRunLogs(cluster).read("team-a", runs(20))
    assert len(found) == 20
    assert cluster.most_at_once == 4


async def test_a_silent_node_delays_one_reconcile_and_then_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudi_operator.control.jobs.failed_logs._LONGEST_SECONDS", 0.05)
    cluster = Slow()
    logs = FailedRunLogs(cluster)
    assert await logs.read("team-a", runs(1)) == {}
    assert await logs.read("team-a", runs(20)) == {}
    assert cluster.calls.count("read log") == 1
