"""What GitOps tools make of a resource's status.

Argo CD runs a script in Lua 5.1 and opens `package`, `base`, `table` and a part of `os` (`util/lua/lua.go`). Flux
computes kstatus (cli-utils, `pkg/kstatus/status/generic.go`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lupa.lua51 import LuaRuntime

ROOT = Path(__file__).parents[2]
ARGO = ROOT / "examples" / "gitops" / "argo-cd"
FOLDER = ARGO / "resource_customizations" / "hudi-operator.io" / "_"
SCRIPT = FOLDER / "health.lua"

STATUSES = frozenset({"Healthy", "Progressing", "Degraded", "Suspended"})
_CLOSED = "string = nil; io = nil; math = nil; debug = nil; coroutine = nil"


class Health(NamedTuple):
    """What Argo CD shows of a resource."""

    status: str
    message: str


def health_of(document: Mapping[str, Any]) -> Health:
    """Return what the script says of a resource."""
    lua = LuaRuntime(register_eval=False)
    lua.execute(_CLOSED)
    lua.globals()["obj"] = lua.table_from(document, recursive=True)
    found = lua.execute(SCRIPT.read_text())
    return Health(found["status"], found["message"] or "")


def kstatus_of(document: Mapping[str, Any]) -> str:
    """Return the status that kstatus computes of a custom resource."""
    written = document.get("status", {})
    if written.get("observedGeneration", document["metadata"]["generation"]) != document["metadata"]["generation"]:
        return "InProgress"
    said = {one["type"]: one["status"] for one in written.get("conditions", ())}
    if said.get("Reconciling") == "True":
        return "InProgress"
    if said.get("Stalled") == "True":
        return "Failed"
    return "Current" if said.get("Ready", "True") == "True" else "InProgress"
