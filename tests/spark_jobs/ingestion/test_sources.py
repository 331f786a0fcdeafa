"""A source is one module and one line in the registry: here is one that counts, and a table that is fed from it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import CHECKPOINT_KEY, Checkpoint, FailureReason, IngestionTask, JobRequest, Outcome
from hudi_jobs.ingestion.batch import InputBatch, Limit, Undone
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN, SourceRows
from hudi_jobs.ingestion.sources.registry import SOURCES
from hudi_jobs.table import HudiTable

pytestmark = pytest.mark.spark


class Numbers:
    """The numbers from 1 up to one that the spec names."""

    def __init__(self, context: TaskContext, task: IngestionTask) -> None:
        self._spark = context.spark
        self._last = int((task.source.model_extra or {})["upTo"])

    def fetch_next(self, checkpoint: Checkpoint | None, limit: Limit) -> InputBatch:
        """Return the numbers after the last one that was read."""
        done, sequence = (0, 0) if checkpoint is None else (int(checkpoint.state["read"]), checkpoint.sequence)
        last = min(self._last, done + (limit.items or self._last))
        if last == done:
            return InputBatch(None, checkpoint, remark=f"No number after {done}.")
        return InputBatch(
            rows=SourceRows(self._spark.createDataFrame([(str(n), "AA") for n in range(done + 1, last + 1)], SCHEMA)),
            checkpoint=Checkpoint("numbers", sequence + 1, "numbers", f"up to {last}", {"read": last}),
            has_backlog=last < self._last,
            contents=f"{last - done} numbers",
        )

    def not_again(self, undone: Undone) -> str:  # noqa: ARG002
        """Return nothing: numbers are always there."""
        return ""


SCHEMA = "id STRING, carrier STRING"


@pytest.fixture(autouse=True)
def numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "numbers", Numbers)


def ingest(lake: Any, up_to: int, **changes: Any) -> Any:
    """Ingest by a request that has been through JSON, as a driver in a pod gets it."""
    request = lake.request(source={"kind": "numbers", "upTo": up_to}, operation="Insert", **changes)
    return lake.drive(JobRequest.model_validate_json(request.model_dump_json(by_alias=True)))


class Unreadable(Numbers):
    """Rows that have no column, of which so many cannot be parsed as the spec names, and one that is passed over."""

    def fetch_next(self, checkpoint: Checkpoint | None, limit: Limit) -> InputBatch:  # noqa: ARG002
        """Return them all."""
        texts = [(None, "broken", False)] * self._last + [(None, None, True)]
        frame = self._spark.createDataFrame(texts, f"{NO_COLUMN} STRING, {CORRUPT_RECORD} STRING, gone BOOLEAN")
        return InputBatch(
            rows=SourceRows(frame, may_be_corrupt=True, passed_over="gone"),
            checkpoint=Checkpoint("numbers", 1, "numbers", "all", {"read": 1}),
            contents="1 part",
        )


@pytest.mark.parametrize("broken", [0, 1])
def test_a_first_batch_without_a_row_is_nothing_to_do_and_one_that_cannot_be_read_is_bad(
    lake: Any, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    monkeypatch.setitem(SOURCES, "numbers", Unreadable)
    result = ingest(lake, broken)
    if broken:
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.BAD_RECORDS)
    else:
        assert (result.outcome, result.message) == (Outcome.NOTHING_TO_DO, "There is no row in 1 part.")
    assert HudiTable.open(lake.spark, lake.base_path) is None


def checkpoint(lake: Any) -> dict[str, Any]:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    document: dict[str, Any] = json.loads(next(iter(table.commits())).notes[CHECKPOINT_KEY])
    return document


@contextmanager
def nothing_written(lake: Any) -> Iterator[None]:
    before = sorted(lake.folder.rglob("*"))
    yield
    assert {path for path in set(lake.folder.rglob("*")) - set(before) if ".hudi-operator" not in str(path)} == set()


def test_a_source_of_another_kind_is_read_to_its_end_and_each_row_once(lake: Any) -> None:
    first = ingest(lake, 3, maxFiles=2)
    assert (first.outcome, first.rows_read, first.more_input, first.checkpoint) == (
        Outcome.SUCCEEDED,
        2,
        True,
        "up to 2",
    )
    assert first.message == "Read 2 rows of 2 numbers, 0 quarantined."
    second = ingest(lake, 3, maxFiles=2)
    assert (second.outcome, second.rows_read, second.more_input) == (Outcome.SUCCEEDED, 1, False)
    third = ingest(lake, 3)
    assert (third.outcome, third.message, third.checkpoint) == (
        Outcome.NOTHING_TO_DO,
        "No number after 3.",
        "up to 3",
    )
    assert lake.rows("id") == [("1",), ("2",), ("3",)]
    assert checkpoint(lake) == {
        "version": 3,
        "kind": "numbers",
        "display": "up to 3",
        "sequence": 2,
        "source": "numbers",
        "state": {"read": 3},
    }


def test_bad_rows_of_any_source_are_refused_and_nothing_moves(lake: Any) -> None:
    refused = ingest(lake, 2, transformSql="SELECT nullif(id, '2') AS id, carrier FROM source")
    assert (refused.outcome, refused.reason) == (Outcome.FAILED, FailureReason.RECORD_KEY_NULL)
    assert ingest(lake, 2).rows_read == 2
    assert lake.rows("id") == [("1",), ("2",)]


def test_a_table_that_was_fed_from_files_refuses_another_kind_of_source_and_goes_on_with_files(lake: Any) -> None:
    lake.put("a.csv", "id,carrier\n7,AA\n")
    assert lake.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    with nothing_written(lake):
        refused = ingest(lake, 3)
    assert (refused.outcome, refused.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)
    assert "for a source of the kind 'files', but the spec declares a source of the kind 'numbers'" in refused.message
    lake.put("b.csv", "id,carrier\n8,AA\n")
    assert lake.ingest(operation="Insert").files_read == 1
    assert lake.rows("id") == [("7",), ("8",)]


def test_a_table_that_was_fed_from_another_kind_of_source_refuses_files(lake: Any) -> None:
    assert ingest(lake, 1).outcome is Outcome.SUCCEEDED
    lake.put("a.csv", "id,carrier\n7,AA\n")
    with nothing_written(lake):
        refused = lake.ingest(operation="Insert")
    assert (refused.outcome, refused.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)
    assert lake.rows("id") == [("1",)]


def test_a_kind_of_source_that_no_line_registers_is_refused_by_name(lake: Any) -> None:
    with nothing_written(lake):
        refused = lake.ingest(source={"kind": "pigeons", "loft": "flights"})
    assert (refused.outcome, refused.reason) == (Outcome.FAILED, FailureReason.INVALID_REQUEST)
    assert "'pigeons'" in refused.message


def test_a_source_whose_checkpoint_would_not_count_as_the_newest_commits_nothing(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(self: Numbers, checkpoint: Checkpoint | None, limit: Limit) -> InputBatch:
        batch = fetch(self, checkpoint, limit)
        return InputBatch(batch.rows, Checkpoint("numbers", 1, "numbers", None, {"read": 9}))

    fetch = Numbers.fetch_next
    assert ingest(lake, 1).outcome is Outcome.SUCCEEDED
    monkeypatch.setattr(Numbers, "fetch_next", again)
    with nothing_written(lake):
        assert (ingest(lake, 2).outcome, lake.rows("id")) == (Outcome.FAILED, [("1",)])
