"""What is remembered of the labels of namespaces and of classes."""

from __future__ import annotations

import asyncio

from tests.control.memory_cluster import MemoryCluster

from hudi_operator.control.observation.classes import TableClasses
from hudi_operator.control.observation.namespaces import NamespaceLabels


async def test_what_rests_on_labels_reads_them_anew_and_what_does_not_shares_them() -> None:
    cluster = MemoryCluster()
    labels = NamespaceLabels(cluster)
    cluster.labels = {"team-a": {"env": "prod"}}
    assert await labels.get("team-a") == {"env": "prod"}
    cluster.labels = {"team-a": {"env": "dev"}}
    assert await labels.get("team-a") == {"env": "prod"}
    assert await labels.get("team-a", since=asyncio.get_running_loop().time()) == {"env": "dev"}
    assert await labels.get("team-a") == {"env": "dev"}
    assert await labels.get("gone") == {}


async def test_labels_that_may_not_be_read_are_not_taken_for_none() -> None:
    cluster = MemoryCluster()
    cluster.labels_are_secret = True
    assert await NamespaceLabels(cluster).get("team-a") is None


async def test_however_many_names_tables_come_up_with_only_some_are_remembered() -> None:
    kube = MemoryCluster()
    labels, classes = NamespaceLabels(kube), TableClasses(kube)
    for number in range(2500):
        await labels.get(f"namespace-{number}")
        await classes.get(f"class-{number}")
    assert (len(labels._known), len(classes._known)) == (1000, 1000)
