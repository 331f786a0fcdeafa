"""Nobody else's objects count: what only looks like a table's own holds nothing up and takes no place."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.control.job_documents import JOB_UID, the_job, the_pod
from tests.control.memory_cluster import MemoryCluster
from tests.control.test_finalizer import Play, deleted_table
from tests.control.test_reconciler import KEY, Operator, living_table
from tests.planning.world import IMAGE, JOB, NOW, UID, active, at, minutes, observe, status, table, table_class
from tests.whole_status import whole

from hudi_jobs.contract import Service
from hudi_operator.control.jobs.running import own_jobs, own_pods
from hudi_operator.jobs.decided_job import JobRefused, build_manifest
from hudi_operator.kube.objects import Kind
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import CreateJob

Document = dict[str, Any]

OWNER = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "name": "flights", "uid": UID}
FORGED_OWNERS = {
    "no owner": [],
    "an owner that is no controller": [OWNER],
    "an owner of another group": [{**OWNER, "apiVersion": "example.com/v1", "controller": True}],
    "an owner of another kind": [{**OWNER, "kind": "ConfigMap", "apiVersion": "v1", "controller": True}],
    "another table as owner": [{**OWNER, "uid": "another", "controller": True}],
    "nonsense for an owner": ["x", None, {"controller": "true", "uid": UID, "kind": 7}],
}


def names(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [job["metadata"]["name"] for job in jobs]


@pytest.mark.parametrize("forged", FORGED_OWNERS)
def test_a_job_with_the_labels_of_a_table_is_its_own_only_by_its_controller(forged: str) -> None:
    job = the_job(ownerReferences=FORGED_OWNERS[forged])
    assert own_jobs([job], table_uid=UID, remembered=()) == []
    assert names(own_jobs([the_job()], table_uid=UID, remembered=())) == [JOB]


def test_a_job_that_status_records_is_the_tables_own_by_its_name_and_uid() -> None:
    job = the_job(ownerReferences=[])
    assert own_jobs([job], table_uid=UID, remembered=[active(uid=JOB_UID)]) == [job]
    assert own_jobs([job], table_uid=UID, remembered=[active(uid=None)]) == [job]
    assert own_jobs([job], table_uid=UID, remembered=[active(uid="another")]) == []


def test_a_job_with_a_name_that_no_status_can_hold_is_not_a_tables_own() -> None:
    long = the_job()
    long["metadata"]["name"] = "j" * 253
    assert own_jobs([long], table_uid=UID, remembered=()) == []


def test_a_pod_is_the_tables_own_when_its_run_is() -> None:
    jobs = [the_job()]
    orphan = the_pod(job_uid="another")
    stray = the_pod(role="executor", name="made-up-exec-1")
    stray["metadata"]["labels"] = {"hudi-operator.io/role": "executor"}
    executor = copy.deepcopy(stray)
    executor["metadata"]["name"] = f"{JOB}-exec-1"
    assert own_pods([the_pod(), orphan, stray, executor], jobs=jobs, remembered=()) == [the_pod(), executor]
    assert own_pods([orphan], jobs=[], remembered=[active(uid="another")]) == [orphan]
    assert own_pods([orphan], jobs=[], remembered=[active(uid=None)]) == [orphan]


def fakes(cluster: MemoryCluster, number: int = 3, **metadata: Any) -> None:
    """Jobs that somebody else made with a table's labels, held so that they never end."""
    for one in range(number):
        job = the_job(name=f"flights-ingestion-fake{one}", **metadata)
        job["metadata"].pop("uid")
        job["spec"]["suspend"] = True
        cluster.add_job(job)


async def test_suspended_jobs_of_somebody_else_neither_stop_a_table_nor_take_places_in_its_class() -> None:
    cluster = living_table()
    fakes(cluster, ownerReferences=[])
    operator = Operator(cluster)
    await operator.reconcile()
    assert len(cluster.created) == 1
    shown = whole(cluster.tables[KEY.name])["activeJobs"]
    assert [job["name"] for job in shown] == cluster.created


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
async def test_jobs_and_pods_of_somebody_else_do_not_hold_the_deletion_of_a_table(policy: str) -> None:
    cluster = deleted_table(policy)
    cluster.kubelet()
    fakes(cluster, ownerReferences=[])
    job = next(iter(cluster.jobs.values()))
    stray = cluster.add_executor(job)
    stray["metadata"]["name"] = "stray"
    cluster.cut_off.add(stray["metadata"]["name"])
    await Play(cluster).until_it_is_gone()
    assert sum("fake" in name for name in cluster.jobs) == 3


@pytest.mark.parametrize("attempt", ["9" * 5000, "-1", "٣", "1e9", "0x10", "", "NaN", "1" * 16])
async def test_an_attempt_of_any_length_on_a_job_stops_neither_the_table_nor_its_deletion(attempt: str) -> None:
    cluster = deleted_table("Retain")
    for job in cluster.jobs.values():
        job["metadata"]["annotations"] = {
            f"hudi-operator.io/{name}": attempt for name in ("attempt", "generation", "base-instant", "decided-at")
        }
    await Play(cluster).until_it_is_gone()
    assert cluster.tables == {}


def test_a_deletion_that_somebody_wrote_into_status_is_not_carried_out() -> None:
    forged = active(service=Service.DELETION, uid=None, started_at=at(NOW))
    for policy in ("Retain", "Delete"):
        seen = observe(table(status=status(active_jobs=(forged,)), deletionPolicy=policy), table_class=table_class())
        plan = decide(seen, default_image=IMAGE, now=NOW + minutes(1))
        assert not [one for one in plan.actions if isinstance(one, CreateJob)]
        assert forged.name not in {job.name for job in plan.active_jobs}
        assert not [run for run in plan.history if run.service is Service.DELETION]


@pytest.mark.parametrize(("policy", "deleted"), [("Retain", False), ("Retain", True), ("Delete", False)])
def test_no_job_that_removes_data_is_built_unless_spec_and_deletion_ask_for_it(policy: str, deleted: bool) -> None:
    one = table(deletionPolicy=policy)
    if deleted:
        one = one.copy_with(metadata=one.metadata.copy_with(deletion_timestamp=at(NOW)))
    with pytest.raises(JobRefused):
        build_manifest(observe(one, table_class=table_class()), active(service=Service.DELETION), default_image=IMAGE)


async def test_a_job_of_another_owner_under_the_name_of_a_run_is_not_taken_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = living_table()
    operator = Operator(cluster)
    create = cluster.create

    async def first_somebody_else(kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> Document:
        forged = copy.deepcopy(dict(manifest))
        forged["metadata"]["ownerReferences"] = []
        monkeypatch.setattr(cluster, "create", create)
        cluster.add_job(forged)
        return await create(kind, namespace, manifest)

    monkeypatch.setattr(cluster, "create", first_somebody_else)
    await operator.reconcile()
    after = whole(cluster.tables[KEY.name])
    assert "not this table's" in str(after)
