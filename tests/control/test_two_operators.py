"""Two operators, each in its own cluster, declare one table on one store: one works, the other only tells."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from tests.control.memory_cluster import MemoryCluster
from tests.control.test_finalizer import Play, deleted_table
from tests.control.test_reconciler import Operator, living_table
from tests.planning.world import UID

from hudi_jobs.contract import JobRequest, OwnerRecord
from hudi_operator.jobs.names import REQUEST_ANNOTATION
from hudi_operator.planning.model import TimelineSnapshot

MOMENT = "2026-03-10T11:59:00Z"


async def elsewhere() -> str:
    return "another-cluster"


def newest_request(cluster: MemoryCluster) -> JobRequest:
    pod = cluster.jobs[cluster.created[-1]]["spec"]["template"]
    return JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])


def as_recorded_by(request: JobRequest) -> TimelineSnapshot:
    """What the store shows once the driver of a run has recorded for whom it works."""
    owner = request.tasks[0].owner
    assert owner is not None
    record = OwnerRecord(**owner.model_dump(), run=request.run, since=MOMENT, renewed_at=MOMENT)
    return TimelineSnapshot(owner=record)


def conditions(operator: Operator) -> dict[str, dict[str, Any]]:
    return {one["type"]: one for one in operator.status["conditions"]}


def findings(operator: Operator) -> dict[str, str]:
    return {one["code"]: one["message"] for one in operator.status.get("findings", [])}


def operator_elsewhere() -> Operator:
    operator = Operator(living_table())
    vars(operator.cluster)["cluster_uid"] = elsewhere
    operator.cluster.tables["flights"]["metadata"]["uid"] = "uid-of-the-other"
    return operator


async def test_the_second_operator_does_nothing_but_tell_until_it_is_told_to_take_over() -> None:
    first, second = Operator(living_table()), operator_elsewhere()
    await first.reconcile()
    first.cluster.snapshot = second.cluster.snapshot = as_recorded_by(newest_request(first.cluster))

    await second.settle()
    assert second.cluster.created == []
    told = conditions(second)
    assert {told[kind]["reason"] for kind in ("Ready", "Stalled", "Healthy")} == {"OwnedElsewhere"}
    assert "takeOver: {owner: 'cluster/hudi-operator'}." in findings(second)["OwnedElsewhere"]
    assert any(reason == "OwnedElsewhere" for _, reason, _ in second.cluster.events)
    await first.settle()
    assert "OwnedElsewhere" not in findings(first)

    second.cluster.tables["flights"]["status"]["memory"]["decisions"] = {"takeOver": "cluster/hudi-operator"}
    await second.reconcile()
    request = newest_request(second.cluster)
    assert request.tasks[0].take_over == "cluster/hudi-operator"
    first.cluster.snapshot = second.cluster.snapshot = as_recorded_by(request)
    await second.settle()
    await first.settle()
    assert "OwnedElsewhere" not in findings(second)
    assert "another-cluster/hudi-operator" in findings(first)["OwnedElsewhere"]


async def test_an_operator_from_a_backup_of_the_cluster_does_nothing_but_tell() -> None:
    first = Operator(living_table())
    await first.reconcile()
    first.cluster.snapshot = as_recorded_by(newest_request(first.cluster))
    await first.settle()
    restored = Operator(living_table())
    restored.cluster.tables = copy.deepcopy(first.cluster.tables)
    restored.cluster.snapshot = first.cluster.snapshot
    await restored.settle()
    assert "OwnedElsewhere" not in findings(restored), "both know the run that the record names"

    first.cluster.tables["flights"]["metadata"]["annotations"] = {"hudi-operator.io/requested-at": MOMENT}
    await first.reconcile()
    first.cluster.snapshot = restored.cluster.snapshot = as_recorded_by(newest_request(first.cluster))
    await first.settle()
    assert "OwnedElsewhere" not in findings(first)
    await restored.settle()
    assert restored.cluster.created == []
    assert f"takeOver: {{owner: {first.cluster.created[-1]!r}}}." in findings(restored)["OwnedElsewhere"]


async def test_the_data_of_a_table_that_another_operator_owns_is_not_deleted() -> None:
    record = OwnerRecord(
        operator="another-cluster/ns", table_uid="u", table="a/b", run="r", since=MOMENT, renewed_at=MOMENT
    )
    cluster = deleted_table()
    cluster.snapshot = replace(cluster.snapshot, owner=record)
    await Play(cluster).until_it_is_gone()
    assert cluster.of_service("Deletion") == []
    kind, reason, message = cluster.events[-1]
    assert (kind, reason) == ("Warning", "DataRetained")
    assert "a/b of another operator" in message


async def test_the_data_of_a_table_that_this_operator_owns_is_deleted() -> None:
    cluster = deleted_table()
    record = OwnerRecord(
        operator="cluster/hudi-operator", table_uid=UID, table="a/b", run="r", since=MOMENT, renewed_at=MOMENT
    )
    cluster.snapshot = replace(cluster.snapshot, owner=record)
    await Play(cluster).until_it_is_gone()
    assert len(cluster.of_service("Deletion")) == 1
