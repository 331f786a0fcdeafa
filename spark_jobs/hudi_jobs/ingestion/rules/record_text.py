"""The text by which a record that no run can read stands in the quarantine, as a column."""

from pyspark.sql import Column
from pyspark.sql import functions as sf

from hudi_jobs.ingestion.rules.corrupt_texts import BASE64


def corrupt_text(value: Column) -> Column:
    """Return a value as the text of a corrupt record, in which base64 cannot be taken for a text."""
    return text_of(value, before_base64=BASE64)


def text_of(value: Column, *, before_base64: str = "") -> Column:
    """Return a value as text: itself where it is UTF-8, and base64 where it is not."""
    text = sf.decode(value, "UTF-8")
    coded = sf.concat(sf.lit(before_base64), sf.base64(value))
    return sf.when(sf.encode(text, "UTF-8") == value, text).otherwise(coded)
