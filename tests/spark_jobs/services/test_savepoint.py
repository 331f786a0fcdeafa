"""The savepoint of a takeover: made before the first table service, kept over a retry, removed, good to restore to."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.services.test_metadata_table import write
from tests.spark_jobs.trials import ALL, crossed

from hudi_jobs.contract import Outcome, SavepointStep, SavepointTask, Service, TableOwner, TaskResult
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import WriteClient, write_client
from hudi_jobs.table_services.preparation import USER
from hudi_jobs.table_services.timeline import Timeline

pytestmark = pytest.mark.spark

OWNER = TableOwner(operator="cluster/hudi-operator", table_uid="uid-1", table="team/flights")
AT = "2026-03-10T12:00:00Z"


def serve(lake: Any, service: Service, step: SavepointStep | None, *, at: str = AT, **changes: Any) -> TaskResult:
    options = {"hoodie.compact.inline.max.delta.commits": "1", **changes.pop("options", {})}
    request = lake.service_request(service, options=options, **changes)
    asked = SavepointTask(step=step, taken_over_at=at) if step else None
    task = request.tasks[0].copy_with(savepoint=asked)
    result: TaskResult = lake.drive(request.copy_with(tasks=(task,)))
    return result


def savepoints(lake: Any) -> list[tuple[str, str]]:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return [(each.instant, each.user) for each in Timeline(lake.spark, table).savepoints()]


def newest(lake: Any) -> str:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return str(Timeline(lake.spark, table).newest_commit())


def die_while_deleting(client: WriteClient, instant: str) -> None:
    """Leave a savepoint pending, as the first half of Hudi's own deletion does."""
    active = client._table().getActiveTimeline()
    found = active.getSavePointTimeline().filterCompletedInstants().getInstants()
    (completed,) = [each for each in found if str(each.requestedTime()) == instant]
    active.revertToInflight(completed)
    raise RuntimeError("the run ends here")


def files_of_savepoints(lake: Any) -> list[str]:
    """The names of the files of savepoints in a timeline of layout 2."""
    return sorted(path.name for path in (lake.folder / "table/.hoodie/timeline").glob("2*.savepoint*"))


def values(lake: Any) -> list[int]:
    frame = lake.spark.read.format("hudi").load(lake.base_path)
    return sorted(row.v for row in frame.select("v").collect())


def adopted(lake: Any, version: int, kind: str = "MergeOnRead") -> str:
    """Make a table as another tool does; return its newest commit."""
    lake.table, lake.owner = {"type": kind}, OWNER
    for value in (1, 2, 3):
        write(lake, value, version=version)
    return newest(lake)


def version_of(lake: Any) -> int:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return int(table.meta.getTableConfig().getTableVersion().versionCode())


@pytest.mark.parametrize("version", [6, 9] if ALL else [6])
def test_savepoint_before_the_first_service_restores_every_row(lake: Any, version: int) -> None:
    last = adopted(lake, version)

    first = serve(lake, Service.COMPACTION, SavepointStep.KEEP)
    assert (first.outcome, first.savepoint) == (Outcome.SUCCEEDED, last), first
    assert savepoints(lake) == [(last, USER)]

    again = serve(lake, Service.CLEANING, SavepointStep.KEEP)
    assert again.savepoint == last, "a retry finds the one that is there, although a compaction followed"
    assert savepoints(lake) == [(last, USER)]
    assert values(lake) == [3] * 10
    assert version_of(lake) == version

    write(lake, 4, version=version)
    assert serve(lake, Service.CLEANING, None, options={"hoodie.clean.commits.retained": "1"}).savepoint == last
    options = lake.hudi_options(Service.CLEANING)
    with write_client(lake.spark, lake.base_path, options) as client:
        client._client.restoreToSavepoint(last)
    assert values(lake) == [3] * 10
    assert version_of(lake) == version


@crossed(("version", [6, 9]), ("metadata", [True, False]))
def test_the_commands_of_the_page_on_services_restore_to_it_and_delete_it(
    lake: Any, version: int, metadata: bool
) -> None:
    last = adopted(lake, version)
    lake.metadata_table = metadata
    assert serve(lake, Service.COMPACTION, SavepointStep.KEEP).savepoint == last
    write(lake, 4, version=version, metadata=metadata)
    session = lake.spark.newSession()
    page = (Path(__file__).parents[3] / "docs/concepts/table-services.md").read_text()
    commands = re.findall(r"((?:SET hoodie|CALL \w+_savepoint|CALL \w+_to_savepoint)[^;]*);", page)
    assert len(commands) == 5
    for command in commands:
        given = command.replace("s3a://lake/prefix/table", lake.base_path).replace("SAVEPOINT", last)
        session.sql(given.replace("version=6", f"version={version}")).collect()
        if "rollback" in command:
            assert (values(lake), version_of(lake)) == ([3] * 10, version)
    assert savepoints(lake) == []
    assert values(lake) == [3] * 10


