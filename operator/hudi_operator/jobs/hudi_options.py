"""Hudi's write options for a table: complete, explicit, and the operator's own keys last."""

from hudi_jobs.contract import CHECKPOINT_KEY, METADATA_PREFIX
from hudi_operator.api.base import quantity_bytes
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.table_class import HudiTableClassSpec
from hudi_operator.api.table_spec import CleaningPolicy, HudiTableSpec, IndexType, ServiceMode

_INDEX_NAMES = {
    IndexType.BLOOM: "BLOOM",
    IndexType.GLOBAL_BLOOM: "GLOBAL_BLOOM",
    IndexType.SIMPLE: "SIMPLE",
    IndexType.GLOBAL_SIMPLE: "GLOBAL_SIMPLE",
    IndexType.BUCKET: "BUCKET",
    IndexType.RECORD_LEVEL: "RECORD_LEVEL_INDEX",
    IndexType.GLOBAL_RECORD_LEVEL: "GLOBAL_RECORD_LEVEL_INDEX",
    IndexType.IN_MEMORY: "INMEMORY",
}

_CLEANING_POLICIES = {
    CleaningPolicy.KEEP_LATEST_COMMITS: "KEEP_LATEST_COMMITS",
    CleaningPolicy.KEEP_LATEST_FILE_VERSIONS: "KEEP_LATEST_FILE_VERSIONS",
    CleaningPolicy.KEEP_LATEST_BY_HOURS: "KEEP_LATEST_BY_HOURS",
}


def build_hudi_options(table: HudiTable, table_class: HudiTableClassSpec) -> dict[str, str]:
    """Return all options of a writer: class first, then the table's own, then the operator's, which win."""
    return {**table_class.hudi_options, **table.spec.hudi_options, **owned_hudi_options(table)}


def owned_hudi_options(table: HudiTable) -> dict[str, str]:
    """Return the options that follow from the typed fields of the spec and from the operator's own rules."""
    return {
        **_identity(table),
        **_layout(table.spec),
        **_services(table.spec),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        "hoodie.datasource.write.commitmeta.key.prefix": METADATA_PREFIX,
        "hoodie.write.rolling.metadata.keys": CHECKPOINT_KEY,
    }


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
    }


def _layout(spec: HudiTableSpec) -> dict[str, str]:
    sizing, index = spec.file_sizing, spec.index
    return {
        "hoodie.index.type": _INDEX_NAMES[index.type],
        **({"hoodie.bucket.index.num.buckets": str(index.buckets)} if index.buckets else {}),
        "hoodie.parquet.max.file.size": str(quantity_bytes(sizing.max_file_size)),
        "hoodie.parquet.small.file.limit": str(quantity_bytes(sizing.small_file_limit)),
        "hoodie.copyonwrite.insert.split.size": str(sizing.insert_split_size),
        "hoodie.copyonwrite.record.size.estimate": str(quantity_bytes(sizing.record_size_estimate)),
        "hoodie.metadata.enable": _flag(spec.metadata_table.enabled),
    }


def _services(spec: HudiTableSpec) -> dict[str, str]:
    """Automatic table services are off unless the spec says Inline: a writer must not surprise the operator."""
    cleaning = spec.cleaning
    return {
        "hoodie.compact.inline": _flag(spec.compaction.mode is ServiceMode.INLINE),
        "hoodie.compact.inline.max.delta.commits": str(spec.compaction.delta_commits),
        "hoodie.compact.schedule.inline": "false",
        "hoodie.datasource.compaction.async.enable": "false",
        "hoodie.clustering.inline": _flag(spec.clustering.mode is ServiceMode.INLINE),
        "hoodie.clustering.inline.max.commits": str(spec.clustering.commits),
        "hoodie.clustering.schedule.inline": "false",
        "hoodie.clustering.async.enabled": "false",
        "hoodie.clean.automatic": _flag(cleaning.mode is ServiceMode.INLINE),
        "hoodie.clean.async.enabled": "false",
        "hoodie.clean.policy": _CLEANING_POLICIES[cleaning.policy],
        "hoodie.clean.commits.retained": str(cleaning.retain_commits),
        "hoodie.clean.fileversions.retained": str(cleaning.retain_file_versions),
        "hoodie.clean.hours.retained": str(cleaning.retain_hours),
        "hoodie.archive.automatic": _flag(spec.archival.mode is ServiceMode.INLINE),
        "hoodie.archive.async": "false",
        "hoodie.keep.min.commits": str(spec.archival.min_commits),
        "hoodie.keep.max.commits": str(spec.archival.max_commits),
    }


def _flag(value: bool) -> str:  # noqa: FBT001 - the one question this asks
    return "true" if value else "false"
