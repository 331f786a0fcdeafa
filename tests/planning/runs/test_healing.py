"""A table whose last run ended for a reason that cannot heal waits for a person after that one run."""

from __future__ import annotations

from typing import get_args

import pytest
from tests.planning.world import JOB, after_failures, memory, observe, run, snapshot, status, status_of, table

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.planning.model import PodTrouble, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.model.healing import HEALS, RunReason, can_heal, run_can_heal
from hudi_operator.planning.model.reason_registry import REGISTRY, Entry
from hudi_operator.planning.model.reasons import Retry

COMMITTED = snapshot((JOB, "20260310115900000"))
RUN_REASONS = [reason for kind in get_args(RunReason) for reason in kind]


def test_every_reason_of_a_run_says_whether_it_can_heal_and_no_word_says_both() -> None:
    assert set(HEALS) == set(RUN_REASONS)
    assert all(run_can_heal(reason.value) is heals for reason, heals in HEALS.items())


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: f"{type(entry.name).__name__}.{entry.name.name}")
def test_a_reason_that_waits_for_a_change_or_a_person_cannot_heal(entry: Entry) -> None:
    assert entry.retry not in {Retry.ON_CHANGE, Retry.INTERVENTION} or not can_heal(entry.name)


@pytest.mark.parametrize("reason", [*FailureReason, *PodTrouble], ids=str)
def test_one_failed_ingestion_stalls_its_table_where_the_reason_cannot_heal(reason: FailureReason | PodTrouble) -> None:
    after = status_of(
        observe(table(status=status(ingestion=after_failures(1, reason=reason.value))), snapshot=COMMITTED)
    )
    told = {one.type.value: one.reason for one in after.conditions}
    assert ("Stalled" in told, "Reconciling" in told) == (not HEALS[reason], HEALS[reason])
    assert told["Ready"] == reason.value


def test_a_reason_of_another_version_can_heal() -> None:
    assert run_can_heal("FromAnotherVersion")
    assert run_can_heal(None)


def test_a_table_service_that_cannot_heal_is_named_before_an_ingestion_that_can() -> None:
    stuck = memory(
        last_run=run(Outcome.FAILED, service="Cleaning", reason="PathOutsideTable", message="It is outside."),
        failures=1,
        failures_generation=1,
    )
    one = table(status=status(ingestion=after_failures(1), cleaning=stuck))
    ready, stalled = status_of(observe(one, snapshot=COMMITTED)).conditions[:2]
    assert (ready.reason, stalled.type) == ("PathOutsideTable", "Stalled")
    assert ready.message.startswith("Cleaning: It is outside.")


@pytest.mark.parametrize("trouble", TimelineTrouble)
def test_a_timeline_that_only_a_person_can_make_readable_stalls_its_table(trouble: TimelineTrouble) -> None:
    after = status_of(observe(snapshot=TimelineSnapshot(trouble=trouble, message="It cannot be read.")))
    told = {one.type.value for one in after.conditions}
    assert ("Stalled" in told) is (trouble is TimelineTrouble.UNSUPPORTED)
    assert ("Reconciling" in told) is (trouble is not TimelineTrouble.UNSUPPORTED)
