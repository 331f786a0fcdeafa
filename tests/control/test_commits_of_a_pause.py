"""Commits that came while the operator or the store was away: none of them is taken for checked unread."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.planning.world import NOW, OPERATOR, UID, active, at, observe, plan_for, status, table

from hudi_jobs.contract import OPERATOR_KEY, RUN_KEY, TABLE_KEY, Location
from hudi_operator.api.status.timeline import TimelineStatus
from hudi_operator.control.observation.observer import _questions
from hudi_operator.control.snapshots import reading
from hudi_operator.control.snapshots.reading import Questions, read_snapshot
from hudi_operator.planning.model import LaunchJob, Observation
from hudi_operator.storage import CountingFileSystem
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import TimelineReader

RUN = "flights-ingestion-1"
OURS = {RUN_KEY: RUN, TABLE_KEY: UID, OPERATOR_KEY: OPERATOR}
PROPERTIES = (
    "hoodie.table.name=t\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=9\n"
    "hoodie.timeline.layout.version=2\nhoodie.table.timeline.timezone=UTC\nhoodie.timeline.path=timeline\n"
)
SECONDS = 3


class Table:
    """A table whose driver commits every few seconds, and the operator that reads it."""

    def __init__(self, folder: Path, commits: int, *, foreign: int | None = None, files: int = 0) -> None:
        self.folder = folder
        (folder / ".hoodie/timeline").mkdir(parents=True)
        (folder / ".hoodie/hoodie.properties").write_text(PROPERTIES)
        self.commits = commits
        stats = [{"path": f"{one}.parquet", "fileId": str(one), "fileSizeInBytes": 1} for one in range(files)]
        for number in range(commits):
            extra = {} if number == foreign else OURS
            content = {"partitionToWriteStats": {"": stats}, "extraMetadata": extra, "operationType": "UPSERT"}
            name = f"{self.at(number)}_{self.at(number + 0.5)}.commit"
            (folder / ".hoodie/timeline" / name).write_text(json.dumps(content))
        self.filesystem = CountingFileSystem(LocalFileSystem())
        self.reader = TimelineReader(self.filesystem)
        self.verified: str | None = self.at(0.5)

    def at(self, number: float) -> str:
        moment = NOW - timedelta(minutes=50) + timedelta(seconds=number * SECONDS)
        return moment.strftime("%Y%m%d%H%M%S%f")[:17]

    def observe(self) -> Observation:
        known = TimelineStatus(verified_up_to=self.verified) if self.verified else None
        job = active(RUN, created_at=at(NOW - timedelta(minutes=51)))
        one = table(created=NOW - timedelta(minutes=60), status=status(timeline=known, active_jobs=(job,)))
        found = read_snapshot(self.reader, Location.parse(str(self.folder)), _questions(one.spec, one.status, now=NOW))
        return observe(one, snapshot=found)

    def commits_read(self) -> int:
        return sum(path.endswith(".commit") for path in self.filesystem.paths)


@pytest.mark.parametrize("foreign", [2, 15, 28])
def test_a_foreign_commit_among_those_of_a_pause_is_found(tmp_path: Path, foreign: int) -> None:
    one = Table(tmp_path, 40, foreign=foreign)
    plan = plan_for(one.observe())
    assert [instant.time for instant in plan.foreign] == [one.at(foreign)]
    assert plan.verified_up_to == one.at(0.5)


def test_verified_up_to_moves_only_over_commits_that_were_read(tmp_path: Path) -> None:
    one = Table(tmp_path, 260, foreign=230)
    steps = []
    for _ in range(3):
        observation = one.observe()
        plan = plan_for(observation)
        steps.append((observation.snapshot.read_up_to, len(plan.foreign)))
        assert not any(isinstance(action, LaunchJob) for action in plan.actions)
        one.verified = plan.verified_up_to
    assert steps == [(one.at(100.5), 0), (one.at(200.5), 0), (None, 1)]
    assert one.verified == one.at(200.5)


def test_a_read_ends_with_the_commit_that_names_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_FILES_PASSED", 20)
    one = Table(tmp_path, 40, files=6)
    assert one.observe().snapshot.read_up_to == one.at(4.5)


def test_a_table_that_is_verified_reads_no_more_than_its_newest_commits(tmp_path: Path) -> None:
    one = Table(tmp_path, 60)
    one.verified = one.at(59.5)
    one.observe()
    assert one.commits_read() == 10
    one.observe()
    assert one.commits_read() == 10


def test_commits_that_were_read_before_are_not_read_again(tmp_path: Path) -> None:
    one = Table(tmp_path, 60)
    one.observe()
    assert one.commits_read() == 59
    one.observe()
    assert one.commits_read() == 59


def test_the_first_read_of_a_table_looks_at_its_newest_commits_only(tmp_path: Path) -> None:
    one = Table(tmp_path, 60)
    one.verified = None
    one.observe()
    assert one.commits_read() == 10


@pytest.mark.parametrize(
    "spec",
    [
        {"managementPolicy": "Observe"},
        {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}},
    ],
)
def test_a_table_that_is_not_checked_asks_for_no_older_commits(spec: dict[str, Any]) -> None:
    one = table(status=status(timeline=TimelineStatus(verified_up_to="20260101000000000")), **spec)
    assert _questions(one.spec, one.status, now=NOW).checked_up_to is None


def test_files_are_summed_over_the_newest_commits_alone(tmp_path: Path) -> None:
    one = Table(tmp_path, 40, files=1)
    both = [
        read_snapshot(one.reader, Location.parse(str(tmp_path)), Questions(checked_up_to=up_to))
        for up_to in (None, one.at(0.5))
    ]
    assert both[0].files == both[1].files
    assert both[0].files is not None
    assert both[0].checkpoint == both[1].checkpoint
