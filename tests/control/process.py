"""The controllers of a process before a cluster in memory, with a table that rests and what resources ask of it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.control.test_reconciler import KEY, Cluster, Snapshots, living_table
from tests.planning.savepoints.savepoints import RESTING
from tests.planning.world import IMAGE, as_declared, story

from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.control.claims import Claims
from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.parts import Parts
from hudi_operator.control.settings import Settings
from hudi_operator.jobs.names import REQUEST_ANNOTATION
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.planning.model.times import format_time
from hudi_operator.runtime.controller import Controller, Trigger, reconcile_by_kind
from hudi_operator.runtime.informer import Informer, KnownObjects
from hudi_operator.runtime.queue import KeyedQueue
from hudi_operator.timeline import TableType

Document = dict[str, Any]


class RestingTable:
    """A table without ingestion, the resources of another kind that name it, and the queue of their reconciles."""

    def __init__(self, controller: Controller[Parts], **spec: Any) -> None:
        self.controller = controller
        self.cluster: Cluster = living_table(**{**RESTING, **spec})
        self.cluster.tables["flights"]["spec"].pop("ingestion", None)
        self.cluster.outcome = None
        self.resources = self.cluster.of_kind(controller.kind)
        self.queue: KeyedQueue[ObjectKey] = KeyedQueue()
        self.known = KnownObjects(CONTROLLERS)
        self.informer = Informer(queue=self.queue, known=self.known)
        parts = Parts(
            kube=self.cluster,
            snapshots=Snapshots(self.cluster),
            settings=Settings(spark_image=IMAGE),
            controllers=CONTROLLERS,
            known=self.known,
            wake=lambda key: self.queue.add(key, Trigger.POLL),
            alert=self.queue.add,
        )
        self._reconcile = reconcile_by_kind(CONTROLLERS, parts)

    async def claim(self, name: str) -> None:
        """Have another table hold the claim on its base path, as if the operator had reconciled it."""
        table = parse_table(self.cluster.tables[name])
        assert isinstance(table, HudiTable)
        assert await Claims(self.cluster).ensure(table) is None

    def shows(self, *files: str) -> None:
        """What the store holds; every commit is of a run of the operator."""
        table = parse_table(self.cluster.tables["flights"])
        assert isinstance(table, HudiTable)
        runs = tuple((f"run-{name}", name.partition("_")[0]) for name in files if name.endswith(".commit"))
        found = story(*files, kind=TableType.COPY_ON_WRITE)
        self.cluster.snapshot = as_declared(TimelineSnapshot(timeline=found, runs=runs), table)

    def create(self, name: str, spec: Document) -> None:
        """Create a resource, and let its event come."""
        self.resources[name] = {
            "apiVersion": "hudi-operator.io/v1beta1",
            "kind": self.controller.kind.name,
            "metadata": {
                "name": name,
                "namespace": "team-a",
                "uid": f"uid-of-{name}",
                "generation": 1,
                "resourceVersion": "1",
                "creationTimestamp": format_time(self.cluster.now()),
            },
            "spec": {"tableRef": {"name": "flights"}, **spec},
        }
        self.event("ADDED", name)

    def delete(self, name: str) -> None:
        metadata = self.resources[name]["metadata"]
        metadata["deletionTimestamp"] = format_time(self.cluster.now())
        metadata["resourceVersion"] = f"{metadata['resourceVersion']}-deleted"
        self.event("MODIFIED", name)

    def event(self, kind: str, name: str) -> None:
        self.informer.object_event(self.controller, {"type": kind, "object": self.resources[name]})

    def pass_minutes(self, number: int) -> None:
        """Put the clock of the API server forward."""
        began = self.cluster.clock()
        self.cluster.clock = lambda: began + timedelta(minutes=number)

    async def reconcile(self, key: ObjectKey) -> None:
        await self._reconcile(key, Trigger.EVENT)

    async def work(self) -> None:
        """Reconcile until nothing waits any more; what is only to come later does not count."""
        for _ in range(20):
            waiting = {key: entry.trigger for key, entry in self.queue._waiting.items()}
            if not waiting:
                return
            for key, trigger in waiting.items():
                self.queue.discard(key)
                await self._reconcile(key, trigger)
        pytest.fail("it does not come to rest")

    async def look(self) -> None:
        """Reconcile the table, and what that wakes."""
        self.queue.add(KEY)
        await self.work()

    def asked(self, part: str) -> list[Document]:
        """What the Jobs were asked to do."""
        annotations = [job["spec"]["template"]["metadata"]["annotations"] for job in self.cluster.jobs.values()]
        return [json.loads(each[REQUEST_ANNOTATION])["tasks"][0][part] for each in annotations]
