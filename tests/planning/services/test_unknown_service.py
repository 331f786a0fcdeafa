"""Runs of a service that only a later version of the operator knows, as after a rollback of the operator's version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import (
    IMAGE,
    JOB,
    NOW,
    active,
    again,
    at,
    ended,
    job,
    minutes,
    observe,
    outcome,
    plan_for,
    run,
    snapshot,
    status,
    status_of,
    table,
)

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.api.status.memory import joined
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.jobs.decided_job import JobRefused, build_manifest
from hudi_operator.planning.facts.runs.tracking import track
from hudi_operator.planning.facts.writers.ownership import Authorship
from hudi_operator.planning.model import JobPhase, LaunchJob, StopJob
from hudi_operator.planning.outcome.life import refused

LATER = "Restoration"
"""A service that this version does not know."""

UNKNOWN = active(service=None)
RUNNING = job(service=None)
DONE = ended(service=None, outcome=outcome(Outcome.SUCCEEDED, message="Restored."))
OPTIMISTIC = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}


def stored(**status: Any) -> HudiTable:
    one = table()
    found = parse_table(
        {
            "metadata": one.metadata.model_dump(by_alias=True),
            "spec": one.spec.model_dump(mode="json", by_alias=True, exclude_unset=True),
            "status": status,
        }
    )
    assert isinstance(found, HudiTable)
    return found


def document(of: HudiTableStatus) -> dict[str, Any]:
    return joined(of.to_document())


def test_a_run_of_an_unknown_service_stays_in_the_status_without_the_service() -> None:
    written = document(status(active_jobs=(active(),), history=(run(),)))
    written["activeJobs"][0]["service"] = LATER
    written["history"][0]["service"] = LATER

    found = stored(**written)

    assert found.status.active_jobs == (UNKNOWN,)
    assert found.status.history == (run(service=None),)
    assert found.unreadable == ("activeJobs.0.service", "history.0.service")


def test_memory_of_known_services_stays_beside_an_unknown_service() -> None:
    before = status(active_jobs=(active(),), left_behind=("20260310115900000",))
    before = before.copy_with(
        services=before.services.replaced({Service.CLEANING: before.services.cleaning.copy_with(failures=3)})
    )
    written = document(before)
    written["activeJobs"][0]["service"] = LATER
    written["services"]["restoration"] = {"failures": 2, "reason": "Requested"}

    found = stored(**written)

    assert found.status == before.copy_with(active_jobs=(UNKNOWN,))


@pytest.mark.parametrize("changes", [{}, OPTIMISTIC], ids=["serialized", "optimistic"])
@pytest.mark.parametrize("remembered", [(UNKNOWN,), ()], ids=["remembered", "forgotten"])
def test_nothing_starts_beside_a_job_of_an_unknown_service(
    changes: dict[str, Any], remembered: tuple[Any, ...]
) -> None:
    plan = plan_for(observe(table(status=status(active_jobs=remembered), **changes), jobs=(RUNNING,)))

    assert plan.actions == ()
    assert [(one.name, one.service) for one in plan.active_jobs] == [(JOB, None)]
    assert plan.services.ingestion.due
    assert plan.services.ingestion.reason == "Running"


def test_without_the_job_the_same_table_starts_an_ingestion() -> None:
    (action,) = plan_for(observe(table())).actions
    assert isinstance(action, LaunchJob)
    assert action.job.service is Service.INGESTION


def test_the_end_of_an_unknown_run_counts_for_no_service() -> None:
    before = status(active_jobs=(UNKNOWN,))
    plan = plan_for(observe(table(status=before), jobs=(DONE,)))

    assert [(one.service, one.outcome, one.message) for one in plan.finished] == [(None, "Succeeded", "Restored.")]
    assert plan.history[0].service is None
    assert plan.services.ingestion.last_run is None


def test_an_unknown_run_that_failed_backs_nothing_off() -> None:
    before = status(active_jobs=(UNKNOWN,))
    plan = plan_for(observe(table(status=before), jobs=(ended(service=None, exit_code=1),)))

    assert [one.outcome for one in plan.finished] == [Outcome.FAILED]
    assert plan.services.ingestion.failures == 0
    (action,) = plan.actions
    assert isinstance(action, LaunchJob)
    assert action.job.service is Service.INGESTION


def test_an_unknown_intent_without_a_job_is_not_carried_out() -> None:
    intent = active(service=None, uid=None, state="Decided", started_at=at(NOW))
    known = active(uid=None, state="Decided", started_at=at(NOW))

    found = [
        track(observe(table(status=status(active_jobs=(one,)))), desired_image=IMAGE, now=NOW)
        for one in (intent, known)
    ]

    assert [len(one.actions) for one in found] == [0, 1]
    assert found[0].active == ()


def test_an_intent_that_said_more_than_can_be_read_is_not_carried_out() -> None:
    written = document(status(active_jobs=(active(uid=None, state="Decided", started_at=at(NOW)),)))
    whole = track(observe(stored(**written)), desired_image=IMAGE, now=NOW)
    written["activeJobs"][0]["runMode"] = "Rehearse"
    cut = track(observe(stored(**written)), desired_image=IMAGE, now=NOW)

    assert [len(one.actions) for one in (whole, cut)] == [1, 0]
    assert cut.active == ()


def test_no_job_is_made_for_an_unknown_service() -> None:
    with pytest.raises(JobRefused, match="does not know its service"):
        build_manifest(observe(table()), UNKNOWN, default_image=IMAGE)


def test_a_job_of_an_unknown_service_that_is_refused_fails_no_other() -> None:
    observation = observe(table(status=status(active_jobs=(UNKNOWN,))), jobs=(RUNNING,))
    plan = plan_for(observation)

    after = refused(plan, UNKNOWN, message="not known", now=NOW)

    assert after.services == plan.services
    assert [one.service for one in after.finished] == [None]


def test_the_later_version_learns_the_service_again_from_the_job() -> None:
    found = track(
        observe(table(status=status(active_jobs=(UNKNOWN,))), jobs=(job(service=Service.COMPACTION),)),
        desired_image=IMAGE,
        now=NOW,
    )

    assert [one.service for one in found.active] == [Service.COMPACTION]


def test_a_run_that_has_ended_is_concluded_by_the_service_that_its_job_names() -> None:
    said = ended(service=Service.COMPACTION, outcome=outcome(Outcome.SUCCEEDED, instant="20260310113000000"))
    found = track(observe(table(status=status(active_jobs=(UNKNOWN,))), jobs=(said,)), desired_image=IMAGE, now=NOW)

    assert [(one.service, one.reason) for one in found.finished] == [(Service.COMPACTION, "NotConfirmed")]


def test_a_forgotten_job_of_an_unknown_service_hides_no_foreign_commit_once_another_run_has_ended() -> None:
    ran = (run(finished_at=at(NOW - minutes(1))),)
    early, late = (ended("flights-restoration-1", service=None, created_at=NOW - minutes(ago)) for ago in (5, 0))
    before = table(status=status(history=ran))

    assert not Authorship.of(observe(before, jobs=(early,)), ran, (), ()).is_lost
    assert Authorship.of(observe(before, jobs=(late,)), ran, (), ()).is_lost


def test_a_job_whose_label_is_gone_stays_what_status_says_that_it_is() -> None:
    found = track(observe(table(status=status(active_jobs=(active(),))), jobs=(RUNNING,)), desired_image=IMAGE, now=NOW)

    assert [one.service for one in found.active] == [Service.INGESTION]


def test_a_job_of_an_unknown_service_that_does_not_start_is_given_up_like_any() -> None:
    late = replace(RUNNING, phase=JobPhase.STARTING, created_at=NOW - minutes(30), waiting_since=None)

    plan = plan_for(observe(table(status=status(active_jobs=(UNKNOWN,))), jobs=(late,)))

    assert [type(one) for one in plan.actions] == [StopJob]


def test_the_status_says_that_something_unknown_runs_and_is_read_back() -> None:
    observation = observe(
        table(status=status(active_jobs=(UNKNOWN,))), jobs=(RUNNING,), snapshot=snapshot(("a", "20260310115800000"))
    )
    after = status_of(observation)

    assert again(observation, after).table.status == after
    assert "does not know its service" in after.services.ingestion.message
