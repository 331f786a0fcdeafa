"""What other tools undo: noticed, marked, and the input of undone commits is ingested again, exactly once."""

from typing import Any

import pytest
from tests.planning.world import OPERATOR, UID, again, memory, observe, plan_for, run, status, status_of, table
from tests.spark_jobs.services.test_affected import Tool, tool
from tests.spark_jobs.services.test_services import add, timeline
from tests.spark_jobs.tables.test_other_tools import LOCK, exact, names, snapshot_of
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import FailureReason, Outcome, Service, TableOwner
from hudi_operator.planning.model import LaunchJob, Observation
from hudi_operator.planning.outcome.status.transitions import Transition, transitions

__all__ = ["tool"]

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

TYPES = pytest.mark.parametrize("kind", ["CopyOnWrite", "MergeOnRead"] if ALL else ["MergeOnRead"])


@pytest.fixture(autouse=True)
def _owned(lake: Any) -> None:
    """Runs name the resource that the operator observes."""
    lake.owner = TableOwner(operator=OPERATOR, table_uid=UID, table="team-a/flights")


def observed(lake: Any, **remembered: Any) -> Observation:
    """What the operator sees of the table, and remembers of the runs that made its commits."""
    seen = snapshot_of(lake)
    history = tuple(run(job=name, instant=time) for name, time in seen.runs)
    known = status(history=history, ingestion=memory(last_run=history[0]), **remembered)
    return observe(table(status=known, type=lake.table.get("type", "CopyOnWrite")), snapshot=seen)


def looked_at_before(lake: Any) -> Observation:
    """The table after one whole look at it."""
    first = observed(lake)
    return again(first, status_of(first))


def seen_later(lake: Any, before: Observation) -> tuple[Observation, list[Transition]]:
    """The next reconcile, and the Events that tell what somebody did to the history meanwhile."""
    later = observe(before.table, snapshot=snapshot_of(lake))
    told = transitions(before.table.status, status_of(later))
    return later, [one for one in told if one.reason in {"Restored", "CommitsUndone", "Savepointed"}]


def commits(lake: Any) -> list[str]:
    return [time for _, time in reversed(snapshot_of(lake).runs)]


@TYPES
def test_after_a_restore_the_undone_runs_are_marked_and_their_files_are_read_again(
    lake: Any, tool: Tool, kind: str
) -> None:
    lake.table = {"type": kind}
    add(lake, 3)
    first, *undone = commits(lake)
    other = tool()
    before = looked_at_before(lake)
    other.hudi.savepoint(first, "person", "before the audit")
    saved, told = seen_later(lake, before)
    assert [one.reason for one in told] == ["Savepointed"]
    before = again(saved, status_of(saved))
    other.hudi.restoreToSavepoint(first)
    exact(lake, 100)

    later, told = seen_later(lake, before)
    assert [(one.reason, one.warning) for one in told] == [("Restored", True)]
    assert ", ".join(undone) in told[0].message
    after = status_of(later)
    (restore,) = [one.time for one in (after.timeline.acts or ()) if one.action == "restore"] if after.timeline else []
    assert {one.instant: one.undone_by for one in after.history} == {first: None, **dict.fromkeys(undone, restore)}
    assert after.services.ingestion.last_run is not None
    assert after.services.ingestion.last_run.undone_by == restore
    assert not plan_for(later).foreign
    assert seen_later(lake, again(later, after))[1] == [], "it is told once"

    result = lake.ingest(operation="Insert")
    assert (result.outcome, result.files_read) == (Outcome.SUCCEEDED, 2), result
    exact(lake, 300)
    assert lake.ingest(operation="Insert").outcome is Outcome.NOTHING_TO_DO


