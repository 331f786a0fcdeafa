"""What a read says of real tables beside their timelines."""

from __future__ import annotations

import json
import os
import tarfile
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

import fastavro
import pytest

from hudi_jobs.contract import RUN_KEY, Location
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.control.snapshots.reading import (
    NO_QUESTIONS,
    Questions,
    read_owner,
    read_progress,
    read_snapshot,
    read_told,
)
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.storage import CountingFileSystem
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import Instant, TimelineReader, TimelineZone

TABLES = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables"


async def seen(name: str, folder: Path, questions: Questions = NO_QUESTIONS) -> TimelineSnapshot:
    with tarfile.open(TABLES / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    snapshots = SnapshotReader()
    try:
        return await snapshots.read(Location.parse(str(folder)), None, questions=questions)
    finally:
        snapshots.close()


async def test_commits_that_no_run_of_ours_made_are_listed_newest_first(tmp_path: Path) -> None:
    found = await seen("1.2.0-cow-writes", tmp_path)
    assert found.timeline is not None
    assert found.runs == ()
    assert 0 < len(found.unmarked) <= 10
    assert found.unmarked[0].time == max(one.time for one in found.unmarked)
    assert set(found.unmarked) <= set(found.timeline.completed)


@pytest.mark.parametrize(("limit", "all_small"), [(2**40, True), (1, False)])
async def test_files_below_the_limit_of_the_table_count_as_small(
    tmp_path: Path, limit: int, *, all_small: bool
) -> None:
    found = await seen("1.2.0-cow-writes", tmp_path, Questions(small_file_limit=limit))
    assert found.files is not None
    assert found.files.base_files > 0
    assert found.files.small_base_files == (found.files.base_files if all_small else 0)


async def test_the_plan_of_a_pending_clustering_is_sized(tmp_path: Path) -> None:
    found = await seen("1.2.0-cow-clustering-inflight", tmp_path)
    assert found.timeline is not None
    assert [time for time, _ in found.plans] == list(found.timeline.counters.pending_clusterings or ())
    assert all(plan.groups > 0 for _, plan in found.plans)


async def test_a_plan_that_cannot_be_read_leaves_the_size_open(tmp_path: Path) -> None:
    found = await seen("1.2.0-cow-clustering-with-empty-plan", tmp_path)
    assert all(plan.cores == 1 for _, plan in found.plans)


async def test_the_age_of_a_pending_instant_in_local_time_is_asked_of_the_store(tmp_path: Path) -> None:
    found = await seen("1.2.0-cow-clustering-inflight", tmp_path)
    assert found.timeline is not None
    assert found.timeline.properties.timezone is TimelineZone.LOCAL
    assert [time for time, _ in found.written] == [one.time for one in found.timeline.pending]


async def test_the_metadata_table_is_read_once_after_each_change(tmp_path: Path) -> None:
    found = await seen("1.2.0-cow-writes", tmp_path)
    assert found.metadata is not None
    counting = CountingFileSystem(LocalFileSystem())
    reader, base = TimelineReader(counting), Location.parse(str(tmp_path))
    assert read_snapshot(reader, base, NO_QUESTIONS).metadata == found.metadata
    lists = counting.lists
    assert read_snapshot(reader, base, NO_QUESTIONS).metadata == found.metadata
    assert counting.lists == lists + 1
    assert read_snapshot(reader, base, Questions(live=True)).metadata == found.metadata


async def test_a_live_look_reads_the_metadata_table_again_and_a_missing_one_is_not_remembered(tmp_path: Path) -> None:
    found = await seen("1.2.0-cow-writes", tmp_path)
    metadata, away = tmp_path / ".hoodie/metadata", tmp_path / "away"
    reader, base = TimelineReader(LocalFileSystem()), Location.parse(str(tmp_path))
    metadata.rename(away)
    assert read_snapshot(reader, base, NO_QUESTIONS).metadata is None
    away.rename(metadata)
    assert read_snapshot(reader, base, NO_QUESTIONS).metadata == found.metadata
    metadata.rename(away)
    assert read_snapshot(reader, base, Questions(live=True)).metadata is None


RECORD = {
    "version": 1,
    "operator": "cluster/ns",
    "tableUid": "uid",
    "table": "team/flights",
    "run": "run",
    "since": "2026-01-01T00:00:00Z",
    "renewedAt": "2026-01-01T00:00:00Z",
}


async def with_record(folder: Path, content: bytes, name: str = "1.2.0-cow-writes") -> TimelineSnapshot:
    (folder / ".hudi-operator").mkdir()
    (folder / ".hudi-operator/owner.json").write_bytes(content)
    return await seen(name, folder)


async def test_the_record_of_the_owner_is_read_beside_a_table_and_where_none_is_yet(tmp_path: Path) -> None:
    beside, alone = tmp_path / "beside", tmp_path / "alone"
    beside.mkdir()
    found = await with_record(beside, json.dumps(RECORD).encode())
    assert found.timeline is not None
    assert found.owner is not None
    assert (found.owner.operator, found.owner.table_uid, found.owner_problem) == ("cluster/ns", "uid", "")

    alone.mkdir()
    (beside / ".hudi-operator").rename(alone / ".hudi-operator")
    snapshots = SnapshotReader()
    assert (await snapshots.read(Location.parse(str(alone)), None)).owner == found.owner
    assert (await snapshots.read(Location.parse(str(beside)), None)).owner is None
    snapshots.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 8000,
        b"{" + b" " * 100_000 + b"}",
        json.dumps(RECORD | {"version": 2}).encode(),
        json.dumps(RECORD | {"operator": "a\nb"}).encode(),
        json.dumps(RECORD | {"run": "x" * 1000}).encode(),
        json.dumps(RECORD | {"table": 7}).encode(),
    ],
)
async def test_a_record_that_cannot_be_read_is_reported_and_nothing_else_suffers(
    tmp_path: Path, content: bytes
) -> None:
    found = await with_record(tmp_path, content)
    assert found.timeline is not None
    assert (found.trouble, found.owner) == (None, None)
    assert "remove the file .hudi-operator/owner.json" in found.owner_problem


