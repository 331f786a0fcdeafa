"""Finds the tables that read from a table: lists all served tables while an operation cascades."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from hudi_jobs.contract.operations.erase import MOST_CASCADED
from hudi_jobs.contract.table.location import canonical_path
from hudi_operator.api.resources import HudiTable, InvalidObject, parse_table
from hudi_operator.control.claims import list_claims
from hudi_operator.control.observation.recent import Recent
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import Forbidden
from hudi_operator.kube.keys import TABLE, table_key
from hudi_operator.kube.objects import Document, ObjectKey, text
from hudi_operator.planning.model import Derived, DerivedTable, Reading, lineage_of
from hudi_operator.sources.registry import UPSTREAM_FIELDS, upstream_of

_LONGEST_PATH = 1_024

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ListedReadings:
    """The listed tables' sources, and the namespaces that refused listing, whose tables are unknown."""

    readings: tuple[Reading, ...]
    refused: Mapping[str, Forbidden]

    def seen_from(self, namespace: str) -> tuple[Reading, ...]:
        """Return the readings visible to a namespace; raises `Forbidden` if its own tables are unknown."""
        if namespace in self.refused:
            raise self.refused[namespace]
        return self.readings


class Readings:
    """The source of each table, as of the last listing.

    A listing covers the whole cluster, so all waiting callers share it.
    """

    def __init__(self, kube: KubernetesApi, namespaces: Sequence[str]) -> None:
        self._kube = kube
        self._namespaces: Sequence[str | None] = namespaces or (None,)
        self._known = Recent(self._list)
        self._one_at_a_time = asyncio.Lock()

    async def get(self, namespace: str, *, since: float | None = None) -> tuple[Reading, ...]:
        """Return the readings visible to a namespace, read at `since` or later, else at most a minute old.

        Pass `since` (seconds of the event loop) before a permanent decision, such as that no further table reads
        another table.
        """
        async with self._one_at_a_time:  # callers that arrive meanwhile share the next listing
            return (await self._known.get(None, since=since)).seen_from(namespace)

    async def _list(self, _: None) -> ListedReadings:
        return await list_readings(self._kube, self._namespaces)


async def list_readings(kube: KubernetesApi, namespaces: Sequence[str | None]) -> ListedReadings:
    """List the current source of every table; a namespace that refuses listing does not block the others."""
    holders = {claim.path: claim.holder for claim in await list_claims(kube)}
    found: list[Reading | None] = []
    refused: dict[str, Forbidden] = {}
    for namespace in namespaces:
        try:
            found.extend([reading_of(one, holders) async for one in kube.each(TABLE, namespace)])
        except Forbidden as error:
            if namespace is None:
                raise
            refused[namespace] = error
            _log.warning("tables of a namespace are unknown to erasures", namespace=namespace, error=str(error))
    return ListedReadings(tuple(one for one in found if one is not None), refused)


async def read_table(kube: KubernetesApi, key: ObjectKey) -> HudiTable | InvalidObject | None:
    """Return a table as it is now, or None if it does not exist."""
    document = await kube.get(key)
    return None if document is None else parse_table(document)


async def derived_from(kube: KubernetesApi, table: HudiTable, readings: Iterable[Reading]) -> Derived:
    """Return a table's lineage with its current tables, without their classes; removed tables are left out.

    The readings may be older, so a table that is gone blocks nothing.
    """
    lineage = lineage_of(root_of(table), readings)
    names: Iterable[str] = lineage.tables if len(lineage.tables) <= MOST_CASCADED else ()
    found = [(name, await read_table(kube, table_key(table.metadata.namespace, name))) for name in names]
    tables = (
        DerivedTable(name=name, table=one if isinstance(one, HudiTable) else None)
        for name, one in found
        if one is not None
    )
    return Derived(lineage=lineage, tables=tuple(tables))


def root_of(table: HudiTable) -> Reading:
    """Return a table as a root that others may read."""
    metadata, upstream = table.metadata, upstream_of(table.spec)
    return Reading(
        namespace=metadata.namespace,
        name=metadata.name,
        path=canonical_path(table.spec.base_path),
        reads=canonical_path(upstream) if upstream is not None else None,
    )


def reading_of(document: Document, holders: Mapping[str, str]) -> Reading | None:
    """Return a table's source, even if the rest of its spec is invalid; None without a base path.

    `holders` maps canonical paths to the uids of the tables with the claims.
    """
    namespace, name = text(document, "metadata", "namespace"), text(document, "metadata", "name")
    path = text(document, "spec", "basePath", limit=_LONGEST_PATH)
    declared = (text(document, "spec", "ingestion", "source", *one, limit=_LONGEST_PATH) for one in UPSTREAM_FIELDS)
    reads = next((one for one in declared if one is not None), None)
    if namespace is None or name is None or path is None:
        return None
    uid, canonical = text(document, "metadata", "uid"), canonical_path(path)
    return Reading(
        namespace=namespace,
        name=name,
        path=canonical,
        reads=canonical_path(reads) if reads is not None else None,
        holds=uid is not None and holders.get(canonical) == uid,
    )
