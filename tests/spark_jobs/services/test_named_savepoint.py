"""The savepoint of a HudiSavepoint: made once, found by a repetition, refused where files may be gone, and removed."""

from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.conftest import Program
from tests.spark_jobs.services.test_metadata_table import write
from tests.spark_jobs.services.test_savepoint import adopted, newest, savepoints, serve, values
from tests.spark_jobs.trials import ALL, IN_FULL, crossed

from hudi_jobs.contract import (
    SAVEPOINT_USER,
    ConcurrencyMode,
    FailureReason,
    HeldBack,
    JobRequest,
    NamedSavepoint,
    Outcome,
    SavepointStep,
    SavepointWork,
    Service,
    TaskResult,
)
from hudi_jobs.phases import PAUSE_VARIABLE, Phase
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.timeline import Timeline

pytestmark = pytest.mark.spark

MAKE, REMOVE = SavepointWork.MAKE, SavepointWork.REMOVE


def request(
    lake: Any, work: SavepointWork, instant: str, *, uid: str = "uid-of-daily", adopted: bool = False, **changes: Any
) -> JobRequest:
    named = NamedSavepoint(
        work=work, instant=instant, resource="team/daily", uid=uid, comment="before the move", adopted=adopted
    )
    asked: JobRequest = lake.service_request(Service.SAVEPOINT, **changes)
    template: Any = asked.tasks[0]
    task = template.copy_with(named_savepoint=named)
    return asked.copy_with(tasks=(task,))


def change(lake: Any, work: SavepointWork, instant: str, **changes: Any) -> TaskResult:
    result: TaskResult = lake.drive(request(lake, work, instant, **changes))
    return result


def refused(result: TaskResult) -> bool:
    return (result.outcome, result.reason) == (Outcome.NOTHING_TO_DO, FailureReason.SAVEPOINT_REFUSED)


def comments(lake: Any) -> list[str]:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return [each.comment for each in Timeline(lake.spark, table).savepoints()]


def clean(lake: Any, **options: str) -> TaskResult:
    result: TaskResult = lake.serve(Service.CLEANING, options={f"hoodie.clean.{k}": v for k, v in options.items()})
    return result


@crossed(("version", [6, 9]), ("concurrency", [*ConcurrencyMode]))
def test_savepoint_is_made_once_found_again_and_removed(lake: Any, version: int, concurrency: ConcurrencyMode) -> None:
    last = adopted(lake, version)
    made = change(lake, MAKE, last, concurrency=concurrency)
    assert made.outcome is Outcome.SUCCEEDED, made
    assert savepoints(lake) == [(last, SAVEPOINT_USER)]
    assert comments(lake) == ["HudiSavepoint team/daily (uid-of-daily): before the move"]

    again = change(lake, MAKE, last, concurrency=concurrency)
    assert again.outcome is Outcome.SUCCEEDED, again
    assert refused(change(lake, MAKE, last, uid="another", concurrency=concurrency)), "one on a commit"
    assert savepoints(lake) == [(last, SAVEPOINT_USER)]

    removed = change(lake, REMOVE, last, concurrency=concurrency)
    assert removed.outcome is Outcome.SUCCEEDED, removed
    assert savepoints(lake) == []
    gone = change(lake, REMOVE, last, concurrency=concurrency)
    assert (gone.outcome, "No savepoint was left" in gone.message) == (Outcome.SUCCEEDED, True), gone
    assert values(lake) == [3] * 10


@pytest.mark.parametrize("version", [6, 9] if ALL else [6])
def test_restoring_to_it_gives_every_row_after_cleanings_that_keep_one_commit(lake: Any, version: int) -> None:
    last = adopted(lake, version, "CopyOnWrite")
    assert change(lake, MAKE, last).outcome is Outcome.SUCCEEDED
    for value in (4, 5, 6):
        write(lake, value, version=version)
        cleaned = clean(lake, **{"commits.retained": "1"})
    assert values(lake) == [6] * 10
    (kept,) = (lake.folder / "table").rglob(f"*_{last}.parquet")
    assert cleaned.held_back == (HeldBack(instant=last, files=1, bytes=kept.stat().st_size, missing=0),)
    kept.rename(lake.folder / kept.name)
    assert clean(lake, **{"commits.retained": "1"}).held_back == (HeldBack(instant=last, files=0, bytes=0, missing=1),)
    (lake.folder / kept.name).rename(kept)
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client._client.restoreToSavepoint(last)
    assert values(lake) == [3] * 10


@pytest.mark.parametrize("continuous", [None, {"min_interval_seconds": 0.1, "recycle_after_seconds": 0.1}])
def test_a_run_whose_writes_clean_tells_what_it_keeps_from_being_cleaned(lake: Any, continuous: Any) -> None:
    lake.spec = {"cleaning": {"mode": "Inline", "retainCommits": 1}}
    last = adopted(lake, 9, "CopyOnWrite")
    assert change(lake, MAKE, last).outcome is Outcome.SUCCEEDED
    run = {"files": {"schemaDdl": "id STRING, v INT"}, "continuous": continuous}
    for value in (4, 5, 6):
        lake.put(f"{value}.csv", "id,v\n" + "".join(f"{number},{value}\n" for number in range(10)), at=value)
        told = lake.ingest(**run)
    (kept,) = (lake.folder / "table").rglob(f"*_{last}.parquet")
    assert told.held_back == (HeldBack(instant=last, files=1, bytes=kept.stat().st_size, missing=0),)
    assert lake.ingest(**run).held_back == (), "nothing was written or cleaned"


