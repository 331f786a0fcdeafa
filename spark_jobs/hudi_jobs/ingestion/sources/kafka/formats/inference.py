"""Infers the columns of undeclared JSON from a batch's texts, aligned with the table.

A batch may hold a few messages, in which a field happens to be absent, null or a whole number. That does not reveal its
type: so a part without a value takes the table's type or has none, the table's own columns are always present, and a
number takes the table's type if that is wider. Other differences are left to the rules for schema changes.
"""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, LongType, StructField, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, IngestionTableTask
from hudi_jobs.failures.classification import stage
from hudi_jobs.ingestion.json_text.inference import columns_of
from hudi_jobs.schemas.untyped import is_untyped
from hudi_jobs.table import HudiTable

_OF_HUDI = "_hoodie_"
_WHOLE_NUMBERS = (LongType, DecimalType)


def inferred_columns(context: TaskContext[IngestionTableTask], texts: DataFrame, others: Collection[str]) -> StructType:
    """Return the columns of JSON texts, the frame's only column; `others` are columns from elsewhere.

    With a transform, the table's columns are not those of the texts, so the table is ignored.
    """
    found = columns_of(texts, {})
    if context.task.ingestion.transform_sql is not None:
        return found
    return _completed(found, _columns_of_table(context, others))


def _columns_of_table(context: TaskContext[IngestionTableTask], others: Collection[str]) -> StructType:
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
    if table is not None and is_untyped(found):
        return table
    if isinstance(table, StructType) and isinstance(found, StructType):
        return _completed(found, table)
    if isinstance(table, ArrayType) and isinstance(found, ArrayType):
        return ArrayType(_of(table.elementType, found.elementType))
    return table if isinstance(table, DoubleType) and isinstance(found, _WHOLE_NUMBERS) else found
