"""A person who follows a page: asks what an operation would do, creates it, and approves it where the class says so."""

from __future__ import annotations

import asyncio
import os
import shlex
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.docs.pages import blocks
from tests.faults.arena import Arena
from tests.faults.operation import approve, reached

from localcluster.settings import CURRENT
from localcluster.toolchain import ensure_tools
from toolkit.cluster import run

OF_THE_PAGES = "team-a"
"""The namespace that every resource and command of the documentation names."""

Document = dict[str, Any]


async def ask(arena: Arena, spec: Document, *, name: str) -> Document:
    """Create a HudiOperation, and return its status once it has succeeded; a dry run needs no approval."""
    metadata = {"name": name, "namespace": arena.namespace}
    body = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiOperation", "metadata": metadata}
    await arena.transport.request("POST", arena.operations, body={**body, "spec": deepcopy(spec)})
    if not spec.get("dryRun"):
        await reached(arena, "AwaitingApproval", name)
        await approve(arena, name)
    return await reached(arena, "Succeeded", name)


async def ask_first(arena: Arena, spec: Document, *, name: str, dry: str | None = None) -> tuple[Document, Document]:
    """Do a dry run, see that it leaves the table alone, and the same without; return both statuses."""
    before = arena.files()
    would = await ask(arena, {**spec, "dryRun": True}, name=dry or f"{name}-dry")
    changed = before.items() ^ arena.files().items()
    assert {Path(name).name for name, _ in changed} == set(), "a dry run writes nothing"
    done = await ask(arena, {key: value for key, value in spec.items() if key != "dryRun"}, name=name)
    return would, done


async def typed(arena: Arena, page: str, text: str) -> list[str]:
    """Type the commands of a part of a page, in the namespace of the arena, and return what each prints.

    The tests of the command line type those of `kubectl hudi`.
    """
    shown = [line for block in blocks(page, "console", text=text) for line in block.text.splitlines()]
    commands = [shlex.split(line.removeprefix("$ ")) for line in shown if line.startswith("$ ")]
    plain = [command for command in commands if command[0] == "kubectl" and command[1] != "hudi"]
    return [await _kubectl(arena, *command[1:]) for command in plain]


async def _kubectl(arena: Arena, *arguments: str) -> str:
    program = "kubectl" if CURRENT else str(await asyncio.to_thread(ensure_tools) / "kubectl")
    given = (arena.namespace if one == OF_THE_PAGES else one for one in arguments)
    return await asyncio.to_thread(run, (program, *given), kubeconfig=os.environ["KUBECONFIG"])
