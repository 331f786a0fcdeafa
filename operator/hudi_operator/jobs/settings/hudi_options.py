"""Builds Hudi's options for a job: complete, explicit, with the operator's own keys last.

A job gets the options of all services, because they depend on one another: archival reads the trigger of compaction,
and a writer reads how clustering handles updates. Only the switches and gates differ between jobs.
"""

from collections.abc import Iterable

from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    INDEX_KEY,
    METADATA_PREFIX,
    TIMELINE_ZONE_OPTION,
    ConcurrencyMode,
    Service,
    WriteOperation,
    index_note,
)
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table import BulkInsertSortMode, HudiTableSpec, Ingestion
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.api.spec.table_writing import Index, IndexType, Lock
from hudi_operator.api.values.base import quantity_bytes
from hudi_operator.services.definition import TableServiceDefinition
from hudi_operator.services.registry import TABLE_SERVICES, mode_of

_TRANSACTION = "org.apache.hudi.client.transaction"

# Every process judges other writers' heartbeats by its own settings, and the operator waits this long (interval times
# misses) before it takes over a dead run's work: a shorter time would end living writers.
_HEARTBEAT = {
    "hoodie.client.heartbeat.interval_in_ms": "60000",
    "hoodie.client.heartbeat.tolerable.misses": "2",
}

_ALONE = {
    "hoodie.write.concurrency.mode": "SINGLE_WRITER",
    "hoodie.clean.failed.writes.policy": "EAGER",
}

_BESIDE_OTHERS = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
    # If a writer and a table service touch the same files, the service gives way and is planned again.
    "hoodie.write.lock.conflict.resolution.strategy": f"{_TRANSACTION}.PreferWriterConflictResolutionStrategy",
    # Also give way to a writer that has only announced itself.
    "hoodie.clustering.fail.on.pending.ingestion.during.conflict.resolution": "true",
}


def lock_of(table: HudiTable, table_class: HudiTableClassSpec | None) -> Lock | None:
    """Return the lock shared by a table's writers: its own, or its class's."""
    return table.spec.concurrency.lock or (table_class.lock if table_class else None)


def lock_key_of(table: HudiTable, table_class: HudiTableClassSpec | None) -> str:
    """Return the name of a table's lock, prefixed with the namespace unless the class allows shared keys.

    A namespace contains no dot, so no table can name the lock of another namespace.
    """
    prefix, given = f"{table.metadata.namespace}.", table.spec.concurrency.lock_key
    if given is None:
        return f"{prefix}{table.table_name}"
    shares = table_class is not None and table_class.allow_shared_lock_keys
    return given if shares or given.startswith(prefix) else f"{prefix}{given}"


def concurrency_options(table: HudiTable, lock: Lock | None, *, lock_key: str) -> dict[str, str]:
    """Return the options for the table's concurrency mode.

    An optimistic table without a lock gets no job, so here only the lock's own options are missing.
    """
    if table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED:
        return {**_HEARTBEAT, **_ALONE}
    return {**_HEARTBEAT, **_BESIDE_OTHERS, **(_zookeeper(lock, lock_key) if lock else {})}


def _zookeeper(lock: Lock, key: str) -> dict[str, str]:
    prefix = "hoodie.write.lock.zookeeper"
    return {
        "hoodie.write.lock.provider": f"{_TRANSACTION}.lock.ZookeeperBasedLockProvider",
        # The port belongs in the url: Hudi has a key for it, but does not read that key.
        f"{prefix}.url": lock.zookeeper.connect,
        f"{prefix}.base_path": lock.zookeeper.base_path,
        f"{prefix}.lock_key": key,
    }


def service_options(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Return the options of all table services for a job that runs a single service."""
    options: dict[str, str] = {}
    for one in TABLE_SERVICES:
        options |= {**_switches(spec, one, job=service), **one.options(spec)}
    for one in TABLE_SERVICES:
        options |= one.gates_open if one.service is service else {}
    return options | _scope(spec, service)


def options_of_one(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Return the options from the spec for a run of a single table service."""
    one = _definition_of(service)
    return {**one.options(spec), **one.gates_open, **_scope(spec, service)}


def _definition_of(service: Service) -> TableServiceDefinition:
    return next(one for one in TABLE_SERVICES if one.service is service)


def flag(value: bool) -> str:  # noqa: FBT001 - the one question this asks
    """Return a boolean in Hudi's spelling."""
    return "true" if value else "false"


def _runs_inline(spec: HudiTableSpec, inline: Service, *, job: Service) -> bool:
    return job is Service.INGESTION and mode_of(spec, inline) is ServiceMode.INLINE


def _switches(spec: HudiTableSpec, one: TableServiceDefinition, *, job: Service) -> dict[str, str]:
    """Return the switches of a service: on only inside the writer and in mode Inline, otherwise off."""
    off = dict.fromkeys(one.other_switches, "false")
    return {one.inline_switch: flag(_runs_inline(spec, one.service, job=job)), **off}


def _scope(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Plan from all partitions where Hudi's incremental planning would lose some.

    By default Hudi plans from the partitions written since the last plan, and carries over the rest of a plan.
    `ClusteringPlanPartitionFilter`, `DayBasedCompactionStrategy` and `PartitionRegexBasedCompactionStrategy` of Hudi
    1.2.0 carry over no partitions, or partitions that were not requested. Elsewhere the default stands, and a class may
    change it.
    """
    planned_here = any(
        one.service is service or _runs_inline(spec, one.service, job=service)
        for one in TABLE_SERVICES
        if one.needs_all_partitions(spec)
    )
    return {"hoodie.table.services.incremental.enabled": "false"} if planned_here else {}


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
