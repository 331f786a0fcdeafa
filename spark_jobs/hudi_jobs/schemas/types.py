"""How two column types relate: the lossless casts of Spark, and the changes that Hudi reads in an older file.

Hudi 1.2.0 by itself copies the bytes of a decimal with a changed scale (`HoodieAvroUtils.rewritePrimaryType`, 123.45 as
decimal(12,2) becomes 1.2345 as decimal(14,4)). So a narrower input is cast here before Hudi sees it, and Hudi only
rewrites older files of a column that has become wider.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
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
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

TypeJson: TypeAlias = Any
"""A type as `DataType.json` describes it: a name, or an object that holds other types."""

_INTEGERS: tuple[type[DataType], ...] = (ByteType, ShortType, IntegerType, LongType)
_FLOATS: tuple[type[DataType], ...] = (FloatType, DoubleType)


def same(one: DataType, other: DataType) -> bool:
    """Tell whether two types are equal, apart from the nullability and comments of their parts."""
    return one.simpleString() == other.simpleString()


def is_wider_integer(wide: DataType, narrow: DataType) -> bool:
    """Tell whether both are integers and the wide type holds every value of the narrow type, with the same text."""
    return _within(_INTEGERS, wide, narrow)


def fits(wide: DataType, narrow: DataType) -> bool:
    """Tell whether Spark casts every value of the narrow type to the wide type without loss."""
    if isinstance(wide, DecimalType) and isinstance(narrow, DecimalType):
        whole = wide.precision - wide.scale >= narrow.precision - narrow.scale
        return whole and wide.scale >= narrow.scale
    return same(wide, narrow) or any(_within(family, wide, narrow) for family in (_INTEGERS, _FLOATS))


def misfits(has: DataType, wants: DataType, at: str) -> Iterator[tuple[str, DataType, DataType]]:
    """Yield the parts of a type (nested names have dots) whose values the wanted type does not hold, and both types."""
    if isinstance(has, StructType) and isinstance(wants, StructType):
        known = {one.name.lower(): one.dataType for one in has.fields}
        for one in wants.fields:
            if one.name.lower() in known:
                yield from misfits(known[one.name.lower()], one.dataType, f"{at}.{one.name}" if at else one.name)
    elif isinstance(has, ArrayType) and isinstance(wants, ArrayType):
        yield from misfits(has.elementType, wants.elementType, f"{at}.element")
    elif isinstance(has, MapType) and isinstance(wants, MapType):
        yield from misfits(has.keyType, wants.keyType, f"{at}.key")
        yield from misfits(has.valueType, wants.valueType, f"{at}.value")
    elif not isinstance(has, NullType) and not fits(wants, has):
        yield at, has, wants


def can_widen(old: DataType, new: DataType) -> bool:
    """Tell whether files with the old type read the same once the column has the new type.

    This holds only for top-level columns: after a part of a column has changed its type, Spark refuses to read the
    older files (`ParquetSchemaEvolutionUtils`, "Nested types with type changes").
    """
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        return new.scale == old.scale and new.precision >= old.precision
    return fits(new, old)


def written_type(table: DataType, incoming: DataType) -> DataType:
    """Return the type that an accepted incoming type is written with: the table's own type if it holds every value."""
    if isinstance(table, StructType) and isinstance(incoming, StructType):
        known = {field.name: field.dataType for field in table.fields}
        kinds = [(f.name, written_type(known.get(f.name, f.dataType), f.dataType)) for f in incoming.fields]
        return StructType([StructField(name, kind) for name, kind in kinds])
    if isinstance(table, ArrayType) and isinstance(incoming, ArrayType):
        return ArrayType(written_type(table.elementType, incoming.elementType))
    if isinstance(table, MapType) and isinstance(incoming, MapType):
        key, value = written_type(table.keyType, incoming.keyType), written_type(table.valueType, incoming.valueType)
        return MapType(key, value)
    return table if fits(table, incoming) else incoming


def column_named(name: str) -> Column:
    """Return the column of a frame with exactly this name, whatever characters it has."""
    escaped = name.replace("`", "``")
    return sf.col(f"`{escaped}`")


