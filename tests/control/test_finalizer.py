"""The end of a table, played through against a cluster in memory, with the operator killed at each of its writes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
from tests.control.memory_cluster import Killed, MemoryCluster
from tests.planning.world import IMAGE, NOW, UID, at, class_spec, instant, minutes, timeline

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import parse_table
from hudi_operator.control.actor import Actor
from hudi_operator.control.claims import Claims
from hudi_operator.control.finalizer import FINALIZER, Finalizer
from hudi_operator.control.keys import TableKey
from hudi_operator.control.looks import TimelineLooks
from hudi_operator.control.observer import Observer
from hudi_operator.control.running import RunningJobs
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL, TABLE_UID_LABEL, job_labels
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.planning.model import TimelineLook, TimelineTrouble
from hudi_operator.planning.paths import canonical_path, path_hash

KEY = TableKey("team-a", "flights")
BASE_PATH = "s3a://lake/team-a/flights"
CLAIM = f"table-{path_hash(canonical_path(BASE_PATH))}"
THERE = TimelineLook(timeline=timeline(instant("20260310115900000")))


class _Looks:
    def __init__(self, cluster: MemoryCluster) -> None:
        self.look = cluster.look_at


class Play:
    """One deleted table, and the operator's process, which starts anew after each death."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.cluster = cluster
        self.now = NOW
        self.deaths = 0
        self._start()

    def _start(self) -> None:
        kube = cast("KubernetesClient", self.cluster)
        looks = cast("TimelineLooks", _Looks(self.cluster))
        claims, running = Claims(kube), RunningJobs()
        self.finalizer = Finalizer(
            kube=kube,
            observer=Observer(kube=kube, claims=claims, looks=looks, running=running),
            actor=Actor(kube=kube, default_image=IMAGE),
            claims=claims,
            looks=looks,
            running=running,
            clock=lambda: self.now,
        )

    async def until_it_is_gone(self, *, most: int = 400) -> None:
        for _ in range(most):
            if "flights" not in self.cluster.tables:
                return
            await self.one_look()
            self.cluster.kubelet()
        pytest.fail(f"the table is still there: {self.cluster.tables['flights'].get('status')}")

    async def one_look(self) -> None:
        document = await self.cluster.get_table(*KEY)
        assert document is not None
        try:
            pause = await self.finalizer.finalize(KEY, document, parse_table(document))
        except Killed:
            self.deaths += 1
            self._start()
            pause = None
        self.now += timedelta(seconds=2 if pause is None else pause)


def deleted_table(policy: str = "Delete", *, spec: dict[str, Any] | None = None) -> MemoryCluster:
    """A table that was just deleted, with a claim, a class, a store that holds it, and an ingestion that runs."""
    cluster = MemoryCluster()
    cluster.look = THERE
    cluster.classes["standard"] = {
        "metadata": {"name": "standard", "uid": "class-uid"},
        "spec": class_spec().model_dump(mode="json", by_alias=True, exclude_none=True),
    }
    cluster.claims[CLAIM] = {
        "metadata": {
            "name": CLAIM,
            "uid": "claim-uid",
            "labels": {MANAGED_BY_LABEL: MANAGED_BY, TABLE_UID_LABEL: UID},
        },
        "spec": {"holderIdentity": UID},
    }
    cluster.tables["flights"] = {
        "apiVersion": "hudi-operator.io/v1alpha1",
        "kind": "HudiTable",
        "metadata": {
            "name": "flights",
            "namespace": "team-a",
            "uid": UID,
            "generation": 2,
            "resourceVersion": "1",
            "finalizers": [FINALIZER],
            "deletionTimestamp": at(NOW),
        },
        "spec": {
            "tableClassName": "standard",
            "basePath": BASE_PATH,
            "type": "CopyOnWrite",
            "recordKey": ["id"],
            "deletionPolicy": policy,
            **(spec or {}),
        },
        "status": {"observedGeneration": 1},
    }
    cluster.add_job(ingestion())
    cluster.kubelet()
    return cluster


def ingestion() -> dict[str, Any]:
    labels = job_labels(table="flights", table_uid=UID, service=Service.INGESTION)
    template = {"metadata": {"labels": {**labels, "hudi-operator.io/role": "driver"}}, "spec": {"containers": [{}]}}
    return {"metadata": {"name": "flights-ingestion-1", "labels": labels}, "spec": {"template": template}}


def reasons(cluster: MemoryCluster) -> list[tuple[str, str]]:
    return [(kind, reason) for kind, reason, _ in cluster.events]


