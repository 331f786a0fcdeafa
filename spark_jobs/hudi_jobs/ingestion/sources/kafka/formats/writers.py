"""Combines a batch's values of several registry schemas into rows of the same type."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN
from hudi_jobs.ingestion.rules.partitions import never
from hudi_jobs.ingestion.rules.record_text import corrupt_text
from hudi_jobs.ingestion.sources.kafka.formats import wire
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    field,
    require_unreserved,
)
from hudi_jobs.ingestion.sources.kafka.formats.shapes import shaped


@dataclass(frozen=True)
class Writer:
    """How to recognise values of a schema by their header, and read them.

    `decoded` converts a value's rest to the input of the other two functions: `row` returns the row, `is_row` whether
    it is a row, never null for a value of this schema.
    """

    headers: tuple[bytes, ...]
    type: StructType
    decoded: Callable[[Column], Column]
    row: Callable[[Column], Column]
    is_row: Callable[[Column], Column]


def rows_of(messages: DataFrame, writers: Sequence[Writer], wanted: StructType) -> Decoded:
    """Return the messages as rows of the wanted type; a value of an unknown writer is a bad record."""
    require_unreserved(wanted.fieldNames())
    value = field("value")
    if not wanted.fields:
        corrupt = sf.when(value.isNotNull(), corrupt_text(value)).alias(CORRUPT_RECORD)
        return Decoded(messages.select(MESSAGE, sf.lit(None).cast("string").alias(NO_COLUMN), corrupt))
    named = [(f"_{place}", writer) for place, writer in enumerate(writers)]
    decoded = messages.select(MESSAGE, *(_decoded(value, writer).alias(name) for name, writer in named))
    row = _first([(_is_of(value, each), shaped(each.row(sf.col(name)), each.type, wanted)) for name, each in named])
    is_row = _first([(_is_of(value, each), each.is_row(sf.col(name))) for name, each in named])
    rows = decoded.select(MESSAGE, row.cast(wanted).alias("_row"), sf.coalesce(is_row, never()).alias("_is_row"))
    columns = [sf.col("_row")[one.name].alias(one.name) for one in wanted.fields]
    corrupt = sf.when(value.isNotNull() & ~sf.col("_is_row"), corrupt_text(value)).alias(CORRUPT_RECORD)
    return Decoded(rows.select(MESSAGE, *columns, corrupt))


def _is_of(value: Column, writer: Writer) -> Column:
    return reduce(or_, (wire.begins_with(value, each) for each in writer.headers))


def _decoded(value: Column, writer: Writer) -> Column:
    rest = _first([(wire.begins_with(value, each), wire.after(value, each)) for each in writer.headers])
    return sf.when(_is_of(value, writer), writer.decoded(rest))


def _first(cases: Sequence[tuple[Column, Column]]) -> Column:
    """Return the value of the first true condition, or null."""
    first, *others = cases or [(never(), sf.lit(None))]
    return reduce(lambda chain, case: chain.when(*case), others, sf.when(*first))
