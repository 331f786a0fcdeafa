"""Reads the few fields of a watch event that lead to a key.

An object can hold anything that its schema allows, and the schema may be of another version: these functions never
raise.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hudi_operator.kube.fields import field, items, text
from hudi_operator.kube.kinds import Kind, ObjectKey

_TELLING_CONDITIONS = frozenset({"Complete", "Failed", "Suspended", "PodScheduled", "DisruptionTarget"})


def own_key(kind: Kind, document: object) -> ObjectKey | None:
    """Return the key of an object of a kind from its own document."""
    namespace = text(document, "metadata", "namespace") if kind.namespaced else ""
    name = text(document, "metadata", "name")
    return ObjectKey(kind, namespace, name) if namespace is not None and name else None


def has_ended(document: object) -> bool:
    """Return whether a Job or pod has run to its end."""
    return field(document, "status", "phase") in ("Succeeded", "Failed") or job_has_ended(document)


def job_has_ended(job: object) -> bool:
    """Return whether a Job has run to its end."""
    conditions = items(job, "status", "conditions")
    return any(text(one, "type") in {"Complete", "Failed"} and one.get("status") == "True" for one in conditions)


def condition_of_child(document: object) -> int:
    """Return a number that changes when a Job or pod starts, ends, disappears, or gets into trouble."""
    conditions = [
        (text(item, "type"), text(item, "status"), text(item, "reason"))
        for item in items(document, "status", "conditions")
        if text(item, "type") in _TELLING_CONDITIONS
    ]
    states = [
        (name, text(item, "state", name, "reason"))
        for item in items(document, "status", "containerStatuses")
        for name in ("waiting", "running", "terminated")
        if field(item, "state", name) is not None
    ]
    deleted = text(document, "metadata", "deletionTimestamp")
    return hash((text(document, "status", "phase"), deleted, tuple(conditions), tuple(states)))


def fingerprint(document: object, own_finalizer: str | None) -> int:
    """Return a hash of everything that a person or another controller decides about an object.

    It excludes the status, the resourceVersion and the operator's finalizer: the operator's own writes must not trigger
    another reconcile.
    """
    names = ("uid", "generation", "deletionTimestamp", "annotations", "labels")
    metadata = {name: field(document, "metadata", name) for name in names}
    finalizers = [one for one in _finalizers(document) if one != own_finalizer]
    return hash(json.dumps([metadata, finalizers], sort_keys=True, default=_plain))


def is_held(document: object, own_finalizer: str | None) -> bool:
    """Whether the object has the operator's finalizer."""
    return own_finalizer in _finalizers(document)


def _finalizers(document: object) -> list[object]:
    found = field(document, "metadata", "finalizers")
    return list(found) if isinstance(found, Sequence) and not isinstance(found, str) else []


def _plain(value: Any) -> Any:  # noqa: ANN401 - kopf hands out read-only views of mappings
    return dict(value) if isinstance(value, Mapping) else str(value)
