"""Operations against a real API server: what it stores of them, and how a resource comes and goes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.handlers.place import Place
from tests.planning.operations.operations import JOB, decided, entry
from tests.planning.operations.told import state_and_reason
from tests.planning.world import NOW, active, ago, at, run, status

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.control.operations import OperationReconciler
from hudi_operator.kube.keys import OPERATION, TABLE, table_key
from hudi_operator.kube.transport import Transport

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
BACK = {"instant": ago(20)}
REPORT: Document = {"target": ago(20), "removed_count": 1, "removed": (ago(10),), "rows_after": 20, "verified": True}


@pytest.fixture
def place(transport: Transport, namespace: str) -> Place:
    return Place(transport, namespace, kind=OPERATION, reconciler=OperationReconciler)


async def test_a_table_remembers_all_that_is_needed_to_finish_an_operation(place: Place) -> None:
    document = await place.table()
    known = entry(state="Running", begun=True, job=decided(), started_at=at(NOW), report=REPORT)
    memory = ServiceStatus(due=True, reason="OperationAsked", last_run=run(Outcome.FAILED, service="Operation"))
    job = active(JOB, service="Operation", operation=decided())
    written = status(operations=(known,), operation=memory, active_jobs=(job,)).to_document()
    await place.kube.replace_status(TABLE, document, written)
    found = await place.kube.get(table_key(place.namespace, "flights"))
    assert found is not None
    assert found["status"]["memory"] == written["memory"]
    kept = HudiTableStatus.model_validate(found["status"])
    assert (kept.operations, [one.operation for one in kept.active_jobs]) == ((known,), [job.operation])
    assert found["status"]["services"]["operation"]["reason"] == "OperationAsked"


async def test_operation_without_a_table_is_held_reported_and_released(place: Place) -> None:
    await place.declare("back", restore=BACK)
    found = await place.reconcile("back")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["hudi-operator.io/operation"]
    assert found["metadata"]["annotations"] == {"hudi-operator.io/operation-uid": found["metadata"]["uid"]}
    assert state_and_reason(found["status"]) == ("Pending", "TableNotFound")
    assert place.woken == [table_key(place.namespace, "flights")]
    await place.delete("back")
    assert await place.reconcile("back") is None


async def test_an_operation_says_what_its_table_says_and_is_held_while_it_has_begun(place: Place) -> None:
    table, operation = await place.table(), await place.declare("back", restore=BACK)
    known = entry(uid=operation["metadata"]["uid"], state="Running", begun=True, job=decided(), report=REPORT)
    await place.kube.replace_status(TABLE, table, status(operations=(known,)).to_document())
    found = await place.reconcile("back")
    assert found is not None
    assert (state_and_reason(found["status"])[0], found["status"]["report"]["verified"]) == ("Running", True)
    await place.delete("back")
    held = await place.reconcile("back")
    assert held is not None
    table = await place.kube.get(table_key(place.namespace, "flights")) or {}
    over = known.copy_with(state=OperationState.SUCCEEDED, finished_at=at(NOW))
    await place.kube.replace_status(TABLE, table, status(operations=(over,)).to_document())
    assert await place.reconcile("back") is None


async def test_finished_operation_is_deleted_after_its_time(place: Place) -> None:
    table, operation = (
        await place.table(),
        await place.declare("back", restore=BACK, ttlAfterFinished="1m"),
    )
    await place.reconcile("back")
    over = entry(uid=operation["metadata"]["uid"], state="Succeeded", reason="Succeeded", finished_at=at(NOW))
    await place.kube.replace_status(TABLE, table, status(operations=(over,)).to_document())
    going = await place.reconcile("back")
    assert going is None or going["metadata"].get("deletionTimestamp") is not None
    assert going is None or await place.reconcile("back") is None
