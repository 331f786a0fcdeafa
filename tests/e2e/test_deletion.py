"""Deleting a resource ends its work and lets go of its claim; the data stays, and may be taken up again."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.e2e.stage import Stage, Table

from toolkit.cluster import OPERATOR_NAMESPACE

pytestmark = pytest.mark.e2e

TEN = range(10)


def test_a_deleted_table_stops_its_job_and_its_successor_goes_on_where_it_was(stage: Stage) -> None:
    tenant = stage.tenant("deletion")
    first = tenant.table("phoenix")
    first.deliver(TEN)
    first.wait_ready()
    data = data_files(first)
    uid = first.document()["metadata"]["uid"]
    assert claims(stage, uid)

    first.deliver(range(10, 20))
    first.kubectl("annotate", "ht", first.name, "hudi-operator.io/requestedAt=now")
    first.running_pod()
    first.kubectl("delete", "ht", first.name, "--timeout=110s")

    assert first.document() == {}
    assert claims(stage, uid) == []
    assert [job for job in first.jobs() if not job["metadata"].get("deletionTimestamp")] == []
    stage.eventually(lambda: not first.pods(), what="all pods are gone")
    assert data <= data_files(first)
    before = first.ids()
    assert before in (Counter(TEN), Counter(range(20)))

    second = tenant.table("phoenix")
    second.wait_ready(runs=1 if before == Counter(TEN) else 0)
    assert second.document()["metadata"]["uid"] != uid
    assert second.ids() == Counter(range(20))
    assert len(second.commits()) == 2


def test_a_namespace_with_a_running_job_can_be_deleted(stage: Stage) -> None:
    table = stage.tenant("vanishing").table("vanishing")
    table.deliver(TEN)
    table.running_pod()
    uid = table.document()["metadata"]["uid"]
    stage.cluster.kubectl("delete", "namespace", table.namespace, "--wait=false")

    stage.eventually(
        lambda: stage.cluster.get("namespace", table.namespace) is None,
        what="the namespace is gone",
        explain=lambda: str(stage.cluster.get("namespace", table.namespace)),
    )
    stage.eventually(lambda: claims(stage, uid) == [], what="the claim is gone")


def data_files(table: Table) -> set[str]:
    """The table's files, without Hudi's own."""
    return {file for file in table.stage.store.files(table.folder) if "/.hoodie/" not in file}


def claims(stage: Stage, uid: str) -> list[str]:
    """The Leases by which a table holds its folder."""
    found = stage.cluster.items("leases", namespace=OPERATOR_NAMESPACE, selector=f"hudi-operator.io/table-uid={uid}")
    return [lease["metadata"]["name"] for lease in found]
