"""Quarantined rows are counted once, told by a finding, and acknowledged by a decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.planning.continuous_world import live, progress, running, seen
from tests.planning.operations.deciding import UID, answers, deciding, decision
from tests.planning.world import JOB, NOW, ago, at, observe, plan_for, run, snapshot, status, status_of, table

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.table_parts import MOST_BAD_ROWS, BadRowsStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.runs.failures import bad_rows, bad_rows_after
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.observation import Related
from hudi_operator.planning.outcome.life import step_of

ACKNOWLEDGE = decision(acknowledgeBadRows={})
FIVE = BadRowsStatus(total=5, since=at(NOW))


def ended(rows: int | None, job: str = "run-1", **changes: Any) -> RunStatus:
    return run().copy_with(job=job, rows_quarantined=rows, finished_at=at(NOW)).copy_with(**changes)


def driver(rows: int, memory: BadRowsStatus | None = None) -> Observation:
    """A continuous driver that has reported this many bad rows, before and now."""
    shows = snapshot((JOB, ago(2)), progress=progress(rows_quarantined=rows))
    known = running(live=live(rows_quarantined=rows))
    return seen(known=known, shows=shows, memories={"bad_rows": memory})


def message(after: HudiTableStatus) -> str | None:
    return next((one.message for one in after.findings if one.code is FindingCode.BAD_ROWS), None)


def again(observation: Observation, after: HudiTableStatus) -> Observation:
    """The next reconcile, by an operator that knows nothing but the written status."""
    read = HudiTableStatus.model_validate(after.to_document())
    return replace(observation, table=observation.table.copy_with(status=read))


def test_bad_rows_of_ended_runs_add_up_with_the_time_of_the_first() -> None:
    first = bad_rows_after(None, [ended(50)], ())
    assert first == BadRowsStatus(total=50, since=at(NOW))
    second = bad_rows_after(first, [ended(7, "run-2", finished_at="2030-01-01T00:00:00Z")], ())
    assert second == BadRowsStatus(total=57, since=at(NOW))
    assert bad_rows_after(None, [ended(0), ended(None)], ()) is None


def test_failed_run_without_a_commit_does_not_count_and_its_retry_does() -> None:
    failed = ended(50, outcome=Outcome.FAILED, reason="DriverFailed")
    assert bad_rows_after(None, [failed], ()) is None
    assert bad_rows_after(None, [failed, ended(50, "run-2")], ()) == BadRowsStatus(total=50, since=at(NOW))
    assert bad_rows_after(None, [failed.copy_with(batches=3)], ()) is not None, "its batches are committed"


def test_count_of_bad_rows_is_bounded() -> None:
    many = bad_rows_after(None, [ended(10**30), ended(10**30, "run-2")], [running(live=live(rows_quarantined=10**30))])
    assert many is not None
    assert many.total == bad_rows(many, ()) == MOST_BAD_ROWS


def test_finding_names_rows_and_time_and_outlives_a_restart_of_the_operator_unchanged() -> None:
    observation = observe(table(status=status().copy_with(bad_rows=FIVE)))
    first = status_of(observation)
    found = next(one for one in first.findings if one.code is FindingCode.BAD_ROWS)
    assert (found.severity, found.blocks) == (Severity.WARNING, ())
    assert f"flights has quarantined 5 bad rows since {at(NOW)}" in found.message
    assert "acknowledgeBadRows" in found.remedy
    second = status_of(again(observation, first))
    assert (second.bad_rows, second.findings) == (FIVE, first.findings)


def test_acknowledgement_resets_the_count_once_and_is_recorded() -> None:
    observation = deciding(observe(table(status=status().copy_with(bad_rows=FIVE))), ACKNOWLEDGE)
    assert (answers(observation)[UID].state, answers(observation)[UID].message[:6]) == ("Succeeded", "5 bad ")
    after = status_of(observation)
    assert (after.bad_rows, message(after)) == (None, None)
    newer = observation.table.status.copy_with(bad_rows=FIVE)
    later = replace(observation, table=observation.table.copy_with(status=newer), related=Related())
    assert deciding(later, ACKNOWLEDGE).table.status.bad_rows == FIVE, "a recorded decision acknowledges nothing more"


def test_acknowledgement_is_refused_without_bad_rows() -> None:
    answer = answers(deciding(observe(table(status=status())), ACKNOWLEDGE))[UID]
    assert (answer.state, answer.reason) == ("Failed", "OperationRefused")


def test_acknowledged_rows_of_a_running_driver_do_not_come_back() -> None:
    before = driver(8)
    assert "quarantined 8 bad rows" in (message(status_of(before)) or "")
    decided = deciding(before, ACKNOWLEDGE)
    after = status_of(decided)
    assert (after.bad_rows, message(after)) == (BadRowsStatus(run=JOB, acknowledged=8), None)
    assert message(status_of(again(before, after))) is None
    assert "quarantined 3 bad rows" in (message(status_of(driver(11, after.bad_rows))) or "")
    end = bad_rows_after(after.bad_rows, [ended(12, JOB, batches=3)], ())
    assert end == BadRowsStatus(total=4, since=at(NOW)), "the ended driver counts what it added since"


def test_step_counts_rows_that_came_to_the_quarantine_and_no_row_twice() -> None:
    first, second = driver(8), driver(11)
    assert step_of(plan_for(first)).rows_quarantined == 0, "the status before has them already"
    before = status(active_jobs=(running(live=live(rows_quarantined=8)),))
    assert step_of(plan_for(second), written=before).rows_quarantined == 3
    acknowledged = before.copy_with(bad_rows=BadRowsStatus(total=100, since=at(NOW)))
    assert step_of(plan_for(second), written=acknowledged).rows_quarantined == 0, (
        "a smaller number is an acknowledgement"
    )
