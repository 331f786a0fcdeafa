"""Many operations of one table: each is done once, however many wait, and one that may not begin holds up no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.operations import allowing, begun, entry, launches, of, operation, world
from tests.planning.world import NOW, ago, ended, minutes, outcome, status_of

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import OPERATIONS, HudiOperation
from hudi_operator.api.status.operation_status import HudiOperationStatus, OperationState
from hudi_operator.api.status.table_operations import OPERATIONS_SHOWN
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.observation import Related
from hudi_operator.planning.outcome.status.operation_status import decide_operation

STUCK = (f"{ago(3)}.deltacommit.requested", f"{ago(3)}.deltacommit.inflight")
CLEANING: dict[str, Any] = {"runService": {"service": "Cleaning"}}


def test_the_class_bounds_how_many_wait() -> None:
    many = [operation(f"no-{number}", created=NOW - minutes(9 - number)) for number in range(3)]
    seen = world(*many, table_class=allowing(maxPerTable=2))
    assert [of(seen, f"no-{number}").reason for number in range(3)] == ["Draining", "Pending", "TooManyOperations"]


def waiting_before(last: HudiOperation, **changes: Any) -> Observation:
    """A table whose class allows two operations, with three that ask for a restore and one that was created later."""
    settings = {"maxPerTable": 2, **changes.pop("operations", {})}
    older = [operation(f"no-{number}", created=NOW - minutes(9 - number)) for number in range(3)]
    remembered = tuple(entry(one.metadata.name, kind=one.spec.kind, dry_run=one.spec.dry_run) for one in (*older, last))
    return world(*older, last, remembered=remembered, table_class=allowing(**settings), **changes)


@pytest.mark.parametrize(
    ("last", "changes"),
    [
        ({"approved": True}, {"operations": {"approval": "Manual"}}),
        ({"dryRun": True}, {"operations": {"approval": "Manual"}}),
        (CLEANING, {"operations": {"allowed": ["RunService"]}}),
        ({"repair": {"rollbackInflight": {"instant": ago(3)}}}, {"files": STUCK}),
        ({"dryRun": True}, {"files": STUCK}),
    ],
    ids=[
        "of approval",
        "of approval, a dry run",
        "of the class",
        "of a stranger, its rollback",
        "of a stranger, a dry run",
    ],
)
def test_blocked_operation_takes_no_place_of_an_operation_that_may_begin(
    last: dict[str, Any], changes: dict[str, Any]
) -> None:
    seen = waiting_before(operation("last", created=NOW, **last), **changes)
    (launch,) = launches(seen)
    assert launch.job.operation is not None
    assert launch.job.operation.resource == "last"


NOT_VERIFIED = {"state": "Failed", "reason": "NotVerified"}


@pytest.mark.parametrize(
    ("taking", "said"),
    [
        (
            (begun("no-00"),),
            "until another of them finishes. If you no longer want a waiting operation, delete it: no-19",
        ),
        (
            (entry("no-00", **NOT_VERIFIED),),
            "until another of them finishes or one of the 1 that a person has to check is deleted. If you no longer",
        ),
        (tuple(entry(f"no-{number:02}", **NOT_VERIFIED) for number in range(20)), "has to check is deleted."),
    ],
    ids=["one is at work", "one holds the table", "all hold the table"],
)
def test_operation_without_a_place_names_another_that_only_waits_or_none(taking: tuple[Any, ...], said: str) -> None:
    waits = tuple(entry(f"no-{number:02}", state="Pending") for number in range(20))
    seen = world(remembered=(*taking, *waits[len(taking) :]))
    told = decide_operation(operation("last"), seen.table, now=NOW).status
    assert told is not None
    assert (told.reason, told.state) == ("TooManyOperations", OperationState.PENDING)
    assert said in (told.message or "")
    assert "no-00" not in (told.message or "")


def test_operation_at_work_has_a_place() -> None:
    many = [operation(f"no-{number}", created=NOW - minutes(9 - number)) for number in range(3)]
    seen = world(*many, remembered=(begun("no-0"),), table_class=allowing(maxPerTable=2))
    assert [of(seen, f"no-{number}").reason for number in range(1, 3)] == ["Pending", "TooManyOperations"]


def test_each_of_many_operations_is_done_once() -> None:
    known = {f"no-{number:02}": HudiOperationStatus() for number in range(OPERATIONS_SHOWN + 5)}
    seen, ran = world(), []
    for step in range(3 * len(known)):
        asked = tuple(
            operation(name, created=NOW - minutes(99 - number), status=told, **CLEANING)
            for number, (name, told) in enumerate(known.items())
        )
        seen = replace(seen, related=Related.of({OPERATIONS: asked}))
        status = status_of(seen, now=NOW + minutes(step))
        table = seen.table.copy_with(status=status)
        changes = {one.metadata.name: decide_operation(one, table, now=NOW).status for one in asked}
        known |= {name: told for name, told in changes.items() if told is not None}
        jobs = [one for one in status.active_jobs if one.operation is not None]
        ran += [one.operation.resource for one in jobs if one.operation is not None]
        over = outcome(Outcome.SUCCEEDED)
        seen = replace(
            seen, table=table, jobs=tuple(ended(one.name, service=Service.OPERATION, outcome=over) for one in jobs)
        )
    assert {told.state for told in known.values()} == {OperationState.SUCCEEDED}
    assert sorted(ran) == sorted(known)


def test_a_repair_does_not_wait_for_an_older_operation_that_it_is_to_free() -> None:
    waits = operation(created=NOW - minutes(9))
    repairs = operation("frees", repair={"rollbackInflight": {"instant": ago(3)}})
    remembered = (entry(), entry("frees", kind="Repair"))
    seen = world(waits, repairs, files=STUCK, remembered=remembered)
    (launch,) = launches(seen)
    assert launch.job.operation is not None
    assert launch.job.operation.resource == "frees"
    assert of(seen).message == "Waiting for HudiOperation frees."


def test_options_of_a_service_that_no_status_could_hold_are_refused() -> None:
    partitions = {"names": [f"day={number:02}{'a' * 249}" for number in range(20)]}
    options = {
        "plan": {"strategy": "SelectedPartitions", "partitions": partitions},
        "execution": {"sortColumns": [f"c{number:02}{'x' * 240}" for number in range(16)]},
    }
    asked = {"service": "Clustering", "clustering": options}
    seen = world(operation(runService=asked), table_class=allowing(), partitionBy=["day"])
    assert (of(seen).state, of(seen).reason) == (OperationState.FAILED, "OperationRefused")
    assert "name fewer partitions or columns" in of(seen).message
