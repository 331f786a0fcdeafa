"""The resources of a moved table, as values: the table and its savepoints at the new place."""

from collections.abc import Iterable, Mapping
from typing import Any

from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION, SUSPEND_ANNOTATION
from hudi_operator.cli.move.gitops import INSTANCE_LABEL, OWNED_PREFIXES, is_tracked_by_label
from hudi_operator.kube.objects import items, part, text
from hudi_operator.planning.model import suspension_text

MOVED_FROM_ANNOTATION = "hudi-operator.io/moved-from"
"""On a HudiTable or HudiSavepoint during a move: namespace, name and uid of the resource that it replaces."""

Document = Mapping[str, Any]

_LEFT_BEHIND = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REQUESTED_AT_ANNOTATION,
        SUSPEND_ANNOTATION,
        MOVED_FROM_ANNOTATION,
    }
)


def leaving(namespace: str) -> str:
    """Return the text by which a move suspends the old table."""
    return f"kubectl hudi move: moves to namespace {namespace}"


def arriving(namespace: str) -> str:
    """Return the text by which a move suspends the new table."""
    return f"kubectl hudi move: moves from namespace {namespace}"


def mark_of(document: Document) -> str:
    """Return the value of the annotation on the resource that replaces this one."""
    metadata = part(document, "metadata")
    return f"{metadata['namespace']}/{metadata['name']}/{metadata['uid']}"


def mark_on(document: Document) -> str | None:
    """Return what a resource replaces, or None."""
    return text(document, "metadata", "annotations", MOVED_FROM_ANNOTATION)


def suspension_on(document: Document) -> str | None:
    """Return the annotation that suspends a table, or None, as for a value that suspends nothing."""
    found = part(document, "metadata", "annotations").get(SUSPEND_ANNOTATION)
    return found if isinstance(found, str) and suspension_text(found) is not None else None


def in_files(document: Document, savepoints: Iterable[Document], namespace: str, table_class: str | None) -> list[Any]:
    """Return what a repository declares for the moved table and its savepoints."""
    table = declared_again(document, namespace, spec=with_class(document, table_class))
    return [table, *(declared_again(one, namespace, spec=savepoint_spec(one)) for one in savepoints)]


def with_class(document: Document, table_class: str | None) -> dict[str, Any]:
    """Return the spec of a table, with another class if one is given."""
    return {**document["spec"], **({"tableClassName": table_class} if table_class else {})}


def declared_again(document: Document, namespace: str, *, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource as a file declares it in another namespace, with its labels, annotations and suspension."""
    metadata = part(document, "metadata")
    suspension = suspension_on(document)
    carried = _carried(part(metadata, "annotations"))
    if suspension is not None and suspension != leaving(namespace):
        carried[SUSPEND_ANNOTATION] = suspension
    labels = _carried(part(metadata, "labels"))
    if is_tracked_by_label(document):  # Argo CD would delete another object with its label
        labels.pop(INSTANCE_LABEL)
    kept = {"labels": labels, "annotations": carried}
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "metadata": {
            "name": metadata["name"],
            "namespace": namespace,
            **{key: value for key, value in kept.items() if value},
        },
        "spec": dict(spec),
    }


def arriving_table(document: Document, namespace: str, *, table_class: str | None) -> dict[str, Any]:
    """Return the new table, suspended until the old one is gone."""
    made = declared_again(document, namespace, spec=with_class(document, table_class))
    annotations = made["metadata"].setdefault("annotations", {})
    annotations.setdefault(SUSPEND_ANNOTATION, arriving(document["metadata"]["namespace"]))
    annotations[MOVED_FROM_ANNOTATION] = mark_of(document)
    return made


def arriving_savepoint(document: Document, table: Document) -> dict[str, Any]:
    """Return a savepoint of the new table that adopts the one in the folder."""
    made = declared_again(document, table["metadata"]["namespace"], spec=savepoint_spec(document))
    made["metadata"].setdefault("annotations", {})[MOVED_FROM_ANNOTATION] = mark_of(document)
    if any(one.get("controller") for one in items(document, "metadata", "ownerReferences")):
        made["metadata"]["ownerReferences"] = [
            {
                "apiVersion": table["apiVersion"],
                "kind": table["kind"],
                "name": table["metadata"]["name"],
                "uid": table["metadata"]["uid"],
                "controller": True,
            }
        ]
    return made


def savepoint_spec(document: Document) -> dict[str, Any]:
    """Return the spec of a savepoint that names its commit, and says what its deletion does as before."""
    spec, status = dict(document["spec"]), part(document, "status")
    instant = text(status, "instant")
    if instant is not None:
        spec.pop("latest", None)
        spec["instant"] = instant
    spec.setdefault("deletionPolicy", "Retain" if status.get("adopted") else "Delete")
    return spec


def _carried(given: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: value for key, value in given.items() if key not in _LEFT_BEHIND and not key.startswith(OWNED_PREFIXES)
    }
