"""How a line of CSV has fields: the grammar of RFC 4180, and what the options of a source change in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StringType

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.sources.csv_options import ASCII_COMPATIBLE, encoding_of, is_true, refused_csv_options
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.schemas.text_values import UTC, TextForms, cast_grammar
from hudi_jobs.jvm import classes

BLANK = r"[\x00-\x20]"
_OF_LINES = ("header", "comment", "linesep")
_NUMBERS = {"nanvalue": "NaN", "positiveinf": "Infinity", "negativeinf": "-Infinity"}


@dataclass(frozen=True)
class CsvForm:
    """How files are written, by the options of their source, whose names are in lower case."""

    options: Mapping[str, str]
    separator: str
    values: TextForms

    @property
    def encoding(self) -> str:
        """The encoding of the files, in capitals."""
        return encoding_of(self.options)

    @property
    def multiline(self) -> bool:
        """Whether a value may have several lines."""
        return is_true(self.options, "multiline")

    @property
    def in_bytes(self) -> bool:
        """Whether separators and quotes are found in the bytes: no other character has theirs in UTF-8."""
        return self.encoding == "UTF-8"

    @property
    def quote(self) -> str:
        """The character around values; empty where there is none."""
        return self.options.get("quote", '"')

    @property
    def escape(self) -> str:
        """The character before a quote inside of quotes: the quote itself, unless the source says otherwise."""
        return self.options.get("escape", "") or self.quote

    @property
    def longest(self) -> int | None:
        """How many characters a text may have; None without a bound."""
        longest = int(self.options.get("maxcharspercolumn", "-1"))
        return None if longest < 0 else longest

    @property
    def of_lines(self) -> dict[str, str]:
        """Spark's options by which it finds lines."""
        return {name: self.options[name] for name in _OF_LINES if self.options.get(name)}

    @property
    def of_records(self) -> dict[str, str]:
        """Spark's options by which it finds records of several lines."""
        separator = self.separator.encode().decode("latin-1") if self.in_bytes else self.separator
        ignoring = ("ignoreleadingwhitespace", "ignoretrailingwhitespace")
        return {
            "multiLine": "true",
            "sep": separator.replace("\\", "\\\\"),
            "quote": self.quote,
            "escape": self.escape,
            "maxColumns": "100000",
            **{name: self.options[name] for name in ignoring if name in self.options},
        }

    @property
    def not_in_encoding(self) -> str:
        """The cause for a row with bytes that are not of the encoding."""
        told = f"the row has bytes that are not {self.encoding}"
        if self.encoding not in ASCII_COMPATIBLE:
            told += ", or the character U+FFFD, which cannot be told apart in this encoding"
        return f"{told}; set the option encoding of the source"

    def fields(self, record: Column) -> Column:
        """Return the fields of a record as texts, null where its quotes are broken.

        An unquoted field without a character is null in a record that has quotes, and empty in one that has none.
        """
        plain = sf.split(record, re.escape(self.separator), -1)
        if not self.quote:
            return plain
        line = sf.concat(sf.regexp_replace(record, r"\r\z", ""), sf.lit(self.separator))
        field, end = self._field, re.escape(self.separator)
        found = sf.regexp_extract_all(line, sf.lit(f"({field}){end}"), sf.lit(1))
        quoted = sf.when(line.rlike(rf"^(?:{field}{end})*+\z"), sf.transform(found, self._unquoted))
        return sf.when(self._is_plain(record), plain).otherwise(quoted)

    def is_usual(self, record: Column, kinds: Sequence[DataType | None]) -> Column:
        """Tell whether a record has as many fields as there are types, no quotes, and texts that a cast reads.

        A type is None for a field that is left out.
        """
        grammars = [self._usual(kind) for kind in kinds]
        if None in grammars:
            return sf.lit(False)  # noqa: FBT003
        return record.rlike(rf"^{re.escape(self.separator).join(map(str, grammars))}\z")

    def _usual(self, kind: DataType | None) -> str | None:
        if kind is None or isinstance(kind, StringType):
            return f"{self._other(self.quote)}*+"
        grammar = cast_grammar(kind, self.values)
        return None if grammar is None else f"(?:{grammar})?+"

    def _other(self, besides: str = "") -> str:
        """Return a grammar of one character that neither ends the field nor is another one."""
        if len(self.separator) == 1:
            return rf"[^\r\n{_in_class(self.separator)}{_in_class(besides)}]"
        return rf"(?:(?!{re.escape(self.separator)})[^\r\n{_in_class(besides)}])"

    def text(self, field: Column, record: Column, *, is_text: bool) -> Column:
        """Return the text of a field of a record, null where it stands for no value."""
        null = self.options.get("nullvalue")
        trimmed = self._trimmed(field)
        if trimmed is not field:
            field = sf.when(self._is_plain(record), trimmed).otherwise(field) if self.quote else trimmed
        is_value = field != ""
        if is_text and self.quote and null != "":
            is_value |= ~self._is_plain(record)
        if null:
            is_value &= field != null
        return sf.when(is_value, field)

    def broken_quotes(self, record: Column) -> Column:
        """Return why a record has no fields."""
        odd = sf.length(sf.regexp_replace(record, f"[^{_in_class(self.quote)}]", "")) % 2 == 1
        escape = "a quote is not closed at the end of the row; the option multiLine reads values of several lines"
        behind = (
            f"text stands behind a closing quote; where quotes inside of values are written {self._written}, as Spark "
            "writes them, set the option escape of the source"
        )
        return sf.when(odd, f"{escape}, and the option escape says how quotes are written inside of values").otherwise(
            behind
        )

    @property
    def _written(self) -> str:
        return f"\\{self.quote}" if self.escape == self.quote else f"{self.quote}{self.quote}"

    def _is_plain(self, record: Column) -> Column:
        """Tell whether a record has neither quotes nor the end of a line, so that only separators count."""
        return ~record.contains(self.quote) & ~record.contains("\r")

    @cached_property
    def _field(self) -> str:
        quote, escape, end = (re.escape(one) for one in (self.quote, self.escape, self.separator))
        inner = f"[^{_in_class(self.quote)}{_in_class(self.escape)}]*+"
        pair = f"{quote}{quote}" if escape == quote else rf"(?:{quote}{quote}|{escape}[\s\S])"
        blank = f"(?:(?!{end}){BLANK})*+"
        before = blank if self._trims_before else ""
        behind = blank if self._trims_behind else ""
        quoted = f"{before}{quote}{inner}(?:{pair}{inner})*+{quote}{behind}"
        plain = f"(?!{before}{quote}){self._other()}*+"
        return f"(?:{quoted}|{plain})"

    def _unquoted(self, field: Column) -> Column:
        """Return the text of a field of a record with quotes: null without a character, empty for empty quotes."""
        quote, escape = re.escape(self.quote), re.escape(self.escape)
        inner = sf.regexp_extract(field, rf"^{BLANK}*+{quote}([\s\S]*){quote}{BLANK}*\z", 1)
        if escape == quote:
            value = sf.replace(inner, sf.lit(self.quote * 2), sf.lit(self.quote))
        else:
            value = sf.regexp_replace(inner, f"{escape}({quote}|{escape})|{quote}({quote})", "$1$2")
        empty = self.options.get("emptyvalue")
        if empty:
            value = sf.when(value != "", value).otherwise(empty)
        bare = self._trimmed(field)
        start = sf.call_function("ltrim", sf.lit(self._blanks), field) if self._trims_before else field
        return sf.when(start.startswith(self.quote), value).when(bare != "", bare)

    def _trimmed(self, field: Column) -> Column:
        """Return an unquoted field without the blanks that options have trimmed."""
        if self._trims_before:
            field = sf.call_function("ltrim", sf.lit(self._blanks), field)
        return sf.call_function("rtrim", sf.lit(self._blanks), field) if self._trims_behind else field

    @property
    def _blanks(self) -> str:
        return "".join(one for one in map(chr, range(33)) if one not in self.separator)

    @property
    def _trims_before(self) -> bool:
        return is_true(self.options, "ignoreleadingwhitespace")

    @property
    def _trims_behind(self) -> bool:
        return is_true(self.options, "ignoretrailingwhitespace")


def csv_form(spark: SparkSession, options: Mapping[str, str]) -> CsvForm:
    """Return how files are written; raise `TaskFailed` for options with which values could not be told."""
    refused = refused_csv_options(options)
    if refused:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"The CSV files cannot be read: {'; '.join(refused)}.")
    java = classes(spark)
    separator = str(
        java.org.apache.spark.sql.catalyst.csv.CSVExprUtils.toDelimiterStr(
            options.get("sep", options.get("delimiter", ","))
        )
    )
    floats = dict(TextForms().floats) | {options[name]: value for name, value in _NUMBERS.items() if name in options}
    values = TextForms(
        date=options.get("dateformat"),
        timestamp=options.get("timestampformat"),
        local_timestamp=options.get("timestampntzformat"),
        zone=options.get("timezone", UTC),
        point=_point(spark, options.get("locale", "en-US")),
        floats=tuple(floats.items()),
    )
    return CsvForm(options, separator, values)


def _point(spark: SparkSession, locale: str) -> str:
    """Return what separates the fraction of a number in a locale."""
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


def _in_class(character: str) -> str:
    return f"\\{character}" if character and not character.isalnum() else character
