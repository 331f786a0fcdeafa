"""What all tables need is changed or away for a while: the definition of their kind, and the store."""

from __future__ import annotations

import copy
import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import yaml
from tests.e2e.processes import find_process, require_node
from tests.e2e.stage import Stage, Table, Tenant, condition_of

from toolkit.cluster import ROOT, CommandFailed

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    return stage.tenant("outages")


def test_a_spec_that_an_upgrade_made_invalid_stalls_that_table_alone(stage: Stage, tenant: Tenant) -> None:
    def declared() -> Table | None:
        try:
            return tenant.table("outdated", ingestion={"operation": "Merge"})
        except CommandFailed:
            return None  # the API server does not serve the older definition yet

    with loosened_definition(stage):
        table: Table = stage.eventually(declared, what="the older definition is served")
    stalled = table.wait_reason("InvalidSpec", kind="Stalled")
    assert "operation" in stalled["message"]
    assert "Correct the spec" in stalled["message"]
    table.wait_event("Warning", "InvalidSpec")
    assert table.jobs() == []
    sound = tenant.table("sound", suspend=True)
    sound.wait_reason("Suspended")

    table.deliver(range(10))
    table.patch({"spec": {"ingestion": {"operation": "Insert"}}})
    status = table.wait_ready()
    assert table.ids() == Counter(range(10))
    assert not condition_of(status, "Stalled")


@contextmanager
def loosened_definition(stage: Stage) -> Iterator[None]:
    """The resource definition of an imaginary older release that knew one more operation."""
    path = ROOT / "crds" / "hudi-operator.io_huditables.yaml"
    definition = yaml.safe_load(path.read_text())
    older = copy.deepcopy(definition)
    spec = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["ingestion"]["properties"]["operation"]["enum"].append("Merge")
    stage.cluster.apply(older)
    try:
        yield
    finally:
        stage.cluster.apply(definition)


def test_a_store_that_is_down_is_reported_and_used_again_when_it_is_back(stage: Stage, tenant: Tenant) -> None:
    require_node()
    table = tenant.filled("cut-off")
    table.deliver(range(10, 20))
    with store_cut_off(stage):
        ready = table.wait_reason("StorageUnavailable")
        assert "s3.storage.svc" in ready["message"]
        table.wait_event("Warning", "StorageUnavailable")
        jobs = len(table.jobs())
        table.kubectl("annotate", "ht", table.name, "hudi-operator.io/requested-at=during-the-outage")
        unaffected = tenant.table("unaffected", tableClassName="e2e-never-made")
        unaffected.wait_reason("TableClassNotFound", kind="Stalled")
        assert len(table.jobs()) == jobs
        assert table.status()["timeline"]["completedCommits"] == 1

    table.wait(
        lambda status: status.get("lastHandledReconcileAt") == "during-the-outage", what="the request is handled"
    )
    table.wait_ready(runs=2)
    assert table.ids() == Counter(range(20))


@contextmanager
def store_cut_off(stage: Stage) -> Iterator[None]:
    """Nobody reaches the S3 server, and those who did are cut off; its files stay, as they live as long as its pod."""
    server = stage.cluster.items("pods", namespace="storage", selector="app=s3")[0]
    process = find_process(server, "/s3server")
    assert process is not None
    _choose_server(stage, "nobody")
    os.kill(process, signal.SIGKILL)
    try:
        yield
    finally:
        _choose_server(stage, "s3")
        stage.eventually(lambda: _answers(stage), what="the S3 server answers again")


def _choose_server(stage: Stage, app: str) -> None:
    patch = json.dumps({"spec": {"selector": {"app": app}}})
    stage.cluster.kubectl("patch", "service", "s3", "-n", "storage", "--type", "merge", "-p", patch)


def _answers(stage: Stage) -> bool:
    try:
        return stage.store.files("lake/") is not None
    except Exception:  # noqa: BLE001 - whatever the client says while nobody answers
        return False
