"""A Hive Metastore as the catalog of a table."""

from collections.abc import Iterator

from hudi_jobs.contract import HiveCatalog, TableType
from hudi_operator.api.spec.catalogs.hive import HiveCatalogSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.values.base import matches_any


def hive_document(spec: HiveCatalogSpec, table_class: HudiTableClassSpec) -> HiveCatalog | None:
    """Return the catalog as the driver receives it; None if the class has no metastore."""
    allowed = table_class.catalog.hive
    if allowed is None:
        return None
    return HiveCatalog(
        uris=allowed.metastore_uris,
        database=spec.database,
        table=spec.table,
        partition_style=spec.partition_style,
        take_over=spec.take_over,
    )


def hive_places(catalog: HiveCatalog, kind: TableType) -> tuple[str, ...]:
    """Return the spelling of each entry of a table for its claim.

    The first address stands for the metastore, whatever the order in a class. A metastore keeps no capital letters.
    """
    host, _, port = min(uri.partition("://")[2].lower() for uri in catalog.uris).rpartition(":")
    address = f"{host}:{int(port)}"
    return tuple(f"hive://{address}/{catalog.database}/{name}".lower() for name in catalog.names(kind))


def hive_refusals(spec: HiveCatalogSpec, table_class: HudiTableClassSpec, *, namespace: str) -> Iterator[str]:
    """Yield why a class does not allow an entry, as the end of a sentence that begins with the class."""
    allowed = table_class.catalog.hive
    if allowed is None:
        yield "names no Hive Metastore in catalog.hive"
        return
    patterns = [one.replace("{namespace}", namespace.replace("-", "_")) for one in allowed.allowed_databases]
    if not matches_any(spec.database, patterns):
        yield f"does not allow the database {spec.database} (it allows {', '.join(patterns) or 'none'})"
