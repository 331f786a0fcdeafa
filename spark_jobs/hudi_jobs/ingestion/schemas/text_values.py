"""Values of texts, for CSV and for texts in JSON: the value that the text writes, or a fault; nothing is guessed.

Spark's own casts and readers take what is near a value: they round decimals to the scale, drop a comma, cut a date off
behind its day, and take `10:20` for a time of today (`UTF8String`, `ExprUtils.getDecimalParser`,
`SparkDateTimeUtils.stringToTimestamp`). So a text has to match a grammar here before Spark converts it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from hudi_jobs.jvm import tried_cast

UTC = "UTC"

_WHOLE = r"^[+-]?(?=[0-9])0{0,99}+[0-9]{0,19}+\z"
_FRACTIONAL = r"^[+-]?(?=\.?[0-9])[0-9]{0,400}+(?:\.[0-9]{0,400}+)?(?:[eE][+-]?[0-9]{1,4}+)?\z"
_DAY_OF_TEN = "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK_OF_EIGHT = r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_SHORT = r"^[+-]?[0-9]{1,15}(?:\.[0-9]{0,15})?\z"
"""A number within the range of each floating type, as almost all are."""

_SCIENTIFIC = r"^[+-]?(?=\.?[0-9])([0-9]{0,99}+)(?:\.([0-9]{0,99}+))?[eE]([+-]?[0-9]{1,3}+)\z"
_TRUTH = r"^(?i:true|false)\z"
_DAY = r"(?!0000)[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK = r"[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]{1,6}+0{0,99}+)?)?"
_ZONE = r" ?(?:Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?|[A-Z][A-Za-z]+(?:/[A-Za-z_]+){1,2})"
DATE = rf"^{_DAY}\z"
LOCAL_TIME = rf"^{_DAY}(?:[ T]{_CLOCK})?\z"
TIME = rf"^{_DAY}(?:[ T]{_CLOCK}(?:{_ZONE})?)?\z"
_TOO_FINE = rf"^{_DAY}[ T][0-9:]+\.[0-9]{{6}}0*+[1-9]"

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_FLOATS = (FloatType, DoubleType)


@dataclass(frozen=True)
class TextForms:
    """How texts write values where options of a reader say so.

    `date`, `timestamp` and `local_timestamp` are patterns of Spark's. `zone` is that of times without one. `point`
    separates the fraction of a decimal. `floats` are words for values of FLOAT and DOUBLE, as Spark casts them.
    """

    date: str | None = None
    timestamp: str | None = None
    local_timestamp: str | None = None
    zone: str = UTC
    point: str = "."
    floats: tuple[tuple[str, str], ...] = (
        ("NaN", "NaN"),
        ("Inf", "Infinity"),
        ("-Inf", "-Infinity"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
    )


PLAIN = TextForms()


def can_be_text(kind: DataType) -> bool:
    """Tell whether texts write values of a type: `text_value` and `text_fault` take no other one."""
    return type(kind) in _VALUES


def text_value(text: Column, kind: DataType, forms: TextForms = PLAIN) -> Column:
    """Return the value that a text writes, null where the text is null or writes none of this type."""
    return _VALUES[type(kind)](text, kind, forms)


def text_fault(text: Column, kind: DataType, forms: TextForms = PLAIN) -> Column:
    """Return why a text writes no value of a type, as a clause behind the name of its column.

    The clause is right only for a text whose `text_value` is null, and never quotes the text: it goes into the status.
    """
    name = kind.simpleString().upper()
    if isinstance(kind, _INTEGERS):
        return sf.when(text.rlike(_WHOLE), f"is out of the range of {name}").otherwise(
            f"is not a whole number ({name})"
        )
    if isinstance(kind, _FLOATS):
        return sf.when(text.rlike(_FRACTIONAL), f"is out of the range of {name}").otherwise(f"is not a number ({name})")
    if isinstance(kind, DecimalType):
        return _decimal_fault(text, kind, forms, name)
    if isinstance(kind, BooleanType):
        return sf.lit("is neither true nor false (BOOLEAN)")
    return _time_fault(text, kind, forms, name)


def _time_fault(text: Column, kind: DataType, forms: TextForms, name: str) -> Column:
    if isinstance(kind, DateType):
        return sf.lit(f"is not a date written {forms.date or 'yyyy-MM-dd'} (DATE)")
    pattern = forms.timestamp if isinstance(kind, TimestampType) else forms.local_timestamp
    if pattern is not None:
        return sf.lit(f"is not a time written {pattern} ({name})")
    told = sf.when(text.rlike(_TOO_FINE), f"has more than six digits of a second, which {name} cannot hold")
    zone = ", with or without a zone" if isinstance(kind, TimestampType) else ", without a zone"
    return told.otherwise(f"is not a time written yyyy-MM-dd HH:mm:ss{zone} ({name})")


def cast_grammar(kind: DataType, forms: TextForms = PLAIN) -> str | None:
    """Return a grammar of texts that a cast of Spark's reads exactly, None where there is none; most texts match it.

    One match of a whole line costs less than one for each of its texts.
    """
    if isinstance(kind, DecimalType):
        whole = kind.precision - kind.scale
        is_usual = whole > 0 and forms.point == "."
        return rf"-?[0-9]{{1,{whole}}}(?:\.[0-9]{{0,{kind.scale}}})?" if is_usual else None
    patterns: dict[type[DataType], str | None] = {
        DateType: forms.date,
        TimestampType: forms.timestamp,
        TimestampNTZType: forms.local_timestamp,
    }
    if patterns.get(type(kind)) is not None or (isinstance(kind, TimestampType) and forms.zone != UTC):
        return None
    return _CAST_GRAMMARS.get(type(kind))


def _text(text: Column, kind: DataType, forms: TextForms) -> Column:  # noqa: ARG001 - one of _VALUES
    return text


def _cast_of(grammar: str) -> Callable[[Column, DataType, TextForms], Column]:
    def value(text: Column, kind: DataType, forms: TextForms) -> Column:  # noqa: ARG001 - one of _VALUES
        return tried_cast(sf.when(text.rlike(grammar), text), kind)

    return value


def _float(text: Column, kind: DataType, forms: TextForms) -> Column:
    """Return the nearest number of the type; not infinity, or zero, for a number that is beyond its range."""
    number = tried_cast(sf.when(text.rlike(_FRACTIONAL), text), kind)
    is_lost = sf.abs(number) == sf.lit("Infinity").cast(kind)
    is_lost |= (number == 0) & text.rlike(r"^[^eE]*[1-9]")
    value = sf.when(~is_lost, number)
    for word, meaning in forms.floats:
        value = sf.when(text == word, sf.lit(meaning).cast(kind)).otherwise(value)
    return sf.when(text.rlike(_SHORT), tried_cast(text, kind)).otherwise(value)


def _decimal(text: Column, kind: DataType, forms: TextForms) -> Column:
    """Return the decimal, also of one written with an exponent, as Java writes zeros (`0E-10`); never a rounded one."""
    assert isinstance(kind, DecimalType), "one of _VALUES"
    plain = text if forms.point == "." else sf.when(~text.contains("."), sf.translate(text, forms.point, "."))
    digits = rf"[0-9]{{0,{kind.precision - kind.scale}}}+(?:\.[0-9]{{0,{kind.scale}}}+0{{0,99}}+)?"
    is_plain = plain.rlike(rf"^[+-]?(?=\.?[0-9])0{{0,99}}+{digits}\z")
    return tried_cast(sf.when(is_plain | _is_exact(plain, kind.scale), plain), kind)


def _is_exact(text: Column, scale: int) -> Column:
    """Tell whether a number written with an exponent has no digit behind those of a scale."""
    whole, fraction, exponent = (sf.regexp_extract(text, _SCIENTIFIC, group) for group in (1, 2, 3))
    digits = sf.concat(whole, fraction)
    significant = sf.length(sf.regexp_replace(digits, "0{1,198}$", ""))
    behind = significant - sf.length(whole) - exponent.cast("int")
    return text.rlike(_SCIENTIFIC) & ((significant == 0) | (behind <= scale))


def _decimal_fault(text: Column, kind: DecimalType, forms: TextForms, name: str) -> Column:
    plain = text if forms.point == "." else sf.translate(text, f".{forms.point}", f"{forms.point}.")
    is_number = plain.rlike(_FRACTIONAL)
    whole = sf.length(sf.regexp_extract(plain, r"^[+-]?0*([0-9]*)", 1))
    other = "," if forms.point == "." else "."
    said = sf.when(is_number & (whole > kind.precision - kind.scale), f"is out of the range of {name}")
    said = said.when(is_number, f"has more than {kind.scale} digits behind the point, or is out of the range of {name}")
    said = said.when(
        text.rlike(r"^[+-]?[0-9.,]*[0-9]\z") & text.contains(other),
        f"has {'a comma' if other == ',' else 'a point'}, which may separate thousands or a fraction ({name}); "
        f"the option locale decides whether a comma or a point separates the fraction",
    )
    return said.otherwise(f"is not a number ({name})")


def _time(text: Column, kind: DataType, forms: TextForms) -> Column:
    """Return the moment; a time without a zone is that of the clocks in the zone of the forms."""
    if forms.timestamp is not None:
        moment = sf.try_to_timestamp(text, sf.lit(forms.timestamp))
        return moment if forms.zone == UTC or _has_zone(forms.timestamp) else sf.to_utc_timestamp(moment, forms.zone)
    moment = tried_cast(sf.when(text.rlike(TIME), text), kind)
    if forms.zone == UTC:
        return moment
    return sf.when(text.rlike(LOCAL_TIME), sf.to_utc_timestamp(moment, forms.zone)).otherwise(moment)


def _has_zone(pattern: str) -> bool:
    """Tell whether a pattern has a zone outside of its quoted texts."""
    return any(letter in part for part in pattern.split("'")[::2] for letter in "XxZV")


def _local_time(text: Column, kind: DataType, forms: TextForms) -> Column:
    if forms.local_timestamp is not None:
        return sf.try_to_timestamp(text, sf.lit(forms.local_timestamp)).cast(kind)
    return tried_cast(sf.when(text.rlike(LOCAL_TIME), text), kind)


def _date(text: Column, kind: DataType, forms: TextForms) -> Column:
    if forms.date is not None:
        return sf.try_to_timestamp(text, sf.lit(forms.date)).cast(kind)
    return tried_cast(sf.when(text.rlike(DATE), text), kind)


_VALUES: dict[type[DataType], Callable[[Column, DataType, TextForms], Column]] = {
    StringType: _text,
    BooleanType: _cast_of(_TRUTH),
    **dict.fromkeys(_INTEGERS, _cast_of(_WHOLE)),
    **dict.fromkeys(_FLOATS, _float),
    DecimalType: _decimal,
    DateType: _date,
    TimestampType: _time,
    TimestampNTZType: _local_time,
}

_CAST_GRAMMARS: dict[type[DataType], str] = {
    BooleanType: "true|false",
    **dict.fromkeys(_INTEGERS, "-?[0-9]{1,18}"),
    **dict.fromkeys(_FLOATS, r"-?[0-9]{1,15}(?:\.[0-9]{0,15})?"),
    DateType: _DAY_OF_TEN,
    TimestampType: f"{_DAY_OF_TEN}{_CLOCK_OF_EIGHT}Z?",
    TimestampNTZType: f"{_DAY_OF_TEN}{_CLOCK_OF_EIGHT}",
}
