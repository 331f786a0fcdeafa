"""The rows of CSV files that have one header: the values that the bytes write, or a bad row with its column and cause.

Spark's reader finds the lines and drops headers and comments. Everything else is done here, because its parser
(`CsvParser` of univocity) drops what stands behind a closing quote, closes an open quote at the end of the line, and
guesses values (see `text_values`). The lines are read as ISO-8859-1, which keeps each byte, so that a line is known to
be in its encoding or not.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StringType, StructField, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.given_files import GivenFiles
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT
from hudi_jobs.ingestion.schemas.text_values import can_be_text, text_fault, text_value
from hudi_jobs.ingestion.sources.files.csv_fields import BLANK, CsvForm, csv_form
from hudi_jobs.jvm import classes, tried_cast

_BYTES = "ISO-8859-1"
_NO_SEPARATOR, _NO_QUOTE = "\ue000", "\ue001"
"""No character of ISO-8859-1."""

_LOST = "\ufffd"
"""What Java reads in place of bytes that are not of an encoding."""

_RECORD, _FIELDS, _USUAL, _BROKEN = "_record", "_fields", "_is_usual", "_is_malformed"
_IS_SURPLUS = "_is_surplus"
_HEADER_CHECKER = "org.apache.spark.sql.catalyst.csv.CSVHeaderChecker"
_WRITES_LOST = frozenset({"UTF-8", "GB18030"})
"""Encodings that can write the character itself."""


def read_csv(
    spark: SparkSession, options: Mapping[str, str], fields: Sequence[StructField | None], paths: Sequence[str]
) -> DataFrame:
    """Return the rows of files whose fields are these by position, with `CORRUPT_RECORD` and `FAULT`.

    A field that is None is left out. Names of options are in lower case. Raises `TaskFailed` for options and types with
    which values could not be told.
    """
    form = csv_form(spark, options)
    for field in fields:
        if field is not None and not can_be_text(field.dataType):
            raise _no_text(field)
    records = _multiline(spark, form, len(fields), paths) if form.multiline else _lines(spark, form, paths)
    record = sf.col(_RECORD)
    is_usual = form.is_usual(record, [None if field is None else field.dataType for field in fields])
    split = form.fields(record)
    if form.multiline:
        # One field more than there are columns is all that counts here.
        too_many = sf.array_repeat(sf.lit(""), len(fields) + 1)
        split = sf.when(sf.col(_IS_SURPLUS), too_many).otherwise(split)
    divided = records.select("*", split.alias(_FIELDS), is_usual.alias(_USUAL))
    kinds = {place: (field.name, field.dataType) for place, field in enumerate(fields) if field is not None}
    texts = (
        form.text(sf.col(_FIELDS)[place], record, is_text=isinstance(kind, StringType)).alias(_text(place))
        for place, (_, kind) in kinds.items()
    )
    values = (_read(form, place, kind).alias(_value(place)) for place, (_, kind) in kinds.items())
    return (
        divided.select("*", *texts)
        .select("*", *values)
        .select(
            *(sf.col(_value(place)).alias(name) for place, (name, _) in kinds.items()),
            sf.when(_is_bad(form, kinds, len(fields)), record).alias(CORRUPT_RECORD),
            _fault(form, kinds, len(fields)).alias(FAULT),
        )
    )


def _read(form: CsvForm, place: int, kind: DataType) -> Column:
    text = sf.col(_text(place))
    if isinstance(kind, StringType):
        return text
    return sf.when(sf.col(_USUAL), tried_cast(text, kind)).otherwise(text_value(text, kind, form.values))


def _lines(spark: SparkSession, form: CsvForm, paths: Sequence[str]) -> DataFrame:
    """Return the lines of files as texts, and whether a line has bytes that are not of the encoding."""
    options = {**form.of_lines, "encoding": _BYTES, "sep": _NO_SEPARATOR, "quote": _NO_QUOTE, "escape": _NO_QUOTE}
    found = _load(spark, options, StructType([StructField(_RECORD, StringType())]), paths)
    return _decoded(found, form)


def _multiline(spark: SparkSession, form: CsvForm, count: int, paths: Sequence[str]) -> DataFrame:
    """Return the records of files, which may have several lines.

    Spark gives the text of a record only where it has another number of fields than the schema, so the schema has one
    more than the files; the text of a record that has as many, and is bad, is put together.
    """
    columns = [StructField(f"_{place}", StringType()) for place in range(count + 1)]
    fields = StructType([*columns, StructField(CORRUPT_RECORD, StringType())])
    options = {**form.of_lines, **form.of_records, "columnNameOfCorruptRecord": CORRUPT_RECORD, "nullValue": _NO_QUOTE}
    found = _load(spark, {**options, "encoding": _BYTES if form.in_bytes else form.encoding}, fields, paths)
    texts = (sf.coalesce(sf.col(field.name), sf.lit("")) for field in columns)
    text = sf.coalesce(sf.col(CORRUPT_RECORD), sf.concat_ws(form.separator, *texts))
    records = found.select(text.alias(_RECORD), sf.col(CORRUPT_RECORD).isNull().alias(_IS_SURPLUS))
    if form.in_bytes:
        return _decoded(records, form)
    return records.select("*", sf.col(_RECORD).contains(_LOST).alias(_BROKEN))


def _decoded(frame: DataFrame, form: CsvForm) -> DataFrame:
    content = sf.encode(_RECORD, _BYTES)
    others = [name for name in frame.columns if name != _RECORD]
    decoded = frame.select(content.alias("_bytes"), sf.decode(content, form.encoding).alias(_RECORD), *others)
    is_lost = sf.col(_RECORD).contains(_LOST)
    if form.encoding in _WRITES_LOST:
        is_lost &= sf.encode(_RECORD, form.encoding) != sf.col("_bytes")
    return decoded.select(_RECORD, *others, is_lost.alias(_BROKEN))


def _load(spark: SparkSession, options: Mapping[str, str], schema: StructType, paths: Sequence[str]) -> DataFrame:
    # Spark warns of each file that its header is not the name of the one column of lines.
    log4j = classes(spark).org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(_HEADER_CHECKER, log4j.Level.ERROR)
    return GivenFiles(spark, paths).frame("csv", schema=schema, options={"mode": "PERMISSIVE", **options})


def _is_bad(form: CsvForm, kinds: Mapping[int, tuple[str, DataType]], count: int) -> Column:
    bad = sf.col(_BROKEN) | sf.col(_FIELDS).isNull() | (sf.size(_FIELDS) != count)
    unread = (_is_unread(form, place, kind) for place, (_, kind) in kinds.items() if _may_be_unread(form, kind))
    return reduce(or_, unread, bad)


def _may_be_unread(form: CsvForm, kind: DataType) -> bool:
    return not isinstance(kind, StringType) or form.longest is not None


def _is_unread(form: CsvForm, place: int, kind: DataType) -> Column:
    text = sf.col(_text(place))
    if isinstance(kind, StringType):
        return sf.coalesce(sf.length(text) > sf.lit(form.longest), sf.lit(False))  # noqa: FBT003
    return text.isNotNull() & sf.col(_value(place)).isNull()


def _fault(form: CsvForm, kinds: Mapping[int, tuple[str, DataType]], count: int) -> Column:
    """Return the first fault of a row, null for one that is read; of a good row no cause is computed."""
    found = sf.when(sf.col(_BROKEN), _whole_row(sf.lit(form.not_in_encoding)))
    found = found.when(sf.col(_FIELDS).isNull(), _whole_row(form.broken_quotes(sf.col(_RECORD))))
    number = sf.concat(sf.lit("the row has "), sf.size(_FIELDS), sf.lit(f" fields instead of {count}"))
    found = found.when(sf.size(_FIELDS) != count, _whole_row(number))
    for place, (name, kind) in kinds.items():
        if not _may_be_unread(form, kind):
            continue
        cause = _cause(form, sf.col(_text(place)), kind)
        both = sf.struct(sf.lit(name).alias("column"), cause.alias("cause"))
        found = found.when(_is_unread(form, place, kind), both)
    return found


def _cause(form: CsvForm, text: Column, kind: DataType) -> Column:
    if isinstance(kind, StringType):
        return sf.lit(f"has more than {form.longest} characters (option maxCharsPerColumn)")
    blank = sf.lit(
        "has blanks around its value; the options ignoreLeadingWhiteSpace and ignoreTrailingWhiteSpace trim it"
    )
    has_blanks = text.rlike(rf"^{BLANK}|{BLANK}\z")
    return sf.when(has_blanks, blank).otherwise(text_fault(text, kind, form.values))


def _whole_row(cause: Column) -> Column:
    return sf.struct(sf.lit(None).cast("string").alias("column"), cause.alias("cause"))


def _text(place: int) -> str:
    return f"_text_{place}"


def _value(place: int) -> str:
    return f"_value_{place}"


def _no_text(field: StructField) -> TaskFailed:
    return TaskFailed(
        FailureReason.INVALID_REQUEST,
        f"The column {field.name} is declared as {field.dataType.simpleString()}, for which CSV has no text. Declare "
        "it as STRING, and convert it in the transform (unbase64, unhex, from_json).",
    )
