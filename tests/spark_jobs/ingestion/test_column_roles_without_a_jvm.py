"""Which types may be values, keys, partitions, ordering fields and sort columns, and what is said of the others."""

from dataclasses import replace

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from hudi_jobs.contract import WriteOperation
from hudi_jobs.schemas.types import with_stored_integers
from hudi_jobs.schemas.writable import (
    Finding,
    Roles,
    findings,
    lists_of_one_field,
    twins,
    unsorted_columns,
)

TEXT = StringType()
ATTRIBUTES, TAGS = MapType(TEXT, TEXT), ArrayType(TEXT)
PLAIN: tuple[DataType, ...] = (
    *(TEXT, BooleanType(), ByteType(), ShortType(), IntegerType(), LongType(), FloatType(), DoubleType()),
    *(DecimalType(10, 2), DateType()),
)
UPSERT = Roles(record_key=("id",), operation=WriteOperation.UPSERT)
BULK = Roles(record_key=("id",), operation=WriteOperation.BULK_INSERT)


def struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def said(kind: DataType, roles: Roles, *, stored: StructType | None = None) -> list[Finding]:
    """Return the findings about a column `c` beside a text key."""
    return list(findings(struct(id=TEXT, c=kind), roles, stored=stored))


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (NullType(), "c"),  # SPARK-54220
        (struct(a=NullType(), b=TEXT), "c.a"),
        (ArrayType(NullType()), "c.element"),
        (MapType(TEXT, NullType()), "c.value"),
        (struct(), "c"),
        (ArrayType(struct()), "c.element"),
        (struct(a=struct()), "c.a"),
        (MapType(IntegerType(), TEXT), "c"),  # apache/hudi#8617
        (MapType(DateType(), TEXT), "c"),
        (MapType(struct(a=TEXT), TEXT), "c"),
        (ArrayType(MapType(BooleanType(), TEXT)), "c.element"),
        (DayTimeIntervalType(), "c"),
        (YearMonthIntervalType(), "c"),
        (struct(a=ArrayType(DayTimeIntervalType())), "c.a.element"),
    ],
)
def test_a_value_that_hudi_cannot_write_is_named_by_its_column_and_type(kind: DataType, column: str) -> None:
    (found,) = said(kind, UPSERT)
    assert found.column == column
    assert f"The column {column} is " in found.sentence
    assert said(kind, BULK) == [found]


@pytest.mark.parametrize(
    "kind",
    [
        *PLAIN,
        *(BinaryType(), TimestampType(), TimestampNTZType(), ATTRIBUTES, TAGS, struct(a=TEXT)),
        *(ArrayType(struct(a=ArrayType(struct(a=TEXT)))), MapType(TEXT, MapType(TEXT, ArrayType(struct(a=TEXT))))),
    ],
)
def test_any_other_value_is_written(kind: DataType) -> None:
    assert said(kind, UPSERT) == []


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_types_may_be_keys_and_partitions(kind: DataType) -> None:
    roles = replace(UPSERT, record_key=("id", "c"), partition_by=("c",))
    assert said(kind, roles) == []


@pytest.mark.parametrize("kind", [TimestampType(), TimestampNTZType(), BinaryType(), ATTRIBUTES, TAGS, struct(a=TEXT)])
def test_a_partition_that_readers_do_not_turn_back_is_refused_with_what_to_do(kind: DataType) -> None:
    (found,) = said(kind, replace(UPSERT, partition_by=("c",)))
    assert found.sentence.startswith(f"The partition column c is {kind.simpleString()}, ")
    assert "transform" in found.sentence


def test_bulk_insert_writes_small_integers_as_a_table_has_them() -> None:
    number = IntegerType()
    given = struct(
        a=ByteType(), b=ArrayType(struct(c=ShortType())), d=MapType(TEXT, ArrayType(ByteType())), e=LongType(), f=TEXT
    )
    made = struct(a=number, b=ArrayType(struct(c=number)), d=MapType(TEXT, ArrayType(number)), e=LongType(), f=TEXT)
    assert with_stored_integers(given) == made
    assert said(ByteType(), BULK) == []


def test_message_on_a_timestamp_partition_says_how_to_make_it_a_text_or_a_date() -> None:
    (found,) = said(TimestampType(), replace(UPSERT, partition_by=("c",)))
    assert "date_format(c, 'yyyy-MM-dd-HH')" in found.sentence
    assert "CAST(c AS DATE)" in found.sentence


@pytest.mark.parametrize(
    ("kind", "by_upsert", "by_bulk_insert"),
    [
        (TimestampType(), True, False),
        (TimestampNTZType(), True, True),
        (BinaryType(), True, False),
        (struct(a=TEXT), True, False),
        (ByteType(), True, True),
        (DecimalType(38, 10), True, True),
        (TAGS, False, False),
        (ATTRIBUTES, False, False),
    ],
)
def test_a_key_whose_text_is_not_exact_is_refused(kind: DataType, *, by_upsert: bool, by_bulk_insert: bool) -> None:
    assert (said(kind, replace(UPSERT, record_key=("id", "c"))) == []) is by_upsert
    assert (said(kind, replace(BULK, record_key=("id", "c"))) == []) is by_bulk_insert


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        *((kind, True) for kind in (TEXT, BooleanType(), ByteType(), LongType(), DoubleType(), TimestampType())),
        (TimestampNTZType(), True),
        (DateType(), False),
        (DecimalType(10, 2), False),  # apache/hudi#18610
        (BinaryType(), False),
        (TAGS, False),
        (ATTRIBUTES, False),
        (struct(a=TEXT), False),
    ],
)
def test_an_ordering_field_that_hudi_cannot_compare_is_refused(kind: DataType, *, allowed: bool) -> None:
    assert (said(kind, replace(UPSERT, ordering=("c",))) == []) is allowed


