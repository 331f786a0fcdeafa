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
from hudi_jobs.failures.classification import stage
from hudi_jobs.ingestion.json_text.inference import columns_of
from hudi_jobs.table import HudiTable

_OF_HUDI = "_hoodie_"
_WHOLE_NUMBERS = (LongType, DecimalType)


def inferred_columns(context: TaskContext, texts: DataFrame, others: Collection[str]) -> StructType:
    """Return the columns of JSON texts, the frame's only column; `others` are columns that come from elsewhere.

    What a transform makes of columns is not what the texts have, so the table says nothing then.
    """
    task = context.task.ingestion
    assert task is not None, "a source belongs to an ingestion"
    if task.transform_sql is not None:
        return columns_of(texts, {})
    found = columns_of(texts, {"dropfieldifallnull": "true"})
    return _completed(found, _columns_of_table(context, others))


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
