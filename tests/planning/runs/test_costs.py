"""What an ended run cost, measured or estimated, and the sums of each service by day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning import continuous_world
from tests.planning.world import (
    JOB,
    NOW,
    active,
    at,
    ended,
    failed,
    memory,
    minutes,
    observe,
    plan_for,
    run,
    snapshot,
    status,
    status_of,
    succeeded,
    table,
    table_class,
)
from tests.samples import examples

from hudi_jobs.contract import DriverUsage, ExecutorsUsage, JobOutcome, RunUsage
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.api.status.cost import DAYS_REMEMBERED, MOST, RequestedCores, RunCost
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.runs.daily_costs import (
    DayCost,
    cost_text,
    days_of,
    parts_of,
    spent_by_day,
    spent_on,
    with_costs,
)
from hudi_operator.planning.facts.runs.tracking import track
from hudi_operator.planning.model import JobObservation, JobPhase, LaunchJob, PodTrouble
from hudi_operator.planning.outcome.life import refused

CORES = RequestedCores(driver=2000)
IN_CLUSTER = RequestedCores(driver=1000, executor=500, executors=2)
COMMIT = "20260310115900000"
TOOK: dict[str, Any] = {
    "started_at": NOW - timedelta(seconds=90),
    "ended_at": NOW - timedelta(seconds=30),
    "has_run": True,
}


def decided(**changes: Any) -> ActiveJob:
    return active(**{"cores": CORES, "started_at": at(NOW - minutes(5)), **changes})


def used(told: JobOutcome, **usage: Any) -> JobOutcome:
    return told.copy_with(usage=RunUsage(**usage))


def cost_of(found: JobObservation | None, one: ActiveJob | None = None, **changes: Any) -> RunCost | None:
    jobs = () if found is None else (found,)
    observation = observe(table(status=status(active_jobs=(one or decided(),))), jobs=jobs, **changes)
    (finished,) = track(observation, desired_image="", now=NOW).finished
    return finished.cost


def cpu(cost: RunCost | None) -> tuple[int, int]:
    """The measured and the estimated milliseconds."""
    assert cost is not None
    return cost.cpu_milliseconds, cost.estimated_cpu_milliseconds


KILLED = ended(trouble=PodTrouble.OUT_OF_MEMORY, exit_code=137, **TOOK)


def test_reported_usage_is_measured_and_nothing_is_estimated() -> None:
    driver = DriverUsage(cpu_seconds=41.25, peak_memory_bytes=900)
    executors = ExecutorsUsage(number=2, reported=2, cpu_seconds=100.0, peak_memory_bytes=1200)
    told = used(succeeded(), driver=driver, executors=executors, bytes_read=7, bytes_written=8)
    cost = cost_of(ended(outcome=told, **TOOK), decided(cores=IN_CLUSTER), snapshot=snapshot((JOB, COMMIT)))
    assert cost == RunCost(
        since=at(NOW - timedelta(seconds=90)),
        seconds=60,
        cpu_milliseconds=141_250,
        driver_memory_bytes=900,
        executor_memory_bytes=1200,
        bytes_read=7,
        bytes_written=8,
    )


@pytest.mark.parametrize(
    ("found", "one", "estimated"),
    [
        (KILLED, decided(), 120_000),
        (KILLED, decided(cores=IN_CLUSTER), 120_000),
        (ended(outcome=succeeded(), **TOOK), decided(), 120_000),
        (replace(KILLED, trouble=PodTrouble.EVICTED, started_at=None, ended_at=None), decided(), 600_000),
        (None, decided(state="NodeLost", running_since=at(NOW - minutes(2))), 240_000),
        (None, decided(state="NodeLost", running_since=at(NOW + minutes(2))), 0),
        (None, decided(running_since=at(NOW - minutes(90))), 600_000),
        (replace(KILLED, started_at=NOW - timedelta(days=9000)), decided(), 600_000),
        (replace(KILLED, ended_at=NOW + timedelta(days=9000)), decided(), 180_000),
        (replace(KILLED, ended_at=NOW - timedelta(days=9000)), decided(), 0),
        (KILLED, decided(cores=None), 60_000),
    ],
    ids=[
        "killed for memory",
        "killed with executors",
        "older image",
        "evicted without a report of its times",
        "node lost",
        "clock of the node ahead",
        "first seen before it was decided",
        "started long before it was decided",
        "ends in the future",
        "ends before it starts",
        "decided by an earlier version",
    ],
)
def test_run_without_a_report_counts_as_its_requested_cores_times_its_time(
    found: JobObservation | None, one: ActiveJob, estimated: int
) -> None:
    assert cpu(cost_of(found, one)) == (0, estimated)


def test_estimate_of_a_vanished_job_is_bounded_by_the_deadline_of_a_run() -> None:
    lost = decided(started_at=at(NOW - minutes(600)), running_since=at(NOW - minutes(590)), state="Running")
    assert cpu(cost_of(None, lost)) == (0, 2 * 7200 * 1000)
    shorter = table_class(job={"deadline": "10m"})
    assert cpu(cost_of(None, lost, table_class=shorter)) == (0, 2 * 600 * 1000)


@pytest.mark.parametrize(
    ("executors", "expected"),
    [
        (ExecutorsUsage(number=2, reported=1, cpu_seconds=30.0), (50_000, 1000)),
        (ExecutorsUsage(number=2, reported=0, cpu_seconds=0.0), (20_000, 2000)),
        (ExecutorsUsage(number=9, reported=1, cpu_seconds=30.0), (50_000, 8000)),
        (ExecutorsUsage(number=0, reported=0, cpu_seconds=0.0), (20_000, 0)),
        (None, (20_000, 0)),
    ],
    ids=["one of two", "none of two", "replaced again and again", "none started", "mode Local"],
)
def test_last_seconds_of_a_killed_executor_are_estimated_beside_the_measured_rest(
    executors: ExecutorsUsage | None, expected: tuple[int, int]
) -> None:
    told = used(failed(), driver=DriverUsage(cpu_seconds=20.0), executors=executors)
    assert cpu(cost_of(ended(outcome=told, **TOOK), decided(cores=IN_CLUSTER))) == expected


def test_driver_that_could_not_count_itself_is_estimated() -> None:
    told = used(failed(), executors=ExecutorsUsage(number=1, reported=1, cpu_seconds=1.5))
    assert cpu(cost_of(ended(outcome=told, **TOOK), decided(cores=IN_CLUSTER))) == (1500, 60_000)


@pytest.mark.parametrize(
    ("found", "one"),
    [
        (ended(trouble=PodTrouble.IMAGE_PULL_FAILED), decided(state="ImagePullFailed")),
        (None, decided(state="Starting")),
        (None, decided(state="Suspended")),
    ],
    ids=["no image", "vanished before its start", "vanished from a queue"],
)
def test_job_without_a_started_driver_costs_nothing_and_is_no_run(found: JobObservation | None, one: ActiveJob) -> None:
    assert cost_of(found, one) is None
    after = status_of(observe(table(status=status(active_jobs=(one,))), jobs=(found,) if found else ()))
    assert after.services.ingestion.last_run is not None
    assert (after.services.ingestion.costs, after.cost) == ((), None)


def test_refused_job_costs_nothing() -> None:
    plan = plan_for(observe())
    (launch,) = (one for one in plan.actions if isinstance(one, LaunchJob))
    after = refused(plan, launch.job, message="quota", now=NOW).status.services.ingestion
    assert after.last_run is not None
    assert (after.last_run.cost, after.costs) == (None, ())


def test_time_of_the_first_look_at_a_running_driver_is_remembered() -> None:
    found = replace(ended(), phase=JobPhase.RUNNING, started_at=NOW - minutes(3))
    before = observe(table(status=status(active_jobs=(decided(),))), jobs=(found,))
    (after,) = status_of(before).active_jobs
    assert after.running_since == at(NOW - minutes(3))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, RequestedCores(driver=1000)),
        ({"execution": {"driver": {"cpu": "1500m"}}}, RequestedCores(driver=1500)),
        (
            {"execution": {"mode": "Cluster", "executor": {"cpu": "2", "instances": 3}}},
            RequestedCores(driver=1000, executor=2000, executors=3),
        ),
    ],
)
def test_decided_job_remembers_the_cores_that_its_pods_request(spec: dict[str, Any], expected: RequestedCores) -> None:
    (job,) = status_of(observe(table(**spec))).active_jobs
    assert job.cores == expected


def test_killed_continuous_driver_counts_what_its_progress_reported() -> None:
    told = continuous_world.progress(usage=RunUsage(driver=DriverUsage(cpu_seconds=77.5), bytes_read=5))
    gone = ended(trouble=PodTrouble.NODE_LOST, class_version=continuous_world.VERSION, **TOOK)
    shows = snapshot((JOB, COMMIT), progress=told)
    observation = continuous_world.seen(known=continuous_world.running(cores=CORES), found=gone, shows=shows)
    (finished,) = track(observation, desired_image="", now=NOW).finished
    assert cpu(finished.cost) == (77_500, 0)
    stranger = shows.progress.copy_with(run="another") if shows.progress else None
    observation = replace(observation, snapshot=replace(shows, progress=stranger))
    (finished,) = track(observation, desired_image="", now=NOW).finished
    assert cpu(finished.cost)[0] == 0


MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)


def cost(since: datetime, seconds: int, **figures: int) -> RunCost:
    return RunCost(since=at(since), seconds=seconds, **figures)


def test_run_over_midnight_gives_each_day_its_part_and_counts_once() -> None:
    over = cost(MIDNIGHT - minutes(30), 3 * 1800, cpu_milliseconds=900, bytes_read=10, estimated_cpu_milliseconds=3)
    first, second = parts_of(over)
    assert first.line == "2026-03-09 0 300 1 3 0"
    assert second.line == "2026-03-10 1 600 2 7 0"


@settings(max_examples=examples(50), deadline=None)
@given(
    since=st.datetimes(datetime(2026, 1, 1), datetime(2026, 3, 1)),  # noqa: DTZ001 - made aware below
    seconds=st.integers(0, DAYS_REMEMBERED * 86400),
    figures=st.tuples(*[st.integers(0, MOST)] * 4),
)
def test_parts_of_a_run_add_up_to_the_run(since: datetime, seconds: int, figures: tuple[int, int, int, int]) -> None:
    names = ("cpu_milliseconds", "estimated_cpu_milliseconds", "bytes_read", "bytes_written")
    whole = cost(since.replace(tzinfo=UTC), seconds, **dict(zip(names, figures, strict=True)))
    parts = list(parts_of(whole))
    sums = [sum(column) for column in zip(*(map(int, one.line.split(" ")[1:]) for one in parts), strict=True)]
    assert sums == [1, *figures]
    assert [one.day for one in parts] == sorted({one.day for one in parts})
    assert all(figure >= 0 for one in parts for figure in (one.measured, one.estimated, one.bytes_read))


def after_run(costs: tuple[str, ...] = (), **changes: Any) -> tuple[str, ...]:
    given = {"cost": cost(NOW - minutes(2), 60, cpu_milliseconds=500), **changes}
    return with_costs(memory(costs=costs), run(finished_at=at(NOW), **given)).costs


def test_sums_of_a_day_grow_by_each_run_and_keep_the_days_before() -> None:
    before = ("2026-03-09 4 1 2 3 4", "2026-03-10 1 100 20 3 4")
    assert after_run(before) == ("2026-03-09 4 1 2 3 4", "2026-03-10 2 600 20 3 4")


def test_days_beyond_the_memory_are_forgotten() -> None:
    days = tuple(f"{(NOW - timedelta(days=one)).date()} 1 1 1 1 1" for one in range(50, 0, -1))
    kept = after_run(days)
    assert len(kept) == DAYS_REMEMBERED
    assert kept[0].startswith(str((NOW - timedelta(days=DAYS_REMEMBERED - 1)).date()))


@pytest.mark.parametrize(
    "hostile",
    [
        ("9999-12-31 1 1 1 1 1",),
        ("2026-02-30 1 1 1 1 1",),
        ("0000-00-00 1 1 1 1 1",),
        ("9999-12-31 1 1 1 1 1", "2026-13-01 1 1 1 1 1", "2026-00-10 1 1 1 1 1"),
    ],
)
def test_days_that_do_not_exist_or_are_to_come_are_dropped_from_a_memory(hostile: tuple[str, ...]) -> None:
    assert after_run(hostile) == ("2026-03-10 1 500 0 0 0",)


def test_day_that_a_memory_holds_twice_is_summed_once() -> None:
    assert after_run(("2026-03-10 1 1 0 0 0", "2026-03-10 1 2 0 0 0")) == ("2026-03-10 3 503 0 0 0",)


def test_sums_stop_at_the_largest_number() -> None:
    full = f"2026-03-10 {MOST} {MOST} {MOST} {MOST} {MOST}"
    assert after_run((full,)) == (full,)
    larger = full.replace(str(MOST), "9" * 16)
    assert after_run((larger,)) == (full,)


@pytest.mark.parametrize(
    "line",
    ["", "x", "2026-03-10 1 1 1 1", "2026-03-10 1 1 1 1 -1", "2026-03-10 1 1 1 1 1.5", "2026-03-10 " + "9" * 400, 7],
)
def test_unreadable_line_of_the_memory_leaves_the_other_lines(line: object) -> None:
    good = "2026-03-09 1 1 1 1 1"
    stored = {"memory": {"services": {"ingestion": {"costs": [good, line]}}}}
    metadata = {"name": "t", "namespace": "n"}
    spec = {"basePath": "s3a://lake/team-a/t", "type": "CopyOnWrite", "recordKey": ["id"]}
    read = parse_table({"metadata": metadata, "spec": spec, "status": stored})
    assert isinstance(read, HudiTable)
    assert read.status.services.ingestion.costs == (good,)
    assert read.unreadable


def test_cost_of_a_table_names_its_newest_day_and_the_week_up_to_it() -> None:
    hour = 3_600_000
    services = status(
        ingestion=memory(costs=(f"2026-03-03 1 {9 * hour} 0 0 0", f"2026-03-04 1 {hour} {hour} 0 0")),
        compaction=memory(costs=(f"2026-03-09 1 {hour // 4} 0 0 0", f"2026-03-10 1 {hour // 2} 0 0 0")),
    ).services
    assert cost_text(services) == "0.50 CPU hours on 2026-03-10, 2.75 since 2026-03-04 (1.00 estimated)"
    assert cost_text(status().services) is None


def test_days_before_the_week_cost_a_reconcile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    days = sorted((NOW - timedelta(days=one)).date() for one in range(DAYS_REMEMBERED))
    lines = tuple(f"{day} 1 3 4 0 0" for day in days)
    services = status(ingestion=memory(costs=lines), compaction=memory(costs=lines)).services
    read, parse = list[str](), DayCost.parse

    def counting(line: str) -> DayCost | None:
        read.append(line)
        return parse(line)

    monkeypatch.setattr(DayCost, "parse", counting)
    assert (spent_by_day(services)[NOW.date()], cost_text(services) is None) == (7, False)
    assert set(read) == set(lines[-7:])


def test_services_of_a_day_are_the_table_services_without_ingestion_and_operations() -> None:
    line = ("2026-03-10 1 3 4 0 0", "2026-03-09 1 50 50 0 0")
    names = ("ingestion", "savepoint", "operation", "compaction", "clustering", "cleaning", "archival")
    services = status(**{name: memory(costs=line) for name in names}).services
    assert spent_by_day(services)[NOW.date()] == spent_on(NOW.date(), services) == 4 * 7


def test_run_is_in_the_sums_of_its_service_and_in_the_cost_of_its_table_once() -> None:
    told = used(succeeded(instant=COMMIT), driver=DriverUsage(cpu_seconds=3600.0))
    one = table(status=status(active_jobs=(decided(),)))
    observation = observe(one, jobs=(ended(outcome=told, **TOOK),), snapshot=snapshot((JOB, COMMIT)))
    after = status_of(observation)
    assert after.services.ingestion.costs == ("2026-03-10 1 3600000 0 0 0",)
    assert after.cost == "1.00 CPU hours on 2026-03-10, 1.00 since 2026-03-04"
    stored = HudiTableStatus.model_validate(after.to_document())
    later = status_of(replace(observation, table=one.copy_with(status=stored)))
    assert later.services.ingestion.costs == after.services.ingestion.costs
    assert days_of(later.services.ingestion)[0].runs == 1