def test_days_and_decimals_order_rows_where_updates_go_to_log_files_alone() -> None:
    for kind in (DateType(), DecimalType(10, 2)):
        assert said(kind, replace(UPSERT, ordering=("c",), rewrites=False)) == []
    assert said(BinaryType(), replace(UPSERT, ordering=("c",), rewrites=False)) != []


def test_an_ordering_field_counts_only_where_rows_are_compared() -> None:
    assert said(DateType(), replace(BULK, ordering=("c",))) == []


def test_columns_that_a_table_has_already_are_left_as_they_are() -> None:
    roles = replace(UPSERT, partition_by=("c",), record_key=("c",), ordering=("c",))
    for kind in (TimestampType(), TAGS, DateType()):
        assert said(kind, roles, stored=struct(id=TEXT, c=kind)) == []
    assert said(NullType(), roles, stored=struct(id=TEXT)) != []
    assert said(MapType(IntegerType(), TEXT), roles, stored=struct(id=TEXT, c=MapType(IntegerType(), TEXT))) == []


def test_a_partition_of_times_is_left_to_the_key_generator_of_the_table() -> None:
    roles = replace(UPSERT, partition_by=("c",), times=frozenset({"c"}))
    assert said(TimestampType(), roles) == []


@pytest.mark.parametrize(
    ("kind", "linear", "curve"),
    [
        *((kind, True, True) for kind in (*PLAIN, BinaryType(), TimestampType())),
        (TimestampNTZType(), True, False),
        (TAGS, True, False),
        (struct(a=TEXT), True, False),
        (ATTRIBUTES, False, False),
        (ArrayType(ATTRIBUTES), False, False),
        (struct(a=struct(b=ATTRIBUTES)), False, False),
    ],
)
def test_sort_columns_without_an_order_are_named(kind: DataType, *, linear: bool, curve: bool) -> None:
    schema = struct(id=TEXT, c=kind)
    assert (list(unsorted_columns(schema, ["id", "c"], linear=True)) == []) is linear
    found = list(unsorted_columns(schema, ["id", "c"], linear=False))
    assert (found == []) is curve
    assert all(one.column == "c" and kind.simpleString() in one.sentence for one in found)


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        (ArrayType(struct(a=TEXT)), ["c"]),
        (struct(x=ArrayType(struct(a=TEXT))), ["c.x"]),
        (MapType(TEXT, ArrayType(struct(a=TEXT))), ["c.value"]),
        (ArrayType(struct(a=ArrayType(struct(b=TEXT)))), ["c", "c.element.a"]),
        (ArrayType(struct(a=TEXT, b=TEXT)), []),
        (ArrayType(TEXT), []),
        (struct(a=TEXT), []),
    ],
)
def test_arrays_of_structs_with_one_field_are_found_at_any_depth(kind: DataType, columns: list[str]) -> None:
    assert [column for column, _ in lists_of_one_field(struct(id=TEXT, c=kind))] == columns


@pytest.mark.parametrize(
    ("kind", "column"),
    [(struct(a=TEXT, A=TEXT), "c.A"), (ArrayType(struct(x=struct(b=TEXT, B=TEXT))), "c.element.x.B")],
)
def test_nested_names_that_differ_in_case_only_are_refused(kind: DataType, column: str) -> None:
    (found,) = said(kind, BULK)
    assert found.column == column
    assert "case of letters" in found.sentence


def test_names_that_differ_in_case_only_or_not_at_all_are_refused() -> None:
    schema = StructType([StructField(name, TEXT) for name in ("id", "ID", "v", "v")])
    assert [one.column for one in twins(schema)] == ["ID", "v"]


def test_names_of_hudis_own_are_refused_and_the_mark_of_deletes_is_a_boolean() -> None:
    schema = struct(id=TEXT, _hoodie_commit_time=TEXT, _hoodie_operation=TEXT, _hoodie_is_deleted=TEXT, _hoodie_x=TEXT)
    refused = {"_hoodie_commit_time", "_hoodie_operation", "_hoodie_is_deleted"}
    assert {one.column for one in findings(schema, UPSERT)} == refused
    assert list(findings(schema, UPSERT, stored=schema)) == []
    assert list(findings(struct(id=TEXT, _hoodie_is_deleted=BooleanType()), UPSERT)) == []


def test_a_sentence_shows_the_beginning_of_a_long_type_only() -> None:
    wide = struct(**{f"field_{n}": TEXT for n in range(500)}, last=NullType())
    (found,) = said(MapType(struct(a=wide), TEXT), UPSERT)
    assert len(found.sentence) < 600
