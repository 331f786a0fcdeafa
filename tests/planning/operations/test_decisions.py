"""Decisions of people: recorded once by their table, beside all operations, and told to their resources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.deciding import UID, answers, deciding, decision
from tests.planning.operations.operations import entry, of, operation, world
from tests.planning.operations.told import told_as
from tests.planning.world import NOW, ago, at, observe, plan_for, status, status_of, table, table_class

from hudi_operator.api.resources import OPERATION_FINALIZER, HudiOperation
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.table_operations import DecisionsStatus
from hudi_operator.api.status.table_parts import RescanState, RescanStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    LaunchJob,
    Observation,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.outcome.status.operation_status import decide_operation, moved_operations
from hudi_operator.sources.registry import open_rescan

ACCEPT: dict[str, Any] = {"acceptCommits": {"upTo": ago(20)}}


def remembers(observation: Observation) -> DecisionsStatus:
    found = observation.table.status.decisions
    assert found is not None
    return found


def reads(**known: Any) -> Observation:
    """A table that reads files, with these fields in its status."""
    return observe(table(status=status(**known)))


def reply(observation: Observation) -> tuple[str, str]:
    answer = answers(observation)[UID]
    return answer.state, answer.reason


def test_a_decision_needs_no_class_that_allows_it_starts_nothing_and_holds_nothing() -> None:
    seen = replace(world(), table_class=table_class())
    decided = deciding(seen, decision(**ACCEPT))
    assert reply(decided) == ("Succeeded", "Succeeded")
    assert remembers(decided).accepted_up_to == ago(19.9)
    plan = plan_for(decided)
    assert not any(isinstance(action, LaunchJob) for action in plan.actions)
    assert (plan.operations, plan.facts.operations.maintenance) == ((), None)


def test_a_decision_never_waits_for_an_operation_or_its_maintenance() -> None:
    held = world(operation(), remembered=(entry(state="Failed", reason="NotVerified", finished_at=at(NOW)),))
    assert plan_for(held).facts.operations.maintenance is not None
    many = world(*(operation(f"no-{number}") for number in range(30)))
    for seen in (held, many):
        assert reply(deciding(seen, decision(**ACCEPT))) == ("Succeeded", "Succeeded")
    assert of(deciding(many, decision(**ACCEPT)), "no-0").state == of(many, "no-0").state


def test_a_decision_is_recorded_once_and_its_answer_goes_when_the_resource_says_the_same() -> None:
    first = deciding(reads(), decision(rescan={}))
    assert remembers(first).rescans == (f"read#{UID}",)
    again = deciding(reads(decisions=remembers(first)), decision(rescan={}))
    assert again.table.status.decisions == remembers(first)
    told = deciding(reads(decisions=remembers(first)), decision(rescan={}, told=told_as("Succeeded")))
    assert (remembers(told).rescans, remembers(told).answers) == ((f"read#{UID}",), ())


def test_requests_to_read_input_again_wait_in_order_and_none_is_lost() -> None:
    first, second = decision(rescan={"pathGlob": "a*#1"}, uid="u1", name="a"), decision(rescan={}, uid="u2", name="b")
    seen = deciding(reads(), second, first)
    assert remembers(seen).rescans == ("read:a*#1#u1", "read#u2")
    assert open_rescan(seen.table) == "read:a*#1#u1"
    asked = {"rescan": RescanStatus(value="read:a*#1#u1", state=RescanState.ASKED)}
    assert open_rescan(deciding(reads(decisions=remembers(seen), **asked)).table) == "read:a*#1#u1"
    served = {"rescan": RescanStatus(value="read:a*#1#u1", state=RescanState.SERVED)}
    after = deciding(reads(decisions=remembers(seen), **served))
    assert open_rescan(after.table) == "read#u2"
    plan = plan_for(after)
    assert plan.rescan is not None
    assert (plan.rescan.value, plan.rescan.state) == ("read#u2", RescanState.ASKED)


def test_the_longest_request_to_read_input_again_has_a_place_in_the_memory() -> None:
    uid = "0b2f7d0e-5a3c-4b9e-9d53-2f1f6a1c7f11"
    seen = deciding(reads(), decision(rescan={"pathGlob": "x" * 200}, uid=uid))
    assert len(open_rescan(seen.table) or "") == 242
    assert HudiTableStatus.model_validate(status_of(seen).to_document()).decisions == remembers(seen)


UPSTREAM = {"source": {"hudi": {"path": "s3a://landing/orders"}}}
KAFKA = {"source": {"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["orders"]}}}


@pytest.mark.parametrize(
    ("spec", "changes", "said"),
    [
        ({"rescan": {}}, {"ingestion": None}, "has no ingestion"),
        ({"rescan": {}}, {"ingestion": KAFKA}, "The source is Kafka"),
        (
            {"rescan": {"pathGlob": "a*"}},
            {"ingestion": {"source": {"hudi": {"path": "s3a://landing/o"}}}},
            "as a whole",
        ),
        ({"rescan": {"pathGlob": "a\u202e"}}, {}, "printable"),
        (ACCEPT, {"concurrency": {"mode": "Optimistic"}}, "The table is Optimistic"),
        ({**ACCEPT, "copied_from": "uid-before"}, {}, "copy of an earlier HudiOperation"),
        ({"takeOver": {"owner": "x"}, "copied_from": "uid-before"}, {}, "copy of an earlier HudiOperation"),
        ({"takeOver": {"owner": "x"}}, {}, "nothing to take over"),
    ],
)
def test_a_decision_that_cannot_be_done_fails_and_says_why(
    spec: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    seen = deciding(observe(table(**changes)), decision(**spec))
    assert reply(seen)[0] == "Failed"
    assert said in answers(seen)[UID].message
    assert remembers(seen).copy_with(answers=()) == DecisionsStatus()


HIDDEN = {"blockers": (Blocker(reason=BlockerReason.CLASS_NOT_ALLOWED, message="Not here."),)}
AWAY = {"snapshot": TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="The store is away.")}


@pytest.mark.parametrize(
    ("spec", "changes"),
    [(ACCEPT, HIDDEN), ({"rescan": {}}, HIDDEN), (ACCEPT, AWAY), ({"takeOver": {"owner": "x"}}, AWAY)],
)
def test_a_decision_waits_until_its_table_can_be_read(spec: dict[str, Any], changes: dict[str, Any]) -> None:
    seen = deciding(observe(**changes), decision(**spec))
    assert reply(seen)[0] == "Pending"
    assert remembers(seen).copy_with(answers=()) == DecisionsStatus()


def test_acceptance_never_goes_back() -> None:
    later = deciding(world(), decision(**ACCEPT))
    before = deciding(world(told={"decisions": remembers(later)}), decision(acceptCommits={"upTo": ago(30)}, uid="u2"))
    assert remembers(before).accepted_up_to == ago(19.9)


def test_a_deleted_decision_is_not_recorded() -> None:
    goes = decision(rescan={})
    goes = goes.copy_with(metadata=goes.metadata.copy_with(deletion_timestamp=at(NOW)))
    assert deciding(reads(), goes).table.status.decisions is None


def test_of_very_many_decisions_the_oldest_are_considered() -> None:
    many = [decision(rescan={}, uid=f"u{number:02}", name=f"d{number:02}") for number in range(45)]
    seen = deciding(reads(), *many)
    assert [one.resource for one in remembers(seen).answers] == [f"d{number:02}" for number in range(20)]
    assert len(remembers(seen).rescans) == 20
    told = [one.copy_with(status=told_as("Succeeded")) if number < 20 else one for number, one in enumerate(many)]
    after = deciding(reads(decisions=remembers(seen)), *told)
    assert {one.reason for one in remembers(after).answers} == {"TooManyOperations"}
    assert len(remembers(after).rescans) == 20


# What the resource is told


def decided_status(one: HudiOperation, observation: Observation | None) -> Any:
    step = decide_operation(one, observation.table if observation is not None else None, now=NOW)
    assert step.status is not None
    return step


def test_the_resource_says_what_was_decided_once() -> None:
    asked = decision(**ACCEPT)
    assert (decided_status(asked, None).status.state, decided_status(asked, None).status.reason) == (
        "Pending",
        "TableNotFound",
    )
    assert (decided_status(asked, world()).status.state, decided_status(asked, world()).status.reason) == (
        "Pending",
        "Pending",
    )
    step = decided_status(asked, deciding(world(), asked))
    ready = find_condition(step.status.conditions, ConditionType.READY)
    assert ready is not None
    assert (ready.status, ready.reason) == ("True", "Succeeded")
    assert f"by the completion of {ago(20)} are accepted" in (step.status.message or "")
    assert (step.notice.warning, step.notice.reason) == (False, "OperationSucceeded")
    over = asked.copy_with(status=step.status)
    assert decided_status(over, world()).status == step.status, "also when the table has forgotten the answer"
    assert decided_status(over, world()).notice is None


def test_a_decision_that_was_refused_is_stalled_with_its_reason() -> None:
    asked = decision(acceptCommits={"upTo": ago(25)})
    step = decided_status(asked, deciding(world(), asked))
    stalled = find_condition(step.status.conditions, ConditionType.STALLED)
    assert stalled is not None
    assert stalled.reason == "InstantNotFound"
    assert ago(25) in stalled.message
    assert (step.notice.warning, step.notice.reason) == (True, "OperationFailed")


def test_a_decision_is_deleted_after_its_time_and_let_go_at_once_when_a_person_deletes_it() -> None:
    asked = decision(**ACCEPT, ttlAfterFinished="1m")
    ended = told_as("Succeeded", finished_at="2026-03-10T11:00:00Z")
    assert decided_status(asked.copy_with(status=ended), world()).expires
    metadata = asked.metadata.copy_with(deletion_timestamp=at(NOW), finalizers=(OPERATION_FINALIZER,))
    goes = asked.copy_with(metadata=metadata)
    for seen in (world(), None):
        step = decide_operation(goes, seen.table if seen is not None else None, now=NOW)
        assert step.released is not None


def test_the_resource_is_looked_at_when_its_answer_comes_and_when_it_is_forgotten() -> None:
    before, after = world(), deciding(world(), decision(**ACCEPT))
    assert moved_operations(before.table.status, after.table.status) == ("decision",)
    assert moved_operations(after.table.status, before.table.status) == ("decision",)
    assert moved_operations(after.table.status, after.table.status) == ()
