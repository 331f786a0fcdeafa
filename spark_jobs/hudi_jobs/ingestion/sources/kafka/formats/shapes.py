"""Merges the types of rows written with several schemas, and reshapes rows: columns by name, none left out."""

from collections.abc import Callable, Collection, Iterable
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.schemas.types import fits
from hudi_jobs.spark.failures import TaskFailed

_NAMES_SHOWN = 3
_NAME_SHOWN = 100

_Settle = Callable[[DataType, DataType, str], DataType]
"""Decides the result for two types of a column that do not contain each other."""


def merged(one: StructType, other: StructType) -> StructType:
    """Return a type for the rows of both; raise `TaskFailed` naming a column with two conflicting types."""
    return _fields(one, other, "", _refuse)


def extended(newest: StructType, batch: StructType) -> StructType:
    """Return a batch's type extended by the newest schema's columns, in that schema's order.

    If the two contradict, the batch's own type stays: no message of it needs the newest schema yet.
    """
    return _fields(newest, batch, "", lambda _, own, __: own)


def possible(newest: StructType, batch: StructType, taken: Collection[str]) -> StructType:
    """Return a newest schema without columns that conflict by name with a batch's columns.

    Conflicting names are `taken`, in small letters, or a column of the batch in other case. Without messages all
    columns stay.
    """
    if not batch.fields:
        return newest
    own, spelt = set(batch.fieldNames()), {name.lower(): name for name in batch.fieldNames()}

    def is_possible(name: str) -> bool:
        return name in own or (name.lower() not in taken and spelt.setdefault(name.lower(), name) == name)

    return StructType([field for field in newest.fields if is_possible(field.name)])


def left_out(newest: StructType, kept: StructType) -> str:
    """Return a sentence on dropped columns of a newest schema, or an empty text."""
    names = [name[:_NAME_SHOWN] for name in newest.fieldNames() if name not in kept.fieldNames()]
    if not names:
        return ""
    return (
        "The newest registered schema has names of columns that the table cannot have beside those of the messages: "
        f"{', '.join(names[:_NAMES_SHOWN])}. No message of this batch has them, and they were left out; the first "
        "message with such a column will stop the table."
    )


def as_written(newest: StructType, batch: StructType, known: StructType) -> StructType:
    """Return a batch's type by its messages' schemas alone, in the order of `extended`.

    Of the newest schema's further columns, those of the table stay, with the table's type: no message of the batch has
    a value for them.
    """
    own = {field.name: field.dataType for field in batch.fields}
    declared = {field.name: field.dataType for field in newest.fields}
    stored = {field.name: field.dataType for field in known.fields}
    kinds: dict[str, DataType] = {}
    for name in (*declared, *(name for name in own if name not in declared)):
        if name in own:
            kinds[name] = _as_written(declared.get(name), own[name], stored.get(name))
        elif name in stored:
            kinds[name] = stored[name]
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


def _as_written(newest: DataType | None, own: DataType, known: DataType | None) -> DataType:
    if isinstance(own, StructType) and isinstance(newest, StructType):
        return as_written(newest, own, known if isinstance(known, StructType) else StructType())
    if isinstance(own, ArrayType) and isinstance(newest, ArrayType):
        stored = known.elementType if isinstance(known, ArrayType) else None
        return ArrayType(_as_written(newest.elementType, own.elementType, stored))
    if isinstance(own, MapType) and isinstance(newest, MapType):
        stored = known.valueType if isinstance(known, MapType) else None
        return MapType(own.keyType, _as_written(newest.valueType, own.valueType, stored))
    return own


def newest_of(types: Iterable[StructType], *, has_messages: bool) -> StructType:
    """Return the combined columns of several topics' newest schemas.

    Without messages a table is created from them, so they must not contradict each other.
    """
    settle: _Settle = (lambda one, _, __: one) if has_messages else _refuse_newest
    return reduce(lambda one, other: _fields(one, other, "", settle), types, StructType())


