"""The kinds of catalog, and what the rest of the operator asks of one."""

from collections.abc import Iterator

from hudi_jobs.contract import AnyCatalog, target_of
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.catalogs.kinds.hive import hive_document, hive_places, hive_refusals

_PLACES = ("hive://",)


def declared_catalog(table: HudiTable, table_class: HudiTableClassSpec) -> AnyCatalog | None:
    """Return the catalog of a table as the driver receives it, or None for a table without one."""
    catalog = table.spec.catalog
    return None if catalog is None or catalog.hive is None else hive_document(catalog.hive, table_class)


def declared_target(table: HudiTable, table_class: HudiTableClassSpec) -> str | None:
    """Return the digest of the settings of a table's catalog, as the record of a sync names it."""
    catalog = declared_catalog(table, table_class)
    return None if catalog is None else target_of(catalog, table.metadata.uid)


def entries_of(table: HudiTable, table_class: HudiTableClassSpec) -> tuple[str, ...]:
    """Return the catalog entries of a table, in one spelling whichever class names the catalog."""
    catalog = declared_catalog(table, table_class)
    return () if catalog is None else hive_places(catalog, table.spec.type)


def is_entry(place: str) -> bool:
    """Tell whether the place of a claim is a catalog entry, and no folder."""
    return place.startswith(_PLACES)


def catalog_refusals(table: HudiTable, table_class: HudiTableClassSpec) -> Iterator[str]:
    """Yield why a class does not allow the catalog of a table, as the end of a sentence that begins with the class."""
    catalog = table.spec.catalog
    if catalog is not None and catalog.hive is not None:
        yield from hive_refusals(catalog.hive, table_class, namespace=table.metadata.namespace)
