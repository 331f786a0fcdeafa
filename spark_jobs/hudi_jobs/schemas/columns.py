"""The columns that a spec declares, and the names that a Hudi table can have and tell apart."""

import json
import unicodedata
from collections.abc import Iterable, Iterator

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.wording import listed
from hudi_jobs.spark.failures import TaskFailed, causes_of
from hudi_jobs.spark.jvm import classes


def parse_ddl(spark: SparkSession, ddl: str) -> StructType:
    """Parse a Spark DDL string such as `id BIGINT, at TIMESTAMP`."""
    return StructType.fromJson(json.loads(classes(spark).org.apache.spark.sql.types.StructType.fromDDL(ddl).json()))


def declared_columns(spark: SparkSession, ddl: str | None) -> StructType | None:
    """Return the columns that a source declares, None without a declaration; raise `TaskFailed` for anything else."""
    if ddl is None:
        return None
    try:
        return parse_ddl(spark, ddl)
    except Exception as error:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST, f"The source's schema cannot be parsed: {causes_of(error)[-1].first_line}"
        ) from error


def require_distinct(names: Iterable[str], where: str = "The messages or the table") -> None:
    """Raise `TaskFailed` if names of columns differ only in the case of letters: Spark takes them for one column."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"{where} have the columns {other} and {name}, which are the same column in a "
                "table; give them one name in the producer, or declare the columns of JSON values.",
            )


_MOST_NAMED = 5
_LONGEST_NAME = 60
_BASIC_PLANE = 0x10000
"""Java recognises letters by halves of the characters beyond it, and a half is no letter."""


def require_names(schema: StructType) -> None:
    """Raise `TaskFailed` for columns, or fields of structs, with names that Avro refuses (`Schema.validateName`).

    `hoodie.avro.schema.validate` and the sanitizing of names are options of HoodieStreamer's sources: a write through
    Spark fails after the rows were read, and its message has only the name (apache/hudi#6800, #10553).
    """
    refused = [f"{at}{_shown(name)}" for at, name in _names(schema, "") if not is_allowed(name)]
    if refused:
        one = len(refused) == 1
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"Hudi cannot store {'a column' if one else 'columns'} of the {'name' if one else 'names'} "
            f"{listed(refused, _MOST_NAMED)}: names have letters, digits and _, and begin with no digit. Rename "
            f"{'it' if one else 'them'} in the transform, such as with SELECT `a-b` AS a_b, or leave "
            f"{'it' if one else 'them'} out.",
        )


def is_allowed(name: str) -> bool:
    """Tell whether Avro accepts a name, by Java's letters and digits."""
    return bool(name) and _begins(name[0]) and all(_begins(one) or _kind(one) == "Nd" for one in name)


def _begins(one: str) -> bool:
    return one == "_" or _kind(one).startswith("L")


def _kind(one: str) -> str:
    return unicodedata.category(one) if ord(one) < _BASIC_PLANE else ""


def _shown(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}...")


def _names(kind: DataType, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield at, field.name
            yield from _names(field.dataType, f"{at}{_shown(field.name)}.")
    elif isinstance(kind, ArrayType):
        yield from _names(kind.elementType, at)
    elif isinstance(kind, MapType):
        yield from _names(kind.valueType, at)
