"""Files that no instant accounts for: they go once they are old, by a list, and nothing else does."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    commits,
    done,
    files,
    mend,
    overwrite,
    refusal,
    repair_request,
    rows,
    timeline,
)
from tests.spark_jobs.operations.repair.test_repair import LONG_AGO, STUCK, dry_run_message
from tests.spark_jobs.services.test_services import succeeded
from tests.spark_jobs.test_archive_reading import archive, commit
from tests.spark_jobs.trials import ALL, IN_FULL, LEASE

from hudi_jobs.contract import Outcome, RepairStep, Service
from hudi_jobs.table_services.client import write_client

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

ORPHANS, HOUR = RepairStep.REMOVE_ORPHAN_FILES, 3_600
GROUP = "0b5c0b4e-1f0a-4b58-9d0c-a1b2c3d4e5f6-0"
LONG_BEFORE = "20200101000000000"


def folder(lake: Any) -> Path:
    return Path(lake.folder, "table")


def place(source: Path, path: Path, *, at: float | None = LONG_AGO) -> str:
    """Copy a data file to another name, as a writer leaves one that dies; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, path)
    if at is not None:
        os.utime(path, (at, at))
    return str(path)


def after(instant: str) -> str:
    """An instant that never was, right after one that was."""
    return str(int(instant) + 1)


def lost(lake: Any, kind: str, version: int) -> list[str]:
    """What is lost in a table of some commits: a file group, an attempt, and a log file where its name tells that."""
    table, (first, second, *_) = folder(lake), commits(lake)
    source = next(table.glob(f"*_{first}.parquet"))
    found = [place(source, table / f"{GROUP}_0-1-2_{after(first)}.parquet")]
    if kind == "CopyOnWrite":
        group = source.name.partition("_")[0]
        found.append(place(source, table / f"{group}_9-9-9_{second}.parquet"))
    elif version > 6:
        log = next(path for path in table.glob(f".*_{second}.log.*") if path.suffix != ".crc")
        found.append(place(log, table / log.name.replace(second, after(second))))
    return sorted(found)


def strange(lake: Any) -> None:
    """Files that look lost and are none: too young, of another name, in no partition, of another table."""
    table, first = folder(lake), commits(lake)[0]
    source = next(table.glob(f"*_{first}.parquet"))
    name = f"{GROUP}_0-1-3_{after(first)}.parquet"
    place(source, table / name, at=None)
    place(source, table / f"{name}.draft")
    place(source, table / "elsewhere" / name)
    place(table / ".hoodie/hoodie.properties", table / "other/.hoodie/hoodie.properties")
    place(table / ".hoodie_partition_metadata", table / "other/.hoodie_partition_metadata")
    place(source, table / "other" / name)


@pytest.mark.parametrize(
    ("kind", "version", "metadata"),
    [
        ("MergeOnRead", 9, True),
        pytest.param("MergeOnRead", 6, True, marks=IN_FULL),
        pytest.param("CopyOnWrite", 6, False, marks=IN_FULL),
        pytest.param("CopyOnWrite", 9, True, marks=IN_FULL),
    ],
)
def test_files_that_no_instant_accounts_for_go_and_nothing_else(
    lake: Any, kind: str, version: int, metadata: bool
) -> None:
    lake.table, lake.metadata_table = {"type": kind}, metadata
    for value in range(3):
        overwrite(lake, value, version=version, metadata=metadata)
    expected = rows(lake)
    orphans = lost(lake, kind, version)
    strange(lake)
    if version > 6:
        pending = timeline(lake) / f"{STUCK}.deltacommit.requested"
        pending.touch()
        assert "is pending" in refusal(mend(lake, ORPHANS, older_than=HOUR))
        pending.unlink()
        beat = folder(lake) / ".hoodie/.heartbeat" / STUCK
        beat.parent.mkdir(exist_ok=True)
        beat.touch()
        assert "heartbeat" in refusal(mend(lake, ORPHANS, older_than=HOUR))
        beat.unlink()
    before = set(files(lake))
    number = "1 file" if len(orphans) == 1 else f"{len(orphans)} files"
    said = dry_run_message(lake, ORPHANS, older_than=HOUR)
    assert f"Would remove {number} with" in said
    assert "1 file that are too young" in said

    report = done(mend(lake, ORPHANS, older_than=HOUR))

    assert sorted(before - set(files(lake))) == orphans
    assert (report.count, list(report.files)) == (len(orphans), sorted(Path(path).name for path in orphans))
    assert rows(lake) == rows(lake, metadata=metadata) == expected
    listed = json.loads((folder(lake) / ".hudi-operator/orphans-uid-of-once.json").read_text())["files"]
    assert sum(each["bytes"] for each in listed) == report.bytes
    again = mend(lake, ORPHANS, older_than=HOUR, uid="another")
    assert again.outcome is Outcome.NOTHING_TO_DO, again


