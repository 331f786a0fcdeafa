"""Runs of ingestion with the result that a test expects."""

from __future__ import annotations

from typing import Any

from hudi_jobs.contract import FailureReason, Outcome, TaskResult


def ingested(lake: Any, **changes: Any) -> TaskResult:
    """Run, and expect success."""
    result: TaskResult = lake.ingest(**changes)
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def refused(lake: Any, reason: FailureReason, *parts: str, **changes: Any) -> None:
    """Run, and expect this refusal and no commit."""
    before = lake.instants()
    result: TaskResult = lake.ingest(**changes)
    assert (result.outcome, result.reason) == (Outcome.FAILED, reason), result
    for part in parts:
        assert part in result.message, result.message
    assert lake.instants() == before
