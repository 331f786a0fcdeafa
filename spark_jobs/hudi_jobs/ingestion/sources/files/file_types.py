"""Refuses declared columns of a source that do not hold the values of a file.

Spark 3.5 reads a large number of ORC as null, rounds decimals of ORC and Avro, takes a number of Avro for a time, and
cuts off bits of Parquet's integers, all without a message.
"""

from collections.abc import Iterable, Iterator

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from hudi_jobs.contract import FailureReason, FileFormat
from hudi_jobs.ingestion.sources.files.footers import ParquetColumn
from hudi_jobs.ingestion.sources.files.headers import quoted_name
from hudi_jobs.ingestion.sources.files.orc_files import OrcColumns
from hudi_jobs.schemas.types import can_widen, fits, misfits, same
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


class FileColumns:
    """The types that columns have in the files of a run; adding a file that differs raises `TaskFailed`."""

    def __init__(self, form: FileFormat) -> None:
        self._form = form
        self._known: dict[str, list[tuple[DataType, str]]] = {}

    def add(self, path: str, columns: StructType) -> None:
        """Compare the columns with those of the files before, as Spark merges them."""
        for column in columns.fields:
            known = self._known.setdefault(column.name, [])
            for kind, other in known:
                for at, has, wants in _unmergeable(column.dataType, kind, column.name):
                    raise self._refusal(at, (has, path), (wants, other))
            if not any(same(kind, column.dataType) for kind, _ in known):
                known.append((column.dataType, path))

    def _refusal(self, column: str, one: tuple[DataType, str], other: tuple[DataType, str]) -> TaskFailed:
        (has, path), (known, before) = one, other
        advice = "Write the files with the same type."
        if column in self._known and (fits(has, known) or fits(known, has)):
            wide = has if fits(has, known) else known
            # Spark 3.5 reads a narrow number of ORC as a wide one, and refuses to in Parquet.
            if self._form is FileFormat.ORC:
                advice = f"Declare the columns of the source, with {quoted_name(column)} as {wide.simpleString()}."
            else:
                advice = "Write the files with the same type, or set maxFilesPerRun to 1, so that no run has both."
        return TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The column {quoted_name(column)} is {has.simpleString()} in the file {path} and {known.simpleString()} "
            f"in the file {before}, and a run reads a column with one type. {advice}",
        )


def _unmergeable(one: DataType, other: DataType, at: str) -> Iterator[tuple[str, DataType, DataType]]:
    """Yield the parts that Spark cannot merge, and both types; decimals of the same scale can be merged."""
    found = [*misfits(one, other, at), *((name, has, wants) for name, wants, has in misfits(other, one, at))]
    for name, has, wants in found:
        both = isinstance(has, DecimalType) and isinstance(wants, DecimalType) and has.scale == wants.scale
        if not both and not isinstance(has, NullType) and not isinstance(wants, NullType):
            yield name, has, wants


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
