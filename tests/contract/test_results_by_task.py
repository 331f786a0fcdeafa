"""A request of several tasks is answered by one result each, and whoever asks picks his own by the task's id."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hudi_jobs.contract import (
    WHOLE_REQUEST,
    JobOutcome,
    JobRequest,
    Outcome,
    Service,
    TaskResult,
    decode_outcome,
    encode_outcome,
    task_id,
)

FLIGHTS, HOTELS = (task_id(f"team-a/{name}", Service.INGESTION) for name in ("flights", "hotels"))


def result(task: str, kind: Outcome = Outcome.SUCCEEDED, message: str = "") -> TaskResult:
    return TaskResult(id=task, outcome=kind, message=message)


def request(*ids: str) -> dict[str, object]:
    table = {"name": "t", "basePath": "s3a://lake/t", "type": "CopyOnWrite", "recordKey": ["id"]}
    return {"run": "r", "tasks": [{"id": one, "service": "Cleaning", "table": table} for one in ids]}


@pytest.mark.parametrize("turned", [False, True])
def test_each_task_has_its_own_result_wherever_it_stands(turned: bool) -> None:
    results = (result(FLIGHTS), result(HOTELS, Outcome.FAILED))
    told = decode_outcome(encode_outcome(JobOutcome(results=results[::-1] if turned else results)))
    assert told.result_of(FLIGHTS) == results[0]
    assert told.result_of(HOTELS) == results[1]
    assert told.result_of(task_id("team-a/trains", Service.INGESTION)) is None


def test_the_result_of_another_service_of_the_table_is_not_taken() -> None:
    assert JobOutcome(results=(result(FLIGHTS),)).result_of(task_id("team-a/flights", Service.CLEANING)) is None


def test_result_of_an_unreadable_request_stands_for_every_task() -> None:
    refused = result(WHOLE_REQUEST, Outcome.FAILED)
    told = JobOutcome(results=(refused,))
    assert (told.result_of(FLIGHTS), told.result_of(HOTELS)) == (refused, refused)


def test_result_that_had_no_room_is_unknown_and_no_other_takes_its_place() -> None:
    crowd = tuple(result(f"team-a/t{number}/ingestion", Outcome.FAILED, "x" * 4000) for number in range(400))
    told = decode_outcome(encode_outcome(JobOutcome(results=(result(FLIGHTS), *crowd))))
    assert told.truncated
    assert told.result_of(FLIGHTS) is None
    first = told.result_of("team-a/t0/ingestion")
    assert first is not None
    assert first.id == "team-a/t0/ingestion"


def test_two_tasks_of_one_id_are_refused() -> None:
    assert [task.id for task in JobRequest.model_validate(request(FLIGHTS, HOTELS)).tasks] == [FLIGHTS, HOTELS]
    with pytest.raises(ValidationError, match="two tasks have the same id"):
        JobRequest.model_validate(request(FLIGHTS, FLIGHTS))
