"""Up to when a source of files is in the table, and how much of it waits."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hudi_jobs.contract import Outcome
from hudi_jobs.ingestion.batch import of_milliseconds, rfc3339
from hudi_jobs.ingestion.sources.files.selection import SourceFile, select_files


def test_backlog_is_reported_by_its_oldest_file_and_its_size() -> None:
    waiting = [SourceFile(3000, "c", 30), SourceFile(1000, "a", 10), SourceFile(2000, "b", 20)]
    some = select_files(waiting, max_files=1, max_bytes=None)
    assert (some.left, some.oldest_left) == (50, 2000)
    everything = select_files(waiting, max_files=None, max_bytes=None)
    assert (everything.left, everything.oldest_left) == (0, None)


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [(1_700_000_000_123, "2023-11-14T22:13:20.123Z"), (10**18, "9999-12-31T23:59:59.999Z"), (-(10**18), "0001-01-01T")],
)
def test_every_time_of_a_store_can_be_written(milliseconds: int, expected: str) -> None:
    assert rfc3339(of_milliseconds(milliseconds)).startswith(expected)


@pytest.mark.spark
def test_a_source_of_files_is_complete_up_to_the_oldest_unread_file_or_the_listing(lake: Any) -> None:
    for number in range(3):
        lake.put(f"{number}.csv", f"id,v\n{number},a\n", at=number)
    first = lake.ingest(maxFiles=1)
    assert (first.complete_up_to, first.backlog_bytes) == ("2023-11-14T22:13:21.000Z", 18)
    before = rfc3339(datetime.now(UTC))
    last = lake.ingest()
    assert last.backlog_bytes == 0
    assert before <= last.complete_up_to <= last.finished_at
    quiet = lake.ingest()
    assert quiet.outcome is Outcome.NOTHING_TO_DO
    assert quiet.complete_up_to > last.complete_up_to
