"""A run that fails midway says how far it came, and the next one of the same operation goes on from there."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    RESTORE,
    ROLLBACK,
    but_for_leases,
    commits,
    done,
    files,
    operate,
    overwrite,
    pending,
    refusal,
    report_of,
    rows,
    timeline,
)
from tests.spark_jobs.services.test_services import SMALL, add, fill, succeeded
from tests.spark_jobs.trials import ALL, IN_FULL, sampled

from hudi_jobs.contract import (
    FailureReason,
    NewerSavepoints,
    OperationPhase,
    Outcome,
    RunMode,
    Service,
)
from hudi_jobs.existing_table import metadata_partitions
from hudi_jobs.journal.history import History
from hudi_jobs.operations.refusal import UNCHANGED
from hudi_jobs.operations.restore_steps import prepare, restore, roll_back_what_stayed
from hudi_jobs.phases import Phase
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import classes
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.timeline import Timeline

pytestmark = [pytest.mark.spark]


def fail(*_: Any) -> Any:
    raise TaskFailed(FailureReason.STORAGE_UNAVAILABLE, "The store does not answer.")


def restores(lake: Any) -> int:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return len(History(lake.spark, Timeline(lake.spark, table)).restores())


STEPS = ("prepare", "restore", "roll_back_what_stayed", "commit_checkpoint", "rows_now")
TRIED = STEPS if ALL else ("restore", "rows_now")


def test_the_next_run_goes_on_from_the_step_that_failed(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.metadata_table = True
    fill(lake, 2)
    expected = rows(lake)
    for number, step in enumerate(TRIED, start=1):
        target = commits(lake)[-1]
        fill(lake, 1, first=1 + number)
        with monkeypatch.context() as patch:
            patch.setattr(f"hudi_jobs.operations.restore.{step}", fail)
            result = operate(lake, target, uid=f"uid-{number}")
        assert result.reason is FailureReason.STORAGE_UNAVAILABLE, result
        phase = report_of(result).phase
        assert phase is (OperationPhase.VERIFYING if step == "rows_now" else OperationPhase.RUNNING), step
        done(operate(lake, target, uid=f"uid-{number}"))
        assert rows(lake) == rows(lake, metadata=True) == expected, step
        assert restores(lake) == number, "it is restored once"


def test_unwanted_operation_is_never_begun_and_is_finished_if_recorded(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lake, 2)
    expected, target = rows(lake), commits(lake)[-1]
    fill(lake, 1, first=2)
    before = but_for_leases(lake)
    result = operate(lake, target, only_recorded=True)
    assert "No run had begun the operation" in refusal(result)
    assert report_of(result).phase is OperationPhase.CHECKING, "so that it counts as not begun"
    assert but_for_leases(lake) == before
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.restore", fail)
        operate(lake, target)
    done(operate(lake, target, only_recorded=True))
    assert rows(lake) == expected


def test_a_run_that_cannot_be_checked_says_that_an_earlier_one_has_recorded(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lake, 2)
    target = commits(lake)[0]

    def break_off(*_: Any) -> Any:
        raise ValueError("Odd.")

    checking = operate_with(lake, target, monkeypatch, "check.rows_at", fail)
    assert checking is OperationPhase.CHECKING
    assert operate_with(lake, target, monkeypatch, "restore.restore", fail) is OperationPhase.RUNNING
    for broken in (fail, break_off):
        assert operate_with(lake, target, monkeypatch, "check.rows_at", broken) is OperationPhase.RUNNING


def operate_with(lake: Any, target: str, monkeypatch: pytest.MonkeyPatch, step: str, what: Any) -> OperationPhase:
    """Have a step of an operation fail, and return how far its run says to have come."""
    with monkeypatch.context() as patch:
        patch.setattr(f"hudi_jobs.operations.{step}", what)
        return report_of(operate(lake, target)).phase


@pytest.mark.parametrize("uid", ["uid-of-back", "uid-of-another"])
def test_a_restore_without_a_plan_is_begun_anew_by_one_to_its_commit_alone(
    lake: Any, monkeypatch: pytest.MonkeyPatch, uid: str
) -> None:
    fill(lake, 3)
    target, other, newest = commits(lake)
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.restore", fail)
        operate(lake, target)
    begun = timeline(lake) / f"{int(newest) + 1}.restore.requested"
    begun.touch()
    assert "is pending" in refusal(operate(lake, other, uid="uid-of-another"))
    done(operate(lake, target, uid=uid))
    assert not begun.exists()
    assert {row[1] for row in rows(lake)} == {"0"}


def test_a_half_done_restore_whose_operation_is_gone_is_finished_by_another_one_to_its_commit(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.table = {"type": "CopyOnWrite"}
    lake.metadata_table = True
    add(lake, 1)
    target, expected = commits(lake)[0], rows(lake)
    add(lake, 2, first=1)
    other, newest = commits(lake)[1:]
    (written,) = (path for path in (lake.folder / "table").glob(f"[!.]*{newest}.parquet"))
    with undeletable(written, monkeypatch):
        before = report_of(operate(lake, target))
    assert [action for action, _ in pending(lake) if action == "restore"] == ["restore"]

    another: dict[str, Any] = {"uid": "uid-of-another"}
    for kind, instant in ((RESTORE, other), (ROLLBACK, other)):
        assert f"create a HudiOperation that restores to {target}" in refusal(operate(lake, instant, kind, **another))
    said = operate(lake, target, dry_run=True, **another)
    assert (said.outcome, report_of(said).rows_expected) == (Outcome.SUCCEEDED, before.rows_expected)
    assert "Would finish the restore" in said.message

    report = done(operate(lake, target, **another))

    assert (report.removed, report.rows_before) == (before.removed, before.rows_before)
    assert (rows(lake), pending(lake)) == (expected, [])
    add(lake, 1, first=3)
    later = rows(lake)
    operate(lake, target)
    assert rows(lake) == later, "a late run of the operation that is gone undoes nothing"


@contextmanager
def undeletable(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have Hudi fail when it deletes a file, in whose place a folder lies from when a restore has been prepared."""
    content = path.read_bytes()

    def replaced(*given: Any) -> None:
        prepare(*given)
        path.unlink()
        path.mkdir()
        (path / "there").touch()

    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.prepare", replaced)
        yield
    rmtree(path)
    path.write_bytes(content)


