"""A table stays what it is: no run upgrades it, and none makes a metadata table beside pending instants."""

from collections.abc import Mapping

from hudi_jobs.table import HudiTable

_WRITTEN_VERSIONS = frozenset({6, 8, 9})
"""Versions that Hudi 1.2.0 writes when it is told to (`hoodie.write.table.version`)."""


def kept_as_found(table: HudiTable | None, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a write that leave an existing table its version and what it has of a metadata table.

    Without its version, services of Hudi 1.2.0 upgrade the metadata table of a table of version 6 although
    `hoodie.write.auto.upgrade` is off, and older writers fail then. A metadata table that is initialised beside a
    pending compaction leaves out the log files that were written after the plan was made, in tables of version 6; what
    is read and compacted by it afterwards is old. So one is made when nothing is pending.
    """
    if table is None:
        return dict(options)
    config, kept = table.meta.getTableConfig(), dict(options)
    version = int(config.getTableVersion().versionCode())
    if version in _WRITTEN_VERSIONS:
        kept |= {"hoodie.write.table.version": str(version), "hoodie.write.auto.upgrade": "false"}
    pending = table.meta.getActiveTimeline().filterInflightsAndRequested()
    if not config.isMetadataTableAvailable() and not pending.empty():
        kept["hoodie.metadata.enable"] = "false"
    return kept
