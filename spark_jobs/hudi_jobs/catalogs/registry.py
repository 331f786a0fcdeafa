"""The kinds of catalog, one line each."""

from pyspark.sql import SparkSession

from hudi_jobs.catalogs.definition import TableCatalog
from hudi_jobs.catalogs.kinds.hive import HiveEntries
from hudi_jobs.contract import AnyCatalog, HiveCatalog, TableDefinition

_KINDS = {HiveCatalog: HiveEntries}


def catalog_of(spark: SparkSession, catalog: AnyCatalog, table: TableDefinition, uid: str) -> TableCatalog:
    """Return the entries of a table in its catalog; `uid` marks them as the resource's own."""
    return _KINDS[type(catalog)](spark, catalog, table, uid)
