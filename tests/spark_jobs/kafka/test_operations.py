"""A restore of a table that is fed from Kafka: the messages are read again, or it is refused before anything."""

from typing import Any

import pytest
from tests.spark_jobs.operations.asked import commits, done, operate, refusal, rows
from tests.spark_jobs.services.test_services import succeeded

from hudi_jobs.contract import Outcome, TaskResult

pytestmark = [pytest.mark.spark, pytest.mark.streams]


def restore(stream: Any, instant: str, **changes: Any) -> TaskResult:
    return operate(stream.lake, instant, ingestion=stream.request().tasks[0].ingestion, **changes)


def test_offsets_that_have_expired_are_found_before_the_restore_and_others_are_read_again(stream: Any) -> None:
    stream.create()
    for start in (0, 10, 20):
        stream.send({"id": number, "v": "a"} for number in range(start, start + 10))
        succeeded(stream.ingest(operation="Insert"))
    before = rows(stream.lake)
    first, second, _ = commits(stream.lake)
    stream.broker.delete_records(stream.topic, 0, 15)

    said = refusal(restore(stream, first))
    assert f"{stream.topic}-0: 10..14" in said
    assert "5 known offsets" in said
    assert rows(stream.lake) == before

    done(restore(stream, second))
    assert len(rows(stream.lake)) == 20
    assert succeeded(stream.ingest(operation="Insert")).rows_read == 10
    assert rows(stream.lake) == before

    done(restore(stream, first, uid="uid-of-less", reingest=False))
    assert len(rows(stream.lake)) == 10
    assert stream.ingest(operation="Insert").outcome is Outcome.NOTHING_TO_DO
