"""Which tables read another one: all that the operator serves are listed, while an operation is to go on to them."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from hudi_jobs.contract.operations.erase import MOST_CASCADED
from hudi_operator.api.resources import HudiTable, InvalidObject, parse_table
from hudi_operator.control.claims.claims import list_claims
from hudi_operator.control.keys import TABLE, table_key
from hudi_operator.control.observation.recent import Recent
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import Forbidden
from hudi_operator.kube.fields import Document, text
from hudi_operator.kube.kinds import ObjectKey
from hudi_operator.planning.model import Derived, DerivedTable, Reading, lineage_of
from hudi_operator.planning.policy.paths import canonical_path

_LONGEST_PATH = 1_024

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ListedReadings:
    """What was listed, and the namespaces that refused it: their tables are unknown, as of any that is not served."""

    readings: tuple[Reading, ...]
    refused: Mapping[str, Forbidden]

    def seen_from(self, namespace: str) -> tuple[Reading, ...]:
        """Return what concerns a table of a namespace; raises `Forbidden` where its own tables are unknown."""
        if namespace in self.refused:
            raise self.refused[namespace]
        return self.readings


class Readings:
    """What each table reads, as it was listed last: a listing is of the whole cluster, so all that wait share one."""

    def __init__(self, kube: KubernetesApi, namespaces: Sequence[str]) -> None:
        self._kube = kube
        self._namespaces: Sequence[str | None] = namespaces or (None,)
        self._known = Recent(self._list)
        self._one_at_a_time = asyncio.Lock()

    async def get(self, namespace: str, *, since: float | None = None) -> tuple[Reading, ...]:
        """Return what concerns a table of a namespace, as it was at `since` or later, else at most a minute old.

        What rests on it for good, such as that no further table reads another one, is asked with `since` (seconds of
        the event loop).
        """
        async with self._one_at_a_time:  # those that ask meanwhile share the next listing
            return (await self._known.get(None, since=since)).seen_from(namespace)

    async def _list(self, _: None) -> ListedReadings:
        return await list_readings(self._kube, self._namespaces)


async def list_readings(kube: KubernetesApi, namespaces: Sequence[str | None]) -> ListedReadings:
    """Return what each table of the namespaces reads now; one that may not be listed holds up none of the others."""
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
    """Return a table as it is now; None where there is none."""
    document = await kube.get(key)
    return None if document is None else parse_table(document)


async def derived_from(kube: KubernetesApi, table: HudiTable, readings: Iterable[Reading]) -> Derived:
    """Return the lineage of a table, with its tables as they are now but not their classes; what is gone is left out.

    The readings may be older, so what they name and is not there any more stands in the way of nothing.
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
    """Return a table as the one that others may read."""
    metadata, ingestion = table.metadata, table.spec.ingestion
    source = ingestion.source.hudi if ingestion is not None else None
    return Reading(
        namespace=metadata.namespace,
        name=metadata.name,
        path=canonical_path(table.spec.base_path),
        reads=canonical_path(source.path) if source is not None else None,
    )


def reading_of(document: Document, holders: Mapping[str, str]) -> Reading | None:
    """Return what a table reads, whether or not the rest of it is valid; None where it says no path of its own.

    `holders` are the uids of the tables that hold the claims on canonical paths.
    """
    namespace, name = text(document, "metadata", "namespace"), text(document, "metadata", "name")
    path = text(document, "spec", "basePath", limit=_LONGEST_PATH)
    reads = text(document, "spec", "ingestion", "source", "hudi", "path", limit=_LONGEST_PATH)
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