PROGRESS = {
    "version": 1,
    "run": "flights-ingestion-1",
    "sequence": 4,
    "state": "Waiting",
    "writtenAt": "2026-01-01T00:00:00Z",
    "batches": 2,
}


async def with_progress(folder: Path, content: bytes, *, asked: bool = True) -> TimelineSnapshot:
    (folder / ".hudi-operator").mkdir()
    (folder / ".hudi-operator/progress.json").write_bytes(content)
    snapshots = SnapshotReader()
    found = await snapshots.read(Location.parse(str(folder)), None, questions=Questions(progress=asked))
    snapshots.close()
    return found


async def test_progress_of_a_continuous_driver_is_read_on_request(tmp_path: Path) -> None:
    found = await with_progress(tmp_path, json.dumps(PROGRESS).encode())
    assert found.progress is not None
    assert (found.progress.run, found.progress.batches) == ("flights-ingestion-1", 2)
    snapshots = SnapshotReader()
    assert (await snapshots.read(Location.parse(str(tmp_path)), None)).progress is None
    snapshots.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 8000,
        b"{" + b" " * 100_000 + b"}",
        json.dumps(PROGRESS | {"version": 2}).encode(),
        json.dumps(PROGRESS | {"batches": -1}).encode(),
        json.dumps(PROGRESS | {"batches": 2**60}).encode(),
        json.dumps(PROGRESS | {"instant": "20260101; DROP"}).encode(),
        json.dumps(PROGRESS | {"run": "x" * 1000}).encode(),
        json.dumps(PROGRESS | {"state": "Weird"}).encode(),
        json.dumps(PROGRESS | {"completeUpTo": "now\n"}).encode(),
    ],
)
async def test_progress_that_cannot_be_understood_says_nothing_and_nothing_else_suffers(
    tmp_path: Path, content: bytes
) -> None:
    found = await with_progress(tmp_path, content)
    assert (found.trouble, found.progress, found.owner_problem) == (None, None, "")


