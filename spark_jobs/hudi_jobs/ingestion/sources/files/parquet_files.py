"""Inspects Parquet files before Spark reads them: columns without a type in Spark, or without a value."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StructField,
    StructType,
    TimestampType,
)

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.wording import listed
from hudi_jobs.ingestion.sources.files.footers import (
    NO_TYPE,
    BrokenParquet,
    ParquetColumn,
    columns_of,
    footer_of,
)
from hudi_jobs.ingestion.sources.files.headers import quoted_name
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.filesystem import ranges_of

_AT_ONCE = 8
_MOST_NAMED = 5

_STORED: dict[str, DataType] = {
    "BOOLEAN": BooleanType(),
    "INT32": IntegerType(),
    "INT64": LongType(),
    "INT96": TimestampType(),
    "FLOAT": FloatType(),
    "DOUBLE": DoubleType(),
    "BYTE_ARRAY": BinaryType(),
    "FIXED_LEN_BYTE_ARRAY": BinaryType(),
}
_ADVICE = {
    "TIMESTAMP(NANOS)": "Write it with microseconds (in pandas and pyarrow coerce_timestamps='us'), or declare the "
    "column as BIGINT and divide it in the transform: timestamp_micros(name DIV 1000).",
    "TIME": "Write it as a text, or as a number of microseconds.",
    "DECIMAL": "Write it with at most 38 digits, or as a text.",
    "FLOAT16": "Write it as FLOAT.",
    "UUID": "Write it as a text.",
    "INTERVAL": "Write it as a number, or as a text.",
}
_OTHERWISE = "Write the column with another type, or leave it out of the declared columns."


def parquet_columns(spark: SparkSession, paths: Sequence[str]) -> list[list[ParquetColumn]]:
    """Return the columns of each file; raise `TaskFailed` for the first file without a footer."""

    def one(path: str) -> list[ParquetColumn]:
        try:
            with ranges_of(spark, path) as (read, size):
                return columns_of(footer_of(read, size))
        except BrokenParquet as error:
            raise TaskFailed(
                FailureReason.SOURCE_UNREADABLE,
                f"The file {path} cannot be read as parquet: {error}. Replace or remove it.",
            ) from error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(one, paths))


def require_readable(files: Mapping[str, Sequence[ParquetColumn]], wanted: Sequence[str] | None) -> None:
    """Raise `TaskFailed` for the first file with a column that Spark cannot read, or would misread.

    `wanted` are the declared columns: with them Spark reads no other columns, and reports itself which types it does
    not convert.
    """
    asked = None if wanted is None else {name.lower() for name in wanted}
    for path, columns in files.items():
        mine = [one for one in columns if asked is None or one.path[0].lower() in asked]
        _require_names(path, mine)
        bad = next((one for one in mine if asked is None and not one.is_readable), None)
        if bad is not None:
            raise unreadable(path, bad)


def unreadable(path: str, column: ParquetColumn) -> TaskFailed:
    """Return the refusal of a column without a type in Spark."""
    name = ".".join(map(quoted_name, column.path))
    advice = next((text for kind, text in _ADVICE.items() if column.annotation.startswith(kind)), _OTHERWISE)
    return TaskFailed(
        FailureReason.SOURCE_UNREADABLE,
        f"The column {name} of the file {path} is {column.kind}, which Spark cannot read. {advice}",
    )


def without_type(columns: Sequence[ParquetColumn]) -> frozenset[ParquetColumn]:
    """Return the columns of a file, and parts of columns, that have no type because the writer saw only nulls."""
    return frozenset(one for one in columns if one.annotation == NO_TYPE)


def without_guesses(found: StructType, empty: Iterable[ParquetColumn]) -> StructType:
    """Return the columns that Spark finds in a file, without a type for untyped columns."""
    made = _with_leaves(found, {one.path: NullType() for one in empty})
    assert isinstance(made, StructType), "a row stays a row"
    return made


def as_stored(declared: StructType, empty: Iterable[ParquetColumn]) -> StructType:
    """Return declared columns with the file's own types for untyped columns: Spark reads nothing else there."""
    made = _with_leaves(declared, {one.path: _STORED[one.physical] for one in empty})
    assert isinstance(made, StructType), "a row stays a row"
    return made


def _with_leaves(kind: DataType, leaves: Mapping[tuple[str, ...], DataType]) -> DataType:
    """Return a type with other types at some paths of Parquet; elements and values lie two groups deep."""
    if not leaves or () in leaves:
        return leaves.get((), kind)
    if isinstance(kind, StructType):
        return StructType(
            [
                StructField(one.name, _with_leaves(one.dataType, _inside(leaves, one.name.lower(), 1)))
                for one in kind.fields
            ]
        )
    if isinstance(kind, ArrayType):
        return ArrayType(_with_leaves(kind.elementType, _inside(leaves, None, 2)))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _with_leaves(kind.valueType, _inside(leaves, None, 2)))
    return kind


def _inside(
    leaves: Mapping[tuple[str, ...], DataType], name: str | None, levels: int
) -> dict[tuple[str, ...], DataType]:
    """Return the leaves below a name, or below any name, by the rest of their path after these levels."""
    found = {path: kind for path, kind in leaves.items() if len(path) >= levels}
    return {path[levels:]: kind for path, kind in found.items() if name is None or path[0].lower() == name}


def _require_names(path: str, columns: Sequence[ParquetColumn]) -> None:
    """Raise `TaskFailed` if two names at the same place differ only in the case of letters."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for column in columns:
        for depth in range(1, len(column.path) + 1):
            part = column.path[:depth]
            other = seen.setdefault(tuple(map(str.lower, part)), part)
            if other != part:
                pair = listed([quoted_name(other[-1]), quoted_name(part[-1])], _MOST_NAMED).replace(", ", " and ")
                raise TaskFailed(
                    FailureReason.SOURCE_UNREADABLE,
                    f"The columns {pair} of the file {path} differ only in the case of letters, and Spark takes them "
                    "for the same column; write one of them under another name.",
                )
