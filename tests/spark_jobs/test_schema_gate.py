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
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.schema_gate import refusals, require_columns
from hudi_jobs.ingestion.write import without_bounds

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
        (decimal(10, 2), decimal(12, 4), True, False),
        (decimal(10, 2), decimal(10, 4), False, False),
        (decimal(12, 4), decimal(10, 2), True, True),
        (struct(a=INT), struct(a=INT, b=STRING), True, False),
        (struct(a=INT), struct(a=LONG), True, False),
        (struct(a=INT, b=INT), struct(a=INT), False, False),
        (ArrayType(INT), ArrayType(LONG), True, False),
        (ArrayType(INT), ArrayType(STRING), False, False),
        (MapType(STRING, INT), MapType(STRING, LONG), True, False),
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
    assert (not list(refusals(table, incoming, SchemaEvolution.ADD_COLUMNS))) is with_evolution
    assert (not list(refusals(table, incoming, SchemaEvolution.NONE))) is without


def test_a_refusal_names_the_nested_column_and_both_types() -> None:
    table, incoming = struct(a=struct(b=ArrayType(INT))), struct(a=struct(b=ArrayType(STRING)))
    (refusal,) = refusals(table, incoming, SchemaEvolution.ADD_COLUMNS)
    assert refusal.reason is FailureReason.SCHEMA_INCOMPATIBLE
    assert "a.b.element is int in the table and string in the input" in refusal.message


def test_columns_of_hudi_itself_are_not_compared() -> None:
    table = struct(id=INT)
    incoming = struct(id=INT, _hoodie_commit_time=STRING, _hoodie_is_deleted=BooleanType())
    assert not list(refusals(table, incoming, SchemaEvolution.NONE))


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