async def test_the_data_is_removed_by_one_job_after_all_others_have_ended() -> None:
    cluster = deleted_table()
    cluster.outcome = None
    play = Play(cluster)
    await play.one_look()
    assert cluster.jobs == {}
    assert cluster.created == []
    assert cluster.pods != {}
    await play.one_look()
    assert cluster.created == []

    cluster.outcome = Outcome.SUCCEEDED
    await play.until_it_is_gone()
    assert len(cluster.of_service("deletion")) == 1
    assert len(cluster.created) == 1
    assert cluster.claims == {}
    assert cluster.look.timeline is None
    assert reasons(cluster) == [("Normal", "DataDeleted")]
    assert "Deleted 7 files." in cluster.events[0][2]


async def test_the_job_that_removes_the_data_outlives_the_table_and_is_one_pod() -> None:
    cluster = deleted_table(spec={"execution": {"mode": "Cluster"}})
    await Play(cluster).until_it_is_gone()
    (job,) = cluster.jobs.values()
    assert "ownerReferences" not in job["metadata"]
    assert "ttlSecondsAfterFinished" in job["spec"]
    assert job["spec"]["template"]["spec"]["automountServiceAccountToken"] is False


async def test_retained_data_needs_no_job() -> None:
    cluster = deleted_table("Retain")
    cluster.classes.clear()
    await Play(cluster).until_it_is_gone()
    assert cluster.created == []
    assert cluster.claims == {}
    assert cluster.look is THERE
    assert reasons(cluster) == [("Normal", "DataRetained")]


GONE = {
    "the class": lambda cluster: cluster.classes.clear(),
    "the claim": lambda cluster: cluster.claims.clear(),
    "the namespace": lambda cluster: setattr(cluster, "terminating", True),
    "the quota": lambda cluster: setattr(cluster, "refusal", "exceeded quota: jobs"),
    "the store": lambda cluster: setattr(cluster, "outcome", Outcome.FAILED),
}


@pytest.mark.parametrize("lose", GONE.values(), ids=GONE)
async def test_the_table_ends_and_the_data_is_retained_when_this_is_gone(lose: Any) -> None:
    cluster = deleted_table()
    lose(cluster)
    play = Play(cluster)
    await play.until_it_is_gone()
    assert play.now - NOW < minutes(15)
    assert cluster.claims == {}
    assert cluster.look is THERE
    kind, reason, message = cluster.events[-1]
    assert (kind, reason) == ("Warning", "DataRetained")
    assert BASE_PATH in message


async def test_a_store_that_cannot_be_read_afterwards_does_not_hold_the_table() -> None:
    cluster = deleted_table()
    play = Play(cluster)
    for _ in range(6):
        await play.one_look()
        cluster.kubelet()
        cluster.look = TimelineLook(trouble=TimelineTrouble.UNREACHABLE, message="The store does not answer.")
    await play.until_it_is_gone()
    assert cluster.of_service("deletion") == cluster.created
    assert reasons(cluster)[-1] == ("Warning", "DeletionNotConfirmed")


async def test_a_finalizer_of_somebody_else_holds_the_table_and_nothing_is_done_twice() -> None:
    cluster = deleted_table()
    cluster.tables["flights"]["metadata"]["finalizers"].append("example.com/other")
    play = Play(cluster)
    for _ in range(20):
        await play.one_look()
        cluster.kubelet()
    assert cluster.tables["flights"]["metadata"]["finalizers"] == ["example.com/other"]
    assert reasons(cluster) == [("Normal", "DataDeleted")]
    assert len(cluster.created) == 1


async def written_without_a_kill(policy: str) -> MemoryCluster:
    cluster = deleted_table(policy)
    await Play(cluster).until_it_is_gone()
    return cluster


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
async def test_a_kill_at_any_write_leads_to_the_same_end(policy: str) -> None:
    reference = await written_without_a_kill(policy)
    assert reference.writes >= 4
    for number in range(1, reference.writes + 1):
        for takes_effect in (False, True):
            cluster = deleted_table(policy)
            cluster.kill_at = (number, takes_effect)
            play = Play(cluster)
            await play.until_it_is_gone()
            where = f"killed at write {number}, which took effect: {takes_effect}"
            assert play.deaths == 1, where
            assert cluster.created == reference.created, where
            assert cluster.claims == {}, where
            assert cluster.look.timeline == reference.look.timeline, where
            assert set(reasons(cluster)) == set(reasons(reference)), where
