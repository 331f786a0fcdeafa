"""Files of JSON as one frame, read line by line or, with `multiLine`, each as a whole."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.given_files import GivenFiles
from hudi_jobs.ingestion.json_text.frames import with_columns
from hudi_jobs.ingestion.json_text.inference import columns_of
from hudi_jobs.ingestion.json_text.strict_reader import is_set
from hudi_jobs.ingestion.rules.record_text import corrupt_text

_TEXT = "value"


def read_json(
    spark: SparkSession, options: Mapping[str, str], schema: StructType | None, paths: Sequence[str]
) -> DataFrame:
    """Return the rows of files, with bad ones; `options` are those of Spark's reader, with names in small letters."""
    encoding = options.get("encoding", options.get("charset"))
    of_lines = {name: value for name, value in options.items() if name == "linesep"}
    if is_set(options, "multiline"):
        of_lines["wholetext"] = "true"
    elif encoding is not None:
        of_lines["encoding"] = encoding
    texts = GivenFiles(spark, paths).frame("text", schema=f"{_TEXT} STRING", options=of_lines)
    texts = texts.where(sf.col(_TEXT).startswith("{") | sf.col(_TEXT).rlike(r"[^ \t\r\n]"))
    known = dict(options) if encoding is None else {**options, "encoding": encoding}
    if schema is None:
        text = sf.col(_TEXT) if encoding is None else sf.decode(sf.col(_TEXT).cast("binary"), encoding)
        schema, known = columns_of(texts.select(text), known, "The files"), {**known, "inferred": "true"}
    value = sf.col(_TEXT).cast("binary")
    return with_columns(texts, value, schema, known, corrupt=corrupt_text(value))
