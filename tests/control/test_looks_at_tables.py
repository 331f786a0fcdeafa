"""What a look says of real tables beside their timelines."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from hudi_operator.control.looks import NO_QUESTIONS, Questions, TimelineLooks
from hudi_operator.planning.model import TimelineLook
from hudi_operator.timeline import TimelineZone

TABLES = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables"


async def seen(name: str, folder: Path, questions: Questions = NO_QUESTIONS) -> TimelineLook:
    with tarfile.open(TABLES / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    looks = TimelineLooks()
    try:
        return await looks.look(str(folder), None, questions=questions)
    finally:
        looks.close()


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


@pytest.mark.parametrize(("keep", "expected"), [(None, False), (0, True), (10**6, False)])
async def test_the_metadata_table_is_read_where_there_are_commits_to_archive(
    tmp_path: Path, keep: int | None, *, expected: bool
) -> None:
    found = await seen("1.2.0-cow-writes", tmp_path, Questions(commits_to_keep=keep))
    assert (found.metadata is not None) is expected
