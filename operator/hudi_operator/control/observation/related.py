"""Reads the objects of further kinds that refer to a table."""

from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from hudi_operator.kube.api import ObjectApi
from hudi_operator.kube.objects import Kind, ObjectKey, text
from hudi_operator.planning.model.related import MOST_RELATED
from hudi_operator.runtime.controller import Controller
from hudi_operator.runtime.informer import KnownObjects


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """An object named in a table's status; `is_over` means that no work is left for it."""

    key: ObjectKey
    uid: str
    is_over: bool = False


class RelatedObjects:
    """Reads the objects that refer to a table, of the kinds observed with it.

    They are read live, one by one. Objects named in the table's status are always read, whatever events have said: if
    an object is missing from the result, it is gone or refers to another table. Of the other objects, only as many are
    read as fit into `MOST_RELATED` unfinished objects per kind. So they cost nothing in most namespaces. A table
    without related objects costs no call: the event of its first object triggers a reconcile.
    """

    def __init__(self, *, kube: ObjectApi, known: KnownObjects, controllers: Iterable[Controller[Any]]) -> None:
        self._kube = kube
        self._known = known
        self._observed = {one.kind: one for one in controllers if one.observed_as is not None}

    async def of(self, table: ObjectKey, *, remembered: Collection[Remembered]) -> dict[str, tuple[object, ...]]:
        """Return the objects that refer to a table, by kind name; `remembered` are those in its status."""
        uids = frozenset(one.uid for one in remembered)
        found: dict[str, tuple[object, ...]] = {}
        for kind, controller in self._observed.items():
            own = [one for one in remembered if one.key.kind == kind]
            keys = (*dict.fromkeys(one.key for one in own), *self._others(kind, table, own))
            if keys:
                found[kind.name] = tuple([one async for one in self._read(controller, keys, table=table, uids=uids)])
        return found

    def _others(self, kind: Kind, table: ObjectKey, remembered: Iterable[Remembered]) -> list[ObjectKey]:
        """Return the objects missing from the table's status, most important first."""
        places = {one.key: one.is_over for one in remembered}
        named = (one for one in self._known.referring_to(table) if one.kind == kind and one not in places)
        ranked = [(rank, one) for one in named if (rank := self._known.rank(one)) is not None]
        taken = sum(not is_over for is_over in places.values())
        return [one for _, one in sorted(ranked, key=lambda each: each[0])][: max(0, MOST_RELATED - taken)]

    async def _read(
        self, controller: Controller[Any], keys: Iterable[ObjectKey], *, table: ObjectKey, uids: Collection[str]
    ) -> AsyncIterator[object]:
        read = controller.observed_as
        for key in keys:
            document = await self._kube.get(key)
            if document is None or read is None:
                continue
            named = controller.reference(document)
            # An object without a readable table reference still exists, and still belongs to the table.
            if named == table or (named is None and text(document, "metadata", "uid") in uids):
                yield read(document)
