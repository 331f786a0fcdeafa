"""Table classes as they were read last; what is acted on is read live."""

import asyncio
from dataclasses import dataclass

from hudi_operator.api.resources import HudiTableClass, InvalidObject, is_default_class, parse_table_class
from hudi_operator.kube.client import KubernetesClient

_MAX_AGE_SECONDS = 60.0

ParsedClass = HudiTableClass | InvalidObject | None


@dataclass(frozen=True, slots=True)
class _Known:
    parsed: ParsedClass
    asked_at: float


class TableClasses:
    """The classes that tables name; None stands for the default class."""

    def __init__(self, kube: KubernetesClient) -> None:
        self._kube = kube
        self._known: dict[str | None, _Known] = {}

    async def get(self, name: str | None, *, since: float | None = None) -> ParsedClass:
        """Return a class, or None where there is none, as it was at `since` (seconds of the event loop) or later.

        Looks at many tables at once share what was read since they began. Without `since` it is at most a minute old.
        """
        now = asyncio.get_running_loop().time()
        known = self._known.get(name)
        if known is None or known.asked_at < (now - _MAX_AGE_SECONDS if since is None else since):
            known = _Known(await self._read(name), now)
            self._known[name] = known
        return known.parsed

    async def _read(self, name: str | None) -> ParsedClass:
        if name is not None:
            document = await self._kube.get_class(name)
        else:
            marked = [one for one in await self._kube.list_classes() if is_default_class(one)]
            document = min(marked, key=lambda one: str(one["metadata"]["name"]), default=None)
        return None if document is None else parse_table_class(document)
