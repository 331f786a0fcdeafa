"""What runs leave behind, against a real API server and Job controller: executors, and containers of others."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.faults.arena import Arena, arena
from tests.faults.driver import commit, never_end
from tests.faults.node import Ended

from hudi_operator.jobs.names import ROLE_LABEL
from hudi_operator.kube.transport import MERGE_PATCH

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.usefixtures("cluster")]

Document = dict[str, Any]


async def test_the_next_run_starts_when_the_executors_of_a_killed_driver_are_gone(tmp_path: Path) -> None:
    async with arena(tmp_path / "executors") as place:
        killed = asyncio.Event()

        async def work(_: Document) -> Ended:
            await killed.wait()
            return Ended(exit_code=137)

        place.node.work = work
        await place.declare("left")

        async def runs() -> list[Document]:
            return [pod for pod in await place.pods() if pod["status"].get("phase") == "Running"]

        (driver,) = await place.eventually(runs, what="a driver runs")
        executor = await add_executor(place, driver)
        place.node.work = commit
        killed.set()

        async def told() -> bool:
            pods = {pod["metadata"]["name"]: pod["metadata"] for pod in await place.pods()}
            return "deletionTimestamp" in pods[executor]

        async def shown() -> bool:
            jobs = await active_jobs(place)
            return [job["state"] for job in jobs] == ["Ending"] and executor in jobs[0]["message"]

        await place.eventually(told, what="the executor is asked to end")
        await place.eventually(shown, what="the status names the executor")
        assert len(await place.jobs()) == 1
        assert not (place.folder / "lake" / "left").exists()

        await place.transport.request("DELETE", pod_path(place, executor), body={"gracePeriodSeconds": 0})

        async def ingested() -> bool:
            status = await status_of(place)
            return [run["outcome"] for run in status["history"]] == ["Succeeded", "Failed"]

        await place.eventually(ingested, what="the next run has ingested")
        assert len(await place.jobs()) == 2
        assert place.node.overlaps == []
        assert place.unexpected() == []


async def test_a_run_ends_with_its_driver_and_not_with_a_container_beside_it(tmp_path: Path) -> None:
    async with arena(tmp_path / "sidecar") as place:

        async def work(pod: Document) -> Ended:
            return replace(await commit(pod), beside="istio-proxy")

        place.node.work = work
        await place.declare("left")

        async def removed() -> bool:
            status = await status_of(place)
            ended = [run["outcome"] for run in status["history"]] == ["Succeeded"]
            return ended and not status["activeJobs"] and not await place.jobs()

        await place.eventually(removed, what="the run has ended and its Job is gone")
        assert place.unexpected() == []


async def add_executor(place: Arena, driver: Document) -> str:
    """Start an executor of a driver on a node from which nothing is heard any more."""
    labels = driver["metadata"]["labels"]
    name = f"{labels['batch.kubernetes.io/job-name']}-exec-1"
    ours = {key: value for key, value in labels.items() if "hudi-operator" in f"{key}{value}"}
    pod = {
        "metadata": {"name": name, "labels": ours | {ROLE_LABEL: "executor"}},
        "spec": {
            "nodeName": place.node.name,
            "automountServiceAccountToken": False,
            "containers": [{"name": "executor", "image": "spark"}],
        },
    }
    place.node.silent_about.add(name)
    await place.transport.request("POST", f"/api/v1/namespaces/{place.namespace}/pods", body=pod)
    status = {"status": {"phase": "Running"}}
    await place.transport.request("PATCH", f"{pod_path(place, name)}/status", body=status, content_type=MERGE_PATCH)
    return name


def pod_path(place: Arena, name: str) -> str:
    return f"/api/v1/namespaces/{place.namespace}/pods/{name}"


async def status_of(place: Arena) -> Document:
    status: Document = ((await place.get("left")) or {}).get("status") or {}
    return {"history": [], "activeJobs": [], **status}


async def active_jobs(place: Arena) -> list[Document]:
    return list((await status_of(place))["activeJobs"])


async def test_a_job_that_a_queue_suspends_is_waited_for_and_goes_on_when_it_is_let_go(tmp_path: Path) -> None:
    async with arena(tmp_path / "queue") as place:
        place.node.work = never_end
        await place.declare("left")
        (job,) = await place.eventually(place.jobs, what="a Job exists")
        await suspend(place, job, held=True)

        async def held() -> bool:
            return [one["state"] for one in await active_jobs(place)] == ["Suspended"] and not await place.pods()

        await place.eventually(held, what="the status says that a queue holds the Job")
        place.node.work = commit
        await suspend(place, job, held=False)

        async def ingested() -> bool:
            status = await status_of(place)
            return [run["outcome"] for run in status["history"]] == ["Succeeded"] and not status["activeJobs"]

        await place.eventually(ingested, what="the run has ingested")
        assert [one["metadata"]["uid"] for one in await place.jobs()] == [job["metadata"]["uid"]]
        assert place.unexpected() == []


async def suspend(place: Arena, job: Document, *, held: bool) -> None:
    path = f"/apis/batch/v1/namespaces/{place.namespace}/jobs/{job['metadata']['name']}"
    await place.transport.request("PATCH", path, body={"spec": {"suspend": held}}, content_type=MERGE_PATCH)
