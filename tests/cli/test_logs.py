"""`kubectl hudi logs` against a server that answers as the API server and the kubelet do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.cli.command import Done, command
from tests.planning.world import CREATED, NOW, active, at, memory, minutes, run, status

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.status.runs import FailedRunLog
from hudi_operator.cli.commands.logs import driver_pods
from hudi_operator.cli.render.log_lines import newest_failed

Document = dict[str, Any]
PODS = "/api/v1/namespaces/team-a/pods"


def kept(job: str, service: Service = Service.INGESTION, *, ago: float = 9, text: str = "") -> FailedRunLog:
    return FailedRunLog(service=service, job=job, read_at=at(NOW - minutes(ago)), text=text or f"the end of {job}")


def failed(job: str, service: Service = Service.INGESTION, *, ago: float = 10) -> Any:
    return run(Outcome.FAILED, job=job, service=service, finished_at=at(NOW - minutes(ago)))


def pod(
    job: str, *, age: float, phase: str = "Succeeded", service: str = "Ingestion", role: str = "driver"
) -> Document:
    labels = {"hudi-operator.io/role": role, "hudi-operator.io/service": service, "batch.kubernetes.io/job-name": job}
    metadata = {"name": f"{job}-pod", "labels": labels, "creationTimestamp": at(NOW - minutes(age))}
    return {"metadata": metadata, "status": {"phase": phase}}


class Lake:
    """A table, its pods and their logs."""

    def __init__(self) -> None:
        self.status = status()
        self.pods: list[Document] = []
        self.logs: dict[str, bytes] = {}
        self.refused = ""
        self.asked: list[dict[str, str]] = []
        self.kubeconfig = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if self.refused and path.startswith(self.refused):
            return web.json_response({"message": "pods is forbidden"}, status=403)
        if path.endswith("/huditables/orders"):
            metadata = {"name": "orders", "namespace": "team-a", "uid": "uid", "creationTimestamp": at(CREATED)}
            spec = {"basePath": "s3a://lake/orders", "type": "CopyOnWrite", "recordKey": ["id"]}
            return web.json_response({"metadata": metadata, "spec": spec, "status": self.status.to_document()})
        if path == PODS:
            assert request.query["labelSelector"].endswith("hudi-operator.io/table-uid=uid")
            return web.json_response({"kind": "PodList", "apiVersion": "v1", "items": self.pods})
        name = path.removeprefix(f"{PODS}/").removesuffix("/log")
        self.asked.append({"pod": name, **request.query})
        if name not in self.logs:
            message = f'container "driver" in pod "{name}" is waiting to start: ContainerCreating'
            return web.json_response({"message": message}, status=400)
        return await self._send(request, self.logs[name])

    @staticmethod
    async def _send(request: web.Request, content: bytes) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for start in range(0, len(content), 3):  # a character of several bytes comes in two pieces
            await response.write(content[start : start + 3])
            await asyncio.sleep(0)
        return response

    async def logs_of(self, *arguments: str) -> Done:
        given = ("logs", "orders", *arguments, "-n", "team-a", "--kubeconfig", self.kubeconfig)
        return await asyncio.to_thread(command, *given)


@pytest.fixture
async def lake(tmp_path: Path) -> AsyncIterator[Lake]:
    found = Lake()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", found.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{runner.addresses[0][1]}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    found.kubeconfig = str(file)
    yield found
    await runner.cleanup()


async def test_log_is_that_of_the_running_driver_and_previous_that_of_the_run_before(lake: Lake) -> None:
    lake.pods = [pod("old", age=60), pod("going", age=30, phase="Running"), pod("newest", age=5), pod("x", age=1)]
    lake.pods[3]["metadata"]["labels"]["hudi-operator.io/role"] = "executor"
    lake.logs = {"going-pod": b"at work\n", "newest-pod": b"it ended\n"}
    done = await lake.logs_of()
    assert (done.returncode, done.stdout) == (0, "at work\n")
    assert done.stderr == "Ingestion run going, pod going-pod (Running).\n"
    assert (await lake.logs_of("--previous")).stdout == "it ended\n"
    assert lake.asked[0] == {"pod": "going-pod", "container": "driver", "follow": "false"}


async def test_log_of_a_long_run_begins_with_how_far_it_is(lake: Lake) -> None:
    lake.pods = [pod("going", age=30, phase="Running"), pod("newest", age=5)]
    lake.logs = {"going-pod": b"at work\n", "newest-pod": b"it ended\n"}
    lake.status = status(active_jobs=(active("going", progress="Writing: 3 of 8 tasks\x1b"),))

    done = await lake.logs_of()

    assert done.stderr.splitlines() == ["Writing: 3 of 8 tasks\\x1b", "Ingestion run going, pod going-pod (Running)."]
    assert "Writing" not in (await lake.logs_of("--previous")).stderr


async def test_log_of_a_service_is_followed_from_its_last_lines(lake: Lake) -> None:
    lake.pods = [pod("ingests", age=1, phase="Running"), pod("compacts", age=9, phase="Running", service="Compaction")]
    lake.logs = {"compacts-pod": b"one\ntwo\n"}
    done = await lake.logs_of("Compaction", "-f", "--tail", "7")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    assert lake.asked == [{"pod": "compacts-pod", "container": "driver", "follow": "true", "tailLines": "7"}]


async def test_log_is_printed_without_control_characters(lake: Lake) -> None:
    lake.pods = [pod("a", age=1)]
    lake.logs = {"a-pod": "é😀\tend\x1b]0;title\x07\xff\n".encode() + b"\xff\n"}
    done = await lake.logs_of()
    assert done.stdout == "é😀\tend\\x1b]0;title\\x07ÿ\n\ufffd\n"


async def test_kept_log_of_the_newest_failed_run_needs_no_pod_and_no_right_on_pods(lake: Lake) -> None:
    lake.refused = PODS
    last = failed("compacts", Service.COMPACTION, ago=5)
    lake.status = status(
        history=(last, failed("ingests")),
        failed_logs=(kept("compacts", Service.COMPACTION, ago=4), kept("ingests", text="one\ntwo\nthree")),
    )
    done = await lake.logs_of("--failed")
    assert (done.returncode, done.stdout) == (0, "the end of compacts\n")
    assert done.stderr == f"The end of the log of Compaction run compacts, read at {at(NOW - minutes(4))}.\n"
    assert (await lake.logs_of("ingestion", "--failed", "--tail", "2")).stdout == "two\nthree\n"
    assert (await lake.logs_of("ingestion", "--failed", "--tail", "9")).stdout == "one\ntwo\nthree\n"


async def test_failed_run_without_a_kept_log_shows_its_pod_while_it_is_there(lake: Lake) -> None:
    lake.status = status(history=(failed("new", ago=1), failed("old")), failed_logs=(kept("old"),))
    lake.pods = [pod("later", age=0.5), pod("new", age=2, phase="Failed")]
    lake.logs = {"new-pod": b"it broke\n"}
    assert (await lake.logs_of("--failed")).stdout == "it broke\n"
    lake.pods = []
    for lake.refused in ("", PODS):
        done = await lake.logs_of("--failed")
        assert done.stdout == "the end of old\n"
        assert done.stderr.startswith(
            "The newest failed run, new, left no log. The end of the log of Ingestion run old"
        )


async def test_missing_kept_log_says_why_and_what_the_run_said(lake: Lake) -> None:
    lake.status = status(history=(failed("new"),))
    done = await lake.logs_of("--failed")
    assert (done.returncode, done.stdout) == (1, "")
    for word in ("new", "failedRunLogs.enabled", "SourceNotFound", "It is not there."):
        assert word in done.stderr
    done = await lake.logs_of("compaction", "--failed")
    assert done.stderr == "Error: No run of orders has failed, as far as its status remembers.\n"


@pytest.mark.parametrize("option", [(), ("--previous",)])
async def test_table_without_a_pod_says_how_long_pods_stay(lake: Lake, option: tuple[str, ...]) -> None:
    done = await lake.logs_of(*option)
    assert done.returncode == 1
    assert "job.ttlAfterFinished" in done.stderr


async def test_driver_that_has_not_started_is_explained_in_the_words_of_the_api_server(lake: Lake) -> None:
    lake.pods = [pod("a", age=1, phase="Pending")]
    done = await lake.logs_of()
    assert (done.returncode, done.stdout) == (1, "")
    assert "is waiting to start: ContainerCreating" in done.stderr


async def test_missing_right_to_read_logs_ends_with_3(lake: Lake) -> None:
    lake.pods, lake.refused = [pod("a", age=1)], f"{PODS}/"
    assert (await lake.logs_of()).returncode == 3


@pytest.mark.parametrize("other", ["-f", "--previous"])
async def test_kept_log_is_neither_followed_nor_one_before(lake: Lake, other: str) -> None:
    assert (await lake.logs_of("--failed", other)).returncode == 2


def test_pods_that_say_nothing_are_drivers_of_no_service() -> None:
    labels = {"hudi-operator.io/role": "driver"}
    (found,) = driver_pods([{}, {"metadata": 3}, {"metadata": {"labels": labels}}], None)
    assert (found.name, found.phase) == ("", "Unknown")
    assert driver_pods([{"metadata": {"labels": labels}}], Service.INGESTION) == []


def test_newest_failed_run_may_be_older_than_the_history() -> None:
    long_ago = failed("long-ago", Service.CLEANING, ago=600)
    remembered = status(cleaning=memory(last_run=long_ago), history=(run(), failed("recent")))
    assert newest_failed(remembered, None) == failed("recent")
    assert newest_failed(remembered, Service.CLEANING) == long_ago
