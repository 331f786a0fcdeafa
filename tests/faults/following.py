"""A person who follows a page: asks what an operation would do, creates it, and approves it where the class says so."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.faults.arena import Arena
from tests.faults.lifecycle import NAME
from tests.faults.operation import approve, reached

Document = dict[str, Any]


async def ask(arena: Arena, spec: Document, *, name: str) -> Document:
    """Create a HudiOperation on the table, and return its status once it has succeeded; a dry run needs no approval."""
    spec = deepcopy(spec) | {"tableRef": {"name": NAME}}
    metadata = {"name": name, "namespace": arena.namespace}
    body = {"apiVersion": "hudi-operator.io/v1alpha1", "kind": "HudiOperation", "metadata": metadata, "spec": spec}
    await arena.transport.request("POST", arena.operations, body=body)
    if not spec.get("dryRun"):
        await reached(arena, "AwaitingApproval", name)
        await approve(arena, name)
    return await reached(arena, "Succeeded", name)


async def ask_first(arena: Arena, spec: Document, *, name: str) -> tuple[Document, Document]:
    """Do a dry run, see that it leaves the table alone, and the same without; return what both have reported."""
    before = arena.files()
    would = await ask(arena, {**spec, "dryRun": True}, name=f"{name}-dry")
    assert arena.files() == before, "a dry run writes nothing"
    done = await ask(arena, {key: value for key, value in spec.items() if key != "dryRun"}, name=name)
    return would["report"], done["report"]


async def condition(arena: Arena, kind: str = "Ready") -> Document:
    """Return a condition of the table, as `kubectl describe` shows it; an empty one where there is none."""
    status = ((await arena.get(NAME)) or {}).get("status") or {}
    return next((one for one in status.get("conditions") or () if one["type"] == kind), {})
