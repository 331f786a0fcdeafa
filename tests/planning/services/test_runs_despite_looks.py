"""Runs that no look at the source spares: what may have left a file unread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.planning.services.looking import NO_INPUT, World, request_run
from tests.planning.world import (
    as_declared,
    job,
    minutes,
    outcome,
    table,
)

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.api.status.table_operations import DecisionsStatus
from hudi_operator.planning.model import Undoing
from hudi_operator.sources.look import LookProblem
from hudi_operator.timeline import Action, Instant, State

READ_ALL: dict[str, Any] = {"message": "Read.", "more_input": False, "backlog_bytes": 0}
READ = outcome(Outcome.SUCCEEDED, **READ_ALL)
HOURLY = {"ingestion": {"schedule": {"cron": "0 * * * *"}}}


def rested() -> World:
    """A table whose only file has been read, at rest."""
    world = World()
    world.read_everything()
    return world


def test_file_that_arrives_between_the_look_and_the_run_costs_one_more_job() -> None:
    world = World()
    world.reconcile()
    world.files = ("a.csv", "b.csv")
    world.end_run(READ, commits="a.csv b.csv")
    world.rest(minutes(2))
    assert world.followers == 1
    world.end_run(NO_INPUT)
    world.rest(minutes(10))
    assert world.followers == 0


def _fails(world: World) -> None:
    world.files = ("b.csv",)
    world.rest(minutes(2))
    world.end_run(outcome(Outcome.FAILED, reason=FailureReason.HUDI_ERROR, message="Failed."))
    world.files = ("a.csv",)


def _leaves_a_backlog(world: World) -> None:
    world.files = ("a.csv", "b.csv")
    world.rest(minutes(2))
    world.end_run(outcome(Outcome.SUCCEEDED, more_input=True, message="Read."), commits="a.csv b.csv")


def _says_nothing_of_its_backlog(world: World) -> None:
    world.files = ("a.csv", "b.csv")
    world.rest(minutes(2))
    world.end_run(outcome(Outcome.SUCCEEDED, message="Read."), commits="a.csv b.csv")


def _leaves_bytes(world: World) -> None:
    world.files = ("a.csv", "b.csv")
    world.rest(minutes(2))
    world.end_run(outcome(Outcome.NOTHING_TO_DO, more_input=False, backlog_bytes=5, message="No row."))


def _loses_its_report(world: World) -> None:
    world.files = ("a.csv", "b.csv")
    world.rest(minutes(2))
    world.end_run(None, commits="a.csv b.csv")


def _changes_its_spec(world: World) -> None:
    world.generation = 2


def _changes_its_image(world: World) -> None:
    world.image = "registry.example/hudi-spark:2"


def _is_restored(world: World) -> None:
    world.undo()


def _is_removed(world: World) -> None:
    world.commits, world.position = [], ""


def _is_made_anew(world: World) -> None:
    world.commits, world.position = [("another", "20260310120100000")], ""


def _commits_another_checkpoint(world: World) -> None:
    world.commits.append(("another", "20260310120045000"))
    world.position = "another"


def _is_rescanned(world: World) -> None:
    world.status = world.status.copy_with(decisions=DecisionsStatus(rescans=("read",)))


def _loses_its_memory(world: World) -> None:
    services = world.status.services
    world.status = world.status.copy_with(
        services=services.copy_with(ingestion=services.ingestion.copy_with(look=None))
    )


def _is_not_looked_at(world: World) -> None:
    world.look, world.looks_at_all = None, False


def _is_not_allowed(world: World) -> None:
    world.problem = LookProblem.NOT_ALLOWED


@pytest.mark.parametrize(
    "happens",
    [
        _fails,
        _leaves_a_backlog,
        _says_nothing_of_its_backlog,
        _leaves_bytes,
        _loses_its_report,
        _changes_its_spec,
        _changes_its_image,
        _is_restored,
        _is_removed,
        _is_made_anew,
        _commits_another_checkpoint,
        request_run,
        _is_rescanned,
        _loses_its_memory,
        _is_not_looked_at,
        _is_not_allowed,
    ],
)
def test_table_gets_a_run_although_its_source_has_not_changed_after_it(happens: Callable[[World], None]) -> None:
    world = rested()
    world.rest(minutes(2))
    happens(world)
    world.rest(minutes(2))
    assert world.followers == 1, world.ingestion.message


def test_commit_of_the_last_run_that_was_rolled_back_is_read_again() -> None:
    world = rested()
    world.rest(minutes(2))
    (run, time), undone_at = world.commits[-1], "20260310120300000"
    world.commits.append(("service", "20260310120200000"))
    world.reconcile()
    world.commits.remove((run, time))
    undoing = Undoing(instant=Instant(undone_at, Action.ROLLBACK, State.COMPLETED, undone_at), targets=(time,))
    world.changes = {"snapshot": _with_undoing(world, undoing)}
    world.rest(minutes(2))
    assert world.jobs == 1


def _with_undoing(world: World, undoing: Undoing) -> Any:
    """The same checkpoint as before, as where the undone commit had read only late files."""
    return as_declared(replace(world.timeline, undoings=(undoing,)), table(**world.spec))


def test_table_services_after_a_run_cost_no_job() -> None:
    world = rested()
    world.commits.append(("service", "20260310120045000"))
    world.rest(minutes(5))
    assert world.jobs == 0


def test_archival_of_the_remembered_instant_costs_one_job() -> None:
    world = rested()
    world.rest(minutes(2))
    world.commits = [("service", "20260310120200000")]
    world.rest(minutes(2))
    assert world.followers == 1
    world.end_run(NO_INPUT)
    world.rest(minutes(5))
    assert world.followers == 0


def test_rescan_that_no_run_has_served_is_not_spared_by_a_look() -> None:
    world = rested()
    world.rest(minutes(2))
    _is_rescanned(world)
    world.reconcile()
    world.end_run(READ, commits="a.csv")  # of an older image, which serves no request
    world.rest(minutes(2))
    assert world.followers == 1


def test_look_from_before_a_run_says_nothing_after_it() -> None:
    world = World()
    world.reconcile()
    world.end_run(READ, commits="a.csv")
    assert world.ingestion.look is not None
    assert world.ingestion.look.looked_at is None
    assert world.ingestion.reason == "WaitingForSchedule"


def test_run_that_ends_under_another_spec_is_not_remembered_for_it() -> None:
    world = World()
    world.reconcile()
    world.generation = 2
    world.end_run(READ, commits="a.csv")
    world.rest(minutes(2))
    assert world.followers == 1


def test_job_that_the_status_has_lost_is_adopted_without_a_look() -> None:
    world = World()
    world.reconcile()
    name = world.job.name
    world.status = world.status.copy_with(active_jobs=())
    world.reconcile(job(name))
    world.end_run(READ, commits="a.csv")
    assert world.ingestion.look is None
