"""What a continuous driver leaves that dies within a batch, against a real API server, Job controller and operator."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.faults.arena import Arena, arena
from tests.faults.driver import DIES, folder_of
from tests.faults.node import Ended

from hudi_jobs.contract import JobRequest, Progress, ProgressState, encode_progress
from hudi_operator.jobs.names import REQUEST_ANNOTATION
from hudi_operator.kube.transport import MERGE_PATCH
from toolkit.small_table import SmallTable

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.usefixtures("cluster")]

BEATS = ".hoodie/.heartbeat"
Document = dict[str, Any]


class Driver:
    """A driver that begins a write, names it, shows its heartbeat, and goes on until it dies."""

    def __init__(self) -> None:
        self.requests: list[JobRequest] = []
        self.instant = ""
        self.pod = ""
        self.dies = asyncio.Event()

    async def work(self, pod: Document) -> Ended:
        self.requests.append(JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION]))
        if not self.instant:
            self.pod = pod["metadata"]["name"]
            await asyncio.to_thread(self._begin, self.requests[0])
        await self.dies.wait()
        return DIES

    def _begin(self, request: JobRequest) -> None:
        folder = folder_of(request.tasks[0].table.base_path)
        table = SmallTable(folder)
        table.create(request.tasks[0].table.name)
        self.instant = table.begin()
        made = Progress(
            run=request.run,
            pod=self.pod,
            sequence=1,
            state=ProgressState.INGESTING,
            written_at="T",
            made=(self.instant,),
        )
        for name, content in (
            (".hudi-operator/progress.json", encode_progress(made)),
            (f"{BEATS}/{self.instant}", b""),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


async def begun(place: Arena, driver: Driver) -> None:
    """Have a driver begin its write, and the operator see it."""
    place.node.work = driver.work
    await place.declare("left", ingestion=continuous(place))

    async def seen() -> bool:
        pending = (await status_of(place)).get("timeline", {}).get("pending", ())
        return bool(driver.instant) and driver.instant in {one["time"] for one in pending}

    await place.eventually(seen, what="the write is seen")


def continuous(place: Arena) -> Document:
    source = {"files": {"path": f"file://{place.folder}/landing/left", "format": "csv"}}
    return {"source": source, "operation": "Insert", "mode": "Continuous"}


async def status_of(place: Arena) -> Document:
    return ((await place.get("left")) or {}).get("status") or {}


async def left_by(place: Arena, driver: Driver) -> Document:
    """What the status says of the write, once the end of the driver was seen."""

    async def known() -> Document | None:
        return next((one for one in (await status_of(place)).get("leftBy", ()) if one["time"] == driver.instant), None)

    found: Document = await place.eventually(known, what="the write is known as left behind")
    return found


async def test_the_next_run_may_end_at_once_what_a_killed_driver_had_named_also_where_the_operator_was_away(
    tmp_path: Path,
) -> None:
    async with arena(tmp_path / "killed") as place:
        driver = Driver()
        await begun(place, driver)
        await place.operator.kill()
        driver.dies.set()
        left = await left_by(place, driver)
        assert (left["run"], left["dead"]) == (driver.requests[0].run, True)

        async def next_run() -> bool:
            return len(driver.requests) > 1

        await place.eventually(next_run, what="the next run has started")
        assert (await status_of(place))["leftBehind"] == [driver.instant]
        [task] = driver.requests[1].tasks
        assert (task.abandoned, task.dead) == ((driver.instant,), (driver.instant,))
        assert place.node.overlaps == []
        assert place.unexpected() == []


async def test_a_driver_whose_pod_was_removed_by_force_is_waited_for_and_the_status_says_which_and_until_when(
    tmp_path: Path,
) -> None:
    async with arena(tmp_path / "forced") as place:
        driver = Driver()
        await begun(place, driver)
        place.node.silent_about.add(driver.pod)
        await remove_by_force(place, driver.pod)
        left = await left_by(place, driver)
        assert (left["run"], left["dead"]) == (driver.requests[0].run, False)

        async def waits() -> Document | None:
            ingestion: Document = (await status_of(place))["services"]["ingestion"]
            return ingestion if ingestion["reason"] == "WaitingForHeartbeat" else None

        ingestion = await place.eventually(waits, what="ingestion waits")
        (pending,) = ingestion["pending"]
        assert (pending["owner"], pending["run"]) == ("ThisTable", driver.requests[0].run)
        assert f"which run {pending['run']} left behind" in ingestion["message"]
        assert f"is left alone until {pending['leftAloneUntil']}" in ingestion["message"]
        await asyncio.sleep(5)
        assert len(driver.requests) == 1, "nothing has started beside a process that may live"
        driver.dies.set()
        assert place.unexpected() == []


async def remove_by_force(place: Arena, pod: str) -> None:
    """Do what the garbage collector of pods does with those of a node that is gone."""
    path = f"/api/v1/namespaces/{place.namespace}/pods/{pod}"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}
    status = {"status": {"phase": "Failed", "conditions": [condition]}}
    await place.transport.request("PATCH", f"{path}/status", body=status, content_type=MERGE_PATCH)
    await place.transport.request("DELETE", path, body={"gracePeriodSeconds": 0})
