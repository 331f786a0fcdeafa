"""The tables of the measurement: resources in the API server, timelines in files, and statuses."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

from toolkit.control_plane import TOKEN, ControlPlane
from toolkit.small_table import SmallTable

ROOT = Path(__file__).resolve().parents[2]
API = "/apis/hudi-operator.io/v1beta1"
NAMESPACES = 10
NODES = 10
COMMITS = 3
"""Commits that each table has at the start."""

NEVER = "0 0 29 2 *"
"""A schedule that is not due during the measurement."""

Document = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name of a table."""


class Tables:
    """All tables, with a watch on their statuses."""

    def __init__(self, plane: ControlPlane, lake: Path, count: int, *, endpoint: str | None) -> None:
        self._plane = plane
        self._lake = lake
        self._endpoint = endpoint
        # The S3 server stores a bucket as a folder and an object as a file, so files are written the same way for both.
        self._url = f"s3a://{lake.name}" if endpoint else f"file://{lake}"
        self.names = [(f"scale-{number % NAMESPACES}", f"table-{number:05}") for number in range(count)]
        self.right: set[tuple[str, str]] = set()
        """Tables with a status for the current spec and all commits."""

        self.generations: dict[tuple[str, str], int] = {}
        """The generation of the spec that each status describes."""

        self.shown: dict[str, float] = {}
        """When the status of a table first showed an instant as the newest, by this process's clock."""

        self.jobs: list[float] = []
        """When each Job was seen as created."""

        self._watches: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            self._plane.url,
            headers={"Authorization": f"Bearer {TOKEN}"},
            connector=aiohttp.TCPConnector(ssl=False, limit=32),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._watches:
            task.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await self._session.close()

    def write_timelines(self) -> None:
        """Write a few commits for each table, and a file into its source: without one no Job starts."""
        for key in self.names:
            landing = self._lake / "landing" / key[1]
            landing.mkdir(parents=True, exist_ok=True)
            (landing / "first.csv").write_text("1\n")
            table = self.timeline(key)
            table.create(key[1])
            for _ in range(COMMITS):
                table.commit(run="before")

    def timeline(self, key: tuple[str, str]) -> SmallTable:
        """Return the timeline of a table."""
        return SmallTable(self._lake / key[0] / key[1])

    async def create(self) -> None:
        """Create the definitions, the class, the nodes and the tables, and watch them."""
        await self.prepare(ROOT / "crds", namespaces=[f"scale-{number}" for number in range(NAMESPACES)])
        for number in range(NODES):
            await self._post("/api/v1/nodes", _node(f"kwok-{number}"))
        await self._each(self.names, self._declare)
        self.watch()

    async def prepare(self, definitions: Path, *, namespaces: Iterable[str]) -> None:
        """Create the definitions, the class and the namespaces."""
        for path in sorted(definitions.glob("*.yaml")):  # noqa: ASYNC240 - nothing else runs yet
            await self._post(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(path.read_text())
            )
        while not await self._served():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.2)
        await self._post(f"{API}/huditableclasses", self._table_class())
        for name in (*namespaces, "hudi-operator"):
            await self._post("/api/v1/namespaces", {"metadata": {"name": name}})
        await asyncio.sleep(2)  # the controllers make the service accounts that pods need

    def watch(self, *, namespace: str | None = None) -> None:
        """Watch the statuses and Jobs of a namespace, or of the cluster."""
        place = f"/namespaces/{namespace}" if namespace else ""
        self._watches = [
            asyncio.create_task(self._watch(f"{API}{place}/huditables", self._see_table)),
            asyncio.create_task(self._watch(f"/apis/batch/v1{place}/jobs", self._see_job)),
        ]

    async def make_due(self, count: int, *, at: datetime) -> None:
        """Give the first tables a schedule that makes all of them due at the same whole minute."""
        cron = f"{at.minute} {at.hour} {at.day} {at.month} *"

        async def reschedule(key: tuple[str, str]) -> None:
            body = {"spec": {"ingestion": {"schedule": {"cron": cron}}}}
            path = f"{API}/namespaces/{key[0]}/huditables/{key[1]}"
            headers = {"Content-Type": "application/merge-patch+json"}
            async with self._session.patch(path, json=body, headers=headers) as answer:
                answer.raise_for_status()

        await self._each(self.names[:count], reschedule)

    async def get(self, key: Key) -> None:
        """Read a table."""
        async with self._session.get(f"{API}/namespaces/{key[0]}/huditables/{key[1]}") as answer:
            await answer.read()

    async def commit(self, keys: list[tuple[str, str]], *, per_second: float, seconds: float) -> list[float]:
        """Commit to the tables in turn; return the seconds until the status showed each commit."""
        made: dict[str, float] = {}
        order = list(keys)
        random.Random(0).shuffle(order)
        begun = time.monotonic()
        for number in range(int(per_second * seconds)):
            await asyncio.sleep(max(0.0, begun + number / per_second - time.monotonic()))
            made[self.timeline(order[number % len(order)]).commit(run="during")] = time.monotonic()
        deadline = time.monotonic() + 400
        while not made.keys() <= self.shown.keys() and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        # A commit overtaken by the next before a reconcile shows in the later status.
        return sorted(self.shown[instant] - moment for instant, moment in made.items() if instant in self.shown)

    async def _declare(self, key: Key) -> None:
        namespace, name = key
        table = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "metadata": {"name": name}}
        await self._post(f"{API}/namespaces/{namespace}/huditables", {**table, "spec": self._spec(key)})

    def _spec(self, key: Key) -> Document:
        namespace, name = key
        return {
            "tableClassName": "scale",
            "basePath": f"{self._url}/{namespace}/{name}",
            "type": "CopyOnWrite",
            "recordKey": ["id"],
            "ingestion": {
                "source": {"files": {"path": f"{self._url}/landing/{name}", "format": "csv"}},
                "operation": "Insert",
                "schedule": {"cron": NEVER},
            },
            "clustering": {"mode": "Disabled"},
            "cleaning": {"mode": "Disabled"},
        }

    def _table_class(self) -> Document:
        spec: Document = {"allowedBasePaths": [self._url], "allowedSourcePaths": [f"{self._url}/landing"]}
        if self._endpoint:
            spec["objectStore"] = {"endpoint": self._endpoint, "region": "us-east-1", "pathStyleAccess": True}
        return {
            "apiVersion": "hudi-operator.io/v1beta1",
            "kind": "HudiTableClass",
            "metadata": {"name": "scale"},
            "spec": {**spec, "execution": {"mode": "Local"}},
        }

    def _see_table(self, _: str, table: Document) -> None:
        metadata, status = table["metadata"], table.get("status") or {}
        timeline = status.get("timeline") or {}
        key = metadata["namespace"], metadata["name"]
        self.generations[key] = status.get("observedGeneration", -1)
        if (
            status.get("observedGeneration") == metadata["generation"]
            and timeline.get("completedCommits", 0) >= COMMITS
        ):
            self.right.add(key)
        for instant in timeline.get("instants") or ():
            self.shown.setdefault(instant.partition(" ")[0], time.monotonic())

    def _see_job(self, kind: str, _: Document) -> None:
        if kind == "ADDED":
            self.jobs.append(time.monotonic())

    async def _watch(self, path: str, see: Any) -> None:
        while True:
            query = {"watch": "true"}
            async with self._session.get(path, params=query) as answer:
                async for line in _lines(answer):
                    event = json.loads(line)
                    see(event["type"], event["object"])

    async def _served(self) -> bool:
        async with self._session.get(f"{API}/huditables") as answer:
            return answer.status == 200

    async def _post(self, path: str, body: Document) -> None:
        async with self._session.post(path, json=body) as answer:
            if answer.status >= 400:
                raise RuntimeError(f"{path}: {await answer.text()}")

    async def _each(self, keys: list[Key], work: Any, *, at_once: int = 16) -> None:
        room = asyncio.Semaphore(at_once)

        async def one(key: tuple[str, str]) -> None:
            async with room:
                await work(key)

        await asyncio.gather(*(one(key) for key in keys))


def next_minute(seconds: float) -> datetime:
    """Return the next whole minute at least `seconds` away."""
    moment = datetime.now(UTC) + timedelta(seconds=seconds + 60)
    return moment.replace(second=0, microsecond=0)


async def _lines(answer: aiohttp.ClientResponse) -> Any:
    # Objects are longer than aiohttp's default line limit.
    rest = b""
    async for chunk in answer.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line


def _node(name: str) -> Document:
    room = {"cpu": "10k", "memory": "100Ti", "pods": "100k"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": room, "capacity": room},
    }
