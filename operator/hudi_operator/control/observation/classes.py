"""A cache of table classes; actions read the class live."""

from hudi_operator.api.resources import HudiTableClass, InvalidObject, is_default_class, parse_table_class
from hudi_operator.control.keys import TABLE_CLASS, class_key
from hudi_operator.control.observation.recent import Recent
from hudi_operator.kube.api import KubernetesApi

ParsedClass = HudiTableClass | InvalidObject | None


class TableClasses:
    """The classes of tables; None stands for the default class."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube
        self._known = Recent(self._read)

    async def get(self, name: str | None, *, since: float | None = None) -> ParsedClass:
        """Return a class, or None if it does not exist, read at `since` (seconds of the event loop) or later.

        Without `since`, the class is at most a minute old.
        """
        return await self._known.get(name, since=since)

    async def _read(self, name: str | None) -> ParsedClass:
        if name is not None:
            document = await self._kube.get(class_key(name))
        else:
            marked = [one for one in await self._kube.list(TABLE_CLASS) if is_default_class(one)]
            document = min(marked, key=lambda one: str(one["metadata"]["name"]), default=None)
        return None if document is None else parse_table_class(document)
