"""Bounded caches of recent reads, shared by the reconciles of many tables: classes and namespaces."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hudi_operator.api.resources import (
    SUSPEND_ANNOTATION,
    HudiTableClass,
    InvalidObject,
    is_default_class,
    parse_table_class,
)
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import Forbidden
from hudi_operator.kube.keys import TABLE_CLASS, class_key
from hudi_operator.kube.objects import NAMESPACE, ObjectKey, field, part
from hudi_operator.planning.model import NamespaceObservation, suspension_text

Key = TypeVar("Key")
Value = TypeVar("Value")

_MAX_AGE_SECONDS = 60.0
_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class _Known(Generic[Value]):
    value: Value
    asked_at: float


class Recent(Generic[Key, Value]):
    """Values by key as of their last read; beyond the bound, the oldest read is dropped."""

    def __init__(self, read: Callable[[Key], Awaitable[Value]]) -> None:
        self._read = read
        self._known: dict[Key, _Known[Value]] = {}

    def __len__(self) -> int:
        return len(self._known)

    async def get(self, key: Key, *, since: float | None = None) -> Value:
        """Return a value read at `since` (seconds of the event loop) or later.

        Concurrent reconciles share values read since they began. Without `since`, the value is at most a minute old.
        """
        now = asyncio.get_running_loop().time()
        known = self._known.get(key)
        if known is None or known.asked_at < (now - _MAX_AGE_SECONDS if since is None else since):
            known = _Known(await self._read(key), now)
            self._known.pop(key, None)
            self._known[key] = known
            while len(self._known) > _MOST_KEPT:
                del self._known[next(iter(self._known))]
        return known.value


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


class Namespaces:
    """The labels and the suspend annotation of the namespaces of tables."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube
        self._known = Recent(self._read)

    async def get(self, namespace: str, *, since: float | None = None) -> NamespaceObservation | None:
        """Return a namespace read at `since` or later, else at most a minute old; None if it may not be read.

        A missing namespace has no labels and suspends no table.
        """
        return await self._known.get(namespace, since=since)

    async def _read(self, namespace: str) -> NamespaceObservation | None:
        try:
            document = await self._kube.get(ObjectKey(NAMESPACE, "", namespace)) or {}
        except Forbidden:
            return None
        value = field(document, "metadata", "annotations", SUSPEND_ANNOTATION)
        return NamespaceObservation(
            labels={str(key): str(value) for key, value in part(document, "metadata", "labels").items()},
            suspension=suspension_text(value if isinstance(value, str) else None),
        )
