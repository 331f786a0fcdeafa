"""No Job without new input: what a look at the source spares, what it never spares, and what the status says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.planning.services.looking import NO_INPUT, World, request_run
from tests.planning.world import (
    JOB,
    NOW,
    active,
    at,
    ended,
    job,
    minutes,
    observe,
    outcome,
    plan_for,
    succeeded,
    table,
)

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome
from hudi_operator.api.resources import parse_table
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.memory import joined
from hudi_operator.api.status.runs import LookStatus
from hudi_operator.planning.model import Blocker, BlockerReason
from hudi_operator.planning.needs.looks import wants_look
from hudi_operator.sources.look import LookProblem, SourceLook

READ_ALL: dict[str, Any] = {"message": "Read.", "more_input": False, "backlog_bytes": 0}
READ = outcome(Outcome.SUCCEEDED, **READ_ALL)
HOURLY = {"ingestion": {"schedule": {"cron": "0 * * * *"}}}
KAFKA = {"ingestion": {"source": {"kafka": {"bootstrapServers": ["k:9092"], "topics": ["t"]}}}}


def rested() -> World:
    """A table whose only file has been read, at rest."""
    world = World()
    world.read_everything()
    return world


def ready(world: World) -> tuple[str, str, str]:
    found = find_condition(world.status.conditions, ConditionType.READY)
    assert found is not None
    return found.status.value, found.reason, found.message


# What a look spares.


def test_ten_ticks_without_a_new_file_start_no_job() -> None:
    world = rested()
    world.rest(minutes(10))
    assert (world.jobs, world.looks) == (0, 10)


def test_new_file_starts_a_job_at_the_next_tick() -> None:
    world = rested()
    world.rest(minutes(5))
    world.files = ("a.csv", "b.csv")
    world.rest(minutes(2))
    assert world.jobs == 1
    assert world.job.service == "Ingestion"


def test_table_at_rest_is_written_once_in_five_minutes() -> None:
    world = rested()
    world.rest(minutes(61))
    assert (world.looks, world.writes) == (61, 13)


def test_table_without_new_input_says_when_the_operator_looked() -> None:
    world = rested()
    world.rest(minutes(1))
    assert world.ingestion.reason == "NoNewInput"
    assert world.ingestion.message == (
        "Scheduled every 1m; the source had no new input at 2026-03-10T12:01:00Z, so no job starts. "
        "Each tick of the schedule looks again."
    )
    assert ready(world)[:2] == ("True", "Succeeded")


def test_rare_schedule_names_its_next_look() -> None:
    world = World(spec=HOURLY)
    world.rest(minutes(70))
    world.end_run(READ, commits="a.csv")
    world.rest(minutes(90))
    assert (world.looks, world.jobs) == (2, 1)
    assert world.ingestion.message.endswith("so no job starts. The next look is at 2026-03-10T14:00:00Z.")
    assert world.ingestion.next_run_at == "2026-03-10T14:00:00Z"


def test_run_that_found_nothing_is_remembered_like_a_run_that_read() -> None:
    world = rested()
    world.files = ("b.csv",)
    world.rest(minutes(2))
    world.end_run(NO_INPUT)
    assert world.ingestion.look is not None
    assert world.ingestion.look.digest == "b.csv"


def test_table_is_reconciled_at_the_next_tick_after_a_look() -> None:
    world = rested()
    world.rest(minutes(1))
    assert world.now == NOW + minutes(1)
    assert world.reconcile(after=timedelta(seconds=10)).changes_in == 50


def test_operator_that_restarts_looks_once_and_starts_no_job() -> None:
    world = rested()
    world.rest(minutes(3))
    world.look, world.looks = None, 0
    world.reconcile(after=timedelta(seconds=1))
    assert (world.looks, world.jobs, world.ingestion.reason) == (1, 0, "NoNewInput")


def test_looks_follow_the_schedule_and_not_the_reconciles() -> None:
    world = rested()
    for _ in range(20):
        world.reconcile(after=timedelta(seconds=30))
    assert (world.looks, world.jobs) == (10, 0)


def test_schedule_of_seconds_looks_once_a_minute_and_starts_no_job_in_between() -> None:
    world = World(spec={"ingestion": {"schedule": {"every": "10s"}}})
    world.read_everything()
    world.rest(minutes(10))
    assert (world.jobs, world.looks) == (0, 10)


def test_run_that_takes_longer_than_the_interval_is_followed_by_a_look_and_not_by_a_job() -> None:
    world = World()
    world.reconcile()
    world.now += minutes(2)
    world.end_run(READ, commits="a.csv")
    assert (world.looks, world.followers, world.ingestion.reason) == (2, 0, "NoNewInput")
    world.rest(minutes(10))
    assert world.followers == 0


# A source without a file.


def test_new_table_without_a_source_starts_no_job_and_says_so() -> None:
    world = World(files=())
    world.rest(minutes(10))
    assert (world.jobs, world.looks, world.writes) == (0, 11, 1)
    assert world.ingestion.reason == "SourceNotFound"
    assert ready(world) == (
        "False",
        "SourceNotFound",
        "There is no file at s3a://landing/flights/. Create the path, or correct it.",
    )
    reconciling = find_condition(world.status.conditions, ConditionType.RECONCILING)
    assert reconciling is not None
    assert (reconciling.status.value, reconciling.reason) == ("True", "ProgressingWithRetry")


def test_conditions_of_a_missing_source_are_those_after_a_run_that_did_not_find_it() -> None:
    looked, ran = World(files=()), World(looks_at_all=False)
    looked.reconcile()
    ran.reconcile()
    ran.end_run(outcome(Outcome.FAILED, reason=FailureReason.SOURCE_NOT_FOUND, message="It does not exist."))
    said = [[(one.type, one.status, one.reason) for one in world.status.conditions] for world in (looked, ran)]
    assert said[0] == said[1]


@pytest.mark.parametrize("spec", [{}, HOURLY, {"ingestion": {"schedule": {"every": "24h"}}}])
def test_source_that_appears_is_read_within_a_minute_whatever_the_schedule(spec: dict[str, Any]) -> None:
    world = World(files=(), spec=spec)
    world.rest(minutes(30))
    assert (world.jobs, world.looks, world.writes) == (0, 31, 1)
    assert world.ingestion.message.endswith("so no job starts. The operator looks again every minute.")
    world.files = ("a.csv",)
    world.rest(minutes(1))
    assert world.jobs == 1


def test_table_whose_files_have_expired_starts_no_job() -> None:
    world = rested()
    world.files = ()
    world.rest(minutes(5))
    assert (world.jobs, world.ingestion.reason) == (0, "SourceNotFound")


def test_files_that_come_back_after_they_were_gone_are_read() -> None:
    world = rested()
    world.files = ()
    world.rest(minutes(5))
    world.files = ("a.csv", "b.csv")
    world.rest(minutes(2))
    assert world.jobs == 1


def test_failed_run_without_a_source_is_not_retried_until_there_is_a_file() -> None:
    world = World()
    world.reconcile()
    world.files = ()
    world.now += minutes(1)
    world.end_run(outcome(Outcome.FAILED, reason=FailureReason.SOURCE_NOT_FOUND, message="It does not exist."))
    world.rest(minutes(30))
    assert (world.followers, ready(world)[1]) == (0, "SourceNotFound")
    world.files = ("a.csv",)
    world.rest(minutes(3))
    assert world.followers == 1


@pytest.mark.parametrize("position", [None, "a.csv"])
def test_folder_with_files_that_the_source_does_not_select_starts_no_job(position: str | None) -> None:
    world = World(hidden=2) if position is None else rested()
    world.files, world.hidden = (), 2
    world.rest(minutes(5))
    assert (world.jobs, world.ingestion.reason, ready(world)[0]) == (0, "NoNewInput", "True")


def test_source_without_a_file_does_not_spare_a_requested_run() -> None:
    world = World(files=())
    request_run(world)
    world.rest(minutes(2))
    assert world.jobs == 1


# Why nobody looked.


def test_schedule_goes_on_where_the_operator_may_not_look_and_the_status_says_why() -> None:
    world = World(problem=LookProblem.NOT_ALLOWED)
    for _ in range(3):
        world.rest(minutes(1))
        world.end_run(READ, commits="a.csv")
    assert (world.jobs, world.followers) == (3, 0)
    assert world.ingestion.message == (
        "Scheduled every 1m; the next run is at 2026-03-10T12:03:00Z. Each tick starts a job, because the operator "
        "cannot look at the source first: The store refuses the operator."
    )


def test_words_of_a_store_are_cut_and_escaped() -> None:
    world = World(problem=LookProblem.UNREACHABLE)
    one = observe(look=SourceLook(at=NOW, problem=LookProblem.UNREACHABLE, message="\x1b" * 4000))
    said = plan_for(one).services.ingestion.message
    assert "\x1b" not in said
    assert len(said) < 600
    assert world.jobs == 0


# Which tables a look is wanted for.


@pytest.mark.parametrize(
    "changes",
    [
        {"suspend": True},
        {"managementPolicy": "Observe"},
        {"ingestion": None},
        {"ingestion": {"mode": "Continuous"}},
        KAFKA,
        {"ingestion": {"schedule": {"cron": "59 23 * * *"}}},
        {"ingestion": {"schedule": {"cron": "0 0 31 2 *"}}},
    ],
)
def test_look_is_not_wanted_where_it_could_spare_no_run(changes: dict[str, Any]) -> None:
    assert wants_look(observe(), NOW)
    assert not wants_look(observe(table(**changes)), NOW)


def test_look_is_not_wanted_at_a_blocked_table() -> None:
    blocker = Blocker(reason=BlockerReason.PATH_CLAIMED, message="Taken.")
    assert not wants_look(observe(blockers=(blocker,)), NOW)
    assert not wants_look(observe(table_class=None), NOW)


def test_look_is_not_wanted_while_ingestion_runs() -> None:
    world = World()
    world.reconcile()
    assert not wants_look(world.observation(job(world.job.name)), world.now + minutes(5))


# How far the table is complete.


def test_look_that_finds_nothing_moves_the_completeness_at_the_rate_of_a_continuous_driver() -> None:
    world = World()
    world.reconcile()
    said = outcome(Outcome.SUCCEEDED, **READ_ALL, complete_up_to="2026-03-10T12:00:10Z")
    world.end_run(said, commits="a.csv")
    world.rest(minutes(10))
    assert world.ingestion.freshness is not None
    assert world.ingestion.freshness.complete_up_to == "2026-03-10T12:06:00Z"
    assert world.ingestion.freshness.backlog_bytes == 0


def test_table_with_an_idle_source_stays_fresh() -> None:
    world = World(spec={"ingestion": {"schedule": {"every": "1m"}, "freshness": "5m"}})
    world.reconcile()
    said = outcome(Outcome.SUCCEEDED, **READ_ALL, complete_up_to="2026-03-10T12:00:10Z")
    world.end_run(said, commits="a.csv")
    for _ in range(120):
        world.rest(timedelta(seconds=30))
        world.reconcile()
        fresh = find_condition(world.status.conditions, ConditionType.FRESH)
        assert fresh is not None
        assert fresh.status.value == "True", (world.now, fresh.message)
    assert world.jobs == 1


def test_completeness_that_no_run_has_reported_is_not_made_up() -> None:
    world = rested()
    world.rest(minutes(10))
    assert world.ingestion.freshness is None or world.ingestion.freshness.complete_up_to is None


def test_new_file_leaves_the_completeness_where_it_was() -> None:
    world = World()
    world.reconcile()
    said = outcome(Outcome.SUCCEEDED, **READ_ALL, complete_up_to="2026-03-10T12:00:10Z")
    world.end_run(said, commits="a.csv")
    world.files = ("a.csv", "b.csv")
    world.rest(minutes(10))
    assert world.ingestion.freshness is not None
    assert world.ingestion.freshness.complete_up_to == "2026-03-10T12:00:10Z"


# A memory that somebody has written.


@pytest.mark.parametrize(
    "look",
    [
        "yes",
        {},
        {"digest": "a.csv"},
        {"digest": "a.csv", "fingerprint": "f" * 5000},
        {"digest": 7, "fingerprint": []},
        {"digest": "a" * 5000, "fingerprint": "f"},
        {"digest": "a.csv", "fingerprint": "f", "instant": {}, "lookedAt": "2999-01-01T00:00:00Z"},
    ],
)
def test_damaged_memory_of_a_look_costs_a_run_and_nothing_else(look: Any) -> None:
    world = rested()
    world.rest(minutes(2))
    document = joined(world.status.to_document())
    document["services"]["ingestion"]["look"] = look
    read = parse_table(
        {
            "metadata": {"name": "flights", "namespace": "team-a", "uid": "u", "generation": 1},
            "spec": table(**world.spec).spec.model_dump(mode="json", by_alias=True, exclude_none=True),
            "status": document,
        }
    )
    world.status = read.status
    world.rest(minutes(2))
    assert world.jobs == 1


def test_time_of_a_look_from_the_future_is_put_right() -> None:
    world = rested()
    world.rest(minutes(2))
    known = world.ingestion.look
    assert isinstance(known, LookStatus)
    services, forged = world.status.services, known.copy_with(looked_at="2999-01-01T00:00:00Z")
    ingestion = services.ingestion.copy_with(look=forged)
    world.status = world.status.copy_with(services=services.copy_with(ingestion=ingestion))
    world.rest(minutes(2))
    assert world.ingestion.look is not None
    assert world.ingestion.look.looked_at == at(NOW + minutes(2))


def test_digest_that_is_too_long_for_the_memory_is_not_remembered() -> None:
    world = World(files=("a" * 200,))
    world.reconcile()
    assert world.job.look is None


def test_forgotten_job_of_the_same_name_is_not_believed() -> None:
    one = table(status=rested().status.copy_with(active_jobs=(active(uid="other", look=None),)))
    told: JobOutcome = succeeded(more_input=False)
    plan = plan_for(observe(one, jobs=(ended(JOB, outcome=told),)))
    assert plan.services.ingestion.look is None
