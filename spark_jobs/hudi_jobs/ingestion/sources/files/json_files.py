"""Reads files of JSON as a frame, line by line or, with `multiLine`, each as a whole."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.given_files import GivenFiles
from hudi_jobs.ingestion.rows import corrupt_text
from hudi_jobs.ingestion.text.json_frames import columns_of, with_columns
from hudi_jobs.ingestion.text.text_values import is_set
from hudi_jobs.schemas.columns import require_distinct

_TEXT = "value"


def read_json(
    spark: SparkSession, options: Mapping[str, str], schema: StructType | None, paths: Sequence[str]
) -> DataFrame:
    """Return the rows of files, including bad rows; `options` are those of Spark's reader, with lower-case names."""
    encoding = options.get("encoding")
    of_lines = {name: value for name, value in options.items() if name == "linesep"}
    if is_set(options, "multiline"):
        of_lines["wholetext"] = "true"
    elif encoding is not None:
        _require_lines(encoding)
        of_lines["encoding"] = encoding
    texts = GivenFiles(spark, paths).frame("text", schema=f"{_TEXT} STRING", options=of_lines)
    texts = texts.where(sf.col(_TEXT).startswith("{") | sf.col(_TEXT).rlike(r"[^ \t\r\n]"))
    known = dict(options)
    if schema is not None:
        require_distinct(schema.fieldNames(), "The declared columns")
    else:
        text = sf.col(_TEXT) if encoding is None else sf.decode(sf.col(_TEXT).cast("binary"), encoding)
        schema, known = columns_of(texts.select(text), known, "The files"), {**known, "inferred": "true"}
    value = sf.col(_TEXT).cast("binary")
    return with_columns(texts, value, schema, known, corrupt=corrupt_text(value))


def _require_lines(encoding: str) -> None:
    """Raise `TaskFailed` for an encoding without the line ends of ASCII: Spark would cut characters."""
    if encoding.upper().startswith(("UTF-16", "UTF-32", "UTF16", "UTF32", "UTF_16", "UTF_32")):
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The option encoding is {encoding}, in which no line of JSON can be told from the next; "
            "write the files in UTF-8, or as one array each and with the option multiLine.",
        )
