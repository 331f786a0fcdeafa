"""Which tables read another one: all that the operator serves are listed, while an operation is to go on to them."""

from collections.abc import Iterable, Mapping, Sequence

from hudi_jobs.contract.operations.erase import MOST_CASCADED
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.control.claims.claims import list_claims
from hudi_operator.control.keys import TABLE
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.fields import Document, text
from hudi_operator.planning.model import Derived, DerivedTable, Reading, lineage_of
from hudi_operator.planning.policy.paths import canonical_path

_LONGEST_PATH = 1_024


class Readings:
    """What each table reads, and the documents of those of one namespace."""

    def __init__(self) -> None:
        self.all: list[Reading] = []
        self._documents: dict[str, Document] = {}

    @classmethod
    async def look(cls, kube: KubernetesApi, namespaces: Sequence[str | None], *, own: str) -> "Readings":
        """List the tables of the namespaces; `own` is the one whose documents are kept."""
        found = cls()
        holders = {claim.path: claim.holder for claim in await list_claims(kube)}
        for namespace in namespaces:
            async for document in kube.each(TABLE, namespace):
                reading = reading_of(document, holders)
                if reading is not None:
                    found.all.append(reading)
                    if reading.namespace == own:
                        found._documents[reading.name] = document
        return found

    def of(self, name: str) -> HudiTable | None:
        """Return a table of the own namespace; None where it cannot be read."""
        document = self._documents.get(name)
        parsed = parse_table(dict(document)) if document is not None else None
        return parsed if isinstance(parsed, HudiTable) else None

    def derived_from(self, table: HudiTable) -> Derived:
        """Return the lineage of a table, with its tables but not their classes."""
        lineage = lineage_of(root_of(table), self.all)
        names: Iterable[str] = lineage.tables if len(lineage.tables) <= MOST_CASCADED else ()
        return Derived(lineage=lineage, tables=tuple(DerivedTable(name=name, table=self.of(name)) for name in names))


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
