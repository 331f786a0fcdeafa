"""Requests to read files once more, from the annotation to the run that served them, and what is said of skips."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    JOB,
    NOW,
    OPERATOR,
    active,
    again,
    at,
    ended,
    finding,
    job,
    memory,
    minutes,
    observe,
    plan_for,
    run,
    snapshot,
    status,
    status_of,
    succeeded,
    table,
    table_class,
)

from hudi_jobs.contract import IngestionTableTask, JobOutcome, Outcome, Service
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.table_operations import DecisionsStatus
from hudi_operator.api.status.table_parts import RescanState, RescanStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.jobs.requests.request import build_request
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.outcome.status.transitions import Transition, transitions

RECENTLY = memory(last_run=run(started_at=at(NOW - minutes(1))))


def state_of(after: HudiTableStatus) -> RescanState | None:
    return after.rescan.state if after.rescan else None


def asked(value: str, known: HudiTableStatus | None = None, **changes: Any) -> Observation:
    before = known or status(ingestion=RECENTLY)
    remembered = before.copy_with(decisions=DecisionsStatus(rescans=(value,)))
    return observe(table(status=remembered, **changes))


def starts(observation: Observation) -> bool:
    return any(isinstance(action, LaunchJob) for action in plan_for(observation).actions)


def given_to_runs(observation: Observation) -> str | None:
    request = build_request(
        table=observation.table,
        table_class=table_class().spec,
        service=Service.INGESTION,
        run="r",
        operator=OPERATOR,
        spark_conf={},
    )
    (task,) = request.tasks
    assert isinstance(task, IngestionTableTask)
    return task.ingestion.rescan


def after_run(observation: Observation, outcome: JobOutcome, snapshot_: TimelineSnapshot) -> HudiTableStatus:
    """The status once the run has ended that the request started."""
    known = observation.table.status.copy_with(active_jobs=(active(),))
    one = again(observation, known)
    return status_of(observe(one.table, jobs=(ended(outcome=outcome),), snapshot=snapshot_))


def test_a_request_starts_one_run_and_is_given_to_every_run_until_one_has_served_it() -> None:
    first = asked("read")
    assert starts(first)
    assert given_to_runs(first) == "read"

    waiting = status_of(first)
    assert waiting.rescan == RescanStatus(value="read", state=RescanState.ASKED)
    running = again(first, waiting)
    names = [one.name for one in waiting.active_jobs]
    assert not starts(observe(running.table, jobs=tuple(job(name) for name in names)))

    committed = snapshot((JOB, "20260310115900000"))
    unserved = after_run(running, succeeded(), committed)
    assert state_of(unserved) is RescanState.ASKED
    assert not starts(again(first, unserved))
    assert given_to_runs(again(first, unserved)) == "read"

    served = after_run(running, succeeded(rescan="read"), committed)
    assert state_of(served) is RescanState.SERVED
    assert not starts(again(first, served))
    assert given_to_runs(again(first, served)) is None


def test_a_request_is_not_served_by_a_run_that_the_timeline_does_not_confirm() -> None:
    running = again(asked("read"), status_of(asked("read")))
    after = after_run(running, succeeded(rescan="read"), TimelineSnapshot())
    assert state_of(after) is RescanState.ASKED


def test_another_value_is_another_request_and_the_last_answer_outlasts_the_annotation() -> None:
    known = status(ingestion=RECENTLY).copy_with(rescan=RescanStatus(value="read", state=RescanState.SERVED))
    assert not starts(asked("read", known))
    assert starts(asked("read#2", known))
    assert status_of(observe(table(status=known))).rescan == known.rescan


@pytest.mark.parametrize("value", ["", "everything", "skipped", "read:", "x" * 256, "read\n", "read:\u202e"])
def test_a_request_that_is_not_understood_starts_nothing_and_says_what_one_looks_like(value: str) -> None:
    one = asked(value)
    assert not starts(one)
    assert given_to_runs(one) is None
    after = status_of(one)
    assert state_of(after) is RescanState.IGNORED
    assert after.rescan is not None
    assert "it must be read" in (after.rescan.message or "")
    assert HudiTableStatus.model_validate(after.to_document()) == after


def test_a_table_without_ingestion_has_nothing_to_read_again() -> None:
    after = status_of(asked("read", ingestion=None))
    assert state_of(after) is RescanState.IGNORED


def test_skipped_files_are_reported_until_there_are_none() -> None:
    names = ("a.csv", "n" * 4000)
    running = observe(table(status=status(active_jobs=(active(),))))
    committed = snapshot((JOB, "20260310115900000"))

    after = after_run(running, succeeded(files_skipped=7, skipped=names), committed)

    assert (after.services.ingestion.files_skipped, len(after.services.ingestion.skipped)) == (7, 2)
    found = finding(after, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED)
    assert found is not None
    assert found.code == "FilesSkipped"
    assert "7 files" in found.message
    assert "Rename these objects" in found.message
    known = again(running, after)
    silent = after_run(known, JobOutcome(results=()), committed)
    assert silent.services.ingestion.files_skipped == 7
    gone = after_run(known, succeeded(files_skipped=0), committed)
    assert finding(gone, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED) is None


KAFKA = {"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["orders"]}}
LOSSY = {"kafka": {**KAFKA["kafka"], "onDataLoss": "Skip"}}


def test_messages_are_not_read_again_by_request() -> None:
    one = asked("read", ingestion={"source": KAFKA})
    assert not starts(one)
    assert given_to_runs(one) is None
    rescan = status_of(one).rescan
    assert rescan is not None
    assert rescan.state is RescanState.IGNORED
    assert "only files and upstream tables are read again by request" in rescan.message


UPSTREAM = {"hudi": {"path": "s3a://landing/orders"}}


@pytest.mark.parametrize(("value", "is_served"), [("read", True), ("read#2", True), ("read:a*", False)])
def test_an_upstream_table_is_read_again_as_a_whole_or_not_at_all(value: str, is_served: bool) -> None:
    one = asked(value, ingestion={"source": UPSTREAM})
    assert starts(one) == is_served
    assert given_to_runs(one) == (value if is_served else None)
    rescan = status_of(one).rescan
    assert rescan is not None
    assert rescan.state is (RescanState.ASKED if is_served else RescanState.IGNORED)
    assert ("by 'read' without a pattern" in (rescan.message or "")) != is_served


def test_messages_that_were_lost_add_up_until_a_loss_is_to_stop_ingestion() -> None:
    names = tuple(f"orders/{number}: 100 to 106" for number in range(5))
    running = observe(table(status=status(active_jobs=(active(),)), ingestion={"source": LOSSY}))
    committed = snapshot((JOB, "20260310115900000"))

    first = after_run(running, succeeded(records_skipped=7, skipped=names, rows_read=3), committed)

    assert first.services.ingestion.records_skipped == 7
    assert first.services.ingestion.skipped == names[:3]
    assert first.history[0].records_skipped == 7
    assert first.history[0].skipped == names[:3]
    assert [one for one in transitions(running.table.status, first) if one.reason == "RecordsSkipped"] == [
        Transition(
            warning=True,
            reason="RecordsSkipped",
            message=f"Run {JOB} skipped messages that were gone before they could be read: 7 offsets that are "
            "known, the last ones orders/0: 100 to 106, orders/1: 100 to 106, orders/2: 100 to 106.",
        )
    ]
    found = finding(first, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED)
    assert found is not None
    assert found.code == "RecordsSkipped"
    assert "7 offsets that are known" in found.message
    assert "orders/0: 100 to 106" in found.message
    second = after_run(again(running, first), succeeded(records_skipped=2, skipped=("orders/9: 0 to 1",)), committed)
    assert (second.services.ingestion.records_skipped, second.services.ingestion.skipped) == (9, ("orders/9: 0 to 1",))
    quiet = after_run(again(running, second), succeeded(), committed)
    assert quiet.services.ingestion.records_skipped == 9
    assert HudiTableStatus.model_validate(quiet.to_document()) == quiet

    strict = status_of(observe(table(status=quiet, ingestion={"source": KAFKA})))
    assert strict.services.ingestion.records_skipped == 0
    assert finding(strict, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED) is None


def test_a_loss_of_which_nobody_knows_how_much_it_was_is_said_too() -> None:
    running = observe(table(status=status(active_jobs=(active(),)), ingestion={"source": LOSSY}))
    names = ("orders-0: from 7 on, of the topic that was deleted",)
    after = after_run(running, succeeded(records_skipped=0, skipped=names), snapshot((JOB, "20260310115900000")))
    found = finding(after, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED)
    assert found is not None
    assert names[0] in found.message
    assert "RecordsSkipped" in {one.reason for one in transitions(running.table.status, after)}


def test_files_that_were_passed_over_are_no_losses_of_the_topics_that_follow_them() -> None:
    before = status(ingestion=memory(files_skipped=7, skipped=("a.csv",)))
    after = status_of(observe(table(status=before, ingestion={"source": LOSSY})))
    assert (after.services.ingestion.files_skipped, after.services.ingestion.skipped) == (0, ())
    assert finding(after, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED) is None


def test_a_run_that_failed_has_lost_nothing_yet() -> None:
    running = observe(table(status=status(active_jobs=(active(),)), ingestion={"source": LOSSY}))
    after = after_run(running, succeeded(records_skipped=7, skipped=("a/0: 1 to 7",)), TimelineSnapshot())
    assert after.history[0].outcome is Outcome.FAILED
    assert after.services.ingestion.records_skipped == 0
    assert "RecordsSkipped" not in {one.reason for one in transitions(running.table.status, after)}
    assert finding(after, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED) is None


def test_a_run_that_found_nothing_to_read_again_has_served_the_request() -> None:
    running = again(asked("read"), status_of(asked("read")))
    nothing = succeeded(rescan="read").results[0].copy_with(outcome=Outcome.NOTHING_TO_DO, instant=None)
    after = after_run(running, JobOutcome(results=(nothing,)), TimelineSnapshot())
    assert state_of(after) is RescanState.SERVED
