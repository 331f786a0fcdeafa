"""Which changes of a column's type pass: tables of old and new types."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from hudi_jobs.contract import FailureReason, SchemaEvolution
from hudi_jobs.schemas.gate import Rules, conform_keys, refusals, require_columns
from hudi_jobs.schemas.types import without_bounds, written_type
from hudi_jobs.spark.failures import TaskFailed

ADD, FIXED = Rules(SchemaEvolution.ADD_COLUMNS), Rules(SchemaEvolution.NONE)
INT, LONG, FLOAT, DOUBLE, STRING = IntegerType(), LongType(), FloatType(), DoubleType(), StringType()


def struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def decimal(precision: int, scale: int) -> DataType:
    return DecimalType(precision, scale)


@pytest.mark.parametrize(
    ("old", "new", "with_evolution", "without"),
    [
        (INT, INT, True, True),
        (INT, LONG, True, False),
        (LONG, INT, True, True),
        (LONG, ShortType(), True, True),
        (FLOAT, DOUBLE, True, False),
        (DOUBLE, FLOAT, True, True),
        (decimal(10, 2), decimal(12, 2), True, False),
        (decimal(10, 2), decimal(12, 4), False, False),
        (decimal(12, 2), decimal(14, 4), False, False),
        (decimal(10, 2), decimal(11, 3), False, False),
        (decimal(10, 2), decimal(38, 10), False, False),
        (decimal(10, 4), decimal(10, 2), False, False),
        (decimal(10, 2), decimal(10, 4), False, False),
        (decimal(12, 4), decimal(10, 2), True, True),
        (struct(a=INT), struct(a=INT, b=STRING), True, False),
        (struct(a=INT), struct(a=LONG), False, False),
        (struct(a=LONG), struct(a=INT), True, True),
        (ArrayType(decimal(12, 4)), ArrayType(decimal(10, 2)), True, True),
        (MapType(LONG, INT), MapType(INT, INT), True, True),
        (struct(a=INT, b=INT), struct(a=INT), False, False),
        (ArrayType(INT), ArrayType(LONG), False, False),
        (ArrayType(INT), ArrayType(STRING), False, False),
        (MapType(STRING, INT), MapType(STRING, LONG), False, False),
        (MapType(STRING, INT), MapType(LONG, INT), False, False),
        (INT, STRING, False, False),
        (DOUBLE, STRING, False, False),
        (STRING, INT, False, False),
        (LONG, TimestampType(), False, False),
        (TimestampType(), LONG, False, False),
        (TimestampType(), TimestampNTZType(), False, False),
        (DateType(), TimestampType(), False, False),
        (BooleanType(), INT, False, False),
        (INT, DOUBLE, False, False),
        (LONG, DOUBLE, False, False),
        (INT, decimal(10, 0), False, False),
        (STRING, struct(a=INT), False, False),
        (ArrayType(INT), INT, False, False),
    ],
    ids=lambda value: value.simpleString() if isinstance(value, DataType) else str(value),
)
def test_a_change_of_type_passes_or_is_refused(
    old: DataType, new: DataType, with_evolution: bool, without: bool
) -> None:
    table, incoming = struct(c=old), struct(c=new)
    assert (not list(refusals(table, incoming, ADD))) is with_evolution
    assert (not list(refusals(table, incoming, FIXED))) is without


def test_a_refusal_names_the_nested_column_and_both_types() -> None:
    table, incoming = struct(a=struct(b=ArrayType(INT))), struct(a=struct(b=ArrayType(STRING)))
    (refusal,) = refusals(table, incoming, ADD)
    assert refusal.reason is FailureReason.SCHEMA_INCOMPATIBLE
    assert "a.b.element is int in the table and string in the input" in refusal.message


@pytest.mark.parametrize(
    ("old", "new", "as_key", "as_ordering"),
    [
        (INT, INT, True, True),
        (LONG, INT, True, True),
        (INT, LONG, False, False),
        (DOUBLE, FLOAT, False, True),
        (FLOAT, DOUBLE, False, False),
        (decimal(12, 2), decimal(10, 2), False, True),
        (decimal(10, 2), decimal(12, 2), False, False),
        (struct(a=INT), struct(a=INT), True, True),
        (struct(a=INT), struct(a=INT, b=INT), False, True),
        (struct(a=LONG), struct(a=INT), False, True),
    ],
    ids=lambda value: value.simpleString() if isinstance(value, DataType) else str(value),
)
def test_columns_of_keys_and_ordering_keep_their_type(
    old: DataType, new: DataType, as_key: bool, as_ordering: bool
) -> None:
    for table, incoming, name in (
        (struct(c=old), struct(c=new), "c"),
        (struct(c=struct(d=old)), struct(c=struct(d=new)), "c.d"),
    ):
        key = Rules(SchemaEvolution.ADD_COLUMNS, keys=frozenset({name}))
        ordering = Rules(SchemaEvolution.ADD_COLUMNS, ordering=frozenset({name}))
        assert (not list(refusals(table, incoming, key))) is as_key
        assert (not list(refusals(table, incoming, ordering))) is as_ordering


def test_rows_to_delete_need_their_keys_only() -> None:
    table, incoming = struct(id=LONG, at=LONG, v=INT), struct(v=STRING, id=INT, at=LONG, extra=STRING)
    rules = Rules(SchemaEvolution.NONE, keys=frozenset({"id"}), ordering=frozenset({"at"}))
    assert conform_keys(table, incoming, rules) == struct(v=STRING, id=LONG, at=LONG, extra=STRING)
    with pytest.raises(TaskFailed, match="id is bigint in the table and string in the input"):
        conform_keys(table, struct(id=STRING, at=LONG), rules)


def test_an_accepted_input_is_written_in_the_types_of_the_table() -> None:
    table = struct(a=LONG, b=struct(x=DOUBLE, y=ArrayType(decimal(12, 4))), c=INT, m=MapType(STRING, LONG))
    incoming = struct(
        b=struct(y=ArrayType(decimal(10, 2)), x=FLOAT, z=INT), a=INT, c=LONG, m=MapType(STRING, INT), n=INT
    )
    written = struct(
        b=struct(y=ArrayType(decimal(12, 4)), x=DOUBLE, z=INT), a=LONG, c=LONG, m=MapType(STRING, LONG), n=INT
    )
    assert not list(refusals(table, incoming, ADD))
    assert written_type(table, incoming) == written


def test_columns_of_hudi_itself_are_not_compared() -> None:
    table = struct(id=INT)
    incoming = struct(id=INT, _hoodie_commit_time=STRING, _hoodie_is_deleted=BooleanType())
    assert not list(refusals(table, incoming, FIXED))


def test_a_long_list_of_columns_is_cut_in_the_message() -> None:
    with pytest.raises(TaskFailed) as caught:
        require_columns(struct(**{f"c{number:02}": INT for number in range(20)}), {"id": "record key"})
    assert caught.value.reason is FailureReason.COLUMN_MISSING
    assert "record key column id" in caught.value.message
    assert "c11, ..." in caught.value.message


def test_every_part_of_a_type_becomes_nullable() -> None:
    strict = StructType(
        [StructField("a", ArrayType(StructType([StructField("b", INT, nullable=False)]), False), False)]
    )
    loose = StructType([StructField("a", ArrayType(StructType([StructField("b", INT)])))])
    assert without_bounds(strict) == loose
