"""Everything in which a table differs from its declaration is told at once, and what cannot be honoured is refused."""

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import TableDefinition, TableType, differences, differences_message
from hudi_jobs.contract.table.facts import TableFacts, names_operations
from hudi_jobs.contract.table.merging import ordering_of
from hudi_jobs.contract.table.properties import partition_columns_of, record_key_of
from hudi_jobs.contract.table.support import key_generator_of
from hudi_operator.timeline.files.properties import parse_properties

TABLES = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables"

V6 = {
    "hoodie.table.name": "trips",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "6",
    "hoodie.timeline.layout.version": "1",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.partition.fields": "day",
    "hoodie.table.precombine.field": "ts",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.compaction.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "hoodie.compaction.record.merger.strategy": "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
    "hoodie.table.base.file.format": "PARQUET",
    "hoodie.table.cdc.enabled": "false",
    "hoodie.populate.meta.fields": "true",
    "hoodie.database.name": "",
}
"""What Hudi 0.15.0 writes."""

V9 = {
    "hoodie.table.name": "trips",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "9",
    "hoodie.table.format": "native",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.partition.fields": "day",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.table.keygenerator.type": "SIMPLE",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
    "hoodie.table.base.file.format": "PARQUET",
    "hoodie.populate.meta.fields": "true",
}
"""What Hudi 1.2.0 writes."""

PAYLOAD = "org.apache.hudi.common.model."
KEYGEN = "org.apache.hudi.keygen."
PRECOMBINE = "hoodie.table.precombine.field"
BY_COMMIT_TIME = "ce9acb64-bde0-424c-9b91-f6ebba25356d"


def declared(**changes: object) -> TableDefinition:
    fields: dict[str, object] = {
        "name": "trips",
        "base_path": "s3a://lake/trips",
        "type": TableType.MERGE_ON_READ,
        "record_key": ("id",),
        "partition_by": ("day",),
        "ordering_fields": ("ts",),
    }
    return TableDefinition.model_validate(fields | changes)


def fields_of(properties: Mapping[str, str], definition: TableDefinition | None = None, **asked: Any) -> list[str]:
    found = differences(properties, definition or declared(), **asked)
    return [one.field for one in found if one.stops]


@pytest.mark.parametrize("properties", [V6, V9])
def test_a_table_that_is_as_declared_differs_in_nothing(properties: Mapping[str, str]) -> None:
    assert differences(properties, declared(index="Bloom"), written_index="Bloom") == ()


def test_everything_that_differs_is_reported_at_once() -> None:
    definition = declared(
        name="others",
        type=TableType.COPY_ON_WRITE,
        record_key=("key", "id"),
        partition_by=(),
        ordering_fields=("at",),
        index="Bloom",
    )

    found = differences(V9, definition, written_index="Bucket/8")

    assert [(one.field, one.declared, one.found) for one in found] == [
        ("tableName", "others", "trips"),
        ("type", "CopyOnWrite", "MergeOnRead"),
        ("recordKey", "key,id", "id"),
        ("partitionBy", "(none)", "day"),
        ("orderingFields", "at", "ts"),
        ("index", "Bloom", "Bucket/8"),
    ]
    message = differences_message(found)
    assert all(one.sentence in message for one in found)
    assert "deletionPolicy Retain" in message


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"hoodie.table.version": "5"}, ["hoodie.table.version"]),
        ({"hoodie.table.version": "7"}, ["hoodie.table.version"]),
        ({"hoodie.table.version": "six"}, ["hoodie.table.version"]),
        ({"hoodie.table.recordkey.fields": ""}, ["hoodie.table.recordkey.fields"]),
        ({"hoodie.table.base.file.format": "ORC"}, ["hoodie.table.base.file.format"]),
        ({"hoodie.table.base.file.format": "parquet"}, ["hoodie.table.base.file.format"]),
        (
            {"hoodie.table.multiple.base.file.formats.enable": "TRUE"},
            ["hoodie.table.multiple.base.file.formats.enable"],
        ),
        ({"hoodie.table.format": "iceberg"}, ["hoodie.table.format"]),
        ({"hoodie.bootstrap.base.path": "s3a://lake/old"}, ["hoodie.bootstrap.base.path"]),
        ({"hoodie.parquet.encryption.keys": "k1"}, ["hoodie.parquet.encryption.keys"]),
        ({"parquet.crypto.factory.class": "a.B"}, ["parquet.crypto.factory.class"]),
        ({"hoodie.table.cdc.enabled": "true"}, []),
        ({"hoodie.table.cdc.supplemental.logging.mode": "cdc_op_key"}, ["hoodie.table.cdc.supplemental.logging.mode"]),
        ({"hoodie.table.cdc.supplemental.logging.mode": "op_key_only"}, []),
        (
            {"hoodie.datasource.write.drop.partition.columns": "true"},
            ["hoodie.datasource.write.drop.partition.columns"],
        ),
        ({"hoodie.table.keygenerator.class": "com.example.Keys"}, ["hoodie.table.keygenerator.class"]),
        ({"hoodie.table.keygenerator.class": f"{KEYGEN}SimpleAvroKeyGenerator"}, []),
        ({"hoodie.compaction.payload.class": "com.example.Payload"}, ["hoodie.compaction.payload.class"]),
        ({"hoodie.compaction.payload.class": "com.uber.hoodie.common.model.DefaultHoodieRecordPayload"}, []),
        ({"hoodie.compaction.record.merger.strategy": "1897ef5f"}, ["hoodie.record.merge.strategy.id"]),
        ({"hoodie.record.merge.mode": "MINE"}, ["hoodie.record.merge.mode"]),
        ({"hoodie.table.partial.update.mode": "KEEP_VALUES"}, ["hoodie.table.partial.update.mode"]),
    ],
)
def test_unsupported_property_is_refused(changes: dict[str, str], fields: list[str]) -> None:
    assert fields_of(V6 | changes) == fields


