"""Values that name their registry schema: parses their header, and combines several schemas into one row type.

In Protobuf, the body begins with the message's place in the schema (`formats/protobuf_descriptors.py`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN, corrupt_text
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    field,
    require_unreserved,
)
from hudi_jobs.ingestion.sources.kafka.formats.shapes import shaped
from hudi_jobs.spark.failures import TaskFailed

MOST_SCHEMAS = 100
"""The most schemas named by a batch; more were not written by a registry's serializers."""

_HEADER = 5


def is_framed(value: Column) -> Column:
    """Tell whether a value has a registry header; null without a value.

    Registry ids are positive Java integers: the registry answers larger ids with an error outside its API.
    """
    is_zero, is_positive = sf.substring(value, 1, 1) == sf.lit(b"\x00"), sf.substring(value, 2, 1) < sf.lit(b"\x80")
    return (sf.length(value) >= _HEADER) & is_zero & is_positive


def header(number: int) -> bytes:
    """Return the header of a schema's values."""
    return b"\0" + number.to_bytes(_HEADER - 1)


def begins_with(value: Column, header: bytes) -> Column:
    """Tell whether a value begins with the bytes; null without a value."""
    return sf.substring(value, 1, len(header)) == sf.lit(header)


def after(value: Column, header: bytes) -> Column:
    """Return the value without its header."""
    return value.substr(sf.lit(len(header) + 1), sf.length(value))


def schemas_named(messages: DataFrame) -> dict[int, tuple[str, ...]]:
    """Return the schema ids named by the values, with each id's topics; reads the messages once."""
    value = field("value")
    named = messages.where(is_framed(value)).select(_schema_id(value).alias("id"), field("topic").alias("topic"))
    by_id = named.groupBy("id").agg(sf.sort_array(sf.collect_set("topic")).alias("topics"), sf.count("*").alias("n"))
    found = by_id.orderBy(sf.desc("n"), "id").limit(MOST_SCHEMAS + 1).collect()
    if len(found) > MOST_SCHEMAS:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"The values of one batch name more than {MOST_SCHEMAS} schemas of the registry, so their producer does "
            "not use the registry as its serializers do. Read less per run, or correct the producers.",
        )
    return {int(row["id"]): tuple(row["topics"]) for row in found}


def subjects_that_count(
    named: Mapping[int, tuple[str, ...]], declared: Iterable[str], subject: str | None
) -> tuple[list[str], list[str]]:
    """Return the subjects with newest schemas that make columns: subjects of the values, and of the other topics.

    A table also has the columns of topics that are quiet in this batch. Each subject costs a registry request, so only
    some of the quiet topics count if a source has hundreds. A declared `subject` applies to all topics.
    """
    if subject:
        return [subject], []
    heard = sorted({topic for group in named.values() for topic in group})
    quiet = sorted(set(declared).difference(heard))[: max(MOST_SCHEMAS - len(heard), 0)]
    return [subject_of(topic) for topic in heard], [subject_of(topic) for topic in quiet]


def subject_of(topic: str) -> str:
    """Return the default subject of a topic's values (`TopicNameStrategy`)."""
    return f"{topic}-value"


def _schema_id(value: Column) -> Column:
    return sf.conv(sf.hex(sf.substring(value, 2, 4)), 16, 10).cast("bigint")


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
    return reduce(or_, (begins_with(value, each) for each in writer.headers))


def _decoded(value: Column, writer: Writer) -> Column:
    rest = _first([(begins_with(value, each), after(value, each)) for each in writer.headers])
    return sf.when(_is_of(value, writer), writer.decoded(rest))


def _first(cases: Sequence[tuple[Column, Column]]) -> Column:
    """Return the value of the first true condition, or null."""
    first, *others = cases or [(never(), sf.lit(None))]
    return reduce(lambda chain, case: chain.when(*case), others, sf.when(*first))
