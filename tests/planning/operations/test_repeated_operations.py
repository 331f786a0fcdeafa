"""An operation that a GitOps tool applies again under its name is done once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.deciding import answers, deciding, decision
from tests.planning.operations.operations import at_work as work
from tests.planning.operations.operations import entry as entry_of
from tests.planning.operations.operations import launches, of, operation, over, world
from tests.planning.world import again, ago, observe, status, status_of, table

from hudi_operator.api.resources import OPERATIONS, HudiOperation
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.table_operations import ENDS_REMEMBERED, EndedOperation
from hudi_operator.api.status.table_parts import BadRowsStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.observation import Related

SUCCEEDED, FAILED = OperationState.SUCCEEDED, OperationState.FAILED


def finished(state: str = "Succeeded", **spec: Any) -> Observation:
    """A table at the reconcile after the end of operation `back`."""
    known = entry_of(state=state, reason=state, finished_at="2026-03-10T11:30:00Z")
    seen = world(operation(**spec), remembered=(known,))
    return again(seen, status_of(seen))


def applied_again(seen: Observation, one: HudiOperation) -> Observation:
    """The same table when the resource was deleted and `one` was created; the table has seen the deletion."""
    gone = replace(seen, related=Related())
    gone = again(gone, status_of(gone))
    return replace(gone, related=Related.of({OPERATIONS: [one]}))


def another(one: HudiOperation) -> HudiOperation:
    """The same resource as another object."""
    return one.copy_with(metadata=one.metadata.copy_with(uid="another-uid"))


@pytest.mark.parametrize("state", ["Succeeded", "Failed"])
def test_operation_with_the_name_and_spec_of_a_finished_operation_ends_as_already_done(state: str) -> None:
    seen = applied_again(finished(state), another(operation()))
    (told,) = status_of(seen).operations
    assert (told.state, told.reason, told.begun) == (state, "AlreadyDone", False)
    assert "another name" in told.message
    assert launches(seen) == []
    assert launches(again(seen, status_of(seen))) == []


@pytest.mark.parametrize("changed", [{"name": "back-again"}, {"restore": {"instant": ago(10)}}], ids=["name", "spec"])
def test_operation_with_another_name_or_another_spec_is_done(changed: dict[str, Any]) -> None:
    seen = applied_again(finished(), another(operation(**changed)))
    assert status_of(seen).operations[0].reason != "AlreadyDone"


@pytest.mark.parametrize("changed", [{"approved": True}, {"ttlAfterFinished": "1h"}])
def test_approval_and_time_to_live_are_no_part_of_the_work(changed: dict[str, Any]) -> None:
    seen = applied_again(finished(), another(operation(**changed)))
    assert status_of(seen).operations[0].reason == "AlreadyDone"


def test_repeated_operation_stays_already_done_each_time_that_it_is_applied() -> None:
    seen = finished()
    for number in range(3):
        one = operation()
        one = one.copy_with(metadata=one.metadata.copy_with(uid=f"uid-{number}"))
        seen = applied_again(seen, one)
        assert status_of(seen).operations[0].reason == "AlreadyDone"
        seen = again(seen, status_of(seen))
    assert len(seen.table.status.ended_operations) == 1


def test_repeated_operation_is_remembered_however_many_others_end() -> None:
    seen = applied_again(finished(), another(operation()))
    for number in range(ENDS_REMEMBERED + 1):
        told = status_of(seen)
        later = EndedOperation(resource=f"n{number}", uid=f"u{number}", digest="0", state=FAILED, at=ago(1))
        ended = (*told.ended_operations, later)[-ENDS_REMEMBERED:]
        seen = again(seen, told.copy_with(ended_operations=ended))
    assert "back" in {one.resource for one in status_of(seen).ended_operations}


def test_run_that_finishes_an_operation_is_remembered_at_once() -> None:
    seen = world(operation(), remembered=(entry_of(),), told={"active_jobs": (work(),)}, jobs=(over(),))
    assert of(seen).state is SUCCEEDED
    assert [one.resource for one in status_of(seen).ended_operations] == ["back"]


def test_table_remembers_the_newest_fifty_ends() -> None:
    old = tuple(
        EndedOperation(resource=f"old-{n}", uid=f"u-{n}", digest="0", state=FAILED, at="2026-03-10T11:30:00Z")
        for n in range(ENDS_REMEMBERED)
    )
    known = entry_of(state="Succeeded", reason="Succeeded", finished_at="2026-03-10T11:30:00Z")
    after = status_of(world(operation(), remembered=(known,), told={"ended_operations": old}))
    assert [one.resource for one in after.ended_operations] == [*(f"old-{n}" for n in range(1, 50)), "back"]
    assert HudiTableStatus.model_validate(after.to_document()) == after


def test_acknowledgement_that_is_applied_again_acknowledges_no_later_rows() -> None:
    asked: dict[str, Any] = {"acknowledgeBadRows": {}}
    bad = BadRowsStatus(total=5, since="2026-03-10T11:30:00Z")
    first = deciding(observe(table(status=status(bad_rows=bad))), decision(**asked))
    assert answers(first)["uid-of-decision"].state is SUCCEEDED
    after = status_of(first).copy_with(bad_rows=bad)
    later = deciding(observe(table(status=after)), decision(uid="another-uid", **asked))
    answer = answers(later)["another-uid"]
    assert (answer.state, answer.reason) == (SUCCEEDED, "AlreadyDone")
    assert later.table.status.bad_rows == bad
