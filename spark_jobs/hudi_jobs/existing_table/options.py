"""Chooses the options that a table's own properties replace. Pure.

Hudi 1.2.0 compares a write's options with `hoodie.properties` (`HoodieWriterUtils.validateTableConfig`), and fills in
missing options from there (`HoodieSparkSqlWriter.mergeParamsAndGetHoodieConfig`). So an existing table gets no option
that it stores itself, in any spelling.
"""

from collections.abc import Mapping

from hudi_jobs.contract.table.support import WRITTEN_VERSIONS

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
