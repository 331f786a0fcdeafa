"""A table service beside the batches of a continuous ingestion: when the driver is asked, and when it ends instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.continuous_world import a_table, launches, live, progress, running, seen, stops
from tests.planning.savepoints.savepoints import saved, savepoint
from tests.planning.world import (
    IMAGE,
    JOB,
    NOW,
    active,
    after_failures,
    ago,
    at,
    done,
    ended,
    job,
    minutes,
    outcome,
    plan_for,
    snapshot,
    status,
    story,
    succeeded,
    table_class,
)

from hudi_jobs.contract import FailureReason, Outcome, ProgressState, SavepointStep, Service, WriteOperation
from hudi_operator.api.resources import SAVEPOINTS
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.runs import LiveStatus
from hudi_operator.api.status.savepoints import HudiSavepointStatus
from hudi_operator.api.status.table_parts import Protection, TakeoverPhase, TakeoverStatus
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.jobs.sizing import HANDING_OVER
from hudi_operator.planning.model import JobPhase, Observation
from hudi_operator.planning.model.observation import Related
from hudi_operator.planning.order.slots import occupied
from hudi_operator.services.registry import services_inside

CLEANING: dict[str, Any] = {"cleaning": {"mode": "Async", "trigger": {"commits": 2}}}
ARCHIVAL: dict[str, Any] = {"archival": {"mode": "Async", "trigger": {"completedCommits": 5}}}
DUE = story(*(done("commit", 30 - one) for one in range(20)))
RUN = "flights-cleaning-0123456789"


def served(*, takes: bool | None = True, **changes: Any) -> Observation:
    """A table whose driver runs and takes services, and whose cleaning is due."""
    shows = snapshot((JOB, ago(11)), timeline=DUE, progress=progress(takes=bool(takes)))
    known = running(live=live(takes=takes, running_since=at(NOW - minutes(45)), polled_at=at(NOW)))
    spec = {**CLEANING, **changes.pop("spec", {})}
    return seen(a_table(**spec), **{"known": known, "shows": shows, **changes})


def test_a_driver_that_takes_services_is_asked_and_goes_on() -> None:
    plan = plan_for(served())
    [asked] = launches(plan)
    assert (asked.service, asked.inside) == (Service.CLEANING, JOB)
    assert stops(plan) == []
    assert [one.name for one in plan.active_jobs] == [JOB, asked.name]


def test_no_cleaning_goes_before_a_savepoint_that_waits_for_the_driver_to_end() -> None:
    plan = plan_for(replace(served(), related=Related.of({SAVEPOINTS: (savepoint(),)})))
    assert (launches(plan), stops(plan)) == ([], ["Draining"])


@pytest.mark.parametrize("goes", [False, True])
def test_a_savepoint_that_is_to_be_removed_keeps_no_cleaning_from_the_driver(goes: bool) -> None:
    kept = HudiSavepointStatus(instant=ago(20), completed_at=at(NOW))
    asks = savepoint(instant=ago(20), status=kept, deleted=NOW) if goes else savepoint(instant=ago(20))
    timeline = story(*(done("commit", 30 - one) for one in range(20)), *((saved(20),) if goes else ()))
    young = running(live=live(takes=True, running_since=at(NOW - minutes(1)), polled_at=at(NOW)))
    shows = snapshot((JOB, ago(11)), timeline=timeline, progress=progress(takes=True))
    plan = plan_for(replace(served(known=young, shows=shows), related=Related.of({SAVEPOINTS: (asks,)})))
    assert plan.services.of(Service.SAVEPOINT).due
    assert [one.service for one in launches(plan)] == ([Service.CLEANING] if goes else [])


def test_a_driver_that_does_not_ends_for_them_as_before() -> None:
    plan = plan_for(served(takes=None))
    assert (launches(plan), stops(plan)) == ([], ["Draining"])


@pytest.mark.parametrize(
    "spec",
    [
        {"continuous": {"services": "Alternating"}},
        {"clustering": {"mode": "Inline"}},
    ],
)
def test_a_table_whose_services_run_elsewhere_has_none_inside(spec: dict[str, Any]) -> None:
    plan = plan_for(served(spec=spec))
    assert (launches(plan), stops(plan)) == ([], ["Draining"])


def test_service_that_failed_inside_is_tried_alone() -> None:
    failed = after_failures(1, service="Cleaning", finished_at=at(NOW - minutes(40)))
    plan = plan_for(served(memories={"cleaning": failed}))
    assert (launches(plan), stops(plan)) == ([], ["Draining"])


def test_the_savepoint_of_a_takeover_is_made_alone() -> None:
    takeover = TakeoverStatus(phase=TakeoverPhase.DONE, since=at(NOW - minutes(90)), protection=Protection.WANTED)
    observation = served(table_class=table_class(takeover={"quietFor": "0s", "savepoint": True}))
    state = observation.table.status.copy_with(takeover=takeover)
    plan = plan_for(replace(observation, table=observation.table.copy_with(status=state)))
    assert launches(plan) == []
    assert SavepointStep.KEEP not in {one.savepoint for one in plan.active_jobs}


def test_where_no_other_job_may_run_the_driver_ends_for_the_service() -> None:
    quota = table_class(jobQuota={"runningJobs": 1})
    plan = plan_for(served(table_class=quota))
    assert launches(plan) == []
    assert stops(plan) == ["Draining"]


@pytest.mark.parametrize("phase", [JobPhase.STARTING, JobPhase.ENDING])
def test_a_driver_that_does_not_run_is_asked_for_nothing(phase: JobPhase) -> None:
    plan = plan_for(served(found=job(phase=phase)))
    assert [one.inside for one in launches(plan)] == []


def test_a_driver_that_is_about_to_end_is_asked_for_nothing() -> None:
    ending = progress(takes=True, state=ProgressState.ENDING)
    plan = plan_for(served(shows=snapshot((JOB, ago(11)), timeline=DUE, progress=ending)))
    assert launches(plan) == []


def beside(**changes: Any) -> Observation:
    """The driver and a Job that has handed its service over."""
    observation = served(**changes)
    driver = observation.table.status.active_jobs[0]
    asked = active(RUN, service="Cleaning", uid="uid-2", inside=JOB, base_instant=ago(11), pending=())
    state = observation.table.status.copy_with(active_jobs=(driver, asked))
    found = job(RUN, service=Service.CLEANING, uid="uid-2")
    table = observation.table.copy_with(status=state)
    return replace(observation, table=table, jobs=(*observation.jobs, found))


def test_one_service_is_asked_for_at_a_time() -> None:
    timeline = story(*(done("commit", 90 - one) for one in range(60)))
    shows = snapshot((JOB, ago(11)), timeline=timeline, progress=progress(takes=True))
    plan = plan_for(beside(spec=ARCHIVAL, shows=shows))
    assert plan.services.archival.due, "this is what waits"
    assert (launches(plan), stops(plan)) == ([], [])
    assert len(plan.active_jobs) == 2
    assert launches(plan_for(served(spec=ARCHIVAL, shows=shows))), "nothing is under way"


def test_a_driver_does_not_end_for_a_service_while_it_is_at_another() -> None:
    """It would be cancelled after the time to drain, and its hours of work done again."""
    failed = {"archival": after_failures(1, service="Archival", finished_at=at(NOW - minutes(40)))}
    timeline = story(*(done("commit", 90 - one) for one in range(60)))
    shows = snapshot((JOB, ago(11)), timeline=timeline, progress=progress(takes=True))
    plan = plan_for(beside(spec=ARCHIVAL, memories=failed, shows=shows))
    assert plan.services.archival.due, "this is what waits"
    assert (launches(plan), stops(plan)) == ([], [])
    assert stops(plan_for(served(spec=ARCHIVAL, memories=failed, shows=shows))) == ["Draining"], "nothing is under way"


def test_its_end_is_that_of_any_run_and_the_driver_goes_on() -> None:
    observation = beside()
    instant = ago(5)
    timeline = story(*(done("commit", 30 - one) for one in range(20)), done("clean", 5))
    shows = replace(observation.snapshot, timeline=timeline)
    over = ended(RUN, service=Service.CLEANING, uid="uid-2", outcome=succeeded(instant=instant))
    plan = plan_for(replace(observation, snapshot=shows, jobs=(observation.jobs[0], over)))
    [run] = plan.finished
    assert (run.service, run.outcome, run.instant) == (Service.CLEANING, Outcome.SUCCEEDED, instant)
    assert plan.services.cleaning.last_run == run
    assert stops(plan) == []


def test_a_driver_that_dies_within_it_makes_it_a_failed_run() -> None:
    observation = beside()
    lost = outcome(Outcome.FAILED, reason=FailureReason.INTERRUPTED, message="The run ended.")
    over = ended(RUN, service=Service.CLEANING, uid="uid-2", outcome=lost)
    died = ended(class_version=observation.jobs[0].class_version, generation=1, exit_code=137)
    plan = plan_for(replace(observation, jobs=(died, over)))
    assert {run.service: run.outcome for run in plan.finished}[Service.CLEANING] is Outcome.FAILED
    assert plan.services.cleaning.infrastructure_failures == 1


def test_ingestion_does_not_start_beside_a_service_whose_driver_has_gone() -> None:
    assert occupied(Service.INGESTION, [active(RUN, service="Cleaning", inside=JOB)], _spec().concurrency.mode)


def test_a_plan_that_an_ended_run_has_left_is_not_the_drivers_own() -> None:
    """Else nobody would deal with it as long as the driver runs, and its batches would be refused."""
    time = (NOW - minutes(4)).strftime("%Y%m%d%H%M%S") + "000"
    timeline = story(*(done("commit", 30 - one) for one in range(20)), f"{time}.clean.requested")
    observation = served(shows=snapshot((JOB, ago(11)), timeline=timeline, progress=progress(takes=True)))
    busy = plan_for(observation).services.cleaning
    state = observation.table.status.copy_with(left_behind=(time,))
    left = plan_for(replace(observation, table=observation.table.copy_with(status=state)))
    assert busy.reason != "PendingPlan"
    assert left.services.cleaning.reason == "PendingPlan"


@pytest.mark.parametrize(("services", "is_claimed"), [("Inside", True), ("Alternating", False)])
def test_a_write_with_a_heartbeat_is_the_drivers_own_where_services_run_inside_it(
    services: str, *, is_claimed: bool
) -> None:
    """Elsewhere a writer of a Serialized table shows none, so that one that does is somebody else's."""
    time = (NOW - minutes(4)).strftime("%Y%m%d%H%M%S") + "000"
    timeline = story(*(done("commit", 30 - one) for one in range(20)), f"{time}.commit.requested", f"{time}.inflight")
    shows = snapshot((JOB, ago(11)), timeline=timeline, heartbeats=((time, 1),))
    died = ended(generation=1, exit_code=137)
    plan = plan_for(served(takes=None, spec={"continuous": {"services": services}}, shows=shows, found=died))
    assert (plan.left_behind == (time,)) is is_claimed


