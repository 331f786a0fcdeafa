"""Reading the few fields of a watch event that lead to a key.

An object can hold anything that its schema lets through, and the schema may be another version's: nothing here raises,
whatever the document holds.
"""

import json
from collections.abc import Mapping
from typing import Any

from hudi_operator.control.keys import TableKey


def field(document: object, *path: str) -> object:
    """Return what stands at a path of nested mappings, or None."""
    for name in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def text(document: object, *path: str) -> str | None:
    """Return the string at a path, or None when there is none or it is empty."""
    value = field(document, *path)
    return value if isinstance(value, str) and value else None


def own_key(document: object) -> TableKey | None:
    """Return the key of a HudiTable from its own document."""
    namespace, name = text(document, "metadata", "namespace"), text(document, "metadata", "name")
    return TableKey(namespace, name) if namespace and name else None


def fingerprint(document: object) -> int:
    """Return a number that changes when something changes that a person or another controller decides.

    The status and the resourceVersion are left out: the operator's own writes must not call for another look.
    """
    metadata = {
        name: field(document, "metadata", name)
        for name in ("uid", "generation", "deletionTimestamp", "finalizers", "annotations", "labels")
    }
    return hash(json.dumps(metadata, sort_keys=True, default=_plain))


def _plain(value: Any) -> Any:  # noqa: ANN401 - kopf hands out read-only views of mappings
    return dict(value) if isinstance(value, Mapping) else str(value)