def test_a_custom_merge_mode_needs_a_payload_class_of_hudi() -> None:
    custom = V9 | {
        "hoodie.record.merge.mode": "CUSTOM",
        "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
    }

    assert fields_of(custom) == ["hoodie.compaction.payload.class"]
    assert fields_of(custom | {"hoodie.compaction.payload.class": f"{PAYLOAD}PartialUpdateAvroPayload"}) == []


def test_a_table_without_a_record_key_says_so_and_not_that_the_columns_differ() -> None:
    properties = {key: value for key, value in V9.items() if key != "hoodie.table.recordkey.fields"}

    (found,) = differences(properties, declared())

    assert found.field == "hoodie.table.recordkey.fields"
    assert "makes the keys" in found.advice


@pytest.mark.parametrize(
    ("changes", "ordering"),
    [
        # Version 6: the stored class decides, and Hudi's default honours the ordering.
        (V6, ("ts",)),
        (V6 | {"hoodie.compaction.payload.class": f"{PAYLOAD}OverwriteWithLatestAvroPayload"}, ()),
        (V6 | {"hoodie.compaction.payload.class": "com.uber.hoodie.common.model.OverwriteWithLatestAvroPayload"}, ()),
        ({key: value for key, value in V6.items() if "payload" not in key}, ("ts",)),
        # Versions 8 and 9: the mode decides, and without one the strategy, the class, and then the column.
        (V9 | {"hoodie.table.ordering.fields": "ts,at"}, ("ts", "at")),
        (V9 | {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}, ()),
        (V9 | {"hoodie.record.merge.mode": "", "hoodie.table.version": "8"}, ("ts",)),
        (V9 | {"hoodie.record.merge.mode": "", "hoodie.record.merge.strategy.id": BY_COMMIT_TIME}, ()),
        ({key: value for key, value in V9.items() if "ordering" not in key} | {PRECOMBINE: "at"}, ("at",)),
    ],
)
def test_ordering_of_two_rows_is_the_one_that_hudi_uses(changes: dict[str, str], ordering: tuple[str, ...]) -> None:
    assert ordering_of(changes).columns == ordering
    assert fields_of(changes, declared(ordering_fields=ordering)) == []
    assert fields_of(changes, declared(ordering_fields=("other",))) == ["orderingFields"]


def test_an_ordering_that_the_payload_class_ignores_is_reported_with_the_class() -> None:
    (found,) = differences(
        V6 | {"hoodie.compaction.payload.class": f"{PAYLOAD}OverwriteWithLatestAvroPayload"}, declared()
    )

    assert "OverwriteWithLatestAvroPayload lets the row that is written last win" in found.found