@pytest.mark.parametrize("version", [6, 9] if ALL else [9])
def test_savepoint_is_removed_by_its_own_run_and_never_somebody_elses(lake: Any, version: int) -> None:
    last = adopted(lake, version, "CopyOnWrite")
    assert serve(lake, Service.CLEANING, SavepointStep.KEEP).savepoint == last
    write(lake, 4, version=version)
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(newest(lake), user=USER, comment="by hand")
    commits = lake.instants() if version == 9 else []

    removed = serve(lake, Service.CLEANING, SavepointStep.REMOVE)
    assert (removed.outcome, removed.savepoint) == (Outcome.SUCCEEDED, ""), removed
    assert last in removed.message
    assert [instant for instant, _ in savepoints(lake)] == [newest(lake)]
    assert [name for name in commits if ".savepoint" not in name] == [
        name for name in (lake.instants() if version == 9 else []) if ".savepoint" not in name
    ], "no clean"
    assert serve(lake, Service.CLEANING, SavepointStep.REMOVE).outcome is Outcome.SUCCEEDED, (
        "it is repeated after a crash"
    )
    assert values(lake) == [4] * 10


def test_savepoint_half_removed_by_a_killed_run_is_gone_after_the_next(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = adopted(lake, 9, "CopyOnWrite")
    assert serve(lake, Service.CLEANING, SavepointStep.KEEP).savepoint == last
    with monkeypatch.context() as dying:
        dying.setattr(WriteClient, "delete_savepoint", die_while_deleting)
        assert serve(lake, Service.CLEANING, SavepointStep.REMOVE).outcome is Outcome.FAILED
    assert files_of_savepoints(lake) == [f"{last}.savepoint.inflight"]
    removed = serve(lake, Service.CLEANING, SavepointStep.REMOVE)
    assert (removed.outcome, removed.savepoint) == (Outcome.SUCCEEDED, ""), removed
    assert files_of_savepoints(lake) == []


def test_another_takeover_makes_another_one_and_both_are_removed(lake: Any) -> None:
    first = adopted(lake, 9, "CopyOnWrite")
    assert serve(lake, Service.CLEANING, SavepointStep.KEEP).savepoint == first
    write(lake, 4, version=9)
    second = serve(lake, Service.CLEANING, SavepointStep.KEEP, at="2026-04-10T12:00:00Z").savepoint
    assert second == newest(lake) != first
    assert len(savepoints(lake)) == 2
    serve(lake, Service.CLEANING, SavepointStep.REMOVE)
    assert savepoints(lake) == []


def test_foreign_savepoint_on_the_same_commit_is_enough(lake: Any) -> None:
    last = adopted(lake, 9, "CopyOnWrite")
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(last, user="somebody", comment="mine")
    result = serve(lake, Service.CLEANING, SavepointStep.KEEP)
    assert (result.outcome is not Outcome.FAILED, result.savepoint) == (True, ""), result
    serve(lake, Service.CLEANING, SavepointStep.REMOVE)
    assert savepoints(lake) == [(last, "somebody")]


def test_savepoint_only_begun_by_a_run_is_made_by_the_next(lake: Any) -> None:
    last = adopted(lake, 9, "CopyOnWrite")
    begun = lake.folder / f"table/.hoodie/timeline/{last}.savepoint.inflight"
    begun.touch()
    assert serve(lake, Service.CLEANING, SavepointStep.KEEP).savepoint == last
    assert savepoints(lake) == [(last, USER)]


def test_a_failed_run_says_up_to_where_its_instants_may_be(lake: Any) -> None:
    """What is pending beyond that is somebody else's."""
    last = adopted(lake, 9)
    nothing = lake.serve(Service.COMPACTION, instant="20200101000000000")
    assert (nothing.outcome, nothing.newest_instant) == (Outcome.NOTHING_TO_DO, "")
    done = serve(lake, Service.COMPACTION, None)
    assert done.instant is not None
    assert done.newest_instant is not None
    assert last < done.instant <= done.newest_instant


def test_an_ingestion_that_fails_before_its_write_has_made_no_instant(lake: Any) -> None:
    lake.put("a.csv", "other\n1\n")
    result = lake.ingest()
    assert (result.outcome, result.newest_instant) == (Outcome.FAILED, "")


def test_beside_a_write_that_is_abandoned_and_still_shows_a_heartbeat_a_run_on_a_serialized_table_does_nothing(
    lake: Any,
) -> None:
    """Hudi would roll it back before it begins."""
    last = adopted(lake, 9)
    begun = f"{int(last) + 1}"
    folder = lake.folder / "table/.hoodie"
    for state in ("requested", "inflight"):
        (folder / f"timeline/{begun}.deltacommit.{state}").touch()
    (folder / ".heartbeat").mkdir(exist_ok=True)
    (folder / ".heartbeat" / begun).touch()
    refused = serve(lake, Service.COMPACTION, SavepointStep.KEEP, abandoned=(begun,))
    assert (refused.outcome, refused.reason) == (Outcome.CONFLICT, "Conflict"), refused
    assert (folder / f"timeline/{begun}.deltacommit.inflight").exists()
    assert savepoints(lake) == []