UNDONE = [
    ("MergeOnRead", 9, Service.COMPACTION),
    ("MergeOnRead", 6, Service.COMPACTION),
    ("MergeOnRead", 9, Service.CLUSTERING),
    ("CopyOnWrite", 9, Service.CLUSTERING),
    ("CopyOnWrite", 6, Service.CLUSTERING),
]


@pytest.mark.parametrize(("kind", "version", "service"), sampled(*UNDONE))
def test_a_service_that_a_restore_was_undoing_when_it_failed_does_not_stay_pending(
    lake: Any, monkeypatch: pytest.MonkeyPatch, kind: str, version: int, service: Service
) -> None:
    lake.table, lake.spec = {"type": kind}, {"tableVersion": version, **SMALL}
    write = fill if service is Service.COMPACTION else add
    write(lake, 1)
    expected, target = rows(lake), commits(lake)[-1]
    write(lake, 2, first=1)
    instant = str(succeeded(lake.serve(service)).instant)
    write(lake, 1, first=3)
    (written,) = (path for path in (lake.folder / "table").glob(f"[!.]*{instant}.parquet"))
    with undeletable(written, monkeypatch):
        assert report_of(operate(lake, target)).phase is OperationPhase.RUNNING

    done(operate(lake, target))

    assert (rows(lake), pending(lake)) == (expected, [])
    assert not [path for path in files(lake) if instant in path]
    write(lake, 4, first=4)
    assert succeeded(lake.serve(service)).instant
    assert len(rows(lake)) == (100 if service is Service.COMPACTION else 800)


