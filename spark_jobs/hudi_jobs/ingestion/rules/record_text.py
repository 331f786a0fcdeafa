"""The text of an unreadable record in the quarantine, as a column."""

from pyspark.sql import Column
from pyspark.sql import functions as sf

from hudi_jobs.ingestion.rules.corrupt_texts import BASE64


def corrupt_text(value: Column) -> Column:
    """Return a value as the text of a corrupt record, in which base64 is recognisable."""
    return text_of(value, before_base64=BASE64)


def text_of(value: Column, *, before_base64: str = "") -> Column:
    """Return a value as text: itself if it is UTF-8, else base64."""
    text = sf.decode(value, "UTF-8")
    coded = sf.concat(sf.lit(before_base64), sf.base64(value))
    return sf.when(sf.encode(text, "UTF-8") == value, text).otherwise(coded)
