"""What a read costs, what it remembers, and what instants contain."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import Location
from hudi_operator.storage import open_filesystem
from hudi_operator.timeline import (
    Action,
    CommitMetadata,
    ContentCache,
    Instant,
    InstantContentMissing,
    NotAHudiTable,
    State,
    TimelineReader,
)
from hudi_operator.timeline.content.plans import (
    CleanPlan,
    CleanResult,
    CompactionPlan,
    ReplacePlan,
    RollbackResult,
    Savepoint,
)
from hudi_operator.timeline.facts import missing_in_metadata, read_metadata_table
from hudi_operator.timeline.last_read import READS_BETWEEN_FULL_LISTINGS
from hudi_operator.timeline.rules.file_sizes import summarise_files

CLEAN = b'{"lastCompletedCommitTimestamp": "1"}'


def commit(**extra: str) -> bytes:
    return json.dumps({"operationType": "UPSERT", "extraMetadata": extra}).encode()


def test_a_read_is_one_listing_and_reads_only_what_is_counted(make_table: Any) -> None:
    filesystem = make_table({"1_2.commit": commit(), "3_4.clean": CLEAN, "5_6.clean": CLEAN, "7_8.commit": commit()})
    TimelineReader(filesystem).read(Location.parse("/t"))
    assert filesystem.lists == 1
    assert filesystem.reads == ["/t/.hoodie/hoodie.properties", "/t/.hoodie/timeline/5_6.clean"]


def test_an_unmoved_table_costs_one_listing_and_no_reading(make_table: Any) -> None:
    filesystem = make_table({"1_2.commit": commit(), "5_6.clean": CLEAN})
    reader = TimelineReader(filesystem)
    first = reader.read(Location.parse("/t"))
    filesystem.reads.clear()
    assert reader.read(Location.parse("/t")) is first
    assert (filesystem.lists, filesystem.reads) == (2, [])


def test_the_properties_are_read_again_now_and_then(make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    reader = TimelineReader(filesystem)
    for _ in range(READS_BETWEEN_FULL_LISTINGS + 2):
        reader.read(Location.parse("/t"))
    assert filesystem.reads.count("/t/.hoodie/hoodie.properties") == 2


def test_a_new_instant_costs_only_what_it_adds(make_table: Any) -> None:
    filesystem = make_table({"1_2.commit": commit(), "5_6.clean": CLEAN})
    reader = TimelineReader(filesystem)
    reader.read(Location.parse("/t"))
    filesystem.reads.clear()
    filesystem.files["/t/.hoodie/timeline/7_8.clean"] = CLEAN
    assert reader.read(Location.parse("/t")).counters.last_clean == "7"
    assert (filesystem.lists, filesystem.reads) == (2, ["/t/.hoodie/timeline/7_8.clean"])


def test_the_properties_are_read_again_when_a_file_has_vanished(make_table: Any) -> None:
    filesystem = make_table(["1_2.commit", "3_4.commit"])
    reader = TimelineReader(filesystem)
    reader.read(Location.parse("/t"))
    del filesystem.files["/t/.hoodie/timeline/1_2.commit"]
    assert reader.read(Location.parse("/t")).counters.completed_commits == 1
    assert (filesystem.lists, filesystem.reads.count("/t/.hoodie/hoodie.properties")) == (2, 2)


def test_an_upgrade_to_the_other_layout_is_noticed_at_once(make_table: Any) -> None:
    filesystem = make_table(["1.commit"], timeline_layout_version="1", table_version="6")
    reader = TimelineReader(filesystem)
    assert reader.read(Location.parse("/t")).properties.layout == 1
    filesystem.files = make_table(["1_2.commit", "3_4.commit"]).files
    upgraded = reader.read(Location.parse("/t"))
    assert (upgraded.properties.layout, upgraded.counters.completed_commits) == (2, 2)


def test_a_problem_is_looked_at_again(make_table: Any) -> None:
    filesystem = make_table({"1.compaction.requested": b""})
    reader = TimelineReader(filesystem)
    assert len(reader.read(Location.parse("/t")).problems) == 1
    filesystem.files["/t/.hoodie/timeline/1.compaction.requested"] = b'{"operations": []}'
    assert reader.read(Location.parse("/t")).problems == ()


def test_a_file_that_was_empty_is_read_again(make_table: Any) -> None:
    filesystem = make_table({"1_2.commit": commit(), "3_4.commit": commit(), "5_6.clean": b""})
    reader = TimelineReader(filesystem)
    assert reader.read(Location.parse("/t")).counters.commits_since_clean == 2
    filesystem.files["/t/.hoodie/timeline/5_6.clean"] = CLEAN
    assert reader.read(Location.parse("/t")).counters.commits_since_clean == 1


def test_a_table_that_is_dropped_between_two_reads_is_none(tmp_path: Path, real_table: Callable[[str], Path]) -> None:
    for name in ("0.15.0-cow-writes", "1.2.0-cow-writes"):
        base = tmp_path / name
        shutil.copytree(real_table(name), base)
        reader, path = real(base)
        reader.read(path)
        shutil.rmtree(base)
        with pytest.raises(NotAHudiTable):
            reader.read(path)


def test_tables_share_one_bounded_cache(make_table: Any) -> None:
    cache = ContentCache(max_bytes=4096)
    for _ in range(100):
        TimelineReader(make_table({"1_2.commit": commit(), "5_6.clean": CLEAN}), cache).read(Location.parse("/t"))
    assert 0 < len(cache) <= 16


def long_timeline(length: int) -> dict[str, bytes]:
    return {f"{1_000_000 + number}_{1_000_001 + number}.deltacommit": b"" for number in range(length)}


def test_the_end_of_a_long_timeline_is_enough_once_it_is_known(make_table: Any) -> None:
    filesystem = make_table(long_timeline(2000))
    filesystem.offsets = True
    reader = TimelineReader(filesystem)
    reader.read(Location.parse("/t"))
    filesystem.files["/t/.hoodie/timeline/1002000_1002001.deltacommit"] = b""
    assert reader.read(Location.parse("/t")).counters.delta_commits_since_compaction == 2001
    # What was archived meanwhile is noticed by a whole listing, which is never far or can be asked for.
    for number in range(1000):
        del filesystem.files[f"/t/.hoodie/timeline/{1_000_000 + number}_{1_000_001 + number}.deltacommit"]
    assert reader.read(Location.parse("/t")).counters.delta_commits_since_compaction == 2001
    assert reader.read(Location.parse("/t"), full=True).counters.delta_commits_since_compaction == 1001


@pytest.mark.parametrize(
    "name", ["1002000.restore.requested", "1002000.rollback.requested", "1001999_1002005.savepoint"]
)
def test_instant_that_rewrites_history_causes_a_whole_listing(name: str, make_table: Any) -> None:
    filesystem = make_table(long_timeline(2000))
    filesystem.offsets = True
    reader = TimelineReader(filesystem)
    reader.read(Location.parse("/t"))
    del filesystem.files["/t/.hoodie/timeline/1000000_1000001.deltacommit"]
    filesystem.files[f"/t/.hoodie/timeline/{name}"] = b""
    assert reader.read(Location.parse("/t")).counters.delta_commits_since_compaction == 1999


def test_a_vanished_recent_file_makes_a_whole_listing(make_table: Any) -> None:
    filesystem = make_table(long_timeline(2000))
    filesystem.offsets = True
    reader = TimelineReader(filesystem)
    reader.read(Location.parse("/t"))
    del filesystem.files["/t/.hoodie/timeline/1000000_1000001.deltacommit"]
    del filesystem.files["/t/.hoodie/timeline/1001990_1001991.deltacommit"]
    assert reader.read(Location.parse("/t")).counters.delta_commits_since_compaction == 1998


def newest_with(reader: TimelineReader, key: str) -> tuple[Instant, str] | None:
    commits = reader.commits(Location.parse("/t"), reader.read(Location.parse("/t")))
    return next(((one, found.extra_metadata[key]) for one, found in commits if key in found.extra_metadata), None)


@pytest.mark.parametrize("layout", ["1", "2"])
def test_the_newest_commit_with_a_key_is_found(layout: str, make_table: Any) -> None:
    names = [("1", "2"), ("3", "4"), ("5", "6"), ("7", "8")]
    contents = [commit(k="first"), commit(k="second"), commit(), b""]
    files = {
        f"{time}.commit" if layout == "1" else f"{time}_{done}.commit": content
        for (time, done), content in zip(names, contents, strict=True)
    }
    version = "6" if layout == "1" else "9"
    reader = TimelineReader(make_table(files, timeline_layout_version=layout, table_version=version))
    found = newest_with(reader, "k")
    assert found is not None
    assert (found[0].time, found[1]) == ("3", "second")
    assert newest_with(reader, "other") is None


def test_the_newest_commit_is_the_one_that_completed_last(make_table: Any) -> None:
    reader = TimelineReader(make_table({"1_9.commit": commit(k="late"), "3_4.commit": commit(k="early")}))
    assert newest_with(reader, "k") == (
        Instant("1", Action.COMMIT, State.COMPLETED, "9"),
        "late",
    )


def real(path: Path) -> tuple[TimelineReader, Location]:
    filesystem, base = open_filesystem(str(path))
    return TimelineReader(filesystem), base


@pytest.mark.parametrize("release", ["0.14.0", "0.15.0", "1.0.2", "1.1.1", "1.2.0"])
def test_real_instants_of_every_release_have_their_contents(release: str, real_table: Callable[[str], Path]) -> None:
    reader, base = real(real_table(f"{release}-cow-writes"))
    timeline = reader.read(base)
    metadata = [found for _, found in reader.commits(base, timeline)]
    operations = {found.operation for found in metadata}
    assert {"BULK_INSERT", "INSERT", "UPSERT", "INSERT_OVERWRITE", "INSERT_OVERWRITE_TABLE", "DELETE"} <= operations
    assert all(stat.file_size > 0 and stat.file_id and stat.path for found in metadata for stat in found.write_stats)
    assert any(found.replaced_file_ids for found in metadata)
    assert all("schema" in found.extra_metadata for found in metadata if found.operation == "UPSERT")
    kinds = {one.action: reader.read_content(base, timeline.properties, one) for one in timeline.completed}
    savepoint, clean, rollback = kinds[Action.SAVEPOINT], kinds[Action.CLEAN], kinds[Action.ROLLBACK]
    assert isinstance(savepoint, Savepoint)
    assert (savepoint.user, savepoint.comment) == ("someone", "before the overwrite")
    assert isinstance(clean, CleanResult)
    assert clean.files_deleted > 0
    assert isinstance(rollback, RollbackResult)
    assert len(rollback.instants) == 1


@pytest.mark.parametrize("release", ["0.14.0", "0.15.0", "1.0.2", "1.1.1", "1.2.0"])
def test_real_plans_of_every_release_are_read(release: str, real_table: Callable[[str], Path]) -> None:
    reader, base = real(real_table(f"{release}-mor-compaction"))
    timeline = reader.read(base)
    plan = reader.read_content(base, timeline.properties, timeline.pending[0])
    assert isinstance(plan, CompactionPlan)
    assert all(one.file_id and one.log_files and one.base_instant for one in plan.operations)
    clean = next(one for one in timeline.completed if one.action is Action.CLEAN)
    planned = reader.read_content(base, timeline.properties, clean, State.REQUESTED)
    assert isinstance(planned, CleanPlan)
    assert planned.policy == "KEEP_LATEST_COMMITS"
    assert any(planned.files.values())

    reader, base = real(real_table(f"{release}-cow-clustering"))
    timeline = reader.read(base)
    done = next(one for one in timeline.instants if one.time == timeline.counters.last_clustering)
    replace = reader.read_content(base, timeline.properties, done, State.REQUESTED)
    assert isinstance(replace, ReplacePlan)
    assert replace.operation == "CLUSTER"
    assert all(one.file_id and one.base_file for group in replace.groups for one in group)


def test_content_that_is_gone_is_said_to_be_gone(make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    reader = TimelineReader(filesystem)
    timeline = reader.read(Location.parse("/t"))
    assert reader.read_content(Location.parse("/t"), timeline.properties, timeline.instants[0]) == CommitMetadata()
    with pytest.raises(InstantContentMissing):
        reader.read_content(Location.parse("/t"), timeline.properties, timeline.instants[0], State.REQUESTED)


def test_file_sizes_follow_from_write_statistics(real_table: Callable[[str], Path]) -> None:
    reader, base = real(real_table("1.2.0-cow-clustering"))
    summary = summarise_files(reader.commits(base, reader.read(base)))
    assert summary.log_files == 0
    assert summary.base_files == summary.file_groups
    assert summary.small_base_files == summary.base_files > 0
    assert summarise_files(reader.commits(base, reader.read(base)), small_file_limit=1).small_base_files == 0

    reader, base = real(real_table("1.2.0-mor-compaction"))
    summary = summarise_files(reader.commits(base, reader.read(base)))
    assert summary.log_files > 0
    assert summary.log_bytes > 0


def test_the_metadata_table_of_a_healthy_table_misses_nothing(real_table: Callable[[str], Path]) -> None:
    for release in ("0.14.0", "0.15.0", "1.0.2", "1.1.1", "1.2.0"):
        reader, base = real(real_table(f"{release}-mor-compaction"))
        timeline = reader.read(base)
        metadata = read_metadata_table(reader, base, timeline)
        assert metadata is not None
        assert missing_in_metadata(metadata, timeline) == ()
        assert metadata.counters.delta_commits_since_compaction is not None


@pytest.mark.parametrize(
    ("data", "metadata", "missing"),
    [
        (["5", "7"], ["5", "7"], ()),
        (["5", "7"], ["5"], ("7",)),
        (["5", "7", "9"], ["5", "9"], ("7",)),
        # Commits from before the metadata table was built, and ones whose delta commits were archived there.
        (["1", "3", "5"], ["00000000000000000", "00000000000000001", "5"], ()),
        (["1", "3", "5"], ["00000000000000010"], ()),
        (["1"], [], ()),
    ],
)
def test_commits_missing_in_the_metadata_table_are_named(
    data: list[str], metadata: list[str], missing: tuple[str, ...], make_table: Any
) -> None:
    filesystem = make_table([f"{time}_{time}1.commit" for time in data], table_metadata_partitions="files")
    inner = make_table([f"{time}_{time}1.deltacommit" for time in metadata]).files
    filesystem.files |= {path.replace("/t/", "/t/.hoodie/metadata/"): content for path, content in inner.items()}
    reader = TimelineReader(filesystem)
    timeline = reader.read(Location.parse("/t"))
    found = read_metadata_table(reader, Location.parse("/t"), timeline)
    assert found is not None
    assert missing_in_metadata(found, timeline) == missing


def test_a_table_without_a_metadata_table_has_none(real_table: Callable[[str], Path]) -> None:
    reader, base = real(real_table("1.2.0-cow-archived"))
    assert read_metadata_table(reader, base, reader.read(base)) is None
