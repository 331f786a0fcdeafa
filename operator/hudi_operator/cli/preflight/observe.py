"""Reads what the checks look at, with the rights of whoever runs the command."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_operator.api.values.base import GROUP
from hudi_operator.cli.base.output import moment
from hudi_operator.cli.preflight.check import ClusterState, Document, name_of
from hudi_operator.cli.preflight.checks.definitions import has_these_definitions
from hudi_operator.cli.preflight.checks.rights import CLUSTER_WIDE, IN_ITS_NAMESPACE, VERBS
from hudi_operator.cli.render.view import TableView
from hudi_operator.kube.errors import Conflict, Forbidden, NotFound, Rejected
from hudi_operator.kube.keys import OPERATION, SAVEPOINT, TABLE, TABLE_CLASS
from hudi_operator.kube.objects import Kind, text

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient

_DEFINITION, _DEPLOYMENT = CLUSTER_WIDE[0], IN_ITS_NAMESPACE[0]
_OPERATOR = "app.kubernetes.io/name=hudi-operator,app.kubernetes.io/component=operator"
_MOST_ASKED = 500
_AT_ONCE = 8


async def read_cluster(client: "PersonClient") -> ClusterState:
    """Return the state of the cluster; raises errors where even the tables cannot be read."""
    try:
        tables = [TableView.of(one) for one in await client.list(TABLE, None)]
    except NotFound:
        tables = []  # no definition is installed
    others = [one for kind in (SAVEPOINT, OPERATION) for one in await _listed(client, kind) or ()]
    deployments = await _listed(client, _DEPLOYMENT, selector=_OPERATOR)
    definitions = await _listed(client, _DEFINITION)
    state = ClusterState(
        now=moment(),
        tables=tables,
        others=others,
        definitions=[one for one in definitions if text(one, "spec", "group") == GROUP] if definitions else definitions,
        classes=await _listed(client, TABLE_CLASS),
        deployments=deployments,
        server_version=await client.server_version(),
        missing_rights=await _missing(client, deployments or ()),
    )
    return await _asked(client, state)


async def _listed(client: "PersonClient", kind: Kind, *, selector: str | None = None) -> list[Document] | None:
    """Return the objects of the cluster; None if this person may not read them, nothing if the kind is not there."""
    try:
        return list(await client.list(kind, None, label_selector=selector))
    except Forbidden:
        return None
    except NotFound:
        return []


async def _missing(client: "PersonClient", deployments: Iterable[Document]) -> list[str]:
    """Return the rights for `helm upgrade` that this person lacks, in the namespaces of the operators."""
    namespaces = {str(one["metadata"]["namespace"]) for one in deployments} or {client.namespace}
    wanted = [(kind, "") for kind in CLUSTER_WIDE]
    wanted += [(kind, namespace) for namespace in sorted(namespaces) for kind in IN_ITS_NAMESPACE]
    missing = []
    for kind, namespace in wanted:
        verbs = [verb for verb in VERBS if not await client.may(verb, kind, namespace)]
        place = f" in {namespace}" if namespace else ""
        missing += [f"{'/'.join(verbs)} {kind.plural}{place}"] if verbs else []
    return missing


async def _asked(client: "PersonClient", state: ClusterState) -> ClusterState:
    """Return the state with what the API server says of each object as a new one, if it has these definitions."""
    if not has_these_definitions(state):
        return state
    known = {kind.name: kind for kind in (TABLE, TABLE_CLASS, SAVEPOINT)}
    every = [one for one in state.documents if one["kind"] in known]
    refused: dict[str, str] = {}
    unasked = len(every[_MOST_ASKED:])
    places = asyncio.Semaphore(_AT_ONCE)

    async def ask(one: Document) -> None:
        nonlocal unasked
        async with places:
            try:
                await client.create(known[one["kind"]], _namespace(one), _as_new(one), dry_run=True)
            except Rejected as error:
                refused[name_of(one)] = str(error)
            except (Forbidden, NotFound, Conflict):  # a right, a quota, or a namespace that is going
                unasked += 1

    await asyncio.gather(*map(ask, every[:_MOST_ASKED]))
    return replace(state, refused=dict(sorted(refused.items())), unasked=unasked)


def _namespace(one: Document) -> str | None:
    return text(one, "metadata", "namespace")


def _as_new(one: Document) -> dict[str, object]:
    # A change of a stored object is checked only where it differs, and a new name collides with none.
    metadata = {"generateName": "preflight-"} | ({"namespace": _namespace(one)} if _namespace(one) else {})
    return {"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": metadata, "spec": one.get("spec")}
