"""Finds columns that Hudi 1.2.0 cannot write, or does not read back, before anything is written.

Each rule is an allowlist of types that were written, updated, compacted, clustered and read again by Spark and hudi-rs
(`test_columns_read_back.py`, `test_column_roles.py`). Existing columns of the table are not checked: an existing table
may work in the way it is used.

A list of two levels with elements that are structs with one field looks like the wrapper that newer files have around
each element (`AvroRecordConverter.isElementType`, apache/hudi#19782). Spark and hudi-rs read it; updates of its file
fail.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from hudi_jobs.contract import WriteOperation
from hudi_jobs.schemas.types import same

_Types = tuple[type[DataType], ...]

_TEXTS: _Types = (StringType, CharType, VarcharType)
_NUMBERS: _Types = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)
_PARTITIONS: _Types = (*_TEXTS, *_NUMBERS, BooleanType, DecimalType, DateType)
_VALUES: _Types = (*_PARTITIONS, BinaryType, TimestampType, TimestampNTZType)
_KEYS: _Types = (*_VALUES, StructType)
_ORDERED: _Types = (*_TEXTS, *_NUMBERS, BooleanType, TimestampType, TimestampNTZType)
_ORDERED_IN_LOGS: _Types = (*_ORDERED, DateType, DecimalType)
"""An update that rewrites a base file compares a day with a number, and fails (apache/hudi#18610)."""

_ON_A_CURVE: _Types = (*_PARTITIONS, BinaryType, TimestampType)
"""The types that ZOrder and Hilbert map to numbers (`SpaceCurveSortingHelper`)."""

_BY_ROWS: _Types = tuple(kind for kind in _KEYS if kind not in {TimestampType, BinaryType, StructType})
"""Types in keys of a bulk insert, which makes texts of Spark's rows (`BuiltinKeyGenerator`): it drops the microseconds
of a timestamp, and takes the address in memory of bytes.
"""

OWN_COLUMNS = frozenset(
    {
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
        "_hoodie_operation",
    }
)
"""Columns that Hudi fills in itself, whatever a row holds in them (`HoodieRecord.HOODIE_META_COLUMNS_WITH_OPERATION`).
"""

DELETE_MARK = "_hoodie_is_deleted"
"""The column that Hudi takes for the mark of deletes."""

_SHOWN = 160


@dataclass(frozen=True)
class Finding:
    """A column (nested names have dots), its problem, and the remedy; `purpose` is empty for a value."""

    column: str
    what: str
    advice: str
    purpose: str = ""

    @property
    def sentence(self) -> str:
        """The finding for people."""
        purpose = f"{self.purpose} " if self.purpose else ""
        return f"The {purpose}column {self.column} {self.what}; {self.advice}."


@dataclass(frozen=True)
class Roles:
    """The roles of a table's columns, and how an operation writes them.

    `rewrites`: an update may rewrite a base file, as it always does in a CopyOnWrite table. `times` are partition
    columns that the key generator of the table reads as times.
    """

    record_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    ordering: tuple[str, ...] = ()
    operation: WriteOperation = WriteOperation.UPSERT
    rewrites: bool = True
    times: frozenset[str] = frozenset()


def findings(schema: StructType, roles: Roles, *, stored: StructType | None = None) -> Iterator[Finding]:
    """Yield each use of a column that is not known to work; `stored` are the columns that the table has already."""
    known = {} if stored is None else {one.name: one.dataType for one in stored.fields}
    new = [one for one in schema.fields if one.name not in known or not same(known[one.name], one.dataType)]
    for one in new:
        yield from _unwritable(one.dataType, one.name)
        if one.name == DELETE_MARK and not isinstance(one.dataType, BooleanType):
            yield Finding(one.name, _is(one.dataType, "and Hudi takes it for the mark of deletes"), "make it a BOOLEAN")
    if stored is None:
        yield from _named_as_hudis_own(schema)
        yield from _misused({one.name: one.dataType for one in schema.fields}, roles)


def twins(schema: StructType, at: str = "") -> Iterator[Finding]:
    """Yield the fields of a struct that share a name but for the case of letters; `at` is the prefix of the names.

    Spark reads no table with such columns (`COLUMN_ALREADY_EXISTS`).
    """
    seen: dict[str, str] = {}
    for one in schema.fields:
        other = seen.get(one.name.lower())
        seen.setdefault(one.name.lower(), one.name)
        if other is not None:
            what = f"differs from {at}{other} at most in the case of letters, and Spark takes both for one column"
            yield Finding(f"{at}{one.name}", what, "give one of them another name in the transform")


def _named_as_hudis_own(schema: StructType) -> Iterator[Finding]:
    for name in schema.names:
        if name in OWN_COLUMNS:
            yield Finding(name, "has a name of Hudi's own, so its values would be lost", "rename it in the transform")


def _misused(kinds: dict[str, DataType], roles: Roles) -> Iterator[Finding]:
    by_rows = roles.operation is WriteOperation.BULK_INSERT
    for name in roles.record_key:
        if name in kinds and not isinstance(kinds[name], _BY_ROWS if by_rows else _KEYS):
            yield _key(name, kinds[name], by_rows=isinstance(kinds[name], _KEYS))
    for name in roles.partition_by:
        if name in kinds and name not in roles.times and not isinstance(kinds[name], _PARTITIONS):
            yield _partition(name, kinds[name])
    for name in roles.ordering if roles.operation is WriteOperation.UPSERT else ():
        if name in kinds and not isinstance(kinds[name], _ORDERED if roles.rewrites else _ORDERED_IN_LOGS):
            yield _ordering(name, kinds[name])


def unread_partitions(schema: StructType, partition_by: Iterable[str], times: frozenset[str]) -> Iterator[Finding]:
    """Yield the partition columns with values that no reader gets back from the names of folders."""
    kinds = {one.name: one.dataType for one in schema.fields}
    for name in partition_by:
        if name in kinds and name not in times and not isinstance(kinds[name], _PARTITIONS):
            yield _partition(name, kinds[name])


def unsorted_columns(schema: StructType, columns: Iterable[str], *, linear: bool) -> Iterator[Finding]:
    """Yield the columns that rows cannot be sorted by."""
    kinds = {one.name: one.dataType for one in schema.fields}
    for name in columns:
        if name in kinds and not (_has_order(kinds[name]) if linear else isinstance(kinds[name], _ON_A_CURVE)):
            why = "which has no order" if linear else "which the layouts ZOrder and Hilbert do not take"
            advice = f"take it out of clustering.execution.sortColumns{'' if linear else ', or use the layout Linear'}"
            yield Finding(name, _is(kinds[name], why), advice, "sort")


def _unwritable(kind: DataType, name: str) -> Iterator[Finding]:
    leave_out = f"leave {name} out in the transform until it has values"
    for at, part in _parts(kind, name):
        if isinstance(part, StructType) and not part.fields:
            yield Finding(at, _is(part, "a struct without fields, which no file can hold"), leave_out)
        elif isinstance(part, StructType):
            yield from twins(part, f"{at}.")
        elif isinstance(part, MapType) and not isinstance(part.keyType, _TEXTS):
            advice = "make the keys texts in the transform, such as with CAST(... AS MAP<STRING, ...>)"
            yield Finding(at, _is(part, "and Hudi writes maps with text keys only"), advice)
        elif isinstance(part, NullType):
            why = "as all its values are null, and Hudi needs a type"
            yield Finding(at, _is(part, why), f"cast it to a type in the transform, or {leave_out}")
        elif not isinstance(part, (*_VALUES, ArrayType, MapType)):
            yield Finding(at, _is(part, "a type that Hudi cannot write"), f"cast it in the transform, or {leave_out}")


def _parts(kind: DataType, at: str) -> Iterator[tuple[str, DataType]]:
    """Yield a type and all of its parts, each with its name; the keys of a map belong to the map."""
    yield at, kind
    if isinstance(kind, StructType):
        for one in kind.fields:
            yield from _parts(one.dataType, f"{at}.{one.name}")
    elif isinstance(kind, ArrayType):
        yield from _parts(kind.elementType, f"{at}.element")
    elif isinstance(kind, MapType):
        yield from _parts(kind.valueType, f"{at}.value")


def _is(kind: DataType, why: str) -> str:
    """Return the beginning of a column's type with the problem, as a clause."""
    text = kind.simpleString()
    return f"is {text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'}, {why}"


def _key(name: str, kind: DataType, *, by_rows: bool) -> Finding:
    why = "and Hudi makes texts of it that two different values may share"
    advice = f"make it a text in the transform, such as to_json({name}), and use that as the record key"
    if by_rows:
        why = "and BulkInsert makes another record key of it than other operations, or an inexact key"
        advice = "use another operation, or make it a text or a BIGINT in the transform"
    return Finding(name, _is(kind, why), advice, "record key")


def _partition(name: str, kind: DataType) -> Finding:
    why = "and readers of Hudi do not get its values back from the names of folders"
    advice = "make it a text in the transform, and partition by that"
    if isinstance(kind, TimestampType | TimestampNTZType):
        why += ": Spark reads null, and filters find no row"
        advice = (
            f"make it a text or a day in the transform, such as date_format({name}, 'yyyy-MM-dd-HH') AS {name}_text "
            f"or CAST({name} AS DATE) AS {name}_day, and partition by that"
        )
    return Finding(name, _is(kind, why), advice, "partition")


def _ordering(name: str, kind: DataType) -> Finding:
    why = "which Hudi fails to compare with the values of stored rows"
    advice = "make it a text, a number or a TIMESTAMP in the transform"
    if isinstance(kind, DateType):
        advice = f"make it a number or a TIMESTAMP in the transform, such as CAST({name} AS TIMESTAMP)"
    elif isinstance(kind, DecimalType):
        advice = "make it a BIGINT in the transform, multiplied by a power of ten to keep its digits"
    return Finding(name, _is(kind, why), advice, "ordering")


def _has_order(kind: DataType) -> bool:
    """Tell whether Spark orders values of a type (`RowOrdering.isOrderable`)."""
    if isinstance(kind, StructType):
        return all(_has_order(one.dataType) for one in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_order(kind.elementType)
    return isinstance(kind, AtomicType)


LeafPath: TypeAlias = tuple[str, ...]
"""The names from the root of a Parquet file to a leaf."""

_ELEMENT = ("array",)
_VALUE, _KEY = ("key_value", "value"), ("key_value", "key")


def lists_of_one_field(schema: StructType) -> Iterator[tuple[str, LeafPath]]:
    """Yield each array of structs with one field, by its name, with a leaf that only a file with old lists has."""
    for one in schema.fields:
        yield from _found(one.dataType, one.name, (one.name,))


def _found(kind: DataType, at: str, path: LeafPath) -> Iterator[tuple[str, LeafPath]]:
    match kind:
        case StructType():
            for one in kind.fields:
                yield from _found(one.dataType, f"{at}.{one.name}", (*path, one.name))
        case ArrayType():
            if isinstance(kind.elementType, StructType) and len(kind.elementType.fields) == 1:
                yield at, _leaf(kind, path)
            yield from _found(kind.elementType, f"{at}.element", (*path, *_ELEMENT))
        case MapType():
            yield from _found(kind.valueType, f"{at}.value", (*path, *_VALUE))
        case _:
            return


def _leaf(kind: DataType, path: LeafPath) -> LeafPath:
    match kind:
        case StructType() if kind.fields:
            return _leaf(kind.fields[0].dataType, (*path, kind.fields[0].name))
        case ArrayType():
            return _leaf(kind.elementType, (*path, *_ELEMENT))
        case MapType():
            return (*path, *_KEY)
        case _:
            return path