@crossed(
    ("version", [6, 9]),
    ("policy", [{"commits.retained": "1"}, {"policy": "KEEP_LATEST_FILE_VERSIONS", "fileversions.retained": "1"}]),
)
def test_a_commit_whose_files_a_clean_has_removed_gets_none(lake: Any, version: int, policy: dict[str, str]) -> None:
    first = adopted(lake, version, "CopyOnWrite")
    for value in (4, 5):
        write(lake, value, version=version)
    done = clean(lake, **policy)
    assert (done.outcome, bool(done.files_deleted)) == (Outcome.SUCCEEDED, True), done
    result = change(lake, MAKE, first)
    assert refused(result), result
    assert done.instant is not None
    assert done.instant in result.message
    assert savepoints(lake) == []
    latest = newest(lake)
    assert change(lake, MAKE, latest).outcome is Outcome.SUCCEEDED, "the newest commit is whole after any clean"
    assert savepoints(lake) == [(latest, SAVEPOINT_USER)]


def test_instant_that_is_no_completed_commit_gets_no_savepoint(lake: Any) -> None:
    last = adopted(lake, 9, "CopyOnWrite")
    for value in (4, 5):
        write(lake, value, version=9)
    cleaned = clean(lake, **{"commits.retained": "1"}).instant
    assert cleaned is not None
    for instant in (cleaned, f"{int(last) + 1}", "20200101000000000"):
        result = change(lake, MAKE, instant)
        assert refused(result), result
    assert savepoints(lake) == []


def test_a_resource_that_has_its_savepoint_on_another_commit_gets_no_second_one(lake: Any) -> None:
    first = adopted(lake, 9, "CopyOnWrite")
    assert change(lake, MAKE, first).outcome is Outcome.SUCCEEDED
    write(lake, 4, version=9)
    second = newest(lake)
    result = change(lake, MAKE, second)
    assert refused(result), result
    assert first in result.message
    assert savepoints(lake) == [(first, SAVEPOINT_USER)]
    assert change(lake, MAKE, second, uid="another").outcome is Outcome.SUCCEEDED


def test_there_is_nothing_to_keep_where_there_is_no_table(lake: Any) -> None:
    assert refused(change(lake, MAKE, "20260101000000000"))
    assert change(lake, REMOVE, "20260101000000000").outcome is Outcome.SUCCEEDED


def test_somebody_elses_is_neither_taken_for_it_nor_is_that_of_a_takeover_removed(lake: Any) -> None:
    last = adopted(lake, 9, "CopyOnWrite")
    assert serve(lake, Service.CLEANING, SavepointStep.KEEP).savepoint == last
    assert refused(change(lake, REMOVE, last, adopted=True))
    assert refused(change(lake, MAKE, last))
    assert savepoints(lake) == [(last, SAVEPOINT_USER)]

    write(lake, 4, version=9)
    second = newest(lake)
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(second, user="somebody", comment="mine")
    result = change(lake, MAKE, second)
    assert refused(result), result
    assert "somebody" in result.message
    assert refused(change(lake, REMOVE, second)), "that of the resource is gone, and this is somebody else's"
    assert [instant for instant, _ in savepoints(lake)] == [last, second]
    assert change(lake, REMOVE, second, adopted=True).outcome is Outcome.SUCCEEDED
    assert [instant for instant, _ in savepoints(lake)] == [last]


@crossed(("version", [6, 9]), ("work", [*SavepointWork]))
def test_savepoint_begun_by_a_killed_run_is_made_or_removed_by_the_next(
    lake: Any, version: int, work: SavepointWork
) -> None:
    last = adopted(lake, version, "CopyOnWrite")
    folder = lake.folder / "table/.hoodie"
    begun = (folder if version == 6 else folder / "timeline") / f"{last}.savepoint.inflight"
    begun.touch()
    result = change(lake, work, last)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert not begun.exists() or work is MAKE
    assert savepoints(lake) == ([(last, SAVEPOINT_USER)] if work is MAKE else [])


def test_beside_other_writers_one_that_somebody_has_just_begun_is_left_alone(lake: Any) -> None:
    last = adopted(lake, 9, "CopyOnWrite")
    begun = lake.folder / f"table/.hoodie/timeline/{last}.savepoint.inflight"
    begun.touch()
    result = change(lake, MAKE, last, concurrency=ConcurrencyMode.OPTIMISTIC)
    assert (result.outcome, begun.exists()) == (Outcome.CONFLICT, True), result


@IN_FULL  # otherwise a test makes what such a driver leaves
@pytest.mark.parametrize("phase", [Phase.MARKED, Phase.AFTER_COMMIT])
def test_a_driver_that_is_killed_leaves_one_savepoint_after_the_next_run(
    lake: Any, phase: Phase, tmp_path: Path, spark_conf: dict[str, str], installed_spark: Path
) -> None:
    last = adopted(lake, 9, "CopyOnWrite")
    asked = request(lake, MAKE, last, run="killed").copy_with(spark_conf=spark_conf)
    environment = {PAUSE_VARIABLE: phase.value, "SPARK_HOME": str(installed_spark)}
    program = Program(tmp_path / "killed", asked, **environment)
    program.wait_until(lambda: _is_stopped(program))
    program.kill()
    assert savepoints(lake) == ([(last, SAVEPOINT_USER)] if phase is Phase.AFTER_COMMIT else [])
    result = change(lake, MAKE, last)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert savepoints(lake) == [(last, SAVEPOINT_USER)]


def _is_stopped(program: Program) -> bool:
    return Path(f"/proc/{program.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
