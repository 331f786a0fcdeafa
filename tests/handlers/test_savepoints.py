"""Savepoints against a real API server: what it stores of them, and how a resource comes and goes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.handlers.place import Place
from tests.planning.savepoints.savepoints import at_work, entry
from tests.planning.world import NOW, ago, at, minutes, run, status

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.control.savepoints import SavepointReconciler
from hudi_operator.kube.keys import SAVEPOINT, TABLE, table_key
from hudi_operator.kube.transport import Transport

pytestmark = pytest.mark.cluster

Document = dict[str, Any]


@pytest.fixture
def place(transport: Transport, namespace: str) -> Place:
    return Place(transport, namespace, kind=SAVEPOINT, reconciler=SavepointReconciler)


async def test_the_status_of_a_table_is_stored_as_it_is_written(place: Place) -> None:
    """What the API server drops would be written again and again."""
    document = await place.table()
    entries = (entry(instant=ago(10), since=at(NOW), adopted=True, blocks="Cleaning.", failures=2), entry("other"))
    memory = ServiceStatus(due=True, reason="SavepointAsked", last_run=run(Outcome.FAILED, service="Savepoint"))
    written = status(savepoints=entries, savepoint=memory, active_jobs=(at_work(),)).to_document()
    await place.kube.replace_status(TABLE, document, written)
    stored = await place.kube.get(table_key(place.namespace, "flights"))
    assert stored is not None
    assert stored["status"] == written


async def test_savepoint_without_a_table_is_held_reported_and_released(place: Place) -> None:
    await place.declare("daily", latest=True, keepForever=True)
    found = await place.reconcile("daily")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["hudi-operator.io/savepoint"]
    assert found["status"]["conditions"][0]["reason"] == "TableNotFound"
    assert place.woken == [table_key(place.namespace, "flights")]
    again = await place.reconcile("daily")
    assert again == found, "nothing is written twice"
    await place.delete("daily")
    assert await place.reconcile("daily") is None


async def test_a_savepoint_says_what_its_table_says(place: Place) -> None:
    table, savepoint = await place.table(), await place.declare("daily", latest=True, keepForever=True)
    known = entry(uid=savepoint["metadata"]["uid"], instant=ago(10), since=at(NOW - minutes(1)), blocks="Cleaning.")
    document = status(savepoints=(known,)).to_document()
    await place.kube.replace_status(TABLE, table, document)
    found = await place.reconcile("daily")
    assert found is not None
    told = found["status"]
    assert (told["instant"], told["blocks"], told["conditions"][0]["status"]) == (ago(10), "Cleaning.", "True")
    assert [one async for one in place.kube.each(SAVEPOINT, place.namespace)]
