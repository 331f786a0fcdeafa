"""What has been read, what comes next, and which tables can be followed: pure values."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import Checkpoint, FailureReason
from hudi_jobs.ingestion.checkpoint import decode_checkpoint, encode_checkpoint
from hudi_jobs.ingestion.sources.hudi.commits import Look, UpstreamCommit, kept_in_mind, obstacles, removal_by, unread
from hudi_jobs.ingestion.sources.hudi.hudi_state import MOST_COMMITS, UpstreamProgress
from hudi_jobs.spark.failures import TaskFailed

PLAIN = {
    "hoodie.table.name": "orders",
    "hoodie.table.version": "9",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.partition.fields": "day",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
}


def commit(instant: int, completed: int, *, archived: bool = False) -> UpstreamCommit:
    return UpstreamCommit(f"{completed:017}", f"{instant:017}", "commit", archived)


def look(*commits: UpstreamCommit, pending: int | None = None) -> Look:
    return Look(tuple(sorted(commits)), None if pending is None else f"{pending:017}", frozenset(), "")


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(0, 2)), unique_by=lambda one: one[0], min_size=1), st.data())
def test_every_commit_is_read_once_in_whatever_order_they_are_requested_and_archived(
    requested: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Commits complete one after another, some in one moment; each run takes a few, and archival any but the last."""
    time, everything = 100, []
    for instant, wait in requested:
        time += wait
        everything.append(commit(instant, time))
    progress, seen, archived = UpstreamProgress(), [], set[UpstreamCommit]()
    for end in [*range(1, len(everything) + 1), *[len(everything)] * len(everything)]:
        there = everything[:end]
        archived |= data.draw(st.sets(st.sampled_from(there))) - {max(there)}
        now = look(*(one for one in there if one not in archived))
        history = [replace(one, archived=True) for one in archived if one.completed >= progress.through]
        chosen = unread(now, history, progress.read)[: data.draw(st.integers(1, 3))]
        if chosen:
            seen += [one.instant for one in chosen]
            through = max(chosen[-1].completed, progress.through)
            read = kept_in_mind(now, history, (*progress.read, *(one.instant for one in chosen)), through)
            progress = UpstreamProgress(through=through, read=read)
    assert sorted(seen) == sorted(one.instant for one in everything)


@pytest.mark.parametrize(
    ("retained", "pending", "kept"),
    [
        ("3", None, True),
        ("4", None, True),
        ("5", None, False),
        ("3", 2, False),
        ("2", 2, True),
        ("4", 9, True),
        ("", None, False),
    ],
)
def test_a_clean_takes_no_file_of_a_look_that_it_keeps_from_early_enough(
    retained: str,
    pending: int | None,
    kept: bool,
) -> None:
    found = look(commit(1, 1), commit(4, 4), pending=pending)
    assert found.keeps(retained and f"{int(retained):017}") == kept


def test_of_no_commit_a_clean_may_take_everything() -> None:
    assert not look().keeps(f"{1:017}")


PROGRESS = UpstreamProgress(
    3, "s3a://lake/orders", "orders", "20260101000000001", ("20260101000000000",), "a" * 32, "read"
)


@pytest.mark.parametrize("progress", [PROGRESS, UpstreamProgress()])
def test_progress_is_what_its_checkpoint_says(progress: UpstreamProgress) -> None:
    checkpoint = decode_checkpoint(encode_checkpoint(progress.checkpoint()))
    assert UpstreamProgress.of(checkpoint) == progress


@pytest.mark.parametrize("state", [{}, {**PROGRESS.checkpoint().state, "read": 7}, {"read": []}])
def test_a_state_that_this_release_has_not_written_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(TaskFailed) as failed:
        UpstreamProgress.of(Checkpoint("hudi", 1, None, None, state))
    assert failed.value.reason is FailureReason.TABLE_MISMATCH


def test_more_commits_than_a_checkpoint_names_are_refused() -> None:
    most = tuple(f"{number:017}" for number in range(MOST_COMMITS))
    assert UpstreamProgress(read=most).checkpoint().state["read"] == list(most)
    with pytest.raises(TaskFailed, match="archival"):
        UpstreamProgress(read=(*most, "9")).checkpoint()


@pytest.mark.parametrize("operation", ["UPSERT", "INSERT", "BULK_INSERT", "DELETE", "UPSERT_PREPPED"])
def test_operations_by_key_remove_what_they_count(operation: str) -> None:
    assert removal_by("1", operation, 0) is None
    removal = removal_by("1", operation, 2)
    assert removal is not None
    assert (removal.rows, str(removal)) == (2, f"1 ({operation}: 2 rows)")


@pytest.mark.parametrize("operation", ["CLUSTER", "COMPACT", "LOG_COMPACT"])
def test_a_rewrite_removes_nothing(operation: str) -> None:
    assert removal_by("1", operation, 7) is None


@pytest.mark.parametrize(
    "operation", ["INSERT_OVERWRITE", "DELETE_PARTITION", "BUCKET_RESCALE", "UNKNOWN", "", "NEWER"]
)
def test_any_other_operation_may_have_removed_rows(operation: str) -> None:
    removal = removal_by("1", operation, 0)
    assert removal is not None
    assert removal.rows is None


def test_a_plain_table_can_be_followed() -> None:
    assert list(obstacles(PLAIN)) == []
    assert list(obstacles({**PLAIN, "hoodie.table.version": "8"})) == []
    assert list(obstacles({key: value for key, value in PLAIN.items() if "fields" not in key})) == []


KEPT: dict[str, tuple[dict[str, str], str]] = {
    "an old version": ({"hoodie.table.version": "6"}, "hoodie.table.version 6"),
    "a newer version": ({"hoodie.table.version": "10"}, "hoodie.table.version 10"),
    "no version": ({"hoodie.table.version": ""}, "hoodie.table.version (empty)"),
    "no meta fields": ({"hoodie.populate.meta.fields": "FALSE"}, "hoodie.populate.meta.fields"),
    "a merge of its own": ({"hoodie.record.merge.mode": "custom"}, "merge.mode CUSTOM"),
    "a class of its own": ({"hoodie.compaction.payload.class": "com.evil.Payload"}, "com.evil.Payload"),
    "a payload that deletes": (
        {"hoodie.table.legacy.payload.class": "org.apache.hudi.common.model.AWSDmsAvroPayload"},
        "AWSDmsAvroPayload",
    ),
    "a property that deletes": (
        {"hoodie.record.merge.property.hoodie.payload.delete.field": "op"},
        "hoodie.record.merge.property.hoodie.payload.delete.field",
    ),
    "partitions of times": (
        {"hoodie.table.keygenerator.type": "TIMESTAMP", "hoodie.keygen.timebased.timestamp.type": "SCALAR"},
        "the key generator TIMESTAMP",
    ),
    "days with slashes": ({"hoodie.datasource.write.slash.separated.date.partitioning": "true"}, "slash.separated"),
    "files without partition columns": ({"hoodie.datasource.write.drop.partition.columns": "true"}, "drop.partition"),
    "a name that a terminal would act upon": ({"hoodie.table.format": "\x1b[2J"}, r"hoodie.table.format \x1b[2J"),
    "files elsewhere": ({"hoodie.bootstrap.base.path": "s3a://old/orders"}, "hoodie.bootstrap.base.path"),
}


@pytest.mark.parametrize(("properties", "named"), KEPT.values(), ids=KEPT)
def test_obstacles_that_keep_a_table_from_being_followed(properties: dict[str, str], named: str) -> None:
    assert any(named in one for one in obstacles({**PLAIN, **properties}))
