"""Repairs: each says what it would do, does that and nothing else, and leaves every row as it was."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    commits,
    done,
    files,
    mend,
    overwrite,
    partitions,
    pending,
    refusal,
    repair_request,
    report_of,
    rows,
    timeline,
)
from tests.spark_jobs.services.test_services import csv, fill, succeeded
from tests.spark_jobs.trials import ALL, IN_FULL, LEASE, sampled

from hudi_jobs.contract import ConcurrencyMode, FailureReason, OperationPhase, Outcome, RepairStep, RunMode, Service
from hudi_jobs.operations.rows import rows_now
from hudi_jobs.spark.failures import TaskFailed

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

ROLLBACK, PLAN = RepairStep.ROLLBACK_INFLIGHT, RepairStep.REMOVE_CORRUPT_PLAN
TABLE, INDEX = RepairStep.REBUILD_METADATA_TABLE, RepairStep.REBUILD_RECORD_INDEX
PROPERTIES = RepairStep.RESTORE_PROPERTIES
LONG_AGO = 1_700_000_000
STUCK = "20990101000000000"
LEASES = {"services.json", "ingestion.json", ".lock"}
RECORD_INDEX = {"hoodie.metadata.global.record.level.index.enable": "true"}


def age(lake: Any, folder: str = ".hoodie/timeline") -> None:
    """Let nothing below a folder be written lately."""
    for path in (lake.folder / "table" / folder).rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))


def dry_run_message(lake: Any, step: RepairStep, instant: str | None = None, **changes: Any) -> str:
    """What a dry run says, which writes not one byte."""
    before = files(lake)
    result = mend(lake, step, instant, dry_run=True, **changes)
    assert (result.outcome, report_of(result).phase) == (Outcome.SUCCEEDED, OperationPhase.CHECKING), result
    assert files(lake) == before
    return result.message


def told_beside_a_heartbeat(lake: Any, step: RepairStep, instant: str | None = None, **changes: Any) -> str:
    """What a dry run says where the only heartbeat is that of a dead writer; beside one that may live, it is refused.

    That writer is the one of the instant, or has none yet.
    """
    beat = lake.folder / "table/.hoodie/.heartbeat" / (instant or STUCK)
    beat.parent.mkdir(exist_ok=True)
    beat.touch()
    before = files(lake)
    for dry_run in (True, False):
        assert "shows a heartbeat" in refusal(mend(lake, step, instant, dry_run=dry_run, **changes))
        changed = {path for path, _ in before.items() ^ files(lake).items()}
        assert {Path(path).name for path in changed} <= LEASES
    message = dry_run_message(lake, step, instant, dead=(beat.name,), **changes)
    beat.unlink()
    return message


def break_off(*_: Any) -> None:
    raise TaskFailed(FailureReason.STORAGE_UNAVAILABLE, "Broken off.")


def waiting_beside_a_heartbeat(lake: Any, step: RepairStep, *asked: Any, **changes: Any) -> None:
    """A run that follows one which was broken off waits for a writer that has begun since, and changes nothing."""
    beat = lake.folder / "table/.hoodie/.heartbeat" / STUCK
    beat.parent.mkdir(exist_ok=True)
    beat.touch()
    before = files(lake)
    result = mend(lake, step, *asked, **changes)
    assert (result.reason, report_of(result).phase) == (FailureReason.CONFLICT, OperationPhase.RUNNING), result
    assert "shows a heartbeat" in result.message
    assert "another run continues it" in result.message
    assert {Path(path).name for path, _ in before.items() ^ files(lake).items()} <= LEASES
    beat.unlink()


@pytest.mark.parametrize("step", sampled(RepairStep.REMOVE_ORPHAN_FILES, TABLE, RepairStep.DEDUPLICATE))
def test_a_dry_run_names_everybody_who_may_be_at_work(lake: Any, step: RepairStep) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, True
    fill(lake, 3)
    planned = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant
    beat = lake.folder / "table/.hoodie/.heartbeat" / STUCK
    beat.parent.mkdir(exist_ok=True)
    beat.touch()
    before = files(lake)
    result = mend(lake, step, dry_run=True)
    assert files(lake) == before
    first, second = report_of(result).obstacles
    assert f"'{STUCK}' shows a heartbeat" in first
    assert f"{planned} is pending" in second
    assert "names 1 more obstacle" in refusal(result)


def stuck_write(lake: Any) -> str:
    """The newest commit as a tool leaves it that dies before it completes it: with its files and their markers."""
    instant = commits(lake)[-1]
    (completed,) = timeline(lake).glob(f"{instant}_*commit")
    completed.unlink()
    folder = lake.folder / "table"
    markers = folder / ".hoodie/.temp" / instant
    markers.mkdir(parents=True)
    for path in folder.glob(f"*{instant}*"):
        (markers / f"{path.name}.marker.CREATE").touch()
    assert any(markers.iterdir())
    return instant


@pytest.mark.parametrize("kind", [pytest.param("CopyOnWrite", marks=IN_FULL), "MergeOnRead"])
def test_a_write_that_is_stuck_is_rolled_back(lake: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.table, lake.metadata_table = {"type": kind}, True
    fill(lake, 2)
    expected = rows(lake)
    fill(lake, 1, first=2)
    stuck = stuck_write(lake)
    age(lake)
    assert "a moment ago" in refusal(mend(lake, ROLLBACK, stuck, abandoned=())), "it has begun a file"
    age(lake, ".hoodie/.temp")
    assert stuck in told_beside_a_heartbeat(lake, ROLLBACK, stuck, abandoned=())
    beat = lake.folder / "table/.hoodie/.heartbeat" / stuck
    beat.parent.mkdir(exist_ok=True)
    with monkeypatch.context() as long:
        long.setattr(
            "hudi_jobs.operations.repair.repair_run.rows_now", lambda context: (beat.touch(), rows_now(context))[1]
        )
        result = mend(lake, ROLLBACK, stuck, abandoned=())
    assert (result.reason, [instant for _, instant in pending(lake)]) == (FailureReason.CONFLICT, [stuck]), (
        "its writer goes on meanwhile"
    )
    beat.unlink()
    waiting_beside_a_heartbeat(lake, ROLLBACK, stuck, abandoned=())
    report = done(mend(lake, ROLLBACK, stuck, abandoned=()))
    assert (report.instant, pending(lake)) == (stuck, [])
    assert rows(lake) == rows(lake, metadata=True) == expected
    assert [path for path in files(lake) if stuck in path and "/.hoodie/" not in path] == []
    assert report_of(succeeded(mend(lake, ROLLBACK, stuck, abandoned=()))) == report
    assert len(list(timeline(lake).glob("*_*.rollback"))) == 1


@pytest.mark.slow
@IN_FULL
def test_living_or_healthy_instant_is_not_rolled_back(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    planned = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant
    age(lake)
    before = files(lake)
    assert "no pending instant" in refusal(mend(lake, ROLLBACK, STUCK))
    assert "has completed" in refusal(mend(lake, ROLLBACK, commits(lake)[0]))
    assert "runService" in refusal(mend(lake, ROLLBACK, planned))
    (timeline(lake) / f"{STUCK}.deltacommit.requested").touch()
    age(lake)
    beat = lake.folder / "table/.hoodie/.heartbeat" / STUCK
    beat.parent.mkdir(exist_ok=True)
    beat.touch()
    assert "heartbeat" in refusal(mend(lake, ROLLBACK, STUCK))
    os.utime(beat, (time.time() - 3_600,) * 2)
    assert STUCK in dry_run_message(lake, ROLLBACK, STUCK)
    assert set(before) <= set(files(lake))


def plan_of(lake: Any, instant: str) -> Path:
    (found,) = timeline(lake).glob(f"{instant}.*.requested")
    # Hadoop's checksum of a local file: a store has none, and what differs from it could not be read at all.
    found.with_name(f".{found.name}.crc").unlink(missing_ok=True)
    return found


def test_a_plan_that_cannot_be_read_is_copied_and_removed(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    expected = rows(lake)
    planned = str(succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant)
    fill(lake, 1, first=3)
    newest = rows(lake)
    plan = plan_of(lake, planned)
    sound = plan.read_bytes()
    age(lake)
    assert "is readable" in refusal(mend(lake, PLAN, planned))
    plan.write_bytes(sound[: len(sound) // 2])
    assert "a moment ago" in refusal(mend(lake, PLAN, planned))
    age(lake)
    assert f"remove the plan of the compaction {planned}" in told_beside_a_heartbeat(lake, PLAN, planned)
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.repair.repair_run.reach", lambda _: plan.write_bytes(b"another"))
        changed = mend(lake, PLAN, planned, uid="changed")
    assert (changed.reason, plan.read_bytes()) == (FailureReason.OPERATION_REFUSED, b"another"), changed
    assert "has changed since it was checked, so it was not removed; create the operation again" in changed.message
    plan.write_bytes(sound[: len(sound) // 2])
    age(lake)

    result = succeeded(mend(lake, PLAN, planned))

    assert report_of(result).phase is OperationPhase.DONE
    assert (plan.exists(), pending(lake)) == (False, [])
    copy = lake.folder / "table/.hudi-operator/removed/uid-of-once" / plan.name
    assert copy.read_bytes() == sound[: len(sound) // 2]
    assert rows(lake) == newest != expected
    succeeded(lake.serve(Service.COMPACTION))
    assert rows(lake) == newest
    assert report_of(succeeded(mend(lake, PLAN, planned))).phase is OperationPhase.DONE


def test_a_plan_that_alone_tells_a_clustering_from_a_write_is_removed(lake: Any) -> None:
    lake.spec = {"tableVersion": 6, "fileSizing": {"smallFileLimit": "0"}}
    for start in (0, 10):
        lake.put(f"{start}.csv", csv(start, start + 10, 0), at=start)
        succeeded(lake.ingest())
    expected = rows(lake)
    planned = str(succeeded(lake.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE)).instant)
    plan = lake.folder / f"table/.hoodie/{planned}.replacecommit.requested"
    plan.with_name(f".{plan.name}.crc").unlink()
    plan.write_bytes(b"")
    age(lake, ".hoodie")
    assert "is readable" in refusal(mend(lake, PLAN, planned)), "Hudi takes it for a write that overwrites rows"
    plan.write_bytes(b"no plan")
    age(lake, ".hoodie")

    report = report_of(succeeded(mend(lake, PLAN, planned)))

    assert (report.phase, report.verified) == (OperationPhase.DONE, None), "nobody could read the rows before it"
    assert (plan.exists(), rows(lake)) == (False, expected)
    succeeded(lake.serve(Service.CLUSTERING))
    assert rows(lake) == expected


@pytest.mark.slow
@IN_FULL
def test_a_plan_that_was_begun_and_what_is_no_plan_stay(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    planned = str(succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant)
    plan_of(lake, planned).write_bytes(b"no plan")
    (timeline(lake) / f"{planned}.compaction.inflight").touch()
    (timeline(lake) / f"{STUCK}.deltacommit.requested").touch()
    age(lake)
    before = files(lake)
    assert "has no plan" in refusal(mend(lake, PLAN, STUCK))
    (timeline(lake) / f"{STUCK}.deltacommit.requested").unlink()
    assert "is inflight" in refusal(mend(lake, PLAN, planned))
    assert set(before) - set(files(lake)) == {str(timeline(lake) / f"{STUCK}.deltacommit.requested")}


@pytest.mark.parametrize(("kind", "step"), [pytest.param("CopyOnWrite", TABLE, marks=IN_FULL), ("MergeOnRead", INDEX)])
def test_the_metadata_table_and_its_index_are_made_again(
    lake: Any, kind: str, step: RepairStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.metadata_table, lake.options = True, RECORD_INDEX
    lake.table = {"type": kind}
    for value in (1, 2):
        overwrite(lake, value, version=9, metadata=True)
    before, expected = partitions(lake), rows(lake)
    assert "record_index" in before
    assert "rebuild" in told_beside_a_heartbeat(lake, step)
    if step is TABLE:
        rmtree(lake.folder / "table/.hoodie/metadata")
        assert ".hoodie/metadata does not exist" in lake.serve(Service.CLEANING).message, "every run fails"
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.repair.metadata.remake_metadata_table", break_off)
        assert "Broken off." in mend(lake, step).message
    waiting_beside_a_heartbeat(lake, step)
    done(mend(lake, step))
    assert partitions(lake) == before
    assert rows(lake) == rows(lake, metadata=True) == expected
    overwrite(lake, 3, version=9, metadata=True)
    assert [row[1] for row in rows(lake, metadata=True)] == [3] * 10, "the index finds every key"


@pytest.mark.slow
@IN_FULL
def test_a_metadata_table_is_made_beside_nothing_that_is_pending(lake: Any) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, False
    fill(lake, 3)
    assert "no metadata table" in refusal(mend(lake, TABLE))
    assert "no index of record keys" in refusal(mend(lake, INDEX))
    lake.metadata_table = True
    fill(lake, 1, first=3)
    succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE))
    before = files(lake)
    assert "is pending" in refusal(mend(lake, TABLE, dry_run=True))
    assert files(lake) == before


def test_a_savepoint_that_a_dead_run_has_left_pending_keeps_no_metadata_table_from_being_made(lake: Any) -> None:
    lake.metadata_table = True
    fill(lake, 2)
    left = timeline(lake) / f"{commits(lake)[-1]}.savepoint.inflight"
    left.touch()
    beside = mend(lake, TABLE, dry_run=True, concurrency=ConcurrencyMode.OPTIMISTIC)
    assert "Another tool has begun a savepoint" in refusal(beside)
    made = partitions(lake)
    done(mend(lake, TABLE))
    assert partitions(lake) == made
    assert not left.exists()


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "damaged": lambda sound: sound.replace(b"hoodie.table.checksum=", b"hoodie.table.checksum=1"),
    "broken off": lambda sound: b"\n".join(line for line in sound.splitlines() if b"checksum" not in line),
    "cut off": lambda sound: sound[:-3],
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGES if ALL else ["cut off"])
def test_the_properties_are_written_again_from_their_backup(lake: Any, damage: str) -> None:
    fill(lake, 2)
    folder, expected = lake.folder / "table/.hoodie", rows(lake)
    file, backup = folder / "hoodie.properties", folder / "hoodie.properties.backup"
    sound = file.read_bytes()
    damaged = DAMAGES[damage](sound)
    assert "is intact" in refusal(mend(lake, PROPERTIES))
    for name in (".hoodie.properties.crc", ".hoodie.properties.backup.crc"):
        (folder / name).unlink(missing_ok=True)
    backup.write_bytes(sound)
    file.unlink()
    if damaged is not None:
        file.write_bytes(damaged)
    assert "a moment ago" in refusal(mend(lake, PROPERTIES))
    for path in folder.glob("hoodie.properties*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert "from its backup" in told_beside_a_heartbeat(lake, PROPERTIES)
    done(mend(lake, PROPERTIES))
    assert (rows(lake), b"hoodie.table.checksum" in file.read_bytes()) == (expected, True)
    copy = lake.folder / "table/.hudi-operator/removed/uid-of-once/hoodie.properties"
    assert (copy.read_bytes() if copy.exists() else None) == damaged
    fill(lake, 1, first=2)
    file.write_bytes(b"")
    backup.write_bytes(sound.replace(b"flights", b"another"))
    assert "write .hoodie/hoodie.properties by hand" in refusal(mend(lake, PROPERTIES, uid="no-backup"))
    assert file.read_bytes() == b""


KILLED = ("recorded", "prepared", "after-commit", "verified", "before-outcome")


@pytest.mark.slow
@IN_FULL
@pytest.mark.parametrize("step", [TABLE, PLAN])
def test_the_next_run_finishes_what_a_killed_one_has_begun(
    lake: Any, program: Callable[..., Any], step: RepairStep
) -> None:
    lake.table, lake.metadata_table, lake.lease = {"type": "MergeOnRead"}, True, LEASE
    for number, phase in enumerate(KILLED if ALL else ("prepared",)):
        fill(lake, 3, first=3 * number)
        expected, instant = rows(lake), None
        if step is PLAN:
            instant = str(succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant)
            plan_of(lake, instant).write_bytes(b"no plan")
            age(lake)
        uid = f"uid-{phase}"
        asked = repair_request(lake, step, instant, run=f"killed-{phase}", uid=uid)
        running = program(asked, HUDI_JOB_PAUSE_AT=phase)
        running.wait_until(running.has_stopped)
        running.kill()

        report = report_of(succeeded(mend(lake, step, instant, uid=uid)))

        assert report.phase is OperationPhase.DONE
        assert (pending(lake), rows(lake), rows(lake, metadata=True)) == ([], expected, expected), phase
