"""An operation is deleted while a queue such as Kueue holds its Job."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.faults.arena import Arena, Document, arena
from tests.faults.driver import never_end
from tests.faults.lifecycle import NAME, ended, settled
from tests.faults.operating import Journal, operate
from tests.faults.operation import BACK, OPERATIONS, operation_of, working
from tests.faults.rules import Call
from tests.faults.test_leftovers import suspend

from hudi_jobs.contract import OperationKind, Service
from hudi_operator.jobs.names import SERVICE_LABEL

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster"), pytest.mark.timeout(600)]

RESTORE = OPERATIONS[OperationKind.RESTORE]
SEVERAL_LOOKS = 8.0
"""Seconds in which the operator reconciles more than once."""


async def test_a_job_that_was_never_let_go_goes_with_its_operation_and_the_table_goes_on(tmp_path: Path) -> None:
    async with arena(tmp_path / "held") as place:
        place.proxy.webhook = hold
        statuses = await RESTORE.begin(place, operate, approved=True)
        await held_job(place)
        await place.transport.request("DELETE", f"{place.operations}/{BACK}")
        await place.eventually(lambda: gone(place), what="the operation is gone")
        statuses.append(await settled(place, lambda table: not table["status"]["operations"], what="it is forgotten"))
        assert not await jobs_of_operations(place)
        assert Journal(place.folder / "lake" / NAME).read() == {}
        end = await ended(place, statuses)
        assert not end.wrong()


async def test_a_job_that_was_let_go_once_ends_first(tmp_path: Path) -> None:
    async with arena(tmp_path / "taken-back") as place:
        place.proxy.webhook = hold
        statuses = await RESTORE.begin(place, never_end, approved=True)
        job = await held_job(place)
        await suspend(place, job, held=False)
        await place.eventually(lambda: running(place), what="the driver runs")
        await suspend(place, job, held=True)
        await held_job(place)
        await place.transport.request("DELETE", f"{place.operations}/{BACK}")
        await asyncio.sleep(SEVERAL_LOOKS)
        assert [one["metadata"]["uid"] for one in await jobs_of_operations(place)] == [job["metadata"]["uid"]]
        assert not await gone(place)

        place.node.work = working(operate)
        await suspend(place, job, held=False)
        await place.eventually(lambda: gone(place), what="the operation is gone")
        (record,) = Journal(place.folder / "lake" / NAME).read().values()
        assert (record["changes"], record["done"]) == (1, True)
        statuses.append(await settled(place, lambda table: not table["status"]["operations"], what="it is forgotten"))
        end = await ended(place, statuses)
        assert not end.wrong()


def hold(call: Call, body: bytes) -> bytes:
    """Create the Jobs of operations as the webhook of a queue has them: suspended."""
    if call.method != "POST" or call.target != "jobs":
        return body
    job: Document = json.loads(body)
    if job["metadata"]["labels"][SERVICE_LABEL] == Service.OPERATION:
        job["spec"]["suspend"] = True
    return json.dumps(job).encode()


async def jobs_of_operations(place: Arena) -> list[Document]:
    return [one for one in await place.jobs() if one["metadata"]["labels"][SERVICE_LABEL] == Service.OPERATION]


async def held_job(place: Arena) -> Document:
    """Return the Job of the operation once the table's status says that a queue holds it."""

    async def look() -> Document | None:
        status: Document = ((await place.get(NAME)) or {}).get("status") or {}
        held = [one["state"] for one in status.get("activeJobs") or ()] == ["Suspended"]
        return (await jobs_of_operations(place))[0] if held and not await running(place) else None

    found: Document = await place.eventually(look, what="the status says that a queue holds the Job")
    return found


async def running(place: Arena) -> list[Document]:
    return [pod for pod in await place.pods() if pod["status"].get("phase") == "Running"]


async def gone(place: Arena) -> bool:
    return await operation_of(place) is None