def plain_type(described: TypeJson) -> TypeJson:
    """Return the JSON of a type without any notes on its fields besides name, type and nullability.

    Such notes come in the footer of a Parquet file, and readers act on them: Spark evaluates the expression for missing
    values (`EXISTS_DEFAULT`), Hudi reads the target of a column (`hudi_type`), and PySpark imports the module of a
    user-defined type (`UserDefinedType.fromJson`). So this works on JSON, from which nothing has been built yet.
    """
    if not isinstance(described, dict):
        return described
    if described.get("type") == "udt":
        return plain_type(described["sqlType"])
    plain = {key: plain_type(value) for key, value in described.items() if key != "metadata"}
    if "fields" in plain:
        plain["fields"] = [{**plain_type(field), "metadata": {}} for field in plain["fields"]]
    return plain


def without_bounds(kind: DataType) -> DataType:
    """Return the type with every part nullable."""
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, without_bounds(field.dataType)) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(without_bounds(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, without_bounds(kind.valueType))
    return kind


def with_stored_integers(kind: DataType) -> DataType:
    """Return the type with the integers of a table: Avro has none smaller than an INT."""
    if isinstance(kind, StructType):
        return StructType([StructField(one.name, with_stored_integers(one.dataType)) for one in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(with_stored_integers(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, with_stored_integers(kind.valueType))
    return IntegerType() if isinstance(kind, ByteType | ShortType) else kind


def has_type(kind: DataType, wanted: type[DataType]) -> bool:
    """Tell whether a type, or a part of it, is of a class."""
    match kind:
        case StructType():
            parts = [field.dataType for field in kind.fields]
        case ArrayType():
            parts = [kind.elementType]
        case MapType():
            parts = [kind.keyType, kind.valueType]
        case _:
            parts = []
    return isinstance(kind, wanted) or any(has_type(part, wanted) for part in parts)


def nullable(frame: DataFrame) -> DataFrame:
    """Return the frame with every column nullable, nested columns too.

    Otherwise a constant in a transform would bind later writes to have no nulls, and a new field of a struct could not
    be added because older rows have none.
    """
    kind = without_bounds(frame.schema)
    assert isinstance(kind, StructType), "a row stays a row"
    return cast(frame, kind)


def cast(frame: DataFrame, kind: StructType) -> DataFrame:
    """Return the frame with the types of `kind`, which has the frame's own fields in their order, all nullable."""
    if frame.schema == kind:
        return frame
    return frame.select(*(_cast(has, wanted.dataType) for has, wanted in zip(frame.schema, kind, strict=True)))


def _cast(field: StructField, kind: DataType) -> Column:
    column = column_named(field.name)
    if field == StructField(field.name, kind):
        return column
    if not field.nullable:
        # Spark takes a CASE without ELSE for nullable, whatever its condition.
        column = sf.when(sf.lit(True), column)  # noqa: FBT003
    return converted(column, field.dataType, kind).alias(field.name)


def converted(column: Column, has: DataType, kind: DataType) -> Column:
    """Return a column of one type in another type that holds its values."""
    return column.cast(_floats_as_text(has, kind)).cast(kind)


def _floats_as_text(has: DataType, wanted: DataType) -> DataType:
    """Return the type for an intermediate cast: a float becomes the double of the same text, as Hudi reads older files.

    Spark alone makes 1.100000023841858 of the float 1.1 (`HoodieAvroUtils.rewritePrimaryType` makes 1.1).
    """
    if isinstance(has, StructType) and isinstance(wanted, StructType):
        pairs = zip(has.fields, wanted.fields, strict=True)
        return StructType([StructField(f.name, _floats_as_text(f.dataType, kind.dataType)) for f, kind in pairs])
    if isinstance(has, ArrayType) and isinstance(wanted, ArrayType):
        return ArrayType(_floats_as_text(has.elementType, wanted.elementType))
    if isinstance(has, MapType) and isinstance(wanted, MapType):
        key, value = _floats_as_text(has.keyType, wanted.keyType), _floats_as_text(has.valueType, wanted.valueType)
        return MapType(key, value)
    return StringType() if isinstance(has, FloatType) and isinstance(wanted, DoubleType) else has


def _within(family: tuple[type[DataType], ...], wide: DataType, narrow: DataType) -> bool:
    if type(wide) not in family or type(narrow) not in family:
        return False
    return family.index(type(wide)) >= family.index(type(narrow))
