"""Refuses declared columns of a source that do not hold the values of a file.

Spark 3.5 reads a large number of ORC as null, rounds decimals of ORC and Avro, takes a number of Avro for a time, and
cuts off bits of Parquet's integers, all without a message.
"""

from collections.abc import Iterable

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    IntegralType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.sources.files.footers import ParquetColumn
from hudi_jobs.ingestion.sources.files.headers import quoted_name
from hudi_jobs.ingestion.sources.files.orc_files import OrcColumns
from hudi_jobs.schemas.types import can_widen, misfits
from hudi_jobs.spark.failures import TaskFailed


def require_types_of_file(path: str, own: StructType, declared: StructType) -> None:
    """Raise `TaskFailed` for the first declared column, or part of one, that does not hold the file's values."""
    for at, has, wants in misfits(own, declared, ""):
        raise _refusal(path, at, has.simpleString(), wants)


def require_types_of_orc(path: str, columns: OrcColumns, declared: StructType) -> None:
    """Do the same for an ORC file, whose columns may be positions."""
    own = columns.kinds
    if columns.names is None:
        fields = zip(own.fields, declared.fields, strict=False)
        own = StructType([StructField(wanted.name, found.dataType) for found, wanted in fields])
    require_types_of_file(path, own, declared)


def require_numbers_of_parquet(path: str, columns: Iterable[ParquetColumn], declared: StructType) -> None:
    """Do the same for the exact numbers of a Parquet file; Spark refuses other types itself."""
    for column in columns:
        wants, has = _type_at(declared, column.path), column.number
        if wants is None or has is None or can_widen(has, wants):
            continue
        is_number = isinstance(wants, IntegralType | DecimalType)
        if is_number or (isinstance(wants, StringType | BinaryType) and isinstance(has, DecimalType)):
            raise _refusal(path, ".".join(column.path), column.kind, wants)


def _type_at(kind: DataType, path: tuple[str, ...]) -> DataType | None:
    """Return the declared type of a leaf of Parquet; elements and values lie two groups deep."""
    if not path:
        return kind
    if isinstance(kind, StructType):
        found = next((one for one in kind.fields if one.name.lower() == path[0].lower()), None)
        return None if found is None else _type_at(found.dataType, path[1:])
    if isinstance(kind, ArrayType):
        return _type_at(kind.elementType, path[2:])
    if isinstance(kind, MapType):
        return _type_at(kind.keyType if path[1:2] == ("key",) else kind.valueType, path[2:])
    return None


def _refusal(path: str, column: str, has: str, wants: DataType) -> TaskFailed:
    return TaskFailed(
        FailureReason.SOURCE_UNREADABLE,
        f"The column {quoted_name(column)} of the file {path} is {has}, which Spark cannot read as "
        f"{wants.simpleString()} without changing values. Declare the type that the file has and cast it in the "
        "transform, or write the column with the declared type.",
    )
