"""The end of a table, played through against a cluster in memory, with the operator killed at each of its writes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.control.memory_cluster import Killed, MemoryCluster
from tests.planning.world import IMAGE, NOW, UID, as_declared, at, class_spec, instant, minutes, table, timeline

from hudi_jobs.contract import Location, Outcome, Service
from hudi_jobs.contract.table.location import canonical_path
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.observation.ending import FINALIZER
from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.pool import StorePool
from hudi_operator.control.snapshots.reader import SnapshotReader, Snapshots
from hudi_operator.control.tables import Reconciler
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL, TABLE_UID_LABEL, job_labels
from hudi_operator.kube.errors import KubernetesError
from hudi_operator.kube.keys import table_key
from hudi_operator.planning.deletion.decide_ending import ATTEMPTS
from hudi_operator.planning.model import TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.policy.class_policy import path_hash
from hudi_operator.runtime.controller import Trigger
from hudi_operator.storage import FileStamp, Listing, StorageError
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.telemetry.metrics import metrics

KEY = table_key("team-a", "flights")
BASE_PATH = "s3a://lake/team-a/flights"
CLAIM = f"table-{path_hash(canonical_path(BASE_PATH))}"
THERE = as_declared(TimelineSnapshot(timeline=timeline(instant("20260310115900000"))), table())


class _Snapshots:
    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster

    async def read(self, _base: Location, _store: ObjectStore | None, **_questions: Any) -> TimelineSnapshot:
        return self._cluster.snapshot

    async def fingerprint(self, _base: Location, _store: ObjectStore | None, **_options: Any) -> int | None:
        return None  # every reconcile observes the whole table


class Store(LocalFileSystem):
    """A store of objects below a folder: one that is not there holds nothing, as in S3."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list_directory(self, path: str, **options: Any) -> Listing:
        try:
            return super().list_directory(f"{self.folder}/{path}", **options)
        except StorageError:
            return Listing(names=[])

    def read_file(self, path: str, *, limit: int) -> bytes:
        return super().read_file(f"{self.folder}/{path}", limit=limit)

    def stamp(self, path: str) -> FileStamp:
        return super().stamp(f"{self.folder}/{path}")


class Play:
    """One deleted table, and the operator's process, which starts again after each death."""

    def __init__(self, cluster: MemoryCluster, *, snapshots: Snapshots | None = None) -> None:
        self.cluster = cluster
        self.snapshots: Snapshots = snapshots or _Snapshots(cluster)
        self.now = NOW
        cluster.clock = lambda: self.now
        self.deaths = 0
        self.errors = 0
        self._start()

    def _start(self) -> None:
        self.reconciler = Reconciler(kube=self.cluster, snapshots=self.snapshots, settings=Settings(spark_image=IMAGE))

    async def until_it_is_gone(self, *, most: int = 400) -> None:
        for _ in range(most):
            if "flights" not in self.cluster.tables:
                return
            await self.reconcile_once()
            self.cluster.kubelet()
        pytest.fail(f"the table is still there: {self.cluster.tables['flights'].get('status')}")

    async def reconcile_once(self) -> None:
        pause = None
        try:
            pause = await self.reconciler.reconcile(KEY, Trigger.EVENT)
        except Killed:
            self.deaths += 1
            self._start()
        except KubernetesError:
            self.errors += 1
        self.now += timedelta(seconds=2 if pause is None else pause)


def deleted_table(policy: str = "Delete", *, spec: dict[str, Any] | None = None) -> MemoryCluster:
    """A table that was just deleted, with a claim, a class, a store that holds it, and an ingestion that runs."""
    cluster = MemoryCluster()
    cluster.snapshot = THERE
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
        "apiVersion": "hudi-operator.io/v1beta1",
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
    owner = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "uid": UID, "controller": True}
    metadata = {"name": "flights-ingestion-1", "labels": labels, "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": {"template": template}}


def reasons(cluster: MemoryCluster) -> list[tuple[str, str]]:
    return [(kind, reason) for kind, reason, _ in cluster.events]


async def test_the_data_is_removed_by_one_job_after_all_others_have_ended() -> None:
    cluster = deleted_table()
    cluster.outcome = None
    play = Play(cluster)
    await play.reconcile_once()
    assert cluster.jobs == {}
    assert cluster.created == []
    assert cluster.pods != {}
    await play.reconcile_once()
    assert cluster.created == []

    cluster.outcome = Outcome.SUCCEEDED
    await play.until_it_is_gone()
    assert len(cluster.of_service("deletion")) == 1
    assert len(cluster.created) == 1
    assert cluster.claims == {}
    assert cluster.snapshot.timeline is None
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
    assert cluster.snapshot is THERE
    assert reasons(cluster) == [("Normal", "DataRetained")]


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
async def test_executors_are_told_to_end_and_waited_for_before_the_data_is_touched(policy: str) -> None:
    cluster = deleted_table(policy)
    executor = cluster.add_executor(next(iter(cluster.jobs.values())))["metadata"]["name"]
    cluster.cut_off.add(executor)
    play = Play(cluster)
    for _ in range(10):
        await play.reconcile_once()
        cluster.kubelet()
    assert "deletionTimestamp" in cluster.pods[executor]["metadata"]
    assert cluster.created == []
    assert executor in cluster.tables["flights"]["status"]["message"]
    assert cluster.claims != {}

    cluster.cut_off.clear()
    await play.until_it_is_gone()
    assert len(cluster.created) == (policy == "Delete")