def _spec(**changes: Any) -> HudiTableSpec:
    return a_table(**changes).spec


def test_services_inside_follow_from_the_spec() -> None:
    every = {name: {"mode": "Async"} for name in ("clustering", "cleaning", "archival")}
    assert services_inside(_spec(**every)) == (Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL)
    assert services_inside(_spec(**CLEANING)) == (Service.CLEANING,)
    assert services_inside(_spec(**CLEANING, continuous={"services": "Alternating"})) == ()
    buckets = _spec(**CLEANING, index={"type": "Bucket"})
    assert services_inside(buckets) == (Service.CLEANING,)
    assert buckets.ingestion is not None
    bulk = buckets.ingestion.copy_with(operation=WriteOperation.BULK_INSERT)
    assert services_inside(buckets.copy_with(ingestion=bulk)) == ()
    lock = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
    assert services_inside(_spec(**CLEANING, **lock)) == ()


def test_the_job_that_hands_over_is_small_and_the_driver_knows_what_it_may_be_asked_for() -> None:
    observation = served()
    asked = active(RUN, service="Cleaning", inside=JOB)
    pod = build_manifest(observation, asked, default_image=IMAGE)["spec"]["template"]
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"memory": HANDING_OVER.driver.memory}
    assert '"inside":"' + JOB in pod["metadata"]["annotations"]["hudi-operator.io/request"]
    driver = active(live=LiveStatus(class_version="1"))
    request = build_manifest(observation, driver, default_image=IMAGE)["spec"]["template"]["metadata"]["annotations"]
    assert '"inlineServices":[{"id":"team-a/flights/cleaning"' in request["hudi-operator.io/request"]
    assert status(active_jobs=(asked,)).active_jobs[0].inside == JOB
