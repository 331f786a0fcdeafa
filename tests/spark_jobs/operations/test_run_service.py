"""A table service that is run once: it finishes or makes one plan, says so beforehand, and is done once."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    commits,
    files,
    pending,
    refusal,
    report_of,
    rows,
    serve_once,
    service_request,
    timeline,
)
from tests.spark_jobs.services.test_services import SMALL, add, fill, notes, succeeded
from tests.spark_jobs.trials import IN_FULL, LEASE

from hudi_jobs.commit_metadata import OPERATION_KEY
from hudi_jobs.contract import FailureReason, OperationPhase, Outcome, RunMode, RunnableService, Service
from hudi_jobs.table_services.client import write_client

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

COMPACTION, CLUSTERING = RunnableService.COMPACTION, RunnableService.CLUSTERING
CLEANING, ARCHIVAL = RunnableService.CLEANING, RunnableService.ARCHIVAL
NOW = {"hoodie.clean.trigger.max.commits": "0"}
FEWER = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}


def instants(lake: Any, action: str) -> list[str]:
    """The completed instants of an action."""
    return sorted(path.name for path in timeline(lake).glob(f"*_*.{action}"))


def test_a_compaction_is_told_beforehand_made_and_made_once(lake: Any) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, True
    fill(lake, 3)
    before, expected = files(lake), rows(lake)

    told = serve_once(lake, COMPACTION, dry_run=True)
    assert (told.outcome, report_of(told).phase) == (Outcome.SUCCEEDED, OperationPhase.CHECKING), told
    assert (report_of(told).count, told.message) == (1, "Would merge 1 file group; nothing was written.")
    assert files(lake) == before, "a dry run writes not one byte"

    done = succeeded(serve_once(lake, COMPACTION))
    assert (report_of(done).phase, report_of(done).instant) == (OperationPhase.DONE, done.instant)
    assert notes(lake, str(done.instant))[OPERATION_KEY] == "uid-of-once"
    assert rows(lake) == rows(lake, metadata=True) == expected
    again = succeeded(serve_once(lake, COMPACTION))
    assert report_of(again) == report_of(done)
    assert len(instants(lake, "commit")) == 1
    nothing = serve_once(lake, COMPACTION, uid="another")
    assert (nothing.outcome, report_of(nothing).phase) == (Outcome.NOTHING_TO_DO, OperationPhase.DONE)


@pytest.mark.slow
def test_a_plan_that_is_pending_is_finished_and_no_other_made(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    planned = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant
    fill(lake, 1, first=3)
    told = serve_once(lake, COMPACTION, dry_run=True)
    assert (report_of(told).instant, f"finish the pending compaction {planned}" in told.message) == (planned, True), (
        told
    )
    assert succeeded(serve_once(lake, COMPACTION)).instant == planned
    assert pending(lake) == []


@pytest.mark.parametrize("kind", ["CopyOnWrite", pytest.param("MergeOnRead", marks=IN_FULL)])
def test_a_clustering_takes_the_options_of_the_operation(lake: Any, kind: str) -> None:
    lake.table, lake.spec = {"type": kind}, SMALL
    add(lake, 3)
    before, expected = files(lake), rows(lake)
    none = {"hoodie.clustering.plan.strategy.small.file.limit": "1"}
    told = serve_once(lake, CLUSTERING, replaced=none, dry_run=True)
    assert (report_of(told).count, told.message) == (0, "Would rewrite 0 file groups; nothing was written.")
    assert report_of(serve_once(lake, CLUSTERING, dry_run=True)).count == 3
    assert files(lake) == before
    assert serve_once(lake, CLUSTERING, replaced=none, uid="too-small").outcome is Outcome.NOTHING_TO_DO
    done = succeeded(serve_once(lake, CLUSTERING))
    assert (report_of(done).count, rows(lake)) == (3, expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["CopyOnWrite", pytest.param("MergeOnRead", marks=IN_FULL)])
def test_clean_keeps_the_commits_of_its_options_and_those_of_savepoints(lake: Any, kind: str) -> None:
    lake.table = {"type": kind}
    fill(lake, 2)
    if kind == "MergeOnRead":
        succeeded(lake.serve(Service.COMPACTION))
    fill(lake, 2, first=2)
    first = commits(lake)[0]
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(first, user="somebody", comment="mine")
    assert report_of(serve_once(lake, CLEANING, replaced=NOW, dry_run=True)).count == 0, "the table keeps ten commits"
    fewer = {**NOW, "hoodie.clean.commits.retained": "1"}
    would = report_of(serve_once(lake, CLEANING, replaced=fewer, dry_run=True))
    told, named = would.count, {str(lake.folder / "table" / name) for name in would.files}
    assert named <= files(lake).keys()
    assert told or kind == "MergeOnRead", "the savepoint keeps the one slice that is older"
    expected = rows(lake)
    done = serve_once(lake, CLEANING, replaced=fewer)
    assert done.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, done
    assert (report_of(done).count or 0) == told
    assert (len(named), named & files(lake).keys()) == (min(told or 0, 5), set())
    assert rows(lake) == expected
    assert [path for path in files(lake) if first in path.rpartition("/")[2] and "/.hoodie/" not in path], "it is kept"


@pytest.mark.slow
def test_an_archival_goes_below_the_bound_of_the_table(lake: Any) -> None:
    fill(lake, 5)
    before = files(lake)
    told = report_of(serve_once(lake, ARCHIVAL, replaced=FEWER, dry_run=True)).count
    assert files(lake) == before
    done = succeeded(serve_once(lake, ARCHIVAL, replaced=FEWER))
    assert (report_of(done).count, len(commits(lake))) == (told, 2)
    assert succeeded(serve_once(lake, ARCHIVAL, replaced=FEWER)).message == "An earlier run has done the archival."


def test_impossible_service_run_is_refused_with_nothing_written(lake: Any) -> None:
    fill(lake, 2)
    before = files(lake)
    lacking = serve_once(lake, COMPACTION, dry_run=True)
    assert (lacking.reason, "Only a MergeOnRead" in lacking.message) == (FailureReason.INVALID_REQUEST, True), lacking
    unsorted = {"hoodie.clustering.plan.strategy.sort.columns": "nowhere"}
    assert serve_once(lake, CLUSTERING, replaced=unsorted, dry_run=True).reason is FailureReason.COLUMN_MISSING
    outside = {"hoodie.clustering.plan.strategy.partition.selected": "../other"}
    assert "leads out" in serve_once(lake, CLUSTERING, replaced=outside, dry_run=True).message
    assert files(lake) == before
    (timeline(lake) / "20990101000000000.commit.requested").touch()
    assert "Another tool may be at work" in refusal(serve_once(lake, CLEANING, abandoned=()))


PHASES = ("recorded", "planned", "after-commit", "verified", "before-outcome")


@pytest.mark.slow
@IN_FULL  # otherwise `services/test_service_kill.py` kills such a compaction
@pytest.mark.parametrize(("kind", "service"), [("CopyOnWrite", CLUSTERING), ("MergeOnRead", COMPACTION)])
def test_the_next_run_finishes_one_plan_and_makes_no_second(
    lake: Any, program: Callable[..., Any], kind: str, service: RunnableService
) -> None:
    lake.table, lake.spec, lake.lease = {"type": kind}, SMALL, LEASE
    for number, phase in enumerate(PHASES):
        (fill if service is COMPACTION else add)(lake, 3, first=3 * number)
        expected, known = rows(lake), instants(lake, "*commit")
        asked: dict[str, Any] = {"uid": f"uid-{phase}"}
        running = program(service_request(lake, service, run=f"killed-{phase}", **asked), HUDI_JOB_PAUSE_AT=phase)
        running.wait_until(running.has_stopped)
        running.kill()

        succeeded(serve_once(lake, service, **asked))

        made = [name for name in instants(lake, "*commit") if name not in known]
        assert (len(made), pending(lake), rows(lake)) == (1, [], expected), phase
        assert report_of(succeeded(serve_once(lake, service, **asked))).phase is OperationPhase.DONE
