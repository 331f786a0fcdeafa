"""The operator reads the statistics of a table when they may have changed, and believes none that do not fit."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_jobs.contract import Location
from hudi_jobs.contract.statistics import Figures, TableStatistics, encode_statistics
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.control.snapshots.reading import Questions
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.timeline.rules.changes import completed_changes

TABLES = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables"
FIGURES = Figures(
    base_files=1, base_bytes=2, small_files=1, log_files=0, log_bytes=0, partitions=1, largest_partition=2
)


class Table:
    """A real table whose statistics a driver has written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with tarfile.open(TABLES / "1.2.0-cow-writes.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        (folder / ".hudi-operator").mkdir()
        self.reader = SnapshotReader()

    async def read(self, questions: Questions = Questions()) -> TimelineSnapshot:  # noqa: B008 - a frozen value
        found = await self.reader.read(Location.parse(str(self._folder)), None, questions=questions)
        assert (found.trouble, found.owner_problem) == (None, "")
        return found

    async def statistics(self, questions: Questions = Questions()) -> TableStatistics | None:  # noqa: B008
        return (await self.read(questions)).statistics

    def put(self, content: bytes) -> None:
        (self._folder / ".hudi-operator/statistics.json").write_bytes(content)

    def commit(self) -> None:
        """Complete another commit, as any tool may."""
        timeline = self._folder / ".hoodie/timeline"
        newest = max(timeline.glob("*.commit"))
        (timeline / "29991231235959000_29991231235959999.commit").write_bytes(newest.read_bytes())


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    found = Table(tmp_path)
    yield found
    found.reader.close()


async def current(table: Table) -> TableStatistics:
    """What a driver writes that has just measured the table; read by another process than the table's."""
    other = SnapshotReader()
    table.reader, mine = other, table.reader
    timeline = (await table.read()).timeline
    table.reader = mine
    other.close()
    assert timeline is not None
    fields = {"table_version": timeline.properties.version, "small_file_limit": 1, "seconds": 1}
    return TableStatistics.model_validate(
        {**fields, "as_of": max(completed_changes(timeline)), "written_at": "2026-03-10T12:00:00Z", "figures": FIGURES}
    )


async def test_statistics_are_read_once_until_the_timeline_moves(table: Table) -> None:
    first = await current(table)
    table.put(encode_statistics(first))
    assert await table.statistics() == first
    second = first.copy_with(seconds=2.0)
    table.put(encode_statistics(second))
    assert await table.statistics() == first
    table.commit()
    assert await table.statistics() == second


async def test_missing_statistics_are_not_asked_for_again_at_rest(table: Table) -> None:
    assert await table.statistics() is None
    table.put(encode_statistics(await current(table)))
    assert await table.statistics() is None
    assert await table.statistics(Questions(runs=("flights-cleaning-1",))) is not None


async def test_statistics_that_a_running_driver_has_still_to_write_are_read_again(table: Table) -> None:
    running = Questions(is_running=True)
    assert await table.statistics(running) is None
    written = await current(table)
    table.put(encode_statistics(written))
    assert await table.statistics(running) == written
    table.put(b"")
    assert await table.statistics(running) == written  # they are about the newest commit


async def test_older_statistics_are_kept_for_a_person_to_judge(table: Table) -> None:
    written = await current(table)
    table.put(encode_statistics(written))
    table.commit()
    assert await table.statistics() == written


async def test_statistics_of_another_version_or_another_table_are_not_believed(table: Table) -> None:
    written = await current(table)
    table.put(encode_statistics(written.copy_with(table_version=written.table_version + 1)))
    assert await table.statistics() is None
    table.put(encode_statistics(written.copy_with(as_of="29991231235959999")))
    assert await table.statistics(Questions(runs=("another",))) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 8000,
        b"{" + b" " * 100_000 + b"}",
        json.dumps({"version": 2}).encode(),
        json.dumps({"version": 1, "asOf": "\u001b[31m", "figures": {"baseFiles": 1e400}}).encode(),
    ],
)
async def test_damaged_statistics_are_unknown_and_nothing_else_suffers(table: Table, content: bytes) -> None:
    table.put(content)
    found = await table.read()
    assert found.statistics is None
    assert found.timeline is not None