LEASE = {"run": "flights-compaction-1", "state": "Held"}
PHASE = {"run": "flights-compaction-1", "phase": "Compacting", "done": 1, "total": 4}


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (json.dumps(LEASE | {"progress": PHASE}).encode(), ["Compacting: 1 of 4 tasks"]),
        (json.dumps(LEASE | {"progress": PHASE | {"phase": "Weird"}}).encode(), []),
        (json.dumps(LEASE | {"progress": PHASE}).encode() + b" " * 100_000, []),
        (json.dumps(LEASE).encode(), []),
        (b"[" * 8000, []),
        (None, []),
    ],
)
async def test_progress_of_a_run_is_read_from_its_lease_on_request(
    tmp_path: Path, content: bytes | None, lines: list[str]
) -> None:
    (tmp_path / ".hudi-operator/ingestion.json").mkdir(parents=True)  # a lease that the store does not give
    if content is not None:
        (tmp_path / ".hudi-operator/services.json").write_bytes(content)
    snapshots = SnapshotReader()
    asked = Questions(leases=("ingestion.json", "services.json"))
    found = await snapshots.read(Location.parse(str(tmp_path)), None, questions=asked)
    assert (found.trouble, (found.run_progress and [one.line for one in found.run_progress]) or []) == (None, lines)
    assert (await snapshots.read(Location.parse(str(tmp_path)), None)).run_progress is None
    snapshots.close()


TOLD = {"uid": "a-uid", "run": "flights-operation-1", "phase": "Verifying"}


@pytest.mark.parametrize(
    ("content", "phase"),
    [
        (json.dumps(TOLD).encode(), "Verifying"),
        (json.dumps(TOLD | {"version": 2}).encode(), None),
        (json.dumps(TOLD | {"uid": "a uid"}).encode(), None),
        (json.dumps(TOLD | {"phase": "Weird"}).encode(), None),
        (json.dumps(TOLD).encode() + b" " * 100_000, None),
        (b"[" * 8000, None),
        (None, None),
    ],
)
async def test_progress_of_an_operations_driver_is_read_on_request(
    tmp_path: Path, content: bytes | None, phase: str | None
) -> None:
    (tmp_path / ".hudi-operator").mkdir()
    if content is not None:
        (tmp_path / ".hudi-operator/operation.json").write_bytes(content)
    snapshots = SnapshotReader()
    found = await snapshots.read(Location.parse(str(tmp_path)), None, questions=Questions(operation=True))
    assert (found.trouble, found.told and found.told.phase) == (None, phase)
    assert (await snapshots.read(Location.parse(str(tmp_path)), None)).told is None
    snapshots.close()


def name_a_run(folder: Path, run: str) -> str:
    """Write a run into the pending plan of a clustering, as a driver's plan has it; return the plan's time."""
    (path,) = [one for one in folder.rglob("*.requested") if "clustering" in one.name or "replacecommit" in one.name]
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        schema, record = reader.writer_schema, next(reader)
    assert isinstance(record, dict)
    record["extraMetadata"] = {RUN_KEY: run}
    with path.open("wb") as file:
        fastavro.writer(file, schema, [record])
    return path.name.partition(".")[0]


@pytest.mark.parametrize("table", ["1.2.0-cow-clustering-inflight", "0.15.0-cow-clustering-inflight"])
async def test_a_pending_plan_that_names_a_run_is_reported_in_both_layouts(tmp_path: Path, table: str) -> None:
    assert (await seen(table, tmp_path)).planned == ()
    time = name_a_run(tmp_path, "flights-clustering-1")
    snapshots = SnapshotReader()
    found = await snapshots.read(Location.parse(str(tmp_path)), None)
    assert [(one.instant.time, one.run) for one in found.planned] == [(time, "flights-clustering-1")]
    snapshots.close()


async def test_the_heartbeat_of_a_pending_instant_is_reported_as_the_store_dates_it(tmp_path: Path) -> None:
    found = await seen("1.2.0-cow-clustering-inflight", tmp_path)
    assert found.timeline is not None
    assert found.heartbeats == ()
    (pending,) = found.timeline.pending
    beats = tmp_path / ".hoodie" / ".heartbeat"
    beats.mkdir(exist_ok=True)
    (beats / pending.time).touch()
    os.utime(beats / pending.time, (1_700_000_000, 1_700_000_000))
    snapshots = SnapshotReader()
    assert (await snapshots.read(Location.parse(str(tmp_path)), None)).heartbeats == (
        (pending.time, 1_700_000_000_000),
    )
    snapshots.close()


