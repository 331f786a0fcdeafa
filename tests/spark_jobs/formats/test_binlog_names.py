"""Names of MySQL's binary logs: by these events are ordered, so a change of them is refused."""

from typing import Any

import pytest

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.event_state import Kept
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.origins import (
    File,
    Log,
    continued,
    followed_logs,
)
from hudi_jobs.ingestion.sources.kafka.offset_state import KafkaProgress
from hudi_jobs.spark.failures import TaskFailed

KNOWN = {"shop": "mysql-bin.######"}


def test_a_name_of_the_same_shape_is_followed_for_each_server() -> None:
    assert followed_logs({}, {"shop": ("mysql-bin.######",)}) == KNOWN
    assert followed_logs(KNOWN, {"other": ("binlog.######",)}) == {**KNOWN, "other": "binlog.######"}
    assert followed_logs(KNOWN, {}) == KNOWN


@pytest.mark.parametrize(
    ("known", "found"),
    [
        (KNOWN, ("binlog.######",)),
        (KNOWN, ("mysql-bin.#######",)),
        ({}, ("binlog.######", "mysql-bin.######")),
        (KNOWN, ("mysql-bin.######", "mysql-bin.#######")),
    ],
)
def test_another_shape_is_refused_with_both(known: dict[str, str], found: tuple[str, ...]) -> None:
    with pytest.raises(TaskFailed, match=r"'shop' were named '.*', and are now named '.*'") as caught:
        followed_logs(known, {"shop": found})
    assert caught.value.reason is FailureReason.TABLE_MISMATCH


def log(newest: File, snapshot: File | None = None) -> dict[str, Log]:
    return {"shop": Log(("b.#",), newest, snapshot)}


def test_the_greatest_name_is_followed_and_events_that_come_again_or_late_are_no_restart() -> None:
    assert continued({}, log(("b.3", 50))) == {"shop": ("b.3", 50)}
    assert continued({"shop": ("b.3", 50)}, log(("b.2", 90))) == {"shop": ("b.3", 50)}
    assert continued({"shop": ("b.3", 50)}, log(("b.4", 90), ("b.4", 90))) == {"shop": ("b.4", 90)}
    # Of a partition that lags behind: Debezium made the snapshot before it dealt with the newest event.
    assert continued({"shop": ("b.3", 50)}, log(("b.1", 10), ("b.1", 10))) == {"shop": ("b.3", 50)}
    assert continued({}, log(("b.3", 50), ("b.1", 10))) == {"shop": ("b.3", 50)}


@pytest.mark.parametrize(
    ("known", "found"),
    [({"shop": ("b.3", 50)}, log(("b.1", 60), ("b.1", 55))), ({}, log(("b.3", 50), ("b.1", 55)))],
)
def test_a_snapshot_of_a_log_that_begins_again_is_refused(known: dict[str, File], found: dict[str, Log]) -> None:
    with pytest.raises(
        TaskFailed, match=r"A snapshot of 'shop' is at the file 'b.1' .* older event is in 'b.3'"
    ) as caught:
        continued(known, found)
    assert caught.value.reason is FailureReason.TABLE_MISMATCH


def test_servers_without_end_are_refused() -> None:
    with pytest.raises(TaskFailed, match="more than 100 servers"):
        followed_logs({str(number): "a.#" for number in range(100)}, {"one more": ("a.#",)})


def test_the_checkpoint_keeps_the_names() -> None:
    progress = KafkaProgress().advanced(source="s", topics={}, events={"logs": KNOWN})
    assert Kept.of(KafkaProgress.of(progress.checkpoint({})).events).logs == KNOWN
    assert "events" not in KafkaProgress().checkpoint({}).state


@pytest.mark.parametrize("events", [{"logs": []}, {"deleted": {"a": 5}}, {"deleted": {"a": [None]}}])
def test_state_of_another_release_is_refused(events: dict[str, Any]) -> None:
    with pytest.raises(TaskFailed, match="This release cannot read the checkpoint"):
        Kept.of(events)
