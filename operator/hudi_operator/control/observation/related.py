"""Objects of further kinds that enter the observation of a table, because they name it."""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from hudi_operator.kube.api import ObjectApi
from hudi_operator.kube.kinds import ObjectKey
from hudi_operator.planning.model.observation import MOST_RELATED
from hudi_operator.runtime.controller import Controller
from hudi_operator.runtime.known import KnownObjects


class RelatedObjects:
    """Reads the objects that name a table, of the kinds that are observed with it.

    They are read live, one by one, and no more than `MOST_RELATED` of a kind. So what a namespace holds besides costs
    nothing, and a table without any costs no call: the event of the first one has the table reconciled.
    """

    def __init__(self, *, kube: ObjectApi, known: KnownObjects, controllers: Iterable[Controller[Any]]) -> None:
        self._kube = kube
        self._known = known
        self._observed = {one.kind: one for one in controllers if one.observed_as is not None}

    async def of(self, key: ObjectKey, *, rank: Callable[[ObjectKey], int]) -> dict[str, tuple[object, ...]]:
        """Return the objects that name a table, by the name of their kind; `rank` says which come first."""
        known = sorted(self._known.referring_to(key), key=rank)
        found: dict[str, tuple[object, ...]] = {}
        for kind, controller in self._observed.items():
            keys = [one for one in known if one.kind == kind][:MOST_RELATED]
            if keys:
                found[kind.name] = tuple([one async for one in self._read(controller, keys, table=key)])
        return found

    async def _read(
        self, controller: Controller[Any], keys: Iterable[ObjectKey], *, table: ObjectKey
    ) -> AsyncIterator[object]:
        read = controller.observed_as
        for key in keys:
            document = await self._kube.get(key)
            if document is not None and read is not None and controller.reference(document) == table:
                yield read(document)
