"""Which options an existing table gets: what it stores comes from there, and its metadata table stays what it is."""

from typing import Any

import pytest

from hudi_jobs.contract import Service
from hudi_jobs.existing_table import metadata_options, own_options, without_stored
from hudi_operator.api.resources import HudiTable
from hudi_operator.jobs.settings.hudi_options import owned_hudi_options

METADATA = "hoodie.metadata.enable"
STATISTICS = "hoodie.metadata.index.column.stats.enable"
BLOOM = "hoodie.metadata.index.bloom.filter.enable"
GLOBAL, LOCAL = "hoodie.metadata.global.record.level.index.enable", "hoodie.metadata.record.level.index.enable"
LISTED = {"hoodie.table.metadata.partitions": "files"}
BOTH = {"hoodie.table.metadata.partitions": "column_stats,files"}


def kept(properties: dict[str, str], options: dict[str, str], **found: Any) -> dict[str, str]:
    return metadata_options(properties, options, **{"is_pending": False, "is_partitioned": False, **found})


@pytest.mark.parametrize("service", list(Service))
def test_of_the_operators_options_none_says_what_a_table_stores(service: Service) -> None:
    spec = {
        "basePath": "s3a://lake/flights",
        "type": "MergeOnRead",
        "recordKey": ["id"],
        "partitionBy": ["part"],
        "orderingFields": ["ts"],
    }
    table = HudiTable.model_validate({"metadata": {"name": "flights", "namespace": "team"}, "spec": spec})
    left = without_stored(owned_hudi_options(table, service), {})
    stored = ("hoodie.datasource.write.", "hoodie.table.", "hoodie.record.", "hoodie.populate.", "hoodie.keygen.")
    assert {key for key in left if key.startswith(stored)} == {"hoodie.datasource.write.commitmeta.key.prefix"}
    assert left["hoodie.index.type"] == "BLOOM"


def test_an_option_is_not_given_in_any_spelling_of_what_the_table_stores() -> None:
    options = {
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.write.record.merge.mode": "CUSTOM",
        "hoodie.deltastreamer.keygen.timebased.timezone": "UTC",
        "hoodie.write.complex.keygen.new.encoding": "true",
        "hoodie.odd.key": "1",
        "hoodie.table.services.enabled": "true",
    }
    assert without_stored(options, {"hoodie.odd.key": "2"}) == {"hoodie.table.services.enabled": "true"}


def test_a_table_is_told_its_own_identity_and_version() -> None:
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.recordkey.fields": "a,b",
        "hoodie.table.partition.fields": "day:TIMESTAMP",
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.compaction.payload.class": "x",
    }
    assert own_options(properties, 6) == {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "a,b",
        "hoodie.datasource.write.partitionpath.field": "day:TIMESTAMP",
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.write.table.version": "6",
        "hoodie.write.auto.upgrade": "false",
    }
    assert "hoodie.write.table.version" not in own_options({}, 5)


@pytest.mark.parametrize("asked", [{}, {METADATA: "true"}, {METADATA: "false"}])
def test_a_metadata_table_that_is_there_stays_with_the_indexes_that_it_has(asked: dict[str, str]) -> None:
    assert kept(LISTED, asked) == {METADATA: "true", STATISTICS: "false", BLOOM: "false"}
    assert kept(BOTH, asked) == {METADATA: "true", STATISTICS: "true", BLOOM: "false"}
    making = {**LISTED, "hoodie.table.metadata.partitions.inflight": "bloom_filters"}
    assert kept(making, asked) == {METADATA: "true", STATISTICS: "false", BLOOM: "true"}


def test_a_metadata_table_is_made_when_it_is_asked_for_and_nothing_is_pending() -> None:
    assert kept({}, {}) == {METADATA: "false"}
    assert kept({}, {METADATA: "true"}, is_pending=True) == {METADATA: "false"}
    assert kept({}, {METADATA: "true"}) == {METADATA: "true", STATISTICS: "false", BLOOM: "false"}


def test_an_index_is_added_when_an_option_names_it_and_nothing_is_pending() -> None:
    assert kept(LISTED, {STATISTICS: "true"})[STATISTICS] == "true"
    assert kept(LISTED, {STATISTICS: "true"}, is_pending=True)[STATISTICS] == "false"
    assert kept(LISTED, {GLOBAL: "true"})[GLOBAL] == "true"
    assert kept(LISTED, {GLOBAL: "true"}, is_pending=True)[GLOBAL] == "false"


@pytest.mark.parametrize(("is_partitioned", "on", "off"), [(True, LOCAL, GLOBAL), (False, GLOBAL, LOCAL)])
def test_a_record_index_stays_of_its_kind(is_partitioned: bool, on: str, off: str) -> None:
    found = kept(
        {"hoodie.table.metadata.partitions": "files,record_index"}, {off: "true"}, is_partitioned=is_partitioned
    )
    assert (found[on], found[off]) == ("true", "false")