@IN_FULL
def test_before_version_8_what_others_have_written_beside_such_a_compaction_is_undone_by_name_alone(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.table, lake.spec = {"type": "MergeOnRead"}, {"tableVersion": 6}
    fill(lake, 1)
    expected, target = rows(lake), commits(lake)[-1]
    fill(lake, 2, first=1)
    instant = str(succeeded(lake.serve(Service.COMPACTION)).instant)
    (written,) = (lake.folder / "table").glob(f"[!.]*{instant}.parquet")
    with undeletable(written, monkeypatch):
        operate(lake, target)

    def beside_others(*given: Any) -> None:
        overwrite(lake, 7, version=6)
        roll_back_what_stayed(*given)

    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.roll_back_what_stayed", beside_others)
        result = operate(lake, target)
    assert result.reason is FailureReason.NOT_VERIFIED, result
    assert (instant in result.message, commits(lake)[-1] in result.message) == (True, True)
    assert {row[1] for row in rows(lake)} == {"0", "7"}
    assert done(operate(lake, target, uid="uid-of-another")).removed_count == 1
    assert (rows(lake), pending(lake)) == (expected, [])


def test_a_rollback_that_a_killed_run_has_all_but_finished_does_not_stay_pending(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lake, 2)
    target, latest = commits(lake)
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.roll_back_what_stayed", fail)
        operate(lake, target)
    assert commits(lake) == [target]
    table = HudiTable.existing(lake.spark, lake.base_path)
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        gone = table.meta.createNewInstant(
            classes(lake.spark).org.apache.hudi.common.table.timeline.HoodieInstant.State.REQUESTED,
            "compaction",
            latest,
        )
        context, time = client._client.getEngineContext(), client._client.createNewInstantTime(True)
        assert client._table().scheduleRollback(context, time, gone, False, False, True).isPresent()
    assert [action for action, _ in pending(lake)] == ["rollback"]
    done(operate(lake, target))
    assert pending(lake) == []


def beside(phase: Phase, monkeypatch: pytest.MonkeyPatch, come: Callable[[], None]) -> None:
    """Have something come to the table when a restore reaches a phase."""

    def reached(one: Phase) -> None:
        if one is phase:
            come()

    monkeypatch.setattr("hudi_jobs.operations.restore.reach", reached)


def keep(lake: Any, instant: str) -> None:
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(instant, user="somebody", comment="mine")


@pytest.mark.parametrize("phase", sampled(Phase.PREPARED, Phase.RECORDED))
def test_a_commit_that_comes_after_the_check_is_not_undone_until_it_is_named(
    lake: Any, monkeypatch: pytest.MonkeyPatch, phase: Phase
) -> None:
    lake.metadata_table = True
    fill(lake, 2)
    first, latest = commits(lake)
    expected = rows(lake)
    for kind, target in ((ROLLBACK, latest), (RESTORE, first)):
        with monkeypatch.context() as patch:
            beside(phase, patch, lambda: overwrite(lake, 7, version=9, metadata=True))
            result = operate(lake, target, kind, uid=f"uid-of-{kind}")
        assert (result.reason, report_of(result).phase) == (FailureReason.CONFLICT, OperationPhase.RUNNING), result
        assert commits(lake)[-1] in result.message
        assert restores(lake) == 0
    assert len(commits(lake)) == 4
    assert {row[1] for row in rows(lake) if row[0] in set("0123456789")} == {"7"}

    assert "is not the latest" in refusal(operate(lake, latest, ROLLBACK, uid=f"uid-of-{ROLLBACK}"))
    assert "is not the latest" in refusal(operate(lake, latest, ROLLBACK, uid=f"uid-of-{ROLLBACK}"))
    report = done(operate(lake, first, uid=f"uid-of-{RESTORE}"))
    assert report.removed_count == 3
    assert rows(lake) == rows(lake, metadata=True) == [(key, "0") for key, _ in expected]


def test_a_savepoint_that_comes_after_the_check_does_not_end_a_restore_midway(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lake, 2)
    target, latest = commits(lake)
    with monkeypatch.context() as patch:
        beside(Phase.RECORDED, patch, lambda: keep(lake, latest))
        assert operate(lake, target).reason is FailureReason.CONFLICT
    assert "Savepoints keep commits" in refusal(operate(lake, target))
    done(operate(lake, target, savepoints=NewerSavepoints.REMOVE))


def test_commits_between_the_last_look_and_the_restore_are_named_by_every_run(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, True
    fill(lake, 2)
    target = commits(lake)[0]
    plan = str(succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant)

    def beside_others(*given: Any) -> Any:
        overwrite(lake, 7, version=9)
        return restore(*given)

    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.restore", beside_others)
        patch.setattr("hudi_jobs.operations.restore.roll_back_what_stayed", fail)
        assert report_of(operate(lake, target)).phase is OperationPhase.RUNNING
    assert commits(lake) == [target]
    for _ in range(2):
        result = operate(lake, target)
        assert (result.reason, report_of(result).verified) == (FailureReason.NOT_VERIFIED, False), result
        assert re.fullmatch(
            r"The restore .* is complete\. It has also undone .* before it: [0-9]+\. .*", result.message
        )
        assert plan not in result.message
    assert (pending(lake), {row[1] for row in rows(lake, metadata=True)}) == ([], {"0"})


def test_a_restore_that_another_tool_has_made_superfluous_brings_the_metadata_table_back(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.metadata_table = True
    fill(lake, 2)
    expected = rows(lake)
    target = commits(lake)[-1]
    fill(lake, 1, first=2)
    latest = commits(lake)[-1]
    keep(lake, latest)
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.restore", fail)
        operate(lake, target, savepoints=NewerSavepoints.REMOVE)
    table = HudiTable.existing(lake.spark, lake.base_path)
    assert metadata_partitions(table.properties) == frozenset()
    options = {**lake.hudi_options(Service.CLEANING), "hoodie.metadata.enable": "false"}
    with write_client(lake.spark, lake.base_path, options) as client:
        assert client.rollback(latest)
    result = operate(lake, target, savepoints=NewerSavepoints.REMOVE)
    assert (result.outcome, report_of(result).phase) == (Outcome.NOTHING_TO_DO, OperationPhase.DONE), result
    assert result.message.endswith(f"already removed the savepoints of these commits: {latest}."), result.message
    assert rows(lake) == rows(lake, metadata=True) == expected
    assert "files" in metadata_partitions(HudiTable.existing(lake.spark, lake.base_path).properties)


def test_a_refusal_of_a_restore_that_was_only_prepared_ends_it_and_names_what_was_removed(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.metadata_table = True
    fill(lake, 2)
    target, latest = commits(lake)
    keep(lake, latest)
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.restore", fail)
        operate(lake, target, savepoints=NewerSavepoints.REMOVE)

    def gone(*_: Any) -> Any:
        raise TaskFailed(FailureReason.SOURCE_NOT_FOUND, "A topic does not exist.")

    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.check.rows_at", gone)
        patch.setattr("hudi_jobs.operations.restore_steps.remake_metadata_table", fail)
        said = refusal(operate(lake, target, savepoints=NewerSavepoints.REMOVE))
    assert said.startswith(f"A topic does not exist. {UNCHANGED} But an earlier run has already removed"), said
    assert (f"{latest}. The metadata table no longer exists" in said, restores(lake)) == (True, 0)
    done(operate(lake, target))
