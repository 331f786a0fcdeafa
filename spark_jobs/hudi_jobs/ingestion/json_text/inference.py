"""Columns that Spark infers from JSON texts, where nobody has declared any."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.json_text.strict_reader import inference_options
from hudi_jobs.ingestion.schemas.distinct import require_distinct
from hudi_jobs.jvm import inferred_json

_WIDEST = 5_000


def columns_of(texts: DataFrame, options: Mapping[str, str], where: str = "The messages or the table") -> StructType:
    """Return the columns of JSON texts, the frame's only column; `options` are those of Spark's reader.

    All texts are read, whatever `samplingRatio` says: a field that the sample lacks would vanish.
    """
    return _narrow(_distinct(inferred_json(texts, inference_options(options)), where))


def _distinct(found: StructType, where: str) -> StructType:
    """Return columns of which each is there once, where a text names a field twice."""
    fields = {field.name: _distinct_within(field.dataType, where) for field in found.fields}
    require_distinct(fields, where)
    return StructType([StructField(name, kind) for name, kind in fields.items()])


def _distinct_within(kind: DataType, where: str) -> DataType:
    if isinstance(kind, ArrayType):
        return ArrayType(_distinct_within(kind.elementType, where))
    return _distinct(kind, where) if isinstance(kind, StructType) else kind


def _narrow(found: StructType) -> StructType:
    """Return columns of which there are not too many: names that are values, such as ids, would be more each day."""
    if _parts(found) > _WIDEST:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The values of one batch have more than {_WIDEST:,} fields, including nested ones, and each would become "
            "a column; declare the columns, and a MAP where field names are values.",
        )
    return found


def _parts(kind: DataType) -> int:
    if isinstance(kind, StructType):
        return sum(1 + _parts(field.dataType) for field in kind.fields)
    return _parts(kind.elementType) if isinstance(kind, ArrayType) else 0
