"""Objects of further kinds that enter the observation of a table, because they name it."""

from collections.abc import Iterable
from typing import Any

from hudi_operator.kube.api import ObjectApi
from hudi_operator.kube.kinds import ObjectKey
from hudi_operator.runtime.controller import Controller
from hudi_operator.runtime.documents import own_key
from hudi_operator.runtime.known import KnownObjects


class RelatedObjects:
    """Reads the objects that name a table, of the kinds that are observed with it.

    They are read live, in the table's namespace and nowhere else. A kind of which none is known to name the table is
    not asked for, so a table without any costs no call: the event of the first one has the table reconciled.
    """

    def __init__(self, *, kube: ObjectApi, known: KnownObjects, controllers: Iterable[Controller[Any]]) -> None:
        self._kube = kube
        self._known = known
        self._observed = {one.kind: one for one in controllers if one.observed_as is not None}

    async def of(self, key: ObjectKey) -> dict[str, tuple[object, ...]]:
        """Return the objects that name a table, by the name of their kind."""
        kinds = {one.kind for one in self._known.referring_to(key)}
        observed = [controller for kind, controller in self._observed.items() if kind in kinds]
        return {one.kind.name: await self._read(one, key) for one in observed}

    async def _read(self, controller: Controller[Any], key: ObjectKey) -> tuple[object, ...]:
        read = controller.observed_as
        # A namespace may hold very many that name other tables, so only these are kept; some may come twice.
        documents = {
            own_key(controller.kind, one): one
            async for one in self._kube.each(controller.kind, key.namespace)
            if controller.reference(one) == key
        }
        return tuple(read(one) for one in documents.values() if read is not None)
