"""Which metadata table a run keeps up to date: the one that the table has, with the indexes that it has: pure values.

Hudi 1.2.0 deletes a metadata table that a writer has switched off, and an index in it that is switched off
(`HoodieTable.maybeDeleteMetadataTable`, `deleteMetadataIndexIfNecessary`), and its defaults add `column_stats` and
`partition_stats`, for which it has one switch. One that was left behind would be stale. So what is there stays on, and
what is not there stays off unless an option names it.
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
"""The options that ask for an index of record keys."""


def metadata_partitions(properties: Mapping[str, str]) -> frozenset[str]:
    """Return the partitions of the metadata table that a table has, or is making."""
    keys = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")
    return frozenset(name for key in keys for name in properties.get(key, "").split(",") if name)


def has_record_index(properties: Mapping[str, str]) -> bool:
    """Tell whether a table has an index of record keys in its metadata table, or is making one."""
    return _RECORD_INDEX in metadata_partitions(properties)


def partitions_of(options: Mapping[str, str]) -> frozenset[str]:
    """Return the partitions of the metadata table that these options make."""
    names = {
        _FILES: (ENABLED,),
        **{name: (option,) for name, option in _INDEXES.items()},
        _RECORD_INDEX: RECORD_INDEXES,
    }
    return frozenset(name for name, keys in names.items() if any(options.get(key) == _TRUE for key in keys))


def metadata_options(
    properties: Mapping[str, str], options: Mapping[str, str], *, is_pending: bool, is_partitioned: bool
) -> dict[str, str]:
    """Return the options on the metadata table of an existing table.

    Something new is made when an option asks for it by name and nothing is pending. A metadata table that is
    initialised beside a pending compaction leaves out the log files that were written after the plan was made, in
    tables of version 6; what is read and compacted by it afterwards is old.

    `is_partitioned` says of a record index whether its keys are unique in their partition only.
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