def _fields(one: StructType, other: StructType, at: str, settle: _Settle) -> StructType:
    known = {field.name: field.dataType for field in one.fields}
    brought = {field.name: field.dataType for field in other.fields}
    names = [*known, *(name for name in brought if name not in known)]
    kinds = [_merged(known.get(name), brought.get(name), at + name, settle) for name in names]
    return StructType([StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])


def _merged(one: DataType | None, other: DataType | None, at: str, settle: _Settle) -> DataType:
    if one is None or other is None:
        found = other if one is None else one
        assert found is not None, "a name comes from one of the two"
        return found
    if isinstance(one, StructType) and isinstance(other, StructType):
        return _fields(one, other, f"{at}.", settle)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(_merged(one.elementType, other.elementType, f"{at}.element", settle))
    if isinstance(one, MapType) and isinstance(other, MapType):
        key = _merged(one.keyType, other.keyType, f"{at}.key", settle)
        return MapType(key, _merged(one.valueType, other.valueType, f"{at}.value", settle))
    if fits(one, other) or fits(other, one):
        return one if fits(one, other) else other
    return settle(one, other, at)


def _refuse(one: DataType, other: DataType, at: str) -> DataType:
    raise TaskFailed(
        FailureReason.SCHEMA_INCOMPATIBLE,
        f"The column {at} is {one.simpleString()} in one schema of the values and {other.simpleString()} in another; "
        "no message of this batch was written. Read fewer messages per run (maxRecordsPerRun) so that a run sees "
        "one schema only. If the table then refuses the type, cast the column in the transform, or start a new table "
        "at later offsets.",
    )


def _refuse_newest(one: DataType, other: DataType, at: str) -> DataType:
    raise TaskFailed(
        FailureReason.SCHEMA_INCOMPATIBLE,
        f"The column {at} is {one.simpleString()} in the newest schema of a topic and {other.simpleString()} in the "
        "newest schema of another topic; give each topic a table of its own.",
    )


def agree(types: Iterable[StructType]) -> bool:
    """Tell whether `merged` can combine all types."""
    found: list[str] = []

    def note(one: DataType, _: DataType, at: str) -> DataType:
        found.append(at)
        return one

    reduce(lambda one, other: _fields(one, other, "", note), types, StructType())
    return not found


def holds(wide: StructType, narrow: StructType) -> bool:
    """Tell whether the wide type contains every column of the narrow type, including nested columns."""
    known = {field.name: field.dataType for field in wide.fields}
    return all(field.name in known and _holds(known[field.name], field.dataType) for field in narrow.fields)


def _holds(wide: DataType, narrow: DataType) -> bool:
    if isinstance(wide, StructType) and isinstance(narrow, StructType):
        return holds(wide, narrow)
    if isinstance(wide, ArrayType) and isinstance(narrow, ArrayType):
        return _holds(wide.elementType, narrow.elementType)
    if isinstance(wide, MapType) and isinstance(narrow, MapType):
        return _holds(wide.valueType, narrow.valueType)
    return True


def shaped(column: Column, has: DataType, wanted: DataType) -> Column:
    """Return a value reshaped to a type made by `merged`; null stays null."""
    if has.simpleString() == wanted.simpleString():
        return column.cast(wanted)
    if isinstance(has, StructType) and isinstance(wanted, StructType):
        own = {field.name: field.dataType for field in has.fields}
        parts = [_part(column, field, own.get(field.name)) for field in wanted.fields]
        return sf.when(column.isNotNull(), sf.struct(*parts)).cast(wanted)
    if isinstance(has, ArrayType) and isinstance(wanted, ArrayType):
        return sf.transform(column, _reshape(has.elementType, wanted.elementType)).cast(wanted)
    if isinstance(has, MapType) and isinstance(wanted, MapType):
        values = _reshape(has.valueType, wanted.valueType)
        return sf.transform_values(column, lambda _, value: values(value)).cast(wanted)
    return column.cast(wanted)


def _part(column: Column, field: StructField, has: DataType | None) -> Column:
    value = sf.lit(None).cast(field.dataType) if has is None else shaped(column[field.name], has, field.dataType)
    return value.alias(field.name)


def _reshape(has: DataType, wanted: DataType) -> Callable[[Column], Column]:
    return lambda value: shaped(value, has, wanted)
