"""A change of version that was ended midway: the next run finishes it, wherever Hudi was with the timeline's files."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    DOWNGRADE,
    UPGRADE,
    commits,
    done,
    files,
    mend,
    overwrite,
    pending,
    refusal,
    report_of,
    request,
    rows,
)
from tests.spark_jobs.operations.versions.test_versions import change, declare, read_by_the_operator, savepoints
from tests.spark_jobs.services.test_savepoint import die_while_deleting, files_of_savepoints
from tests.spark_jobs.services.test_services import fill, succeeded
from tests.spark_jobs.tables.test_table_version import versions
from tests.spark_jobs.trials import ALL, IN_FULL, LEASE, crossed, sampled

from hudi_jobs.contract import FailureReason, OperationPhase, Outcome, RepairStep, Service
from hudi_jobs.operations.restore_steps import remove_metadata_table
from hudi_jobs.operations.versions.version_change import prepare_change
from hudi_jobs.phases import Phase
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table_services.client import WriteClient, write_client

pytestmark = [pytest.mark.spark]

PHASES = ("recorded", "prepared", "changed", "after-commit", "verified", "before-outcome")
MOMENTS = (*PHASES, "moving", "moved")


def fail(*_: Any) -> Any:
    raise TaskFailed(FailureReason.STORAGE_UNAVAILABLE, "The store does not answer.")


def folders(lake: Any, version: int) -> tuple[Path, Path]:
    """The folders of the timeline before and after."""
    old, new = lake.folder / "table/.hoodie", lake.folder / "table/.hoodie/timeline"
    return (old, new) if version == 6 else (new, old)


def instant_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("2*") if path.is_file())


def half_move(lake: Any, before: int, after: int, how: str) -> None:
    """Leave the timeline as a driver does that is killed while Hudi moves its files."""
    source, target = folders(lake, before)
    kept = lake.folder / "kept"
    kept.mkdir()
    originals = [Path(shutil.copy2(path, kept)) for path in instant_files(source)]
    with write_client(lake.spark, lake.base_path, {"hoodie.metadata.enable": "false"}) as client:
        client.move_timeline(after)
    assert instant_files(source) == []
    moved = instant_files(target)
    dice = random.Random(5)
    for path in originals:
        time, rest = path.name[:17], path.name.partition(".")[2].replace("clustering", "replacecommit")
        (copy,) = (
            one
            for one in moved
            if one.name.startswith(time) and one.name.partition(".")[2].replace("clustering", "replacecommit") == rest
        )
        is_completed = not path.name.endswith((".requested", ".inflight"))
        state = {
            "completed files first": "moved" if is_completed else "left",
            "completed files last": "left" if is_completed else "moved",
            "by chance": dice.choice(["moved", "both", "left"]),
            "all": "moved",
        }[how]
        if state != "moved":
            shutil.copy2(path, source)
        if state == "left":
            copy.unlink()


@crossed(
    ("before, after", [(6, 9), (8, 6), (9, 6)] if ALL else [(6, 9), (8, 6)]),
    ("kind", ["MergeOnRead", "CopyOnWrite"]),
    (
        "how",
        sampled("completed files first", "by chance", "completed files last", "all", few=2),
    ),
)
def test_a_timeline_that_is_half_moved_is_moved_to_its_end(
    lake: Any, monkeypatch: pytest.MonkeyPatch, *, before: int, after: int, kind: str, how: str
) -> None:
    declare(lake, kind, before)
    fill(lake, 4)
    lake.serve(Service.CLEANING)
    lake.serve(Service.ARCHIVAL)
    lake.spec.pop("tableVersion")
    expected = rows(lake)
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.versions.version_change.change_version", fail)
        ended = change(lake, before, after)
    assert (ended.reason, report_of(ended).phase) == (FailureReason.STORAGE_UNAVAILABLE, OperationPhase.RUNNING)
    known = commits(lake)
    if before == 9:  # a driver takes it to 8 before anything is moved
        with write_client(lake.spark, lake.base_path, {"hoodie.metadata.enable": "false"}) as client:
            client.change_version(8)
    half_move(lake, min(before, 8), min(after, 8), how)
    left = files(lake)
    for refused in (lake.ingest(), lake.serve(Service.CLEANING), mend(lake, RepairStep.ROLLBACK_INFLIGHT)):
        assert refused.reason is FailureReason.TABLE_MISMATCH, refused
        assert "a change of the version has not ended" in refused.message
    assert {path for path in files(lake) if "/.hudi-operator/" not in path} == {
        path for path in left if "/.hudi-operator/" not in path
    }

    finishing = {"uid": "uid-of-another"} if how == "by chance" else {}
    report = done(change(lake, before, after, **finishing))

    assert rows(lake) == expected
    assert commits(lake) == known
    assert savepoints(lake) == [report.target]
    assert pending(lake) == []
    version, counted, problems = read_by_the_operator(lake)
    assert (version, counted) == (after, len(known))
    assert [problem for problem in problems if "as after a copy" not in problem] == [], "each file has a new time"
    fill(lake, 1, first=4)
    assert rows(lake) != expected


def test_a_commit_that_comes_after_the_check_keeps_the_version_until_its_rows_are_counted(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(lake, "CopyOnWrite", 8, metadata=True)
    fill(lake, 1, rows=10)
    lake.spec.pop("tableVersion")

    def come(*given: Any) -> None:
        overwrite(lake, 7, version=8, metadata=True)
        if given != (Phase.RECORDED,):
            remove_metadata_table(*given)

    def require_conflict(step: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(f"hudi_jobs.operations.versions.{step}", come)
            ended = change(lake, 8, 9)
        assert (ended.reason, report_of(ended).phase) == (FailureReason.CONFLICT, OperationPhase.RUNNING), ended
        assert commits(lake)[-1] in ended.message
        assert savepoints(lake) == []

    require_conflict("version_change.reach")
    assert versions(lake) == ["8", "8"]
    require_conflict("version_change.remove_metadata_table")
    assert versions(lake) == ["8"]
    end_after_the_savepoint(lake, monkeypatch)
    lake.table["version"] = 8
    assert "pins 8, not 9" in refusal(change(lake, 8, 9))
    assert versions(lake) == ["8", "8"], "the metadata table is made again"
    assert savepoints(lake) == []
    lake.table.pop("version")
    require_conflict("version_change.remove_metadata_table")
    end_after_the_savepoint(lake, monkeypatch)
    overwrite(lake, 7, version=8)
    with monkeypatch.context() as dying:
        dying.setattr(WriteClient, "delete_savepoint", die_while_deleting)
        assert change(lake, 8, 9).outcome is Outcome.FAILED
    assert len([name for name in files_of_savepoints(lake) if name.endswith(".inflight")]) == 2, "one is only pending"
    report = done(change(lake, 8, 9))
    assert len(files_of_savepoints(lake)) == 2, "one, begun and completed"
    assert savepoints(lake) == [report.target] == commits(lake)[-1:]
    assert versions(lake) == ["9", "9"]
    assert rows(lake) == rows(lake, metadata=True) == [(str(key), "7") for key in range(10)]


def end_after_the_savepoint(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a savepoint of which no record tells."""

    def prepare(*given: Any) -> Any:
        return fail(prepare_change(*given))

    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.versions.version_change.prepare_change", prepare)
        assert report_of(change(lake, 8, 9)).target is None
    assert savepoints(lake) == commits(lake)[-1:]


