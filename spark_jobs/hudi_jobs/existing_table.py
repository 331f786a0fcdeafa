"""Keeps an existing table unchanged: its own properties override every option of a run.

Hudi 1.2.0 deletes a metadata table that a writer has switched off, and a switched-off index in it
(`HoodieTable.maybeDeleteMetadataTable`, `deleteMetadataIndexIfNecessary`), and its defaults add `column_stats` and
`partition_stats`, which share a switch. An index left behind would become stale. So existing indexes stay on, and
missing indexes stay off unless an option names them.

Hudi 1.2.0 compares a write's options with `hoodie.properties` (`HoodieWriterUtils.validateTableConfig`), and fills in
missing options from there (`HoodieSparkSqlWriter.mergeParamsAndGetHoodieConfig`). So an existing table gets no option
that it stores itself, in any spelling.
"""

from collections.abc import Mapping

from hudi_jobs.contract.table.support import WRITTEN_VERSIONS
from hudi_jobs.table import HudiTable

ENABLED = "hoodie.metadata.enable"

_TRUE, _FALSE = "true", "false"
_FILES = "files"
_STATISTICS, _BLOOM = "hoodie.metadata.index.column.stats.enable", "hoodie.metadata.index.bloom.filter.enable"
_INDEXES = {"column_stats": _STATISTICS, "bloom_filters": _BLOOM}
_RECORD_INDEX = "record_index"
_GLOBAL, _PARTITIONED = "hoodie.metadata.global.record.level.index.enable", "hoodie.metadata.record.level.index.enable"
RECORD_INDEXES = (_GLOBAL, _PARTITIONED, "hoodie.metadata.record.index.enable")
"""The options that enable a record index."""


def metadata_partitions(properties: Mapping[str, str]) -> frozenset[str]:
    """Return the metadata partitions that a table has, or is building."""
    keys = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")
    return frozenset(name for key in keys for name in properties.get(key, "").split(",") if name)


def has_record_index(properties: Mapping[str, str]) -> bool:
    """Tell whether a table has, or is building, a record index."""
    return _RECORD_INDEX in metadata_partitions(properties)


def partitions_of(options: Mapping[str, str]) -> frozenset[str]:
    """Return the metadata partitions that these options create."""
    names = {
        _FILES: (ENABLED,),
        **{name: (option,) for name, option in _INDEXES.items()},
        _RECORD_INDEX: RECORD_INDEXES,
    }
    return frozenset(name for name, keys in names.items() if any(options.get(key) == _TRUE for key in keys))


def metadata_options(
    properties: Mapping[str, str], options: Mapping[str, str], *, is_pending: bool, is_partitioned: bool
) -> dict[str, str]:
    """Return the metadata table options for an existing table.

    New parts are created if an option asks for them by name and no instant is pending. A metadata table initialised
    beside a pending compaction leaves out the log files written after the plan was made, in tables of version 6; later
    reads and compactions with it return old rows.

    `is_partitioned` says whether a record index treats keys as unique only within their partition.
    """
    present = metadata_partitions(properties)

    def wanted(option: str) -> bool:
        return not is_pending and options.get(option, _FALSE).lower() == _TRUE

    if _FILES not in present and not wanted(ENABLED):
        return {ENABLED: _FALSE}
    kept = {ENABLED: _TRUE}
    kept |= {option: _flag(name in present or wanted(option)) for name, option in _INDEXES.items()}
    if _RECORD_INDEX in present:
        return kept | {_GLOBAL: _flag(not is_partitioned), _PARTITIONED: _flag(is_partitioned)}
    return kept | {option: _flag(wanted(option)) for option in RECORD_INDEXES if option in options}


def _flag(value: bool) -> str:  # noqa: FBT001 - it is what is written down
    return _TRUE if value else _FALSE


_KEYS = frozenset(
    {
        "hoodie.archivelog.folder",
        "hoodie.compaction.payload.class",
        "hoodie.compaction.record.merger.strategy",
        "hoodie.database.name",
        "hoodie.datasource.write.drop.partition.columns",
        "hoodie.datasource.write.hive_style_partitioning",
        "hoodie.datasource.write.payload.class",
        "hoodie.datasource.write.payload.type",
        "hoodie.datasource.write.precombine.field",
        "hoodie.datasource.write.slash.separated.date.partitioning",
        "hoodie.datasource.write.storage.type",
        "hoodie.partition.metafile.use.base.format",
        "hoodie.populate.meta.fields",
        "hoodie.write.auto.upgrade",
        "hoodie.write.table.version",
    }
)
_KEY_GENERATORS = ("hoodie.deltastreamer.keygen.", "hoodie.keygen.", "hoodie.streamer.keygen.")
_FAMILIES = (
    *_KEY_GENERATORS,
    "hoodie.bootstrap.",
    "hoodie.datasource.write.keygenerator.",
    "hoodie.datasource.write.partitionpath.",
    "hoodie.datasource.write.record.merge",
    "hoodie.datasource.write.recordkey.",
    "hoodie.datasource.write.table.",
    "hoodie.payload.",
    "hoodie.record.merge.",
    "hoodie.table.",
    "hoodie.timeline.",
    "hoodie.write.complex.keygen.",
    "hoodie.write.record.merge.mode",
    "hoodie.write.record.merge.strategy.",
)
_NOT_STORED = "hoodie.table.services."


def without_stored(options: Mapping[str, str], properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options without those that a table stores, or may store, in `hoodie.properties`."""
    return {key: value for key, value in options.items() if key not in properties and not _is_stored(key)}


def _is_stored(key: str) -> bool:
    return key in _KEYS or (key.startswith(_FAMILIES) and not key.startswith(_NOT_STORED))


def own_options(properties: Mapping[str, str], version: int) -> dict[str, str]:
    """Return the options that Hudi still needs: the table's own identity, and its version.

    Without the version, services of Hudi 1.2.0 upgrade the metadata table of a version-6 table although
    `hoodie.write.auto.upgrade` is off, and older writers fail then. For a table with time partitions, Hudi fills in
    everything or nothing, and bare columns instead of a custom key generator's kinds.
    """
    own = {"hoodie.write.auto.upgrade": "false"}
    if version in WRITTEN_VERSIONS:
        own["hoodie.write.table.version"] = str(version)
    named = {
        "hoodie.table.name": "hoodie.table.name",
        "hoodie.table.type": "hoodie.datasource.write.table.type",
        "hoodie.table.recordkey.fields": "hoodie.datasource.write.recordkey.field",
        "hoodie.table.partition.fields": "hoodie.datasource.write.partitionpath.field",
    }
    own |= {option: properties[key] for key, option in named.items() if key in properties}
    return own | {key: value for key, value in properties.items() if key.startswith(_KEY_GENERATORS)}


def existing_options(table: HudiTable | None, options: Mapping[str, str]) -> dict[str, str]:
    """Return write options that keep an existing table's version, properties and metadata table.

    A new table is created with the given options.
    """
    if table is None:
        return dict(options)
    properties = table.properties
    is_pending = not table.meta.getActiveTimeline().filterInflightsAndRequested().empty()
    kept = without_stored(options, properties) | own_options(properties, table.version)
    is_partitioned = has_record_index(properties) and table.has_partitioned_record_index()
    return kept | metadata_options(properties, options, is_pending=is_pending, is_partitioned=is_partitioned)
