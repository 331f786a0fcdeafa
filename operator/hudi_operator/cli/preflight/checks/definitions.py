"""The CustomResourceDefinitions that are installed, and those of this version."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from hudi_jobs.contract.wording import counted, listed
from hudi_operator.api.crd.definitions import KINDS, crd_document
from hudi_operator.api.crd.kinds import ResourceKind
from hudi_operator.api.values.base import GROUP
from hudi_operator.cli.preflight.check import ClusterState, Document, Line, blocked, fine, unread, warning
from hudi_operator.kube.objects import field, items, text

APPLY = "Apply those of this version: hudi-operator crds | kubectl apply --server-side --force-conflicts -f -"
_SHOWN = 3


@cache
def shipped_definition(kind: ResourceKind) -> Document:
    """Return the definition of this version."""
    return crd_document(kind)


def check_definitions(state: ClusterState) -> Iterator[Line]:
    """Compare what is installed with what this version ships."""
    if state.definitions is None:
        yield unread("CustomResourceDefinitions")
        return
    installed = {text(one, "metadata", "name"): one for one in state.definitions}
    for kind in KINDS:
        yield from _of_kind(kind, installed.get(f"{kind.plural}.{GROUP}"))


def has_these_definitions(state: ClusterState) -> bool:
    """Tell whether the API server checks objects by the definitions of this version."""
    installed = {text(one, "metadata", "name"): one for one in state.definitions or ()}
    pairs = [(installed.get(f"{kind.plural}.{GROUP}"), shipped_definition(kind)) for kind in KINDS]
    return all(there is not None and holds(there["spec"], shipped["spec"]) for there, shipped in pairs)


def _of_kind(kind: ResourceKind, installed: Document | None) -> Iterator[Line]:
    if installed is None:
        yield warning(f"The cluster has no definition of {kind.kind}.", APPLY)
        return
    shipped = shipped_definition(kind)
    served = {one["name"] for one in shipped["spec"]["versions"]}
    stored = field(installed, "status", "storedVersions")
    old = sorted(set(stored) - served) if isinstance(stored, Sequence) and not isinstance(stored, str) else []
    if old:
        yield blocked(
            f"{kind.kind} is stored in version {', '.join(old)}, which this version does not know.",
            "Upgrade by a release that knows both versions, and write every object again there.",
        )
    if not _is_established(installed):
        yield blocked(
            f"The API server does not serve {kind.kind}: its definition is not Established.",
            f"Look at the conditions: kubectl get crd {kind.plural}.{GROUP} -o yaml",
        )
    yield _difference(kind, installed, shipped)


def _is_established(installed: Document) -> bool:
    return any(
        one.get("type") == "Established" and one.get("status") == "True"
        for one in items(installed, "status", "conditions")
    )


def _difference(kind: ResourceKind, installed: Document, shipped: Document) -> Line:
    if holds(installed["spec"], shipped["spec"]):
        return fine(f"The definition of {kind.kind} is that of this version.")
    before, after = (frozenset(_fields(one)) for one in (installed, shipped))
    parts = [
        f"{counted(len(names), 'field')} {what} ({listed(sorted(names), _SHOWN)})"
        for names, what in ((after - before, "new"), (before - after, "gone"))
        if names
    ]
    return warning(f"The definition of {kind.kind} differs: {', '.join(parts) or 'its fields are the same'}.", APPLY)


def holds(installed: Any, shipped: Any) -> bool:  # noqa: ANN401 - any part of a document
    """Tell whether an installed document has everything of a shipped one.

    The API server adds defaults, leaves out empty parts, and stores limits as floating-point numbers.
    """
    if isinstance(shipped, Mapping):
        return isinstance(installed, Mapping) and all(
            value == {} or (key in installed and holds(installed[key], value)) for key, value in shipped.items()
        )
    if isinstance(shipped, list):
        return (
            isinstance(installed, list)
            and len(installed) == len(shipped)
            and all(holds(one, other) for one, other in zip(installed, shipped, strict=True))
        )
    if isinstance(shipped, int) and isinstance(installed, int | float):
        return float(installed) == float(shipped)
    return bool(installed == shipped)


def _fields(definition: Document) -> Iterator[str]:
    for version in items(definition, "spec", "versions"):
        yield from _paths(field(version, "schema", "openAPIV3Schema"), "")


def _paths(schema: object, path: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        return
    properties = schema.get("properties")
    for key, inner in properties.items() if isinstance(properties, Mapping) else ():
        yield f"{path}{key}"
        yield from _paths(inner, f"{path}{key}.")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        yield from _paths(inner, path)
