"""Which changes of the status are worth an Event."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.operations.operations import after_run, operation
from tests.planning.operations.operations import world as with_operation
from tests.planning.world import (
    JOB,
    NOW,
    active,
    again,
    memory,
    minutes,
    observe,
    run,
    snapshot,
    status,
    status_of,
    table,
)

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import Blocker, BlockerReason, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.outcome.status.transitions import transitions

COMMITTED = snapshot((JOB, "20260310115900000"))


def ready(kind: Outcome = Outcome.SUCCEEDED, **spec: Any) -> HudiTableStatus:
    one = table(status=status(ingestion=memory(last_run=run(kind, reason=None))), **spec)
    return status_of(observe(one, snapshot=COMMITTED))


def blocked(reason: BlockerReason = BlockerReason.PATH_CLAIMED, message: str = "Taken.") -> HudiTableStatus:
    return status_of(observe(blockers=(Blocker(reason=reason, message=message),)))


def store_down() -> HudiTableStatus:
    return status_of(observe(snapshot=TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="Down.")))


def maintained() -> HudiTableStatus:
    return status_of(with_operation(operation(), ingestion={}))


def over() -> HudiTableStatus:
    """A table whose operation has just ended, so that its ingestion starts."""
    return status_of(after_run(Outcome.SUCCEEDED, spec={"ingestion": {}}))


NEW = HudiTableStatus()
FIRST = status_of(observe())


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (NEW, FIRST, [(False, "Progressing")]),
        (FIRST, ready(), [(False, "Succeeded")]),
        (NEW, blocked(), [(True, "BasePathClaimed")]),
        (ready(), blocked(), [(True, "BasePathClaimed")]),
        (blocked(), blocked(BlockerReason.CLASS_NOT_FOUND), [(True, "TableClassNotFound")]),
        (blocked(), store_down(), [(True, "StorageUnavailable")]),
        (blocked(), ready(), [(False, "Succeeded")]),
        (ready(), ready(suspend=True), [(False, "Suspended")]),
        (ready(suspend=True), ready(), [(False, "Resumed")]),
        (blocked(), ready(suspend=True), [(False, "Succeeded"), (False, "Suspended")]),
        (ready(), maintained(), [(True, "Maintenance")]),
        (maintained(), over(), [(False, "Progressing"), (False, "Resumed"), (False, "OperationSucceeded")]),
        # What is no news.
        (maintained(), maintained(), []),
        (NEW, NEW, []),
        (FIRST, FIRST, []),
        (ready(), ready(), []),
        (ready(), ready(Outcome.NOTHING_TO_DO), []),
        (blocked(), blocked(message="Taken by another one."), []),
        (ready(suspend=True), ready(suspend=True), []),
    ],
)
def test_an_event_is_posted_for_what_changed_and_for_nothing_else(
    before: HudiTableStatus, after: HudiTableStatus, expected: list[tuple[bool, str]]
) -> None:
    assert [(one.warning, one.reason) for one in transitions(before, after)] == expected


def test_an_event_carries_the_sentence_of_its_condition() -> None:
    (event,) = transitions(ready(), blocked())
    assert event.message == "Taken."


def test_a_quiet_table_posts_no_events_however_often_it_is_looked_at() -> None:
    world, posted = observe(table(suspend=True)), 0
    for step in range(50):
        after = status_of(world, now=NOW + minutes(step))
        posted += len(transitions(world.table.status, after))
        world = again(world, after)
    assert posted == 2


def test_a_run_that_ends_as_the_one_before_posts_no_event() -> None:
    before = ready()
    after = status_of(observe(table(status=before.copy_with(active_jobs=(active(),))), snapshot=COMMITTED))
    assert transitions(before, after) == ()
