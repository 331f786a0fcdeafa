"""The status of classes in the Kubernetes API."""

from __future__ import annotations

from typing import Any

from tests.control.memory_cluster import MemoryCluster
from tests.planning.world import class_spec

from hudi_operator.control.class_reporter import ClassReporter
from hudi_operator.kube.keys import class_key
from hudi_operator.runtime.controller import Trigger

Document = dict[str, Any]


def class_document(**changes: Any) -> Document:
    spec = class_spec(**changes).model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"metadata": {"name": "standard", "uid": "class-uid"}, "spec": spec}


async def reconcile(cluster: MemoryCluster, name: str) -> list[str]:
    """Look at a class as the queue does; return the types of its conditions."""
    await ClassReporter(cluster).reconcile(class_key(name), Trigger.EVENT)
    return [one["type"] for one in cluster.classes.get(name, {}).get("status", {}).get("conditions", [])]


async def test_class_shows_its_unsafe_settings_and_is_written_after_a_change_alone() -> None:
    cluster = MemoryCluster()
    cluster.classes["standard"] = class_document(allowedSparkConf=["spark.jars"])
    cluster.classes["broken"] = {"metadata": {"name": "broken"}, "spec": {}}
    assert await reconcile(cluster, "standard") == ["Ready", "UnsafeSettings"]
    assert await reconcile(cluster, "broken") == ["Ready", "Stalled"]
    assert await reconcile(cluster, "gone") == []
    writes = cluster.writes
    await reconcile(cluster, "standard")
    assert cluster.writes == writes
    cluster.classes["standard"]["spec"]["allowedSparkConf"] = []
    assert await reconcile(cluster, "standard") == ["Ready"]


async def test_a_poisoned_status_of_a_class_is_written_anew() -> None:
    cluster = MemoryCluster()
    cluster.classes["standard"] = class_document()
    cluster.classes["standard"]["status"] = {"conditions": [{"type": "x" * 9000}, 3], "observedGeneration": []}
    assert await reconcile(cluster, "standard") == ["Ready"]
    assert cluster.classes["standard"]["status"]["observedGeneration"] == 0
