"""Chooses metadata table options: keep the existing metadata table and its indexes. Pure.

Hudi 1.2.0 deletes a metadata table that a writer has switched off, and a switched-off index in it
(`HoodieTable.maybeDeleteMetadataTable`, `deleteMetadataIndexIfNecessary`), and its defaults add `column_stats` and
`partition_stats`, which share a switch. An index left behind would become stale. So existing indexes stay on, and
missing indexes stay off unless an option names them.
"""

from collections.abc import Mapping

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
