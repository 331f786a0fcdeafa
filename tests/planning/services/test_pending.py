"""Pending instants: shown, dealt with before anything new, and never given to two runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    active,
    again,
    ago,
    at,
    done,
    finding,
    job,
    memory,
    minutes,
    observe,
    plan_for,
    run,
    status,
    status_of,
    story,
    table,
)
from tests.planning.world import table_class as a_class

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.timeline import LeftInstant
from hudi_operator.jobs.settings.hudi_options import owned_hudi_options
from hudi_operator.jobs.sizing import PlanSize, job_sizing
from hudi_operator.planning.model import JobPhase, LaunchJob, TimelineSnapshot
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.timeline import Timeline, TimelineZone

MOR: dict[str, Any] = {"type": "MergeOnRead"}
QUIET: dict[str, Any] = {**MOR, "ingestion": None}
OPTIMISTIC: dict[str, Any] = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
DELTAS = [done("deltacommit", 50 - number) for number in range(6)]
OLD = ago(45.5)


def planned(seen: Timeline, *, now: Any = NOW, jobs: Any = (), **spec: Any) -> Plan:
    """The decision on a table whose pending instants runs of ours have left behind."""
    remembered = {"left_behind": tuple(one.time for one in seen.pending), **spec.pop("remembered", {})}
    classes, beats = spec.pop("classes", {}), spec.pop("beats", ())
    one = table(status=status(**remembered), created=NOW - minutes(600), **spec)
    shows = TimelineSnapshot(timeline=seen, heartbeats=beats)
    found = observe(one, snapshot=shows, table_class=a_class(**classes), jobs=jobs)
    return plan_for(found, now=now)


def launched(plan: Plan) -> list[tuple[str, str | None, str | None]]:
    jobs = [action.job for action in plan.actions if isinstance(action, LaunchJob)]
    return [(str(one.service), one.run_mode.value if one.run_mode else None, one.instant) for one in jobs]


REQUESTED = {
    "compaction": story(*DELTAS, f"{OLD}.compaction.requested"),
    "clustering": story(*DELTAS, f"{OLD}.clustering.requested", clusterings=[OLD]),
}
INFLIGHT = {
    "compaction": story(*DELTAS, f"{OLD}.compaction.requested", f"{OLD}.compaction.inflight"),
    "clustering": story(*DELTAS, f"{OLD}.clustering.requested", f"{OLD}.clustering.inflight", clusterings=[OLD]),
}
CLUSTERED = {"clustering": {"mode": "Async"}}


@pytest.mark.parametrize("timelines", [REQUESTED, INFLIGHT], ids=["requested", "inflight"])
@pytest.mark.parametrize("service", ["compaction", "clustering"])
def test_a_pending_plan_is_dealt_with_before_ingestion_and_before_a_new_plan(
    service: str, timelines: dict[str, Timeline]
) -> None:
    plan = planned(timelines[service], **MOR, **CLUSTERED)
    assert launched(plan) == [(service.capitalize(), "Execute", OLD)]
    assert getattr(plan.services, service).reason == "PendingPlan"


def test_the_oldest_of_several_pending_plans_goes_first_whatever_its_service() -> None:
    names = [f"{ago(20)}.compaction.requested", f"{ago(30)}.clustering.requested", f"{ago(25)}.compaction.requested"]
    plan = planned(story(*DELTAS, *names, clusterings=[ago(30)]), **QUIET, **CLUSTERED)
    assert launched(plan) == [("Clustering", "Execute", ago(30))]


def test_a_pending_instant_is_named_with_its_age_and_what_it_blocks() -> None:
    (pending,) = planned(REQUESTED["clustering"], **QUIET, **CLUSTERED).services.clustering.pending
    assert pending.model_dump() == {
        "time": OLD,
        "action": "clustering",
        "state": "REQUESTED",
        "since": at(NOW - minutes(45.5)),
        "blocks": "Cleaning by commits and archival stop before it, and with Reject its file groups take no updates.",
        "owner": "ThisTable",
        "run": None,
        "seen_at": at(NOW),
        "left_alone_until": None,
    }


def test_blocks_of_an_old_table_version_are_named_only_there() -> None:
    seen = story(*DELTAS, f"{OLD}.compaction.requested", version=6)
    (pending,) = planned(seen, **QUIET).services.compaction.pending
    assert pending.blocks.endswith("The metadata table is not compacted.")


@pytest.mark.parametrize("timelines", [REQUESTED, INFLIGHT], ids=["requested", "inflight"])
@pytest.mark.parametrize("concurrency", [{}, OPTIMISTIC], ids=["serialized", "optimistic"])
def test_a_pending_plan_of_a_service_that_was_switched_off_is_ended_before_the_next_write(
    timelines: dict[str, Timeline], concurrency: dict[str, Any]
) -> None:
    off = {**MOR, **concurrency, "clustering": {"mode": "Disabled"}, "compaction": {"mode": "Disabled"}}
    cluster, compact = planned(timelines["clustering"], **off), planned(timelines["compaction"], **off)
    assert launched(cluster)[0] == ("Clustering", "RollBack", OLD)
    assert cluster.services.clustering.reason == "PendingPlan"
    assert "although spec.clustering.mode is Disabled" in cluster.services.clustering.message
    assert launched(compact)[0] == ("Compaction", "Execute", OLD)


def test_a_plan_whose_service_is_switched_off_while_its_run_works_is_ended_after_the_run() -> None:
    off = {**MOR, "clustering": {"mode": "Disabled"}}
    running = active("cluster-1", service="Clustering", pending=(), started_at=at(NOW - minutes(46)))
    working = {"active_jobs": (running,), "left_behind": ()}
    alive = job("cluster-1", service=Service.CLUSTERING)
    during = planned(INFLIGHT["clustering"], remembered=working, jobs=(alive,), **off)
    assert launched(during) == []
    assert [one.name for one in during.active_jobs] == ["cluster-1"]

    died = replace(alive, phase=JobPhase.OVER, exit_code=137)
    after = planned(INFLIGHT["clustering"], remembered=working, jobs=(died,), **off)
    assert after.left_behind == (OLD,)
    assert launched(after) == [("Clustering", "RollBack", OLD)]


def test_a_plan_that_cannot_be_ended_is_tried_again_with_a_budget_and_says_so() -> None:
    failing = memory(
        last_run=run(Outcome.FAILED, service="Clustering", finished_at=at(NOW), reason="HudiError"),
        failures=50,
        failures_generation=1,
        rollback_of=OLD,
    )
    off = {**MOR, "clustering": {"mode": "Disabled"}}
    plan = planned(INFLIGHT["clustering"], remembered={"clustering": failing}, **off)
    assert plan.services.clustering.reason == "RetriesExhausted"
    assert launched(planned(INFLIGHT["clustering"], now=NOW + minutes(61), remembered={"clustering": failing}, **off))


@pytest.mark.parametrize("timelines", [REQUESTED, INFLIGHT], ids=["requested", "inflight"])
def test_a_clustering_that_an_inline_writer_left_gets_a_run_of_its_own_before_the_next_write(
    timelines: dict[str, Timeline],
) -> None:
    inline = {**MOR, "clustering": {"mode": "Inline"}, "compaction": {"mode": "Disabled"}}
    left = planned(timelines["clustering"], **inline)
    assert launched(left) == [("Clustering", "Execute", OLD)]
    assert left.services.clustering.reason == "PendingPlan"

    remembered = {"active_jobs": (active(pending=()),)}
    writing = planned(timelines["clustering"], remembered=remembered, jobs=(job(),), **inline)
    assert launched(writing) == []
    assert writing.services.clustering.reason == "Inline"


def test_beside_others_a_service_never_runs_inside_a_writer() -> None:
    """There Hudi would execute every pending plan, also one that another tool is at work on."""
    inline: dict[str, Any] = {
        service: {"mode": "Inline"} for service in ("compaction", "clustering", "cleaning", "archival")
    }
    one = table(**MOR, **inline, **OPTIMISTIC)
    options = owned_hudi_options(one, Service.INGESTION)
    switches = ("compact.inline", "clustering.inline", "clean.automatic", "archive.automatic")
    assert [options[f"hoodie.{name}"] for name in switches] == ["false"] * 4
    seen = story(*DELTAS)
    assert [one[:2] for one in launched(planned(seen, **{**QUIET, **inline, **OPTIMISTIC}))] == [
        ("Compaction", "ScheduleAndExecute")
    ]


def test_a_compaction_that_an_inline_writer_left_is_finished_by_the_next_writer() -> None:
    plan = planned(REQUESTED["compaction"], **MOR, compaction={"mode": "Inline"})
    assert launched(plan) == [("Ingestion", None, None)]
    assert plan.services.compaction.reason == "Inline"


HEARTBEAT = {"last_run": run(Outcome.FAILED, service="Compaction", finished_at=at(NOW), reason="DriverDied")}


@pytest.mark.parametrize(("seconds", "expected"), [(119, False), (120, True)])
def test_an_inflight_compaction_waits_until_the_heartbeat_of_its_run_can_have_expired(
    seconds: int, *, expected: bool
) -> None:
    remembered = {"compaction": memory(**HEARTBEAT)}
    later = NOW + minutes(seconds / 60)
    plan = planned(INFLIGHT["compaction"], now=later, remembered=remembered, **QUIET)
    assert bool(launched(plan)) is expected
    if not expected:
        assert plan.services.compaction.reason == "WaitingForHeartbeat"
        assert plan.services.compaction.next_attempt_at == at(NOW + minutes(2))
        assert plan.changes_in == 1


def test_an_inflight_compaction_that_has_just_appeared_is_taken_for_alive() -> None:
    seen = story(*DELTAS, f"{ago(1)}.compaction.requested", f"{ago(1)}.compaction.inflight")
    assert planned(seen, **QUIET).services.compaction.reason == "WaitingForHeartbeat"


def test_ingestion_goes_on_while_an_inflight_compaction_waits_for_its_heartbeat() -> None:
    seen = story(*DELTAS, f"{ago(1)}.compaction.requested", f"{ago(1)}.compaction.inflight")
    assert launched(planned(seen, **MOR)) == [("Ingestion", None, None)]


@pytest.mark.parametrize("service", ["compaction", "clustering"])
def test_a_pending_plan_is_never_given_to_a_second_run(service: str) -> None:
    remembered = {"active_jobs": (active("running", service=service.capitalize(), instant=OLD),)}
    jobs = (job("running"),)
    for concurrency in ({}, OPTIMISTIC):
        plan = planned(INFLIGHT[service], remembered=remembered, jobs=jobs, **QUIET, **CLUSTERED, **concurrency)
        assert launched(plan) == []
        assert getattr(plan.services, service).reason == "Running"


def test_a_pending_plan_that_cannot_be_rolled_back_is_tried_again_after_a_delay_and_ingestion_between() -> None:
    failed = memory(
        last_run=run(Outcome.FAILED, service="Clustering", finished_at=at(NOW), reason="StorageAccessDenied"),
        failures=3,
        failures_generation=1,
    )
    plan = planned(REQUESTED["clustering"], remembered={"clustering": failed}, **MOR, **CLUSTERED)
    assert launched(plan) == [("Ingestion", None, None)]
    assert (plan.services.clustering.due, plan.services.clustering.reason) == (False, "WaitingForRetry")
    assert plan.services.clustering.next_attempt_at == at(NOW + minutes(40 / 60))


def test_an_ingestion_that_a_pending_clustering_rejected_is_tried_again_with_growing_distance_behind_it() -> None:
    rejected = memory(
        last_run=run(Outcome.FAILED, finished_at=at(NOW), reason="Conflict"), conflicts=3, failures_generation=1
    )
    seen = REQUESTED["clustering"]
    waiting = planned(seen, remembered={"ingestion": rejected}, **MOR, **CLUSTERED)
    assert launched(waiting) == [("Clustering", "Execute", OLD)]
    assert waiting.services.ingestion.reason == "WaitingForRetry"
    assert waiting.services.ingestion.next_attempt_at == at(NOW + minutes(40 / 60))

    both_due = planned(seen, now=NOW + minutes(1), remembered={"ingestion": rejected}, **MOR, **CLUSTERED)
    assert launched(both_due) == [("Clustering", "Execute", OLD)]
    dealt_with = story(*DELTAS, done("replacecommit", 1))
    after = planned(dealt_with, now=NOW + minutes(1), remembered={"ingestion": rejected}, **MOR, **CLUSTERED)
    assert launched(after) == [("Ingestion", None, None)]


def test_an_unfinished_clean_or_rollback_is_finished_by_a_cleaning() -> None:
    for action in ("clean", "rollback"):
        seen = story(*DELTAS[:2], f"{OLD}.{action}.requested", f"{OLD}.{action}.inflight")
        plan = planned(seen, **QUIET)
        assert launched(plan) == [("Cleaning", None, None)]
        assert plan.services.cleaning.reason == "PendingPlan"


ENDED = run(Outcome.FAILED, started_at=at(NOW - minutes(3)), finished_at=at(NOW), reason="DriverDied")
LEFT = story(*DELTAS[:2], f"{ago(2)}.deltacommit.requested", f"{ago(2)}.deltacommit.inflight")


def test_a_write_of_a_dead_run_is_rolled_back_at_once_where_nobody_else_writes() -> None:
    plan = planned(LEFT, remembered={"ingestion": memory(last_run=ENDED)}, **QUIET)
    assert launched(plan) == [("Cleaning", None, None)]
    assert plan.services.cleaning.reason == "FailedWrite"
    assert [one.time for one in plan.services.ingestion.pending] == [ago(2)]


def test_a_write_of_a_dead_run_is_left_to_an_ingestion_that_is_due() -> None:
    assert launched(planned(LEFT, remembered={"ingestion": memory(last_run=ENDED)}, **MOR)) == [
        ("Ingestion", None, None)
    ]


@pytest.mark.parametrize(("seconds", "expected"), [(159, False), (160, True)])
def test_where_others_write_a_write_of_ours_is_rolled_back_when_its_heartbeat_has_expired(
    seconds: int, *, expected: bool
) -> None:
    left = LeftInstant(time=ago(2), run="run", ended_at=at(NOW))
    remembered = {"ingestion": memory(last_run=ENDED), "left_behind": (), "left_by": (left,)}
    beats = ((ago(2), int(NOW.timestamp() * 1000)),)
    later = NOW + minutes(seconds / 60)
    plan = planned(LEFT, now=later, remembered=remembered, beats=beats, **QUIET, **OPTIMISTIC)
    assert launched(plan) == ([("Cleaning", None, None)] if expected else [])
    if not expected:
        assert plan.services.cleaning.next_run_at == at(NOW + minutes(160 / 60))
        assert plan.changes_in == 1


def test_a_write_that_turned_out_alive_is_not_tried_again_until_something_moves() -> None:
    settled = memory(last_run=run(Outcome.NOTHING_TO_DO, service="Cleaning"), last_no_op_instant=ago(49))
    remembered = {"cleaning": settled}
    assert launched(planned(LEFT, now=NOW + minutes(60), remembered=remembered, **QUIET, **OPTIMISTIC)) == []


def test_a_write_under_way_is_no_failed_write() -> None:
    remembered = {"active_jobs": (active(started_at=at(NOW - minutes(3))),)}
    plan = planned(LEFT, remembered=remembered, jobs=(job(),), **MOR)
    assert (plan.services.cleaning.due, plan.services.cleaning.reason) == (False, "NothingToDo")
    assert plan.foreign == ()


def overdue(seen: Timeline, *, now: Any = NOW, **spec: Any) -> str | None:
    left = status(left_behind=tuple(one.time for one in seen.pending))
    one = table(status=left, created=NOW - minutes(600), **{**QUIET, **CLUSTERED, **spec})
    after = status_of(observe(one, snapshot=TimelineSnapshot(timeline=seen)), now=now)
    found = finding(after, FindingCode.PENDING_INSTANT_OVERDUE)
    return found.message if found else None


def test_an_instant_that_has_been_pending_for_longer_than_the_class_allows_is_a_finding() -> None:
    late = NOW + minutes(14.5)
    assert overdue(REQUESTED["clustering"], now=late - minutes(0.01)) is None
    assert overdue(REQUESTED["clustering"], now=late) == (
        f"clustering {OLD} has been requested since {at(NOW - minutes(45.5))}. Cleaning by commits and archival stop "
        "before it, and with Reject its file groups take no updates. See the service under status.services for what is "
        "done about it."
    )


def test_the_table_is_looked_at_when_an_instant_becomes_overdue() -> None:
    seen = story(*DELTAS[:2], f"{ago(59.9)}.clustering.requested", clusterings=[ago(59.9)])
    plan = planned(seen, remembered={"left_behind": ()}, **QUIET, compaction={"mode": "Disabled"})
    assert plan.changes_in == 6


def test_where_instants_are_in_local_time_age_counts_from_when_the_store_or_the_operator_saw_them_first() -> None:
    seen = story(*DELTAS[:2], f"{OLD}.clustering.requested", clusterings=[OLD], zone=TimelineZone.LOCAL)
    written = int((NOW - minutes(7)).timestamp() * 1000)
    known = observe(table(**QUIET), snapshot=TimelineSnapshot(timeline=seen, written=((OLD, written),)))
    unknown = observe(table(**QUIET), snapshot=TimelineSnapshot(timeline=seen))

    assert status_of(known).services.clustering.pending[0].since == at(NOW - minutes(7))
    first = status_of(unknown)
    assert first.services.clustering.pending[0].since == at(NOW)
    later = status_of(again(unknown, first), now=NOW + minutes(5))
    assert later.services.clustering.pending[0].since == at(NOW)


def test_many_pending_instants_are_shown_by_the_oldest_ten() -> None:
    seen = story(*DELTAS, *(f"{ago(300 - number)}.compaction.requested" for number in range(40)))
    shown = planned(seen, **QUIET).services.compaction.pending
    assert [one.time for one in shown] == [ago(300 - number) for number in range(10)]


def test_a_run_of_a_pending_plan_knows_how_large_the_plan_is() -> None:
    plans = ((OLD, PlanSize(bytes=4 * 2**30, groups=8)),)
    seen = TimelineSnapshot(timeline=REQUESTED["compaction"], plans=plans)
    (launched_job,) = plan_for(observe(table(**QUIET), snapshot=seen)).active_jobs
    assert (launched_job.instant, launched_job.plan_bytes, launched_job.plan_groups) == (OLD, 4 * 2**30, 8)

    sizing = job_sizing(table(**QUIET).spec, a_class().spec, driver_memory=launched_job.driver_memory, plan=plans[0][1])
    assert (sizing.driver.cpu, sizing.driver.memory) == ("4", "8192Mi")
