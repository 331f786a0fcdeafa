"""Drivers whose end nobody saw: on a lost node, or with a pod that was deleted by force."""

from __future__ import annotations

import pytest
from tests.control.job_documents import (
    CAME_BACK,
    COLLECTED,
    CREATED,
    CUT_OFF,
    FAILED,
    JOB_UID,
    Document,
    stamp,
    the_job,
    view,
)
from tests.planning.world import active, observe, plan_for, status, status_of, table


@pytest.mark.parametrize("pods", [[COLLECTED], [CAME_BACK], []], ids=["collected", "came back", "gone"])
def test_a_driver_on_a_lost_node_is_waited_for_and_then_counts_against_the_infrastructure(pods: list[Document]) -> None:
    before = status(active_jobs=(active(uid=JOB_UID, started_at=stamp(CREATED)),))
    cut_off = observe(table(status=before), jobs=view(the_job(), CUT_OFF))
    assert plan_for(cut_off).actions == ()

    remembered = status_of(cut_off)
    after = plan_for(observe(table(status=remembered), jobs=view(the_job(status=FAILED), *pods)))
    assert [(run.outcome, run.reason) for run in after.finished] == [("Failed", "NodeLost")]
    assert (after.services.ingestion.failures, after.services.ingestion.infrastructure_failures) == (0, 1)


def test_a_driver_whose_pod_was_deleted_by_force_died_and_is_none_that_never_started() -> None:
    """As one that never started it would leave no write to roll back, and no operation half done."""
    before = status(active_jobs=(active(uid=JOB_UID, started_at=stamp(CREATED)),))
    gone = observe(table(status=before), jobs=view(the_job()))
    assert plan_for(gone).actions == ()

    remembered = status_of(gone)
    after = plan_for(observe(table(status=remembered), jobs=view(the_job(status=FAILED))))
    assert [(run.outcome, run.reason) for run in after.finished] == [("Failed", "DriverDied")]
