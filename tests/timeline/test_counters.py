"""Counting by the rules of Hudi 1.2.0, on timelines that are too odd for a real writer to make quickly."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro
import pytest

from hudi_jobs.contract import Location
from hudi_operator.timeline import Action, Instant, State, TimelineReader


def avro(**fields: str | None) -> bytes:
    schema = {
        "type": "record",
        "name": "Record",
        "fields": [{"name": name, "type": ["null", "string"]} for name in fields],
    }
    target = BytesIO()
    fastavro.writer(target, fastavro.parse_schema(schema), [fields])
    return target.getvalue()


CLUSTER = avro(operationType="CLUSTER")
OVERWRITE = avro(operationType=None)


@pytest.mark.parametrize(
    ("names", "since", "since_request"),
    [
        ([], 0, 0),
        (["1_2.deltacommit", "3_4.deltacommit"], 2, 2),
        (["1_2.deltacommit", "3.deltacommit.requested"], 1, 2),
        (["1_2.deltacommit", "3_5.commit", "6_7.deltacommit"], 1, 1),
        # Requested before the compaction, completed after it was requested: Hudi counts by completion.
        (["1_4.deltacommit", "3_5.commit"], 1, 0),
        (["1_2.deltacommit", "3_5.commit"], 0, 0),
        # A bulk insert is a commit, which Hudi takes for a compaction.
        (["1_2.deltacommit", "3.commit.requested", "3.inflight", "3_4.commit"], 0, 0),
        # Replace commits are no compactions.
        (["1_2.deltacommit", "3_4.replacecommit", "5_6.deltacommit"], 2, 2),
        (["1_2.deltacommit", "3.compaction.requested", "4_5.deltacommit", "6.deltacommit.inflight"], 2, 2),
        (["1_2.deltacommit", "3_4.commit", "5.compaction.requested", "6_7.deltacommit"], 1, 1),
        # A pending log compaction is no delta commit, a completed one is.
        (["1_2.deltacommit", "3.logcompaction.inflight", "4_5.deltacommit"], 2, 2),
        (["1_2.deltacommit", "3.logcompaction.inflight", "3_4.deltacommit"], 2, 2),
    ],
)
def test_delta_commits_are_counted_from_the_last_compaction(
    names: list[str], since: int, since_request: int, make_table: Any
) -> None:
    counters = TimelineReader(make_table(names)).read(Location.parse("/t")).counters
    assert (counters.delta_commits_since_compaction, counters.delta_commits_since_compaction_request) == (
        since,
        since_request,
    )


def test_the_last_compaction_of_a_copy_on_write_table_is_none(make_table: Any) -> None:
    counters = (
        TimelineReader(make_table(["1_2.commit"], table_type="COPY_ON_WRITE")).read(Location.parse("/t")).counters
    )
    assert counters.last_compaction is None
    assert counters.completed_commits == 1


@pytest.mark.parametrize(
    ("files", "count", "last"),
    [
        ({"1_2.commit": b""}, 1, None),
        ({"1_2.commit": b"", "3_4.replacecommit": b"", "3.clustering.requested": CLUSTER, "5_6.commit": b""}, 1, "3"),
        ({"1_2.commit": b"", "3.clustering.requested": CLUSTER, "5_6.commit": b""}, 1, "3"),
        ({"1_2.commit": b"", "3.clustering.inflight": b"", "5_6.commit": b""}, 1, "3"),
        ({"1_2.commit": b"", "3_4.replacecommit": b"", "3.replacecommit.requested": OVERWRITE}, 2, None),
        ({"1_2.commit": b"", "3_4.replacecommit": b"", "3.replacecommit.requested": CLUSTER}, 0, "3"),
        # The requested file was archived first: the completed one says the same.
        ({"1_2.commit": b"", "3_4.replacecommit": CLUSTER, "5_6.commit": b""}, 1, "3"),
        ({"1_2.commit": b"", "3_4.replacecommit": avro(operationType="INSERT_OVERWRITE")}, 2, None),
        # A compaction's commit counts too.
        ({"1.clustering.requested": CLUSTER, "1_2.replacecommit": b"", "3.compaction.requested": b"", "3_4.commit": b""},  # noqa: E501
         1, "1"),
    ],
)  # fmt: skip
def test_commits_are_counted_from_the_latest_clustering_pending_or_completed(
    files: dict[str, bytes], count: int, last: str | None, make_table: Any
) -> None:
    counters = TimelineReader(make_table(files)).read(Location.parse("/t")).counters
    assert (counters.commits_since_clustering, counters.last_clustering) == (count, last)


@pytest.mark.parametrize(
    ("clean", "count"),
    [
        (None, 3),
        (b"", 3),
        (avro(lastCompletedCommitTimestamp="3"), 1),
        (avro(lastCompletedCommitTimestamp=""), 3),
        (avro(lastCompletedCommitTimestamp=None), 3),
        (avro(somethingElse="3"), 3),
    ],
)
def test_commits_are_counted_from_the_commit_that_the_last_clean_knew(
    clean: bytes | None, count: int, make_table: Any
) -> None:
    files = {"1_2.commit": b"", "3_4.commit": b"", "6_7.deltacommit": b""}
    filesystem = make_table(files | ({} if clean is None else {"5_6.clean": clean}))
    assert TimelineReader(filesystem).read(Location.parse("/t")).counters.commits_since_clean == count


def test_everything_pending_is_listed_by_kind(make_table: Any) -> None:
    files = {
        "1.compaction.requested": b"x",
        "2.logcompaction.inflight": b"",
        "3.clustering.requested": CLUSTER,
        "4.replacecommit.requested": OVERWRITE,
        "5.replacecommit.requested": CLUSTER,
        "6.deltacommit.requested": b"",
        "7.inflight": b"",
        "7.commit.requested": b"",
        "8.clean.requested": b"",
        "9.rollback.inflight": b"",
        "9.rollback.requested": b"",
    }
    counters = TimelineReader(make_table(files)).read(Location.parse("/t")).counters
    assert counters.pending_compactions == ("1",)
    assert counters.pending_log_compactions == ("2",)
    assert counters.pending_clusterings == ("3", "5")
    assert counters.inflight_writes == (
        Instant("4", Action.REPLACE_COMMIT, State.REQUESTED),
        Instant("6", Action.DELTA_COMMIT, State.REQUESTED),
        Instant("7", Action.COMMIT, State.INFLIGHT),
    )
    assert counters.earliest_pending == Instant("1", Action.COMPACTION, State.REQUESTED)
    assert counters.latest_completed is None
