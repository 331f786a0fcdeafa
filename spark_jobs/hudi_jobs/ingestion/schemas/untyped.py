"""Columns of which no row has a value and nobody has said the type: they take the table's, or are left out."""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructField, StructType

from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.ingestion.schemas.types import cast, has_type

_MOST_NAMED = 5
_LONGEST_NAME = 60


def without_untyped(frame: DataFrame, table: StructType | None, needed: Collection[str]) -> tuple[DataFrame, str]:
    """Return the frame without columns that have no type, and a sentence that names those that were left out.

    A column that the table has takes its type there. Parts of columns (fields of structs, elements of arrays) that have
    no type and that the table does not know leave the whole column out. Columns that are `needed` stay, to be refused.
    """
    if not has_type(frame.schema, NullType):
        return frame, ""
    known = {} if table is None else {field.name.lower(): field.dataType for field in table.fields}
    kinds = {field.name: _typed(field.dataType, known.get(field.name.lower())) for field in frame.schema}
    gone = [name for name, kind in kinds.items() if has_type(kind, NullType) and name not in needed]
    kept = [StructField(name, kind) for name, kind in kinds.items() if name not in gone]
    shown = listed([repr(name[:_LONGEST_NAME]) for name in gone], _MOST_NAMED)
    said = f"Left out {counted(len(gone), 'column')} without a value, which nobody has given a type: {shown}."
    return cast(frame.drop(*gone), StructType(kept)), said if gone else ""


def _typed(kind: DataType, table: DataType | None) -> DataType:
    """Return a type with the table's in place of what has none."""
    if isinstance(kind, NullType):
        return kind if table is None else table
    if isinstance(kind, StructType) and isinstance(table, StructType):
        known = {field.name: field.dataType for field in table.fields}
        return StructType([StructField(one.name, _typed(one.dataType, known.get(one.name))) for one in kind.fields])
    if isinstance(kind, ArrayType) and isinstance(table, ArrayType):
        return ArrayType(_typed(kind.elementType, table.elementType))
    if isinstance(kind, MapType) and isinstance(table, MapType):
        return MapType(_typed(kind.keyType, table.keyType), _typed(kind.valueType, table.valueType))
    return kind