@TYPES
def test_after_a_rollback_of_the_newest_commit_its_file_is_read_again(lake: Any, tool: Tool, kind: str) -> None:
    lake.table = {"type": kind}
    add(lake, 3)
    newest = commits(lake)[-1]
    before = looked_at_before(lake)
    tool().hudi.rollback(newest)
    exact(lake, 200)
    later, told = seen_later(lake, before)
    assert [one.reason for one in told] == ["CommitsUndone"]
    assert newest in told[0].message
    assert "the input of undone commits is read again" in told[0].message
    assert [one.instant for one in plan_for(later).history if one.undone_by] == [newest]
    result = lake.ingest(operation="Insert")
    assert (result.outcome, result.files_read) == (Outcome.SUCCEEDED, 1), result
    exact(lake, 300)


def test_of_a_commit_that_others_follow_it_is_told_that_its_file_is_not_read_again(lake: Any, tool: Tool) -> None:
    lake.spec |= {"concurrency": {"mode": "Optimistic"}}
    lake.options = LOCK
    add(lake, 3)
    before = looked_at_before(lake)
    tool().hudi.rollback(commits(lake)[1])
    exact(lake, 200)
    _, told = seen_later(lake, before)
    assert [one.reason for one in told] == ["CommitsUndone"]
    assert "ingestion does not read it again" in told[0].message
    assert "with a HudiOperation that has rescan" in told[0].message
    assert lake.ingest(operation="Insert").outcome is Outcome.NOTHING_TO_DO


@TYPES
def test_a_rollback_that_a_savepoint_keeps_from_being_finished_is_named_and_nothing_starts(
    lake: Any, tool: Tool, kind: str
) -> None:
    lake.table = {"type": kind}
    lake.spec |= {"cleaning": {"retainCommits": 1}}
    add(lake, 3)
    newest, other = commits(lake)[-1], tool()
    before = looked_at_before(lake)
    other.hudi.savepoint(newest, "person", "before the audit")
    with pytest.raises(Exception, match="rollback"):
        other.hudi.rollback(newest)
    (rollback,) = {path.name.partition(".")[0] for path in timeline(lake).glob("*.rollback.requested")}

    later, _ = seen_later(lake, before)
    after = status_of(later)
    assert not [one for one in plan_for(later).actions if isinstance(one, LaunchJob)]
    ready = after.conditions[0]
    assert (ready.status, ready.reason) == ("False", "RollbackOfSavepoint")
    assert f"The pending rollback {rollback} is to undo commit {newest}" in ready.message
    for result in (lake.serve(Service.CLEANING), lake.serve(Service.CLUSTERING), lake.ingest(operation="Insert")):
        assert result.reason is FailureReason.ROLLBACK_OF_SAVEPOINT or result.outcome is Outcome.NOTHING_TO_DO, result
        assert rollback in result.message or "No new files" in result.message
    exact(lake, 300)

    other.hudi.deleteSavepoint(newest)
    cured = observe(before.table, snapshot=snapshot_of(lake))
    assert status_of(cured).conditions[0].reason != "RollbackOfSavepoint"
    done = lake.serve(Service.CLEANING)
    assert [(one.effect.value, one.instant) for one in done.affected] == [("Finished", rollback)]
    assert not names(lake, newest)
    exact(lake, 200)
    assert lake.ingest(operation="Insert").files_read == 1
    exact(lake, 300)


@TYPES
def test_beside_a_restore_that_has_not_ended_nothing_is_written(lake: Any, kind: str) -> None:
    lake.table = {"type": kind}
    add(lake, 2)
    restore = str(int(commits(lake)[-1]) + 1)
    for state in ("requested", "inflight"):
        (timeline(lake) / f"{restore}.restore.{state}").touch()
    lake.put("later.csv", "id,v\n900,x\n", at=900)
    for result in (lake.serve(Service.CLEANING), lake.serve(Service.CLUSTERING), lake.ingest(operation="Insert")):
        assert result.reason is FailureReason.RESTORE_PENDING, result.message
        assert restore in result.message
    exact(lake, 200)
