"""Builds Hudi's options for a job: complete, explicit, with the operator's own keys last."""

from collections.abc import Iterable

from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    INDEX_KEY,
    METADATA_PREFIX,
    TIMELINE_ZONE_OPTION,
    Service,
    WriteOperation,
    index_note,
)
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.index import Index, IndexType
from hudi_operator.api.spec.table import BulkInsertSortMode, HudiTableSpec, Ingestion
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.values.base import quantity_bytes
from hudi_operator.jobs.settings.concurrency_options import concurrency_options, lock_key_of, lock_of
from hudi_operator.jobs.settings.service_options import flag, service_options

_INDEX_NAMES = {
    IndexType.BLOOM: "BLOOM",
    IndexType.GLOBAL_BLOOM: "GLOBAL_BLOOM",
    IndexType.SIMPLE: "SIMPLE",
    IndexType.GLOBAL_SIMPLE: "GLOBAL_SIMPLE",
    IndexType.BUCKET: "BUCKET",
    IndexType.RECORD_LEVEL: "RECORD_LEVEL_INDEX",
    IndexType.GLOBAL_RECORD_LEVEL: "GLOBAL_RECORD_LEVEL_INDEX",
}

_SORT_MODES = {
    BulkInsertSortMode.NONE: "NONE",
    BulkInsertSortMode.GLOBAL_SORT: "GLOBAL_SORT",
    BulkInsertSortMode.PARTITION_SORT: "PARTITION_SORT",
    BulkInsertSortMode.PARTITION_PATH_REPARTITION: "PARTITION_PATH_REPARTITION",
    BulkInsertSortMode.PARTITION_PATH_REPARTITION_AND_SORT: "PARTITION_PATH_REPARTITION_AND_SORT",
}


_METADATA_TABLE = "hoodie.metadata.enable"
"""Without this option Hudi creates a metadata table with a new table, and the driver keeps an existing table's choice.
"""

_TABLE_VERSION = "hoodie.write.table.version"
"""Without this option Hudi creates a new table in its newest version, and the driver keeps an existing table's version.
"""

_KEYS_OF_ROWS = frozenset(
    {
        "hoodie.bucket.index.*",
        "hoodie.index.*",
        "hoodie.metadata.global.record.level.index.*",
        "hoodie.metadata.record.*",
        "hoodie.bloom.index.update.partition.path",
        "hoodie.record.index.update.partition.path",
        "hoodie.simple.index.update.partition.path",
        "hoodie.populate.meta.fields",
        "hoodie.table.keygenerator.*",
        "hoodie.table.metadata.*",
        "hoodie.table.partition.*",
        "hoodie.table.recordkey.*",
        "hoodie.keygen.*",
        "hoodie.write.complex.keygen.*",
        "hoodie.datasource.write.drop.partition.columns",
        "hoodie.datasource.write.keygenerator.*",
        "hoodie.datasource.write.partitionpath.*",
        "hoodie.datasource.write.recordkey.*",
        "hoodie.datasource.write.slash.separated.date.partitioning",
    }
)
"""Keys, and key prefixes, that define a row's key and its index.

A change of them would make a table lose track of its rows and write them again, so no table may set them.
"""


def build_hudi_options(table: HudiTable, table_class: HudiTableClassSpec, service: Service) -> dict[str, str]:
    """Return all options of a job: the class's, then the table's own, then the operator's, which win."""
    owned = owned_hudi_options(table, service, table_class=table_class)
    return {**table_class.hudi_options, **table.spec.hudi_options, **owned}


def owned_hudi_options(
    table: HudiTable, service: Service = Service.INGESTION, *, table_class: HudiTableClassSpec | None = None
) -> dict[str, str]:
    """Return the options derived from typed fields of the spec and from the operator's own rules."""
    return {
        **_identity(table),
        **_layout(table.spec),
        **_bulk_insert(table.spec.ingestion),
        **service_options(table.spec, service),
        **concurrency_options(table, lock_of(table, table_class), lock_key=lock_key_of(table, table_class)),
        **({TIMELINE_ZONE_OPTION: table.spec.timeline_time_zone} if table.spec.timeline_time_zone else {}),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        "hoodie.datasource.write.commitmeta.key.prefix": METADATA_PREFIX,
        "hoodie.write.rolling.metadata.keys": f"{CHECKPOINT_KEY},{INDEX_KEY}",
    }


def owned_hudi_keys(table: HudiTable, table_class: HudiTableClassSpec) -> Iterable[str]:
    """Return the keys that the operator sets in any of the table's jobs; nobody else may set them."""
    found = (owned_hudi_options(table, service, table_class=table_class) for service in Service)
    return {*_KEYS_OF_ROWS, _METADATA_TABLE, _TABLE_VERSION, *(key for options in found for key in options)}


def declared_index(index: Index) -> str:
    """Return the index note for commits of a table with this index."""
    return index_note(index.type.value, index.bucket_count)


def _identity(table: HudiTable) -> dict[str, str]:
    spec = table.spec
    ordering = ",".join(spec.ordering_fields)
    return {
        "hoodie.table.name": table.table_name,
        "hoodie.datasource.write.table.name": table.table_name,
        "hoodie.datasource.write.table.type": spec.type.hudi_name,
        "hoodie.datasource.write.recordkey.field": ",".join(spec.record_key),
        "hoodie.datasource.write.partitionpath.field": ",".join(spec.partition_by),
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.table.timeline.timezone": "UTC",
        **({"hoodie.table.ordering.fields": ordering} if ordering else {}),
        **({_TABLE_VERSION: str(spec.table_version)} if spec.table_version is not None else {}),
    }


def _layout(spec: HudiTableSpec) -> dict[str, str]:
    sizing, index, metadata = spec.file_sizing, spec.index, spec.metadata_table.enabled
    return {
        INDEX_KEY: declared_index(index),
        "hoodie.index.type": _INDEX_NAMES[index.type],
        **(_buckets(spec, index.bucket_count) if index.bucket_count else {}),
        "hoodie.parquet.max.file.size": str(quantity_bytes(sizing.max_file_size)),
        "hoodie.parquet.small.file.limit": str(quantity_bytes(sizing.small_file_limit)),
        "hoodie.copyonwrite.insert.split.size": str(sizing.insert_split_size),
        "hoodie.copyonwrite.record.size.estimate": str(quantity_bytes(sizing.record_size_estimate)),
        **({} if metadata is None else {_METADATA_TABLE: flag(metadata)}),
    }


def _buckets(spec: HudiTableSpec, number: int) -> dict[str, str]:
    return {
        "hoodie.index.bucket.engine": "SIMPLE",
        "hoodie.bucket.index.num.buckets": str(number),
        "hoodie.bucket.index.hash.field": ",".join(spec.record_key),
    }


def _bulk_insert(ingestion: Ingestion | None) -> dict[str, str]:
    if ingestion is None or ingestion.operation is not WriteOperation.BULK_INSERT:
        return {}
    parallelism, sort_mode = ingestion.bulk_insert.parallelism, ingestion.bulk_insert.sort_mode
    return {
        "hoodie.bulkinsert.sort.mode": _SORT_MODES[sort_mode],
        **({"hoodie.bulkinsert.shuffle.parallelism": str(parallelism)} if parallelism else {}),
    }
