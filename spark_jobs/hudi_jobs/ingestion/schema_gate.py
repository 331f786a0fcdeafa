"""Which incoming schemas a table accepts: pure values, compared before anything is written.

Hudi 1.2.0 by itself turns an integer or double column into a string one, and a long one into a timestamp, without a
word, and fails late on others. So only changes that Hudi is known to carry out without loss pass here: new columns, new
fields of structs, wider integers and floats, wider decimals. Narrower incoming types are cast up by Hudi.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructType,
)

from hudi_jobs.contract import FailureReason, SchemaEvolution
from hudi_jobs.failures import TaskFailed

_INTEGERS: tuple[type[DataType], ...] = (ByteType, ShortType, IntegerType, LongType)
_FLOATS: tuple[type[DataType], ...] = (FloatType, DoubleType)
_HUDI_COLUMNS = frozenset(
    {
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
        "_hoodie_operation",
        "_hoodie_is_deleted",
    }
)


@dataclass(frozen=True)
class Refusal:
    """Why an incoming schema is refused: the column (nested ones with dots), and what happened to it."""

    reason: FailureReason
    message: str


def require_columns(incoming: StructType, wanted: dict[str, str]) -> None:
    """Raise `TaskFailed` when a column that the table's definition names is absent.

    `wanted` maps each column to what it is for, such as "record key".
    """
    present = set(incoming.fieldNames())
    for column, purpose in wanted.items():
        if column not in present:
            raise TaskFailed(
                FailureReason.COLUMN_MISSING,
                f"The {purpose} column {column} is not among the incoming columns ({_some(sorted(present))}); "
                "add it to the source or in the transform.",
            )


def require_compatible(table: StructType, incoming: StructType, evolution: SchemaEvolution) -> None:
    """Raise `TaskFailed` for the first change between the table's schema and the incoming one that is not accepted."""
    refusal = next(refusals(table, incoming, evolution), None)
    if refusal is not None:
        raise TaskFailed(refusal.reason, refusal.message)


def refusals(table: StructType, incoming: StructType, evolution: SchemaEvolution) -> Iterator[Refusal]:
    """Yield every reason to refuse the incoming schema."""
    yield from _compare_fields(table, incoming, evolution, "")


def _compare_fields(table: StructType, incoming: StructType, evolution: SchemaEvolution, at: str) -> Iterator[Refusal]:
    old = {field.name: field.dataType for field in table.fields if field.name not in _HUDI_COLUMNS}
    new = {field.name: field.dataType for field in incoming.fields if field.name not in _HUDI_COLUMNS}
    for name in old.keys() - new.keys():
        yield Refusal(
            FailureReason.COLUMN_MISSING,
            f"The table's column {at}{name} is not among the incoming columns, and its values would become null; "
            "add it to the source or in the transform.",
        )
    for name in (name for name in new if name in old):
        yield from _compare(old[name], new[name], evolution, f"{at}{name}")
    if evolution is SchemaEvolution.NONE:
        for name in (name for name in new if name not in old):
            yield Refusal(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"The incoming column {at}{name} is not in the table, and the schema evolution is None; "
                "leave it out in the transform or set the evolution to AddColumns.",
            )


def _compare(old: DataType, new: DataType, evolution: SchemaEvolution, at: str) -> Iterator[Refusal]:
    if isinstance(old, StructType) and isinstance(new, StructType):
        yield from _compare_fields(old, new, evolution, f"{at}.")
    elif isinstance(old, ArrayType) and isinstance(new, ArrayType):
        yield from _compare(old.elementType, new.elementType, evolution, f"{at}.element")
    elif isinstance(old, MapType) and isinstance(new, MapType):
        yield from _compare(old.keyType, new.keyType, SchemaEvolution.NONE, f"{at}.key")
        yield from _compare(old.valueType, new.valueType, evolution, f"{at}.value")
    elif not (fits(old, new) or (evolution is SchemaEvolution.ADD_COLUMNS and fits(new, old))):
        yield Refusal(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The column {at} is {old.simpleString()} in the table and {new.simpleString()} in the input; "
            f"cast it to {old.simpleString()} in the transform.",
        )


def fits(wide: DataType, narrow: DataType) -> bool:
    """Tell whether every value of the narrow type is a value of the wide one, in the ways that Hudi casts."""
    if wide == narrow:
        return True
    if isinstance(wide, DecimalType) and isinstance(narrow, DecimalType):
        whole = wide.precision - wide.scale >= narrow.precision - narrow.scale
        return whole and wide.scale >= narrow.scale
    return any(_within(family, wide, narrow) for family in (_INTEGERS, _FLOATS))


def _within(family: tuple[type[DataType], ...], wide: DataType, narrow: DataType) -> bool:
    if type(wide) not in family or type(narrow) not in family:
        return False
    return family.index(type(wide)) >= family.index(type(narrow))


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:12])
    return f"{shown}, ..." if len(names) > 12 else shown or "none"
