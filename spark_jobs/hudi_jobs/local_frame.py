"""A frame of a few rows of the driver, which are part of its plan."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StructType

from hudi_jobs.jvm import classes, spark_session
from hudi_jobs.schemas.columns import parse_ddl

_AT_ONCE = 1_000
"""The rows that are handed over in a call."""


def local_frame(spark: SparkSession, rows: Iterable[Sequence[object]], schema: StructType | str) -> DataFrame:
    """Return rows as a frame; values are texts, numbers, booleans, `None`, or sequences for structs.

    PySpark's own `createDataFrame` starts Python workers that read the rows, anew for each job that needs them.
    """
    jvm = classes(spark)
    if isinstance(schema, str):
        schema = parse_ddl(spark, schema)
    lines = jvm.java.util.ArrayList()
    for text in _texts(rows, schema):
        lines.addAll(jvm.org.apache.hadoop.util.StringUtils.getStringCollection(text, "\n"))
    strings = spark_session(spark).createDataset(lines, jvm.org.apache.spark.sql.Encoders.STRING()).toDF()
    # A row is nested in another row, because Spark reserves some names at the top, such as `_corrupt_record`.
    parsed = sf.from_json("value", StructType().add("row", schema), {"mode": "FAILFAST"})
    return DataFrame(strings, spark).select(parsed.alias("parsed")).select("parsed.row.*")


def _texts(rows: Iterable[Sequence[object]], kind: StructType) -> Iterator[str]:
    lines = (json.dumps({"row": _value(row, kind)}, ensure_ascii=False) for row in rows)
    while some := list(islice(lines, _AT_ONCE)):
        yield "\n".join(some)


def _value(value: object, kind: DataType) -> object:
    if not isinstance(kind, StructType) or value is None:
        return value
    assert isinstance(value, Sequence), "a struct is given as a sequence"
    return {one.name: _value(part, one.dataType) for one, part in zip(kind.fields, value, strict=True)}