TIMESTAMPS = {
    "hoodie.table.keygenerator.class": f"{KEYGEN}TimestampBasedKeyGenerator",
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, []),
        ({"hoodie.keygen.timebased.timestamp.type": ""}, ["hoodie.keygen.timebased.timestamp.type"]),
        ({"hoodie.keygen.timebased.timestamp.type": "CENTURY"}, ["hoodie.keygen.timebased.timestamp.type"]),
        ({"hoodie.keygen.timebased.output.dateformat": ""}, ["hoodie.keygen.timebased.output.dateformat"]),
        ({"hoodie.keygen.timebased.timestamp.type": "DATE_STRING"}, ["hoodie.keygen.timebased.input.dateformat"]),
        ({"hoodie.keygen.datetime.parser.class": "com.example.P"}, ["hoodie.keygen.datetime.parser.class"]),
        ({"hoodie.keygen.datetime.parser.class": f"{KEYGEN}parser.HoodieDateTimeParser"}, []),
    ],
)
def test_partitions_by_time_need_the_options_of_their_writer(changes: dict[str, str], fields: list[str]) -> None:
    assert fields_of(V6 | TIMESTAMPS | changes) == fields


def test_the_options_of_partitions_by_time_may_have_their_first_names() -> None:
    old = {key.replace("hoodie.keygen", "hoodie.deltastreamer.keygen"): value for key, value in TIMESTAMPS.items()}

    assert fields_of(V6 | {**old, "hoodie.table.keygenerator.class": f"{KEYGEN}TimestampBasedKeyGenerator"}) == []


CUSTOM = {"hoodie.table.keygenerator.type": "CUSTOM", "hoodie.table.partition.fields": "day:SIMPLE"}


def test_the_kinds_of_a_custom_key_generator_are_no_part_of_the_columns() -> None:
    assert fields_of(V9 | CUSTOM) == []
    assert fields_of(V9 | CUSTOM | {"hoodie.table.partition.fields": "day"}) == ["hoodie.table.partition.fields"]


def test_a_custom_key_generator_with_a_time_needs_the_options_too() -> None:
    by_time = V9 | CUSTOM | {"hoodie.table.partition.fields": "day:TIMESTAMP"}

    assert fields_of(by_time) == [
        "hoodie.keygen.timebased.timestamp.type",
        "hoodie.keygen.timebased.output.dateformat",
    ]


def test_the_class_of_a_key_generator_goes_before_its_type_and_the_columns_decide_without_both() -> None:
    assert key_generator_of({"hoodie.table.keygenerator.class": f"{KEYGEN}ComplexKeyGenerator"} | CUSTOM) == "COMPLEX"
    assert key_generator_of({"hoodie.table.keygenerator.type": "NON_PARTITION_AVRO"}) == "NON_PARTITION"
    assert key_generator_of({"hoodie.table.recordkey.fields": "id"}) == "NON_PARTITION"
    assert key_generator_of({"hoodie.table.recordkey.fields": "id", "hoodie.table.partition.fields": "a"}) == "SIMPLE"
    assert (
        key_generator_of({"hoodie.table.recordkey.fields": "id,b", "hoodie.table.partition.fields": "a"}) == "COMPLEX"
    )
    assert key_generator_of({"hoodie.table.keygenerator.type": "USER_PROVIDED"}) is None


def test_a_single_key_column_of_the_complex_generator_is_not_ingested_before_version_9() -> None:
    properties = V6 | {"hoodie.table.keygenerator.class": f"{KEYGEN}ComplexKeyGenerator"}

    assert fields_of(properties) == ["hoodie.table.keygenerator.class"]
    assert fields_of(properties, ingests=False) == []
    assert fields_of(V9 | {"hoodie.table.keygenerator.type": "COMPLEX"}) == []


def test_files_without_keys_need_an_index_that_reads_the_columns() -> None:
    properties = V9 | {"hoodie.populate.meta.fields": "false"}

    assert fields_of(properties, declared(index="Simple")) == []
    assert fields_of(properties, declared(index="Bloom")) == ["hoodie.populate.meta.fields"]
    assert fields_of(properties | TIMESTAMPS, declared(index="Simple")) == ["hoodie.populate.meta.fields"]
    assert fields_of(
        properties | {"hoodie.table.recordkey.fields": "id,b"}, declared(record_key=("id", "b"), index="Simple")
    ) == ["hoodie.populate.meta.fields"]


