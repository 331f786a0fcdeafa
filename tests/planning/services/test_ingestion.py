"""Whether ingestion is due, and what is remembered of its runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from tests.planning.world import CREATED, NOW, after_failures, at, class_spec, memory, minutes, run, table

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.facts.runs.memory import remember_runs
from hudi_operator.planning.model.decision import Decision, seconds_until
from hudi_operator.planning.needs.kinds.ingestion import evaluate


def evaluated(
    remembered: ServiceStatus | None = None,
    *,
    requested: str | None = None,
    now: datetime = NOW,
    classes: dict[str, Any] | None = None,
    **spec: Any,
) -> Decision:
    return evaluate(
        remembered or memory(),
        table=table(**spec),
        table_class=class_spec(**(classes or {})),
        requested=requested,
        now=now,
    )


def decided(found: Decision) -> tuple[bool, str]:
    return found.due, found.reason.value


RAN = memory(last_run=run(started_at=at(NOW - minutes(2))))


@pytest.mark.parametrize(
    ("remembered", "changes", "expected"),
    [
        (memory(), {}, (True, "Scheduled")),
        (memory(), {"ingestion": None}, (False, "NotConfigured")),
        (memory(), {"ingestion": None, "requested": "now"}, (False, "NotConfigured")),
        (RAN, {}, (False, "WaitingForSchedule")),
        (RAN, {"now": NOW + minutes(3)}, (True, "Scheduled")),
        (RAN, {"now": NOW + minutes(600)}, (True, "Scheduled")),
        (RAN, {"requested": "2026-03-10T12:00:00Z"}, (True, "Requested")),
        (RAN.copy_with(more_input=True), {}, (True, "MoreInput")),
        (RAN, {"ingestion": {"schedule": {"cron": "0 * * * *"}}}, (True, "Scheduled")),
        (RAN, {"ingestion": {"schedule": {"cron": "30 * * * *"}}}, (False, "WaitingForSchedule")),
        (RAN, {"ingestion": {"schedule": {"cron": "0 0 31 2 *"}}}, (False, "InvalidSchedule")),
        (memory(), {"ingestion": {"schedule": {"cron": "30 12 * * *"}}}, (False, "WaitingForSchedule")),
        (after_failures(1), {}, (True, "Retry")),
        (after_failures(5), {}, (False, "WaitingForRetry")),
        (after_failures(5), {"requested": "now"}, (True, "Requested")),
        (after_failures(1, reason="InvalidRequest"), {}, (False, "WaitingForSpecChange")),
        (after_failures(1, reason="InvalidRequest"), {"requested": "now"}, (True, "Requested")),
        (after_failures(1, reason="InvalidRequest"), {"now": NOW + minutes(58)}, (False, "WaitingForSpecChange")),
        (after_failures(1, reason="InvalidRequest"), {"now": NOW + minutes(59)}, (True, "Retry")),
        (after_failures(99, reason="InvalidRequest"), {"now": NOW + minutes(59)}, (True, "Retry")),
    ],
)
def test_ingestion_is_due_or_says_what_it_waits_for(
    remembered: ServiceStatus, changes: dict[str, Any], expected: tuple[bool, str]
) -> None:
    assert decided(evaluated(remembered, **changes)) == expected


@pytest.mark.parametrize(
    ("remembered", "changes", "moment", "sentence"),
    [
        (memory(), {}, CREATED, "Scheduled every 5m, due since 2026-03-10T11:00:00Z."),
        (RAN, {}, NOW + minutes(3), "Scheduled every 5m; the next run is at 2026-03-10T12:03:00Z."),
        (
            RAN,
            {"ingestion": {"schedule": {"cron": "0 6 * * *", "timeZone": "Europe/Berlin"}}},
            NOW + minutes(17 * 60),
            "Scheduled by cron 0 6 * * * (Europe/Berlin); the next run is at 2026-03-11T05:00:00Z.",
        ),
        (
            after_failures(5),
            {},
            NOW - minutes(1) + minutes(160 / 60),
            "Failed 5 times in a row (SourceNotFound); the next attempt is at 2026-03-10T12:01:40Z.",
        ),
    ],
)
def test_the_answer_names_its_time_and_its_reason(
    remembered: ServiceStatus, changes: dict[str, Any], moment: datetime, sentence: str
) -> None:
    found = evaluated(remembered, **changes)
    assert (found.at, found.message) == (moment, sentence)


def test_retries_follow_the_delays_of_the_class() -> None:
    patient = {"retry": {"initialDelay": "1h", "maxDelay": "6h"}}
    assert evaluated(after_failures(1), classes=patient).at == NOW + minutes(59)
    assert evaluated(after_failures(9), classes=patient).at == NOW + minutes(359)


def test_a_failure_without_a_readable_time_is_retried_after_a_delay_from_now() -> None:
    found = evaluated(after_failures(1, finished_at=None))
    assert decided(found) == (False, "WaitingForRetry")


@pytest.mark.parametrize("reason", ["SourceNotFound", "InvalidRequest"])
def test_a_run_that_failed_is_tried_again_at_once_when_the_spec_has_changed(reason: str) -> None:
    remembered = remember_runs(
        after_failures(4, generation=1, reason=reason), (), table=table(generation=2), table_class=class_spec()
    )
    found = evaluated(remembered, generation=2, ingestion={"schedule": {"every": "24h"}})

    assert remembered.failures == 0
    assert found.due
    assert found.reason.value == "Retry"


def remembered_after(
    before: ServiceStatus, *runs: Any, generation: int = 1, classes: dict[str, Any] | None = None, **spec: Any
) -> ServiceStatus:
    return remember_runs(
        before, runs, table=table(generation=generation, **spec), table_class=class_spec(**(classes or {}))
    )


def test_failures_are_counted_until_a_run_succeeds() -> None:
    failed = run(Outcome.FAILED)
    twice = remembered_after(memory(), failed, failed)
    assert (twice.failures, twice.failures_generation, twice.last_run) == (2, 1, failed)
    assert remembered_after(twice, run()).failures == 0
    assert remembered_after(twice, run(Outcome.NOTHING_TO_DO)).failures == 0


def test_a_failed_run_forgets_that_input_was_left_so_that_its_retry_waits() -> None:
    before = memory(more_input=True)
    assert not remembered_after(before, run(Outcome.FAILED)).more_input


@pytest.mark.parametrize(
    ("before", "limit", "asked", "expected"),
    [
        (None, "8Gi", None, "3072Mi"),
        ("3072Mi", "8Gi", None, "4608Mi"),
        ("6912Mi", "8Gi", None, "8192Mi"),
        ("8192Mi", "8Gi", None, "8192Mi"),
        (None, "2Gi", None, None),
        (None, "8Gi", "4Gi", "6144Mi"),
        ("3072Mi", "8Gi", "4Gi", "6144Mi"),
        (None, "3G", None, "2861Mi"),
    ],
)
def test_memory_grows_by_half_after_out_of_memory_up_to_the_limit(
    before: str | None, limit: str, asked: str | None, expected: str | None
) -> None:
    spec: dict[str, Any] = {"execution": {"driver": {"memory": asked}}} if asked else {}
    after = remembered_after(
        memory(driver_memory=before),
        run(Outcome.FAILED, reason="OutOfMemory"),
        classes={"limits": {"driverMemory": limit}},
        **spec,
    )
    assert after.driver_memory == expected


def test_other_failures_do_not_grow_the_memory() -> None:
    assert remembered_after(memory(), run(Outcome.FAILED)).driver_memory is None


def test_grown_memory_is_kept_after_success_and_given_up_with_the_failures_of_another_spec() -> None:
    grown = memory(driver_memory="3072Mi", failures=1, failures_generation=1)
    assert remembered_after(grown, run()).driver_memory == "3072Mi"
    assert remembered_after(grown, generation=2).driver_memory is None


def test_out_of_memory_without_a_class_is_counted_and_grows_nothing() -> None:
    after = remember_runs(memory(), (run(Outcome.FAILED, reason="OutOfMemory"),), table=table(), table_class=None)
    assert (after.failures, after.driver_memory) == (1, None)


def test_a_wait_is_never_negative() -> None:
    assert seconds_until(NOW - minutes(1), now=NOW) == 0
    assert seconds_until(NOW + minutes(1), now=NOW) == 60
    assert seconds_until(None, now=NOW) is None
