"""Damage: the reader says what is wrong, gives what is certain, and never guesses a count."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro
import pytest

from hudi_jobs.contract import Location
from hudi_operator.storage import StorageErrorKind
from hudi_operator.timeline import (
    Action,
    Bounds,
    CorruptContent,
    Instant,
    NotAHudiTable,
    State,
    TableUnreadable,
    Timeline,
    TimelineReader,
    UnreadableCause,
)


def avro(**fields: str | None) -> bytes:
    columns = [{"name": name, "type": ["null", "string"]} for name in fields]
    target = BytesIO()
    schema = fastavro.parse_schema({"type": "record", "name": "Record", "fields": columns})
    fastavro.writer(target, schema, [fields])
    return target.getvalue()


CLUSTER = avro(operationType="CLUSTER")
DAMAGED = [
    b"garbage",
    b"Obj\x01",
    b"Obj\x01\x02\x00",
    CLUSTER[: len(CLUSTER) // 2],
    b"{",
    b'{"operationType": 7}',
    b"[]",
    b"\x00" * 100,
]


def read(filesystem: Any) -> Timeline:
    return TimelineReader(filesystem).read(Location.parse("/t"))


def problem_files(timeline: Timeline) -> list[str]:
    """Return the files with problems, but for those that these small tables have by their making."""
    return [
        problem.file.rpartition("/")[2]
        for problem in timeline.problems
        if "its requested file is gone" not in problem.reason
    ]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_requested_replace_leaves_what_depends_on_it_unknown(content: bytes, make_table: Any) -> None:
    timeline = read(make_table({"1_2.commit": b"", "3.replacecommit.requested": content, "5_6.commit": b""}))
    counters = timeline.counters
    assert (counters.pending_clusterings, counters.inflight_writes) == (None, None)
    assert (counters.commits_since_clustering, counters.last_clustering) == (None, None)
    assert counters.completed_commits == 2
    assert counters.commits_since_clean == 2
    assert problem_files(timeline) == ["3.replacecommit.requested"]


def test_damage_below_the_latest_clustering_changes_no_count(make_table: Any) -> None:
    files = {"1.replacecommit.requested": b"garbage", "1_2.replacecommit": b"", "3.clustering.requested": CLUSTER}
    counters = read(make_table(files)).counters
    assert (counters.commits_since_clustering, counters.last_clustering) == (0, "3")
    assert counters.pending_clusterings == ("3",)


def test_a_completed_replace_answers_for_its_damaged_request(make_table: Any) -> None:
    timeline = read(make_table({"3.replacecommit.requested": b"garbage", "3_4.replacecommit": CLUSTER}))
    assert timeline.counters.last_clustering == "3"
    assert problem_files(timeline) == ["3.replacecommit.requested"]


@pytest.mark.parametrize("content", [one for one in DAMAGED if not one.startswith(b'{"')])
def test_a_damaged_clean_leaves_only_its_own_count_unknown(content: bytes, make_table: Any) -> None:
    timeline = read(make_table({"1_2.commit": b"", "3_4.clean": content}))
    assert timeline.counters.commits_since_clean is None
    assert timeline.counters.last_clean == "3"
    assert timeline.counters.commits_since_clustering == 1
    assert problem_files(timeline) == ["3_4.clean"]


def test_a_clean_whose_boundary_is_no_text_is_damaged(make_table: Any) -> None:
    files = {"1_2.commit": b"", "3_4.clean": b'{"lastCompletedCommitTimestamp": 7}'}
    assert read(make_table(files)).counters.commits_since_clean is None


def test_count_left_open_by_a_damaged_file_has_bounds(make_table: Any) -> None:
    commits = {f"{time}_{time}.commit": b"" for time in (1, 2, 5, 6, 7)}
    clean = read(make_table({**commits, "4_4.clean": b"garbage"})).counters
    replace = read(make_table({**commits, "4.replacecommit.requested": b"x", "4_4.replacecommit": b"x"})).counters

    assert (clean.commits_since_clean, clean.commits_since_clean_bounds) == (None, Bounds(3, 5))
    assert (replace.commits_since_clustering, replace.commits_since_clustering_bounds) == (None, Bounds(3, 6))
    assert replace.commits_since_clean_bounds is None


def test_a_count_that_damage_cannot_change_is_known(make_table: Any) -> None:
    assert read(make_table({"3_4.clean": b"garbage", "5_6.commit": b""})).counters.commits_since_clean == 1


@pytest.mark.parametrize(
    "name",
    ["3.compaction.requested", "3.logcompaction.requested", "3.clustering.requested", "3.replacecommit.requested"],
)
@pytest.mark.parametrize(("content", "says"), [(b"", "is empty"), (b"garbage", "cannot be read")])
def test_a_pending_plan_that_cannot_be_run_is_reported(name: str, content: bytes, says: str, make_table: Any) -> None:
    timeline = read(make_table({name: content}))
    assert [says in problem.reason or "It is unknown" in problem.reason for problem in timeline.problems] == [True]
    assert timeline.counters.earliest_pending is not None


def test_a_zero_byte_clustering_plan_still_is_a_pending_clustering(make_table: Any) -> None:
    counters = read(make_table(["3.clustering.requested"])).counters
    assert counters.pending_clusterings == ("3",)
    assert counters.commits_since_clustering == 0


@pytest.mark.parametrize(
    ("name", "instant"),
    [
        ("3.compaction.inflight", Instant("3", Action.COMPACTION, State.INFLIGHT)),
        ("3_4.commit", Instant("3", Action.COMMIT, State.COMPLETED, "4")),
    ],
)
def test_an_instant_without_its_requested_file_counts_and_is_reported(
    name: str, instant: Instant, make_table: Any
) -> None:
    timeline = read(make_table([name]))
    assert timeline.instants == (instant,)
    assert [(one.file.rpartition("/")[2], "requested file is gone" in one.reason) for one in timeline.problems] == [
        (name, True)
    ]


def test_a_savepoint_needs_no_requested_file(make_table: Any) -> None:
    assert read(make_table(["3_4.savepoint"])).problems == ()


def test_a_lone_inflight_replace_may_be_a_clustering(make_table: Any) -> None:
    filesystem = make_table(["3.replacecommit.inflight"], timeline_layout_version="1", table_version="6")
    assert read(filesystem).counters.pending_clusterings is None


@pytest.mark.parametrize(
    "name", ["20260102.vacuum.requested", "20260102_3.commit.tmp", "notes.txt", ".hidden", "20260102"]
)
def test_a_file_that_is_no_part_of_the_timeline_is_reported_and_ignored(name: str, make_table: Any) -> None:
    timeline = read(make_table({"1_2.commit": b"", name: b"?"}))
    assert problem_files(timeline) == [name]
    assert len(timeline.instants) == 1


@pytest.mark.parametrize("name", [".1_2.commit.crc", "history_$folder$", "history", "archived", "metadata", ""])
def test_the_leftovers_of_storage_layers_are_no_problem(name: str, make_table: Any) -> None:
    assert problem_files(read(make_table({"1_2.commit": b"", name: b"?"}))) == []


@pytest.mark.parametrize("name", ["hoodie.properties.backup", "lock", ".1.commit.crc", ".hoodie.properties.crc"])
def test_files_of_hudi_beside_a_layout_1_timeline_are_no_problem(name: str, make_table: Any) -> None:
    filesystem = make_table(["1.commit", name], timeline_layout_version="1", table_version="6")
    assert problem_files(read(filesystem)) == []


def test_a_file_that_goes_while_it_is_read_leaves_its_count_unknown(make_table: Any) -> None:
    filesystem = make_table({"1_2.commit": b"", "3_4.clean": avro(lastCompletedCommitTimestamp="1")})
    listing = filesystem.list_directory("/t/.hoodie/timeline")
    del filesystem.files["/t/.hoodie/timeline/3_4.clean"]
    filesystem.list_directory = lambda *_, **__: listing
    timeline = read(filesystem)
    assert timeline.counters.commits_since_clean is None
    assert any("gone since the folder was listed" in one.reason for one in timeline.problems)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (StorageErrorKind.UNREACHABLE, UnreadableCause.UNREACHABLE),
        (StorageErrorKind.ACCESS_DENIED, UnreadableCause.ACCESS_DENIED),
        (StorageErrorKind.NO_BUCKET, UnreadableCause.NOT_FOUND),
    ],
)
@pytest.mark.parametrize(
    "broken", ["/t/.hoodie/hoodie.properties", "/t/.hoodie/timeline", "/t/.hoodie/timeline/3_4.clean"]
)
def test_a_store_that_fails_is_not_an_absent_table(
    kind: StorageErrorKind, cause: UnreadableCause, broken: str, make_table: Any
) -> None:
    filesystem = make_table({"3_4.clean": b"x"})
    filesystem.broken = {broken: kind}
    with pytest.raises(TableUnreadable) as caught:
        read(filesystem)
    assert caught.value.cause is cause


def test_a_path_without_a_table_is_said_to_be_none(make_table: Any) -> None:
    with pytest.raises(NotAHudiTable, match=r"/elsewhere.*does not exist\."):
        TimelineReader(make_table([])).read(Location.parse("/elsewhere"))


@pytest.mark.parametrize("content", [b"garbage", b"{", b'{"partitionToWriteStats": 3}', b'{"extraMetadata": []}'])
def test_a_damaged_commit_is_never_skipped_when_its_metadata_matters(content: bytes, make_table: Any) -> None:
    filesystem = make_table({"1_2.commit": b'{"extraMetadata": {"k": "old"}}', "3_4.commit": content})
    reader = TimelineReader(filesystem)
    with pytest.raises(CorruptContent, match="3"):
        list(reader.commits(Location.parse("/t"), reader.read(Location.parse("/t"))))
