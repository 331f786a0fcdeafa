"""Namespaces and classes stay in a cache, and actions read them live."""

from __future__ import annotations

import asyncio

from tests.control.memory_cluster import MemoryCluster

from hudi_operator.control.observation.recent import Namespaces, TableClasses
from hudi_operator.planning.model import NamespaceObservation


async def test_a_decision_reads_the_namespace_anew_and_polls_share_what_was_read() -> None:
    cluster = MemoryCluster()
    namespaces = Namespaces(cluster)
    before = NamespaceObservation(labels={"env": "prod"})
    after = NamespaceObservation(labels={"env": "dev"}, suspension="maria: bucket moves")
    cluster.labels = {"team-a": {"env": "prod"}}
    assert await namespaces.get("team-a") == before
    cluster.labels, cluster.suspensions = {"team-a": {"env": "dev"}}, {"team-a": " maria: bucket moves\n"}
    assert await namespaces.get("team-a") == before
    assert await namespaces.get("team-a", since=asyncio.get_running_loop().time()) == after
    assert await namespaces.get("team-a") == after
    assert await namespaces.get("gone") == NamespaceObservation()


async def test_a_namespace_that_may_not_be_read_is_not_taken_for_one_without_labels() -> None:
    cluster = MemoryCluster()
    cluster.namespaces_are_secret = True
    assert await Namespaces(cluster).get("team-a") is None


async def test_only_a_bounded_number_of_namespaces_and_classes_is_remembered() -> None:
    kube = MemoryCluster()
    namespaces, classes = Namespaces(kube), TableClasses(kube)
    for number in range(2500):
        await namespaces.get(f"namespace-{number}")
        await classes.get(f"class-{number}")
    assert (len(namespaces._known), len(classes._known)) == (1000, 1000)
