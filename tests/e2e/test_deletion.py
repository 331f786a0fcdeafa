"""The life of a resource beside its runs: suspended, observed, changed, deleted and declared again.

Deleting a resource ends its work and lets go of its claim. The data stays, unless the spec asks for its deletion.
"""

from __future__ import annotations

import time
from collections import Counter

import pytest
from tests.e2e.stage import METADATA_TABLE, Stage, Table, Tenant

from toolkit.cluster import OPERATOR_NAMESPACE

pytestmark = pytest.mark.e2e

DOOMED = "e2e-doomed"
TEN = range(10)
TWENTY = range(10, 20)


@pytest.fixture(scope="module")
def phoenix(stage: Stage) -> Table:
    """A table whose data stays, with ten rows."""
    return stage.tenant("deletion").filled("phoenix")


@pytest.fixture(scope="module")
def doomed(stage: Stage) -> Table:
    """A table whose data goes with it, with ten rows and a class of its own."""
    return declare_doomed(stage.tenant("removal"), stage.make_class(DOOMED))


def declare_doomed(tenant: Tenant, class_name: str) -> Table:
    return tenant.filled("flights", tableClassName=class_name, deletionPolicy="Delete", metadataTable=METADATA_TABLE)


def test_a_deleted_table_stops_its_job_and_its_successor_goes_on_where_it_was(stage: Stage, phoenix: Table) -> None:
    data = data_files(phoenix)
    uid = phoenix.document()["metadata"]["uid"]
    assert claims(stage, uid)

    phoenix.deliver(TWENTY)
    request_run(phoenix)
    phoenix.running_pod()
    delete(phoenix)

    assert claims(stage, uid) == []
    # A Job that ended before it could be stopped goes with its owner.
    stage.eventually(lambda: not phoenix.jobs(), what="all Jobs are gone")
    stage.eventually(lambda: not phoenix.pods(), what="all pods are gone")
    phoenix.wait_event("Normal", "DataRetained")
    assert data <= data_files(phoenix)
    before = phoenix.ids()
    assert before in (Counter(TEN), Counter(range(20)))

    second = Tenant(stage, phoenix.namespace).table("phoenix")
    second.wait_ready(runs=1 if before == Counter(TEN) else 0)
    assert second.document()["metadata"]["uid"] != uid
    assert second.ids() == Counter(range(20))
    assert len(second.commits()) == 2


def test_a_namespace_with_a_running_job_can_be_deleted_and_the_data_stays(stage: Stage, phoenix: Table) -> None:
    rows = phoenix.ids()
    phoenix.patch({"spec": {"deletionPolicy": "Delete"}})
    phoenix.deliver(range(20, 30))
    request_run(phoenix)
    phoenix.running_pod()
    uid = phoenix.document()["metadata"]["uid"]
    stage.cluster.kubectl("delete", "namespace", phoenix.namespace, "--wait=false")

    stage.eventually(
        lambda: stage.cluster.get("namespaces", phoenix.namespace) is None,
        what="the namespace is gone",
        explain=lambda: str(stage.cluster.get("namespaces", phoenix.namespace)),
    )
    stage.eventually(lambda: claims(stage, uid) == [], what="the claim is gone")
    assert rows - phoenix.ids() == Counter()


def test_deleted_data_is_gone_and_nothing_beside_it(stage: Stage, doomed: Table) -> None:
    neighbour = f"{doomed.folder}-2/keep.txt"
    stage.store.put(neighbour, b"not the table's")
    uid = doomed.document()["metadata"]["uid"]

    doomed.deliver(TWENTY)
    request_run(doomed)
    doomed.running_pod()
    delete(doomed)

    doomed.wait_event("Normal", "DataDeleted")
    assert stage.store.files(f"{doomed.folder}/") == []
    assert stage.store.get(neighbour) == b"not the table's"
    assert claims(stage, uid) == []

    successor = declare_doomed(Tenant(stage, doomed.namespace), DOOMED)
    assert [run["service"] for run in successor.status()["history"]] == ["Ingestion"]
    assert successor.ids() == Counter(range(20))


def test_a_table_without_its_class_can_be_deleted_and_its_data_only_with_it(stage: Stage, doomed: Table) -> None:
    kept = Tenant(stage, doomed.namespace).table("kept", tableClassName=DOOMED, managementPolicy="Observe")
    kept.wait_reason("TableNotFound")
    stage.cluster.kubectl("delete", "htc", DOOMED)

    delete(kept)
    # As Argo CD does it: what the table owns goes before the table.
    doomed.kubectl("delete", "ht", doomed.name, "--wait=false", "--cascade=foreground")
    condition = doomed.wait_reason("DeletionBlocked")
    assert DOOMED in condition["message"]
    assert stage.store.files(f"{doomed.folder}/") != []

    stage.make_class(DOOMED)
    stage.eventually(lambda: doomed.document() == {}, what="the table is gone", explain=doomed.explain)
    assert stage.store.files(f"{doomed.folder}/") == []


def test_a_running_job_outlives_suspension_and_a_changed_spec_and_nothing_starts_until_it_may(stage: Stage) -> None:
    table = stage.tenant("suspension").table("sleeper", deletionPolicy="Delete")
    table.deliver(TEN)
    table.running_pod()
    table.patch({"spec": {"suspend": True, "ingestion": {"schedule": {"every": "2h"}}}})
    generation = table.document()["metadata"]["generation"]
    status = table.wait(
        lambda status: status.get("observedGeneration") == generation and not status["activeJobs"],
        what="the run under way has ended",
    )
    assert [run["outcome"] for run in status["history"]] == ["Succeeded"]
    assert table.ids() == Counter(TEN)

    table.deliver(TWENTY)
    request_run(table)
    stage.eventually(lambda: table.ingestion().get("reason") == "Suspended", what="due, and blocked")
    table.patch({"spec": {"suspend": False, "managementPolicy": "Observe"}})
    table.wait_reason("Observed")
    assert len(table.jobs()) == 1

    table.patch({"spec": {"managementPolicy": "Manage"}})
    table.wait_ready(runs=2)
    assert table.ids() == Counter(range(20))

    stage.cluster.kubectl("annotate", "namespace", table.namespace, "hudi-operator.io/suspend=maria: the bucket moves")
    delete(table)
    table.wait_event("Warning", "DataRetained")
    assert table.ids() == Counter(range(20))


def request_run(table: Table) -> None:
    """Ask for a run now."""
    table.kubectl("annotate", "ht", table.name, f"hudi-operator.io/requested-at={time.time()}", "--overwrite")


def delete(table: Table) -> None:
    """Delete the resource, and wait until it is gone."""
    table.kubectl("delete", "ht", table.name, "--timeout=115s")
    assert table.document() == {}


def data_files(table: Table) -> set[str]:
    """The table's files, without Hudi's own."""
    return {file for file in table.stage.store.files(table.folder) if "/.hoodie/" not in file}


def claims(stage: Stage, uid: str) -> list[str]:
    """The Leases by which a table holds its folder."""
    found = stage.cluster.items("leases", namespace=OPERATOR_NAMESPACE, selector=f"hudi-operator.io/table-uid={uid}")
    return [lease["metadata"]["name"] for lease in found]