DAMAGE = {"torn": b'{"partitionToWriteStats" : {"a', "another format": b"PAR1 and so on", "an array": b"[1, 2]"}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("table", ["0.15.0-mor-compaction", "1.2.0-cow-writes"])
async def test_a_read_survives_a_damaged_commit_and_names_it_until_it_is_repaired(
    tmp_path: Path, table: str, damage: str
) -> None:
    whole = await seen(table, tmp_path)
    assert whole.timeline is not None
    newest = whole.unmarked[0]
    file = file_of(tmp_path / whole.timeline.properties.timeline_folder, newest)
    intact = file.read_bytes()
    snapshots = SnapshotReader()
    assert (await snapshots.read(Location.parse(str(tmp_path)), None)).damaged == ()

    file.write_bytes(DAMAGE[damage])
    # A read in the process that has read the file before, and one that reads it for the first time.
    cached, found = await snapshots.read(Location.parse(str(tmp_path)), None), await fresh(tmp_path)
    file.write_bytes(intact)
    repaired = await fresh(tmp_path)

    assert cached.trouble is found.trouble is None
    assert found.timeline is not None
    assert found.timeline.counters == whole.timeline.counters
    assert [one.instant for one in found.damaged] == [newest]
    assert found.damaged[0].problem.file == str(file.relative_to(tmp_path))
    assert newest not in found.unmarked
    assert found.unmarked[:5] == whole.unmarked[1:6]
    assert found.files is None, "how large the files are cannot be told where a commit is left out"
    assert repaired.damaged == ()
    snapshots.close()


@pytest.mark.parametrize("table", ["0.15.0-cow-clustering", "1.2.0-mor-compaction-inflight"])
async def test_no_single_damaged_file_of_a_timeline_blinds_a_read(tmp_path: Path, table: str) -> None:
    whole = await seen(table, tmp_path)
    assert whole.timeline is not None
    folder = tmp_path / whole.timeline.properties.timeline_folder
    files = [path for path in folder.iterdir() if path.is_file() and path.name[0].isdigit() and path.stat().st_size]
    assert len(files) > 5

    for file in files:
        intact = file.read_bytes()
        file.write_bytes(intact[: len(intact) // 2])
        found = await fresh(tmp_path)
        file.write_bytes(intact)
        assert found.trouble is None, file.name
        assert found.timeline is not None
        assert found.timeline.instants == whole.timeline.instants
        counters, before = found.timeline.counters, whole.timeline.counters
        assert counters.completed_commits == before.completed_commits
        # A counter is what it was, or unknown and the file is named.
        changed = [key for key in vars_of(before) if getattr(counters, key) != getattr(before, key)]
        named = [problem.file for problem in found.timeline.problems]
        assert not changed or any(file.name in one for one in named), (file.name, changed)


def vars_of(value: Any) -> list[str]:
    return [field.name for field in fields(value)]


def file_of(folder: Path, instant: Instant) -> Path:
    (found,) = folder.glob(f"{instant.time}*.{instant.action}")
    return found


async def fresh(folder: Path) -> TimelineSnapshot:
    snapshots = SnapshotReader()
    try:
        return await snapshots.read(Location.parse(str(folder)), None)
    finally:
        snapshots.close()


@pytest.mark.parametrize("hudi", ["0.14.0", "0.15.0", "1.0.2", "1.1.1", "1.2.0"])
async def test_a_read_tells_what_rollbacks_and_restores_have_undone(tmp_path: Path, hudi: str) -> None:
    (rollback,) = (await seen(f"{hudi}-cow-writes", tmp_path / "a")).undoings
    assert (rollback.instant.action, len(rollback.targets)) == ("rollback", 1)
    restored = await seen(f"{hudi}-mor-restore", tmp_path / "b")
    (restore,) = restored.undoings
    assert restored.timeline is not None
    assert (restore.instant.action, len(restore.targets)) == ("restore", 7)
    assert max(restore.targets) < restore.instant.time
    assert not {one.time for one in restored.timeline.completed} & set(restore.targets)


class OneRequest(LocalFileSystem):
    """A store whose files are written anew, and shorter, between two requests for one."""

    def open_file(self, path: str) -> BinaryIO:
        raise AssertionError(f"{path} is read in parts")


def test_files_that_are_written_again_and_again_are_read_by_one_request(tmp_path: Path) -> None:
    folder = tmp_path / ".hudi-operator"
    folder.mkdir()
    files = {"owner": RECORD, "progress": PROGRESS, "operation": TOLD}
    for name, document in files.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    store, table = OneRequest(), str(tmp_path)
    assert read_owner(store, Location.parse(table))[0] is not None
    assert read_progress(store, Location.parse(table)) is not None
    assert read_told(store, Location.parse(table)) is not None