GONE = {
    "the class": lambda cluster: cluster.classes.clear(),
    "the claim": lambda cluster: cluster.claims.clear(),
    "the namespace": lambda cluster: setattr(cluster, "terminating", True),
    "the quota": lambda cluster: setattr(cluster, "refusal", "exceeded quota: jobs"),
    "the store": lambda cluster: setattr(cluster, "outcome", Outcome.FAILED),
    "the right to read the namespace": lambda cluster: setattr(cluster, "namespaces_are_secret", True),
    "the wish of the namespace to run jobs": lambda cluster: cluster.suspensions.update({"team-a": "maria"}),
}


@pytest.mark.parametrize("lose", GONE.values(), ids=GONE)
async def test_the_table_ends_and_the_data_is_retained_when_this_is_gone(lose: Any) -> None:
    cluster = deleted_table()
    lose(cluster)
    play = Play(cluster)
    await play.until_it_is_gone()
    assert play.now - NOW < minutes(15)
    assert cluster.claims == {}
    assert cluster.snapshot is THERE
    kind, reason, message = cluster.events[-1]
    assert (kind, reason) == ("Warning", "DataRetained")
    assert BASE_PATH in message


async def test_a_store_that_cannot_be_read_afterwards_does_not_hold_the_table() -> None:
    cluster = deleted_table()
    play = Play(cluster)
    for _ in range(6):
        await play.reconcile_once()
        cluster.kubelet()
        cluster.snapshot = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="The store does not answer.")
    await play.until_it_is_gone()
    assert cluster.of_service("deletion") == cluster.created
    assert reasons(cluster)[-1] == ("Warning", "DeletionNotConfirmed")


async def test_removal_of_a_table_without_instants_is_read_from_the_store(tmp_path: Path) -> None:
    metadata = tmp_path / "lake" / "team-a" / "flights" / ".hoodie"
    metadata.mkdir(parents=True)
    properties = "hoodie.table.name=flights\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=9\n"
    (metadata / "hoodie.properties").write_text(f"{properties}hoodie.timeline.layout.version=2\n")
    snapshots = SnapshotReader(StorePool(opener=lambda _url, _options: Store(tmp_path)))
    for _ in range(2):
        assert (await snapshots.read(Location.parse(BASE_PATH), None)).timeline is not None

    cluster = deleted_table()
    shutil.rmtree(metadata)
    await Play(cluster, snapshots=snapshots).until_it_is_gone()
    assert reasons(cluster) == [("Normal", "DataDeleted")]
    assert len(cluster.created) == 1


async def test_a_finalizer_of_somebody_else_holds_the_table_and_nothing_is_done_twice() -> None:
    cluster = deleted_table()
    cluster.tables["flights"]["metadata"]["finalizers"].append("example.com/other")
    play = Play(cluster)
    for _ in range(20):
        await play.reconcile_once()
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
            assert len(cluster.created) == len(reference.created), where
            assert cluster.claims == {}, where
            assert cluster.snapshot.timeline == reference.snapshot.timeline, where
            assert set(reasons(cluster)) == set(reasons(reference)), where


async def played(cluster: MemoryCluster) -> tuple[MemoryCluster, float]:
    """Play a deletion to its end; return the runs of it that were counted."""
    before = counted_deletions()
    await Play(cluster).until_it_is_gone()
    return cluster, counted_deletions() - before


def counted_deletions() -> float:
    found = (
        metrics.registry.get_sample_value("hudi_operator_jobs_total", {"service": "Deletion", "outcome": outcome.value})
        for outcome in Outcome
    )
    return sum(number or 0.0 for number in found)


def failing_table() -> MemoryCluster:
    """A deleted table none of whose attempts at removing the data succeeds."""
    cluster = deleted_table()
    cluster.outcome = Outcome.FAILED
    return cluster


@pytest.mark.parametrize("make", [deleted_table, failing_table], ids=["the data is removed", "every attempt fails"])
async def test_a_lost_reply_to_any_write_of_a_deletion_counts_nothing_twice(make: Callable[[], MemoryCluster]) -> None:
    reference, runs = await played(make())
    assert runs == len(reference.created)
    for number in range(1, reference.writes + 1):
        cluster = make()
        cluster.lose = number.__eq__
        where = f"lost the reply to write {number}"
        assert (await played(cluster))[1] == runs, where
        assert len(cluster.created) == len(reference.created), where
        assert reasons(cluster) == reasons(reference), where
        assert cluster.claims == {}, where


def refused_table() -> MemoryCluster:
    """A deleted table whose namespace has no room for the Job that removes the data."""
    cluster = deleted_table()
    cluster.refusal = "exceeded quota: jobs"
    return cluster


@pytest.mark.parametrize("make", [failing_table, refused_table], ids=["the Job fails", "the Job is refused"])
@pytest.mark.parametrize("lost", [False, True], ids=["every reply arrives", "every second reply is lost"])
async def test_every_failed_attempt_is_counted_and_reported(make: Callable[[], MemoryCluster], *, lost: bool) -> None:
    cluster = make()
    cluster.lose = lambda number: lost and number % 2 == 1
    assert (await played(cluster))[1] == ATTEMPTS
    assert [reason for _, reason in reasons(cluster)] == ["DeletionFailed"] * ATTEMPTS + ["DataRetained"]


async def test_every_reply_to_a_deletion_may_be_lost_once() -> None:
    reference, runs = await played(failing_table())
    cluster = failing_table()
    cluster.lose = lambda number: number % 2 == 1
    assert (await played(cluster))[1] == runs
    assert len(cluster.created) == len(reference.created)
    assert reasons(cluster) == reasons(reference)
