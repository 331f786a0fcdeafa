"""The rows of CSV files with the same header: the exact values, or a bad row with its column and cause.

Spark lists, divides and schedules the files; `CsvFormat.java` reads them.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.given_files import GivenFiles
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT
from hudi_jobs.ingestion.text.csv_dialect import csv_dialect
from hudi_jobs.ingestion.text.text_values import can_be_text
from hudi_jobs.java_classes import java_class

_FAULT = StructType([StructField("column", StringType()), StructField("cause", StringType())])


def read_csv(
    spark: SparkSession, options: Mapping[str, str], fields: Sequence[StructField | None], paths: Sequence[str]
) -> DataFrame:
    """Return the rows of files with these fields by position, with `CORRUPT_RECORD` and `FAULT`.

    A field that is None is left out. Names of options are in lower case. Raises `TaskFailed` for options and types that
    make values ambiguous.
    """
    dialect = csv_dialect(spark, options)
    kept = [field for field in fields if field is not None]
    for field in kept:
        if not can_be_text(field.dataType):
            raise _no_text(field)
    # The columns are named by position, because Spark would compare real names with its own columns.
    placed = [StructField(_at(place), field.dataType) for place, field in enumerate(kept)]
    marks = [StructField(CORRUPT_RECORD, StringType()), StructField(FAULT, _FAULT)]
    reader = java_class(spark, "csv.CsvFormat")()
    frame = GivenFiles(spark, paths).frame(
        "csv", reader=reader, schema=StructType([*placed, *marks]), options=dialect.reader_options(fields)
    )
    named = (sf.col(_at(place)).alias(field.name) for place, field in enumerate(kept))
    return frame.select(*named, CORRUPT_RECORD, FAULT)


def _at(place: int) -> str:
    return f"c{place}"


def _no_text(field: StructField) -> TaskFailed:
    return TaskFailed(
        FailureReason.INVALID_REQUEST,
        f"The column {field.name} is declared as {field.dataType.simpleString()}, and CSV has no text for that type. "
        "Declare "
        "it as STRING, and convert it in the transform (unbase64, unhex, from_json).",
    )
