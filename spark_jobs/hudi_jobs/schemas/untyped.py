"""Columns, and parts of them, without a type for lack of values: they take the table's type, or are left out."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructField, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.schemas.types import column_named, same
from hudi_jobs.spark.failures import TaskFailed

_MOST_NAMED = 5
_LONGEST_NAME = 60
_MOST_COUNTED = 10_000


def is_untyped(kind: DataType) -> bool:
    """Tell whether no part of a type can hold a value."""
    if isinstance(kind, StructType):
        return all(is_untyped(one.dataType) for one in kind.fields)
    if isinstance(kind, ArrayType):
        return is_untyped(kind.elementType)
    return is_untyped(kind.valueType) if isinstance(kind, MapType) else isinstance(kind, NullType)


def has_untyped(kind: DataType) -> bool:
    """Tell whether a part of a type can hold no value."""
    if isinstance(kind, StructType):
        return not kind.fields or any(has_untyped(one.dataType) for one in kind.fields)
    if isinstance(kind, ArrayType):
        return has_untyped(kind.elementType)
    return has_untyped(kind.valueType) if isinstance(kind, MapType) else isinstance(kind, NullType)


def without_untyped(frame: DataFrame, table: StructType | None, needed: Collection[str]) -> tuple[DataFrame, str]:
    """Return the frame without untyped columns and parts, and a sentence that names them.

    Parts that the table has take their type from it. Parts that have another shape in the table, such as a number for
    an array, stay to be refused, and so do `needed` columns.
    """
    fields = [one for one in frame.schema.fields if has_untyped(one.dataType)]
    if not fields:
        return frame, ""
    known = {} if table is None else {one.name.lower(): one.dataType for one in table.fields}
    kinds = {one.name: _typed(one.dataType, known.get(one.name.lower())) for one in fields}
    kinds |= {one.name: one.dataType for one in fields if kinds[one.name] is None and one.name in needed}
    names = (name for one in fields for name in _left_out(one.dataType, kinds[one.name], one.name))
    gone = list(islice(names, _MOST_COUNTED))
    columns = [
        _refitted(column_named(one.name), one.dataType, kind).alias(one.name)
        for one in frame.schema.fields
        if (kind := kinds.get(one.name, one.dataType)) is not None
    ]
    shown = listed([repr(name[:_LONGEST_NAME]) for name in gone], _MOST_NAMED)
    said = f"Left out {counted(len(gone), 'column')} without a value, which nobody has given a type: {shown}."
    return frame.select(*columns), said if gone else ""


def require_types(schema: StructType, wanted: Mapping[str, str]) -> None:
    """Raise `TaskFailed` for a needed column of a type that no row shows.

    `wanted` maps each column to its purpose, such as "record key".
    """
    for one in schema.fields:
        if one.name in wanted and is_untyped(one.dataType):
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"The {wanted[one.name]} column {one.name} has no value in any row, so its type is not known, and the "
                "table does not exist yet to show it. Declare the columns of the source, or cast it in the transform, "
                f"such as CAST({one.name} AS STRING). Nothing was written.",
            )


def _typed(kind: DataType, table: DataType | None) -> DataType | None:
    """Return a type without its untyped parts, except those of the table; None if nothing is left."""
    if is_untyped(kind):
        return None if table is None else _of_table(kind, table)
    if isinstance(kind, StructType):
        known = {one.name: one.dataType for one in table.fields} if isinstance(table, StructType) else {}
        fields = [(one.name, _typed(one.dataType, known.get(one.name))) for one in kind.fields]
        return StructType([StructField(name, part) for name, part in fields if part is not None])
    if isinstance(kind, ArrayType):
        element = _typed(kind.elementType, table.elementType if isinstance(table, ArrayType) else None)
        return None if element is None else ArrayType(element)
    if isinstance(kind, MapType):
        value = _typed(kind.valueType, table.valueType if isinstance(table, MapType) else None)
        return None if value is None else MapType(kind.keyType, value)
    return kind


def _of_table(kind: DataType, table: DataType) -> DataType:
    """Return the table's type for untyped values, or the values' own type if its shape differs."""
    if isinstance(kind, ArrayType) and isinstance(table, ArrayType):
        return ArrayType(_of_table(kind.elementType, table.elementType))
    if isinstance(kind, MapType) and isinstance(table, MapType):
        return MapType(kind.keyType, _of_table(kind.valueType, table.valueType))
    if isinstance(kind, StructType) and isinstance(table, StructType):
        found = {one.name: one.dataType for one in kind.fields}
        parts = [(one.name, found.get(one.name, NullType()), one.dataType) for one in table.fields]
        return StructType([StructField(name, _of_table(part, of_table)) for name, part, of_table in parts])
    return table if isinstance(kind, NullType) else kind


def _left_out(kind: DataType, made: DataType | None, at: str) -> Iterator[str]:
    """Yield the names of the parts that a reduced type lacks; nested names have dots."""
    if made is None:
        yield at
    elif isinstance(kind, StructType) and isinstance(made, StructType):
        parts = {one.name: one.dataType for one in made.fields}
        for one in kind.fields:
            yield from _left_out(one.dataType, parts.get(one.name), f"{at}.{one.name}")
    elif isinstance(kind, ArrayType) and isinstance(made, ArrayType):
        yield from _left_out(kind.elementType, made.elementType, at)
    elif isinstance(kind, MapType) and isinstance(made, MapType):
        yield from _left_out(kind.valueType, made.valueType, at)


def with_common_types(frames: Sequence[DataFrame]) -> list[DataFrame]:
    """Return frames in which untyped parts take their type from another frame."""
    common: dict[str, DataType] = {}
    for frame in frames:
        common |= {one.name: _filled(one.dataType, common.get(one.name)) for one in frame.schema.fields}
    return [
        refitted(
            frame, StructType([StructField(one.name, _filled(one.dataType, common[one.name])) for one in frame.schema])
        )
        for frame in frames
    ]


def _filled(kind: DataType, other: DataType | None) -> DataType:
    """Return a type with its untyped parts taken from another type."""
    if other is None:
        return kind
    if isinstance(kind, StructType) and isinstance(other, StructType) and not is_untyped(kind):
        parts = {one.name: one.dataType for one in other.fields}
        return StructType([StructField(one.name, _filled(one.dataType, parts.get(one.name))) for one in kind.fields])
    if isinstance(kind, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(_filled(kind.elementType, other.elementType))
    if isinstance(kind, MapType) and isinstance(other, MapType):
        return MapType(kind.keyType, _filled(kind.valueType, other.valueType))
    return _of_table(kind, other) if is_untyped(kind) else kind


def refitted(frame: DataFrame, kind: StructType) -> DataFrame:
    """Return a frame with the columns of `kind`, which has the frame's own names; a part of another type is null."""
    pairs = zip(frame.schema.fields, kind.fields, strict=True)
    columns = [_refitted(column_named(one.name), one.dataType, made.dataType).alias(made.name) for one, made in pairs]
    return frame if frame.schema.simpleString() == kind.simpleString() else frame.select(*columns)


def _refitted(column: Column, has: DataType, wanted: DataType) -> Column:
    """Return a column with the wanted parts by name; a part of another type is null."""
    if same(has, wanted):
        return column
    if isinstance(has, StructType) and isinstance(wanted, StructType):
        parts = {one.name: one.dataType for one in has.fields}
        fields = [(one.name, parts.get(one.name), one.dataType) for one in wanted.fields]
        made = [_null(kind) if part is None else _refitted(column[name], part, kind) for name, part, kind in fields]
        return sf.when(
            column.isNotNull(),
            sf.struct(*(part.alias(one.name) for part, one in zip(made, wanted.fields, strict=True))),
        )
    if isinstance(has, ArrayType) and isinstance(wanted, ArrayType):
        return sf.transform(column, lambda one: _refitted(one, has.elementType, wanted.elementType))
    if isinstance(has, MapType) and isinstance(wanted, MapType):
        return sf.transform_values(column, lambda _, one: _refitted(one, has.valueType, wanted.valueType))
    return _null(wanted)


def _null(kind: DataType) -> Column:
    return sf.lit(None).cast(kind)