def test_file_that_a_reader_sees_stays_whatever_the_timeline_says(lake: Any) -> None:
    """Of an archive: what it holds, what it has never held, and what it holds no more."""
    lake.metadata_table = False
    for number in range(6):
        commit(lake, number, {})
    before = commits(lake)
    archive(lake)
    assert before[0] not in commits(lake)
    table = folder(lake)
    source = next(table.glob(f"*_{commits(lake)[-1]}.parquet"))
    seen = place(source, table / f"{GROUP}_0-1-2_{after(before[0])}.parquet")
    known = place(source, table / f"{GROUP}_0-1-2_{before[0]}.parquet")
    older = place(source, table / f"{GROUP}_0-1-2_{LONG_BEFORE}.parquet")
    orphan = place(source, table / f"{GROUP}_0-1-2_{after(commits(lake)[0])}.parquet")
    expected = rows(lake)
    assert "1 file that readers or the metadata table show" in dry_run_message(lake, ORPHANS, older_than=HOUR)
    done(mend(lake, ORPHANS, older_than=HOUR))
    assert [Path(path).exists() for path in (seen, known, older, orphan)] == [True, True, True, False]
    assert rows(lake) == expected
    place(source, table / f"{GROUP}_0-1-2_{after(commits(lake)[0])}.parquet")
    next((table / ".hoodie/timeline/history").glob("*.parquet")).unlink()
    assert "no file counts as an orphan" in refusal(mend(lake, ORPHANS, older_than=HOUR, uid="no-archive"))


def aged(lake: Any) -> set[str]:
    """Let every file be old, and return them."""
    for path in folder(lake).rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return {path for path in files(lake) if "/.hoodie/" not in path and ".hudi-operator" not in path}


def as_of(lake: Any, instants: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    read = lake.spark.read.format("hudi").option("hoodie.metadata.enable", "false")
    frames = {instant: read.option("as.of.instant", instant).load(lake.base_path) for instant in instants}
    return {instant: sorted(map(tuple, frame.select("id", "v").collect())) for instant, frame in frames.items()}


@pytest.mark.slow
@IN_FULL
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", ["MergeOnRead", "CopyOnWrite"])
def test_files_of_writes_rollbacks_services_and_another_version_are_no_orphans(
    lake: Any, kind: str, version: int
) -> None:
    """A log file of version 6 bears the instant of its base file, also where it only says what was rolled back."""
    lake.table, lake.metadata_table = {"type": kind}, False
    changes = {"hoodie.table.cdc.enabled": "true"} if version == 9 else {}
    for value in range(3):
        overwrite(lake, value, version=version, metadata=False, **changes)
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        assert client.rollback(commits(lake)[-1])
    overwrite(lake, 4, version=version, metadata=False)
    if kind == "MergeOnRead":
        succeeded(lake.serve(Service.COMPACTION))
    overwrite(lake, 5, version=version, metadata=False)
    if version == 6:
        upgrade = {"hoodie.write.auto.upgrade": "true"}
        overwrite(lake, 6, version=9, metadata=False, **upgrade)
    before, seen = aged(lake), as_of(lake, commits(lake))
    again = mend(lake, ORPHANS, older_than=HOUR)
    assert again.outcome is Outcome.NOTHING_TO_DO, again
    assert before <= set(files(lake))
    assert as_of(lake, commits(lake)) == seen


KILLED = ("recorded", "prepared", "deleting", "after-commit", "verified", "before-outcome")


@pytest.mark.slow
@IN_FULL
def test_the_next_run_removes_what_a_killed_one_has_listed(lake: Any, program: Callable[..., Any]) -> None:
    lake.table, lake.metadata_table, lake.lease = {"type": "CopyOnWrite"}, True, LEASE
    for phase in KILLED if ALL else ("deleting",):
        for value in range(3):
            overwrite(lake, value, version=9, metadata=True)
        expected, orphans = rows(lake), lost(lake, "CopyOnWrite", 9)
        asked = repair_request(lake, ORPHANS, older_than=HOUR, run=f"killed-{phase}", uid=f"uid-{phase}")
        running = program(asked, HUDI_JOB_PAUSE_AT=phase)
        running.wait_until(running.has_stopped)
        running.kill()
        source = Path(orphans[0]) if Path(orphans[0]).exists() else next(folder(lake).glob("*.parquet"))
        unlisted = place(source, folder(lake) / f"{GROUP}_5-5-5_{after(commits(lake)[0])}.parquet")

        report = done(mend(lake, ORPHANS, older_than=HOUR, uid=f"uid-{phase}"))

        assert report.count == 2, phase
        assert not any(Path(path).exists() for path in orphans), phase
        assert Path(unlisted).exists() is (phase != "recorded"), "what comes after the list is another repair's"
        assert rows(lake) == rows(lake, metadata=True) == expected, phase
        Path(unlisted).unlink(missing_ok=True)