def test_a_metadata_table_counts_only_when_it_is_asked_for_by_name_and_stops_nothing() -> None:
    with_one = V9 | {"hoodie.table.metadata.partitions": "column_stats,files"}

    assert differences(with_one, declared()) == differences(V9, declared()) == ()
    assert differences(with_one, declared(metadata_table=True)) == ()
    (found,) = differences(with_one, declared(metadata_table=False))
    assert (found.field, found.declared, found.found, found.stops) == ("metadataTable.enabled", "false", "true", False)
    assert "deletionPolicy" not in differences_message([found])


@pytest.mark.parametrize(("properties", "found"), [(V6, 6), (V9, 9)])
def test_version_other_than_pinned_is_reported_and_stops_nothing(properties: dict[str, str], found: int) -> None:
    assert differences(properties, declared(version=found)) == ()
    (one,) = differences(properties, declared(version=8))
    assert (one.field, one.declared, one.found, one.stops) == ("tableVersion", "8", str(found), False)
    assert "HudiOperation" in one.sentence
    too_old = differences(properties | {"hoodie.table.version": "5"}, declared(version=8))
    assert [each.field for each in too_old] == ["hoodie.table.version"], "it is told once"


@pytest.mark.parametrize("path", sorted(TABLES.glob("*.tar.gz")), ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_a_real_table_that_is_declared_as_it_is_differs_in_nothing(path: Path) -> None:
    with tarfile.open(path) as archive:
        content = next(
            archive.extractfile(member)
            for member in archive
            if member.name.endswith(".hoodie/hoodie.properties") and "/metadata/" not in member.name
        )
        assert content is not None
        properties = parse_properties(content.read().decode("iso-8859-1"))
    definition = TableDefinition(
        name=properties["hoodie.table.name"],
        base_path="s3a://lake/trips",
        type=next(type_ for type_ in TableType if type_.hudi_name == properties["hoodie.table.type"]),
        record_key=record_key_of(properties),
        partition_by=partition_columns_of(properties),
        ordering_fields=ordering_of(properties).columns,
        index="Bloom",
    )

    assert differences(properties, definition) == ()


HOSTILE = st.dictionaries(
    st.sampled_from(sorted(V6 | V9 | TIMESTAMPS)) | st.text(max_size=30),
    st.text(max_size=400) | st.just("x" * 100_000),
    max_size=30,
)


@given(HOSTILE, st.none() | st.text(max_size=300))
def test_shown_text_of_a_file_is_bounded(properties: dict[str, str], written: str | None) -> None:
    found = differences(properties, declared(index="Bloom"), written_index=written)

    assert all(len(text) <= 400 and text.isprintable() for one in found for text in (one.field, one.found, one.advice))
    assert len(differences_message(found)) < 8_000


SLASHES = "org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor"
SLASHED = "hoodie.datasource.write.slash.separated.date.partitioning"


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, [SLASHED]),
        ({SLASHED: "true"}, []),
        ({SLASHED: "false"}, []),
        ({"hoodie.table.partition_extractor_class": "org.apache.hudi.hive.SinglePartPartitionValueExtractor"}, []),
    ],
)
def test_days_in_folders_of_slashes_are_ingested_into_once_it_is_stored_who_makes_the_slashes(
    changes: dict[str, str], fields: list[str]
) -> None:
    properties = V9 | {"hoodie.table.partition_extractor_class": SLASHES} | changes
    assert fields_of(properties) == fields
    assert fields_of(properties, ingests=False) == []


@pytest.mark.parametrize("ingests", [True, False])
def test_a_table_whose_rows_say_what_was_done_to_them_is_left_to_flink(ingests: bool) -> None:
    (found,) = differences(V6, declared(), facts=TableFacts(keeps_operations=True), ingests=ingests)
    assert found.stops
    assert "would come back" in found.sentence


def test_only_the_column_itself_notes_operations() -> None:
    assert names_operations('{"fields": [{"name": "_hoodie_operation", "type": "string"}]}')
    assert not names_operations('{"fields": [{"name": "my_hoodie_operation_id", "type": "string"}]}')
