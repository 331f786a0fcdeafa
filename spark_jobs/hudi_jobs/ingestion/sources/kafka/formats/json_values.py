"""JSON object values, by declared columns or by inference over the batch, aligned with the table.

A batch may hold a few messages, in which a field happens to be absent, null or a whole number. That does not reveal its
type: so a part without a value takes the table's type or has none, the table's own columns are always present, and a
number takes the table's type if that is wider. Other differences are left to the rules for schema changes.

A value that is no object, such as `1`, `[]` or `null`, is a corrupt record: it has no columns.
"""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, LongType, StructField, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, IngestionTableTask, KafkaSource
from hudi_jobs.contract.table.columns import UndeclaredColumns
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, corrupt_text
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    field,
    require_unreserved,
)
from hudi_jobs.ingestion.text.json_frames import columns_of, with_columns
from hudi_jobs.schemas.columns import declared_columns
from hudi_jobs.schemas.declared import require_declared_only, undeclared
from hudi_jobs.schemas.untyped import is_untyped
from hudi_jobs.spark.failures import stage
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


def require(_source: KafkaSource) -> None:
    """Accept every request: declared columns are parsed, and refused, once a JVM exists."""


def decode(context: TaskContext[IngestionTableTask], source: KafkaSource, messages: DataFrame) -> Decoded:
    """Parse the values; without declared columns an extra pass infers them from all values of the batch."""
    value = field("value")
    schema = declared_columns(context.spark, source.value.columns_ddl)
    options = {"inferred": "true"} if schema is None else {}
    text = sf.decode(value, "UTF-8")
    texts = messages.select(text.alias("value")).where(_looks_like_an_object(value.cast("string")))
    table_columns = source.value.table_columns
    if schema is not None and table_columns is not None and table_columns.undeclared is UndeclaredColumns.REFUSE:
        require_declared_only(list(undeclared(columns_of(texts, {}), schema)))
    if schema is None:
        schema = inferred_columns(context, texts, [name for name in source.columns.model_dump().values() if name])
    require_unreserved(one.name for one in schema.fields if one.name != CORRUPT_RECORD)
    return Decoded(with_columns(messages, value, schema, options, corrupt=corrupt_text(value), kept=[MESSAGE]))


def _looks_like_an_object(text: Column) -> Column:
    """Tell whether a text begins like an object; the pattern is tried only after leading white space."""
    return text.startswith("{") | text.rlike(r"^[ \t\r\n]*\{")
