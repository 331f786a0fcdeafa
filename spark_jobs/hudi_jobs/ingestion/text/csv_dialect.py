"""The dialect of CSV files, by the options of their source, as `CsvFormat.java` reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.sources.csv_options import ASCII_COMPATIBLE, encoding_of, is_true, refused_csv_options
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT
from hudi_jobs.ingestion.text.text_values import UTC
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import classes

_BYTES = "ISO-8859-1"
"""The encoding that keeps each byte."""

_OF_LINES = ("header", "comment", "linesep")
_TRIMS = ("ignoreleadingwhitespace", "ignoretrailingwhitespace")
_OF_VALUES = ("dateformat", "timestampformat", "timestampntzformat", "nanvalue", "positiveinf", "negativeinf")


@dataclass(frozen=True)
class CsvDialect:
    """The dialect of CSV files; the names of options are in lower case."""

    options: Mapping[str, str]
    separator: str
    point: str

    def reader_options(self, fields: Sequence[StructField | None]) -> dict[str, str]:
        """Return the reader's options for files with these fields by position; a field that is None is left out."""
        kept = {place: field for place, field in enumerate(fields) if field is not None}
        empty, null = self.options.get("emptyvalue"), self.options.get("nullvalue")
        return {
            **self._of_records,
            **{name: self.options[name] for name in (*_TRIMS, *_OF_VALUES) if name in self.options},
            "timezone": self.options.get("timezone", UTC),
            "point": self.point,
            "rows.columns": str(StructType(list(kept.values())).json()),
            "rows.places": ",".join(map(str, kept)),
            "rows.count": str(len(fields)),
            "rows.record": CORRUPT_RECORD,
            "rows.fault": FAULT,
            "rows.separator": self.separator,
            "rows.quote": self._quote,
            "rows.escape": self._escape,
            "rows.encoding": self._encoding,
            "rows.isdecoded": str(not self._in_bytes).lower(),
            "rows.notinencoding": self._not_in_encoding,
            "rows.longest": self.options.get("maxcharspercolumn", "-1"),
            **({} if empty is None else {"rows.emptyvalue": empty}),
            **({} if null is None else {"rows.nullvalue": null}),
        }

    @property
    def _encoding(self) -> str:
        return encoding_of(self.options)

    @property
    def _in_bytes(self) -> bool:
        """Whether records are found in the bytes: no character of several bytes holds those of a separator or quote."""
        return not is_true(self.options, "multiline") or self._encoding == "UTF-8"

    @property
    def _quote(self) -> str:
        """The character around values; empty without quotes."""
        return self.options.get("quote", '"')

    @property
    def _escape(self) -> str:
        """The character before a quote inside of quotes: the quote itself, unless the source says otherwise."""
        return self.options.get("escape", "") or self._quote

    @property
    def _of_records(self) -> dict[str, str]:
        """The options with which Spark finds lines, or records of several lines."""
        lines = {name: self.options[name] for name in _OF_LINES if self.options.get(name)}
        if not is_true(self.options, "multiline"):
            return lines
        separator = self.separator.encode().decode("latin-1") if self._in_bytes else self.separator
        return {
            **lines,
            "multiline": "true",
            "encoding": _BYTES if self._in_bytes else self._encoding,
            "sep": separator.replace("\\", "\\\\"),
            "quote": self._quote,
            "escape": self._escape,
            "maxcolumns": "100000",
        }

    @property
    def _not_in_encoding(self) -> str:
        """The cause for a row with bytes outside the encoding."""
        told = f"the row has bytes that are not {self._encoding}"
        if self._encoding not in ASCII_COMPATIBLE:
            told += ", or the character U+FFFD, which cannot be told apart in this encoding"
        return f"{told}; set the option encoding of the source"


def csv_dialect(spark: SparkSession, options: Mapping[str, str]) -> CsvDialect:
    """Return the dialect of the files; raise `TaskFailed` for options that make values ambiguous."""
    refused = refused_csv_options(options)
    if refused:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"The CSV files cannot be read: {'; '.join(refused)}.")
    separator = classes(spark).org.apache.spark.sql.catalyst.csv.CSVExprUtils.toDelimiterStr(
        options.get("sep", options.get("delimiter", ","))
    )
    return CsvDialect(options, str(separator), _point(spark, options.get("locale", "en-US")))


def _point(spark: SparkSession, locale: str) -> str:
    """Return the decimal separator of a locale."""
    java = classes(spark).java
    symbols = java.text.DecimalFormatSymbols.getInstance(java.util.Locale.forLanguageTag(locale))
    point = str(symbols.getDecimalSeparator())
    if point not in {".", ","} or str(symbols.getZeroDigit()) != "0":
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The CSV files cannot be read: numbers of the locale {locale!a} are not written with the digits 0 to 9 "
            "and a point or a comma.",
        )
    return point
