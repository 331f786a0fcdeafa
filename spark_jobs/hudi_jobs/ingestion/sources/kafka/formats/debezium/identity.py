"""Handles rows with a record key that differs from the key of the database's table."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, BooleanType, DataType, DateType, NumericType, StringType, StructType

from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.rules.partitions import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import AFTER, BEFORE, DELETE, OPERATION, UPDATE
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.holders import MOVED
from hudi_jobs.ingestion.sources.kafka.formats.protocol import field


def with_former_keys(frame: DataFrame, keys: Sequence[str], before: StructType, after: StructType) -> DataFrame:
    """Insert a delete of the old row before an update that changes the record key.

    Debezium does this itself if the key of the database's table changes; a record key may have other columns. Without
    the whole former key, which PostgreSQL may omit, the old row is unknown. Both halves are marked as `MOVED`.
    """
    if not set(keys) <= set(before.fieldNames()) & set(after.fieldNames()):
        return frame.withColumn(MOVED, never())
    old, new = ([sf.col(image)[name] for name in keys] for image in (BEFORE, AFTER))
    is_whole = reduce(and_, [column.isNotNull() for column in (*old, *new)])
    differs = reduce(or_, [one != other for one, other in zip(old, new, strict=True)])
    operation = sf.col(OPERATION)
    changed = (operation == UPDATE) & sf.col(CORRUPT_RECORD).isNull() & is_whole & differs
    both, itself = sf.array(sf.lit(DELETE), operation), sf.array(operation)
    marked = frame.withColumn(MOVED, sf.coalesce(changed, never()))
    return marked.withColumn(OPERATION, sf.explode(sf.when(sf.col(MOVED), both).otherwise(itself)))


def lacks_key(image: Column, kind: StructType, keys: Sequence[str]) -> Column:
    """Tell whether a deleted row's image lacks its record key, judged by its message's JSON key.

    Without REPLICA IDENTITY FULL, PostgreSQL sends only its own key's columns, and Debezium then puts a zero or an
    empty text into other non-null columns (`ValueConverters.convertValue`): a delete with such a key would leave the
    row in place. An image with any other value is whole.
    """
    types = {one.name: one.dataType for one in kind.fields}
    text = sf.decode(field("key"), "UTF-8")
    named = sf.json_object_keys(sf.coalesce(sf.get_json_object(text, "$.payload"), text))
    lacking = [~sf.array_contains(named, name) & _is_empty(image[name], types[name]) for name in keys if name in types]
    others = [sf.array_contains(named, name) | _is_empty(image[name], each) for name, each in types.items()]
    return sf.coalesce(reduce(or_, lacking, never()) & reduce(and_, others, ~never()), never())


def _is_empty(column: Column, kind: DataType) -> Column:
    """Tell whether a value is null, or stands for a missing value."""
    if isinstance(kind, NumericType):
        is_nothing = column == 0
    elif isinstance(kind, BooleanType):
        is_nothing = ~column
    elif isinstance(kind, StringType | BinaryType):
        is_nothing = sf.length(column) == 0
    elif isinstance(kind, DateType):
        is_nothing = column == sf.lit("1970-01-01").cast("date")
    else:
        is_nothing = never()
    return column.isNull() | sf.coalesce(is_nothing, never())
