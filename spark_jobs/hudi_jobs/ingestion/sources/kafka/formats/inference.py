"""Columns of JSON that nobody has declared: what Spark infers from the texts of a batch, as the table has it.

A batch may hold a few messages, in which a field is absent, null or a whole number by chance. That says nothing of its
type: so fields without a value are no columns, the table's own columns are there in any case, and a number is of the
table's type where that is the wider one. Whatever else differs is for the rules of changes of the schema to refuse.
"""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, LongType, StructField, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.ingestion.json_bounds import options_of
from hudi_jobs.ingestion.sources.kafka.formats.protocol import require_distinct
from hudi_jobs.jvm import inferred_json
from hudi_jobs.table import HudiTable

_OF_HUDI = "_hoodie_"
_WIDEST = 5_000
_WHOLE_NUMBERS = (LongType, DecimalType)


def inferred_columns(context: TaskContext, texts: DataFrame, others: Collection[str]) -> StructType:
    """Return the columns of JSON texts, the frame's only column; `others` are columns that come from elsewhere.

    What a transform makes of columns is not what the texts have, so the table says nothing then.
    """
    task = context.task.ingestion
    assert task is not None, "a source belongs to an ingestion"
    options = options_of(inferred=True)
    if task.transform_sql is not None:
        return _narrow(_distinct(inferred_json(texts, options)))
    found = _narrow(_distinct(inferred_json(texts, {**options, "dropFieldIfAllNull": "true"})))
    return _completed(found, _columns_of_table(context, others))


def _distinct(found: StructType) -> StructType:
    """Return columns of which each is there once, where a text names a field twice; the last value of it counts."""
    fields = {field.name: _distinct_within(field.dataType) for field in found.fields}
    require_distinct(fields)
    return StructType([StructField(name, kind) for name, kind in fields.items()])


def _distinct_within(kind: DataType) -> DataType:
    if isinstance(kind, ArrayType):
        return ArrayType(_distinct_within(kind.elementType))
    return _distinct(kind) if isinstance(kind, StructType) else kind


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


def _columns_of_table(context: TaskContext, others: Collection[str]) -> StructType:
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
        schema = None if table is None else table.schema()
    fields = [] if schema is None else schema.fields
    return StructType([one for one in fields if not one.name.startswith(_OF_HUDI) and one.name not in others])


def _completed(found: StructType, table: StructType) -> StructType:
    known = {field.name: field.dataType for field in table.fields}
    fields = [StructField(one.name, _of(known.get(one.name), one.dataType)) for one in found.fields]
    present = set(found.fieldNames())
    return StructType([*fields, *(one for one in table.fields if one.name not in present)])


def _of(table: DataType | None, found: DataType) -> DataType:
    if isinstance(table, StructType) and isinstance(found, StructType):
        return _completed(found, table)
    if isinstance(table, ArrayType) and isinstance(found, ArrayType):
        return ArrayType(_of(table.elementType, found.elementType))
    return table if isinstance(table, DoubleType) and isinstance(found, _WHOLE_NUMBERS) else found
