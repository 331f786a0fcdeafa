"""What commands write, beside the GitOps tools that keep the same objects, against a real API server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.cli.command import Done, command
from tests.cli.tables import recorded
from tests.gitops.argo_diff import LAST_APPLIED, TRACKING, is_out_of_sync, predicted

from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION, SUSPEND_ANNOTATION
from hudi_operator.cli.move.gitops import kept_by
from hudi_operator.kube.keys import OPERATION, TABLE
from hudi_operator.kube.objects import collection_path
from hudi_operator.kube.transport import Transport

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
WRITES = {
    "suspend": ("suspend", "orders", "--reason", "backfill"),
    "resume": ("resume", "orders"),
    "run": ("run", "orders"),
    "retry": ("retry", "orders"),
    "move to a class": ("move", "orders", "--to-class", "gold", "--yes"),
    "move to a namespace": ("move", "orders", "--to-namespace", "elsewhere", "--yes"),
}


async def hudi(*arguments: str) -> Done:
    return await asyncio.to_thread(command, *arguments)


async def synced(transport: Transport, namespace: str, *, server_side: bool) -> Document:
    """Apply a table as Argo CD does, and return what Git declares."""
    spec = recorded()["orders"]["spec"]
    metadata: Document = {
        "name": "orders",
        "namespace": namespace,
        "annotations": {TRACKING: f"lake:{namespace}/orders"},
    }
    config = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "metadata": metadata, "spec": spec}
    path = f"{collection_path(TABLE, namespace)}/orders"
    if server_side:
        query = {"fieldManager": "argocd-controller", "force": "true"}
        await transport.request("PATCH", path, query=query, body=config, content_type="application/apply-patch+yaml")
    else:
        noted = {**metadata["annotations"], LAST_APPLIED: json.dumps(config)}
        body = {**config, "metadata": {**metadata, "annotations": noted}}
        await transport.request("POST", collection_path(TABLE, namespace), body=body)
    return config


async def orders(transport: Transport, namespace: str) -> Document:
    return dict(await transport.request("GET", f"{collection_path(TABLE, namespace)}/orders"))


@pytest.mark.parametrize("server_side", [False, True], ids=["client-side", "server-side"])
async def test_argo_cd_shows_no_difference_after_any_command(
    transport: Transport, namespace: str, *, server_side: bool
) -> None:
    config = await synced(transport, namespace, server_side=server_side)
    assert not is_out_of_sync(config, await orders(transport, namespace))
    for name, words in WRITES.items():
        done = await hudi(*words, "-n", namespace)
        assert done.returncode == (1 if name.startswith("move") else 0), done.stderr
        assert not is_out_of_sync(config, await orders(transport, namespace)), name
    await hudi("suspend", "orders", "-n", namespace, "--reason", "backfill")
    live = await orders(transport, namespace)
    healed = predicted(config, live)["metadata"]["annotations"]
    assert healed[SUSPEND_ANNOTATION].endswith(": backfill")
    assert REQUESTED_AT_ANNOTATION in healed


async def test_argo_cd_neither_keeps_nor_prunes_an_operation_of_a_command(transport: Transport, namespace: str) -> None:
    await synced(transport, namespace, server_side=True)
    for words in (("run", "orders", "compaction"), ("restore", "orders", "--to", "20260310115400000", "--yes")):
        assert (await hudi(*words, "-n", namespace)).returncode == 0
    made = [one async for one in transport.list_items(collection_path(OPERATION, namespace))]
    assert len(made) == 2
    assert [kept_by(one) for one in made] == [None, None]


async def test_flux_drops_no_field_that_a_command_wrote(transport: Transport, namespace: str) -> None:
    """`fluxcd/pkg/ssa` drops fields of managers whose name begins with `kubectl`."""
    await synced(transport, namespace, server_side=True)
    for words in (WRITES["suspend"], WRITES["run"]):
        await hudi(*words, "-n", namespace)
    fields = (await orders(transport, namespace))["metadata"]["managedFields"]
    by_manager = {one["manager"]: json.dumps(one["fieldsV1"]) for one in fields}
    for annotation in (SUSPEND_ANNOTATION, REQUESTED_AT_ANNOTATION):
        writers = {name for name, written in by_manager.items() if annotation in written}
        assert writers == {"hudi-cli"}
