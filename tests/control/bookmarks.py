"""A second namespaced kind, as a contributor would add one: its model, its reconciler, its controller.

A bookmark names a table of its namespace, is seen with it, and says in its own status that it was.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.control.parts import Parts
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.keys import table_key
from hudi_operator.kube.objects import Kind, ObjectKey, text
from hudi_operator.runtime.controller import Controller, Reconcile, Trigger, concerns_what_it_refers_to

Document = dict[str, Any]
BOOKMARK = Kind(group=GROUP, version=VERSION, plural="hudibookmarks", name="HudiBookmark")


class Bookmark(BaseModel):
    """What a bookmark declares."""

    table: str
    instant: str
    kind: Literal["Bookmark"] = "Bookmark"


class BookmarkReconciler:
    """Says in the status of a bookmark whether it can be read."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube

    async def reconcile(self, key: ObjectKey, _trigger: Trigger) -> None:
        document = await self._kube.get(key)
        if document is not None:
            valid = isinstance(read(document), Bookmark)
            await self._kube.replace_status(BOOKMARK, document, {"ready": valid})


def read(document: Document) -> Bookmark | str:
    try:
        return Bookmark.model_validate(document.get("spec"))
    except ValidationError:
        return "invalid"


def _table_of(document: object) -> ObjectKey | None:
    namespace, table = text(document, "metadata", "namespace"), text(document, "spec", "table")
    return table_key(namespace, table) if namespace and table else None


def _connect(parts: Parts) -> Reconcile:
    return BookmarkReconciler(parts.kube).reconcile


BOOKMARKS = Controller(
    kind=BOOKMARK,
    connect=_connect,
    reference=_table_of,
    dependents=concerns_what_it_refers_to,
    observed_as=read,
)
