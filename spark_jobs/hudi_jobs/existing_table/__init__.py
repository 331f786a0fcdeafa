"""Keeps an existing table unchanged: its own properties override every option of a run."""

from collections.abc import Mapping

from hudi_jobs.existing_table.metadata import has_record_index, metadata_options
from hudi_jobs.existing_table.options import own_options, without_stored
from hudi_jobs.table import HudiTable


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