@pytest.mark.parametrize("content", [None, b""] if ALL else [b""])
def test_properties_that_a_driver_was_killed_over_are_put_back_and_one_that_failed_later_is_finished(
    lake: Any, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    declare(lake, "CopyOnWrite", 8)
    fill(lake, 1)
    lake.spec.pop("tableVersion")
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.versions.version_change.change_version", fail)
        change(lake, 8, 9)
    path = lake.folder / "table/.hoodie/hoodie.properties"
    path.rename(path.with_suffix(".properties.backup"))
    if content is not None:
        path.write_bytes(content)
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.versions.version_change.drop_where_rows_are_missed", fail)
        ended = change(lake, 8, 9)
    assert (ended.reason, report_of(ended).phase) == (FailureReason.STORAGE_UNAVAILABLE, OperationPhase.VERIFYING)
    done(change(lake, 8, 9))
    assert versions(lake) == ["9"]
    assert len(rows(lake)) > 0


@IN_FULL
@pytest.mark.slow
@pytest.mark.timeout(900)
@crossed(
    ("before, after", [(6, 9), (9, 6)]),
    ("kind", ["CopyOnWrite", "MergeOnRead"]),
)
def test_the_next_run_finishes_what_a_killed_one_has_begun(
    lake: Any, program: Callable[..., Any], before: int, after: int, kind: str
) -> None:
    declare(lake, kind, before, metadata=True)
    lake.lease = LEASE
    fill(lake, 3, rows=500)
    lake.spec.pop("tableVersion")
    for number, moment in enumerate(MOMENTS, start=3):
        fill(lake, 1, first=number, rows=500)
        expected, uid = rows(lake), f"uid-{moment}"
        asked = request(
            lake, None, UPGRADE if after > before else DOWNGRADE, version=after, uid=uid, run=f"killed-{moment}"
        )
        source, target = folders(lake, before)
        environment = {"HUDI_JOB_PAUSE_AT": moment} if moment in PHASES else {}
        running = program(asked, **environment)

        def happened(moment: str = moment, source: Path = source, target: Path = target) -> bool:
            return bool(instant_files(target)) if moment == "moving" else not instant_files(source)

        running.wait_until(running.has_stopped if moment in PHASES else happened)
        running.kill()

        report = done(change(lake, before, after, uid=uid))

        assert rows(lake) == rows(lake, metadata=True) == expected, moment
        assert pending(lake) == [], moment
        assert versions(lake) == [str(after)] * 2, moment
        assert report.target in savepoints(lake), moment
        assert lake.ingest().outcome is Outcome.NOTHING_TO_DO, moment
        if moment == MOMENTS[-1]:
            break
        done(change(lake, after, before, uid=f"{uid}-back"))
        assert rows(lake) == expected, moment
        if kind == "MergeOnRead":
            fill(lake, 1, first=number + 100, rows=500)
            succeeded(lake.serve(Service.COMPACTION))
