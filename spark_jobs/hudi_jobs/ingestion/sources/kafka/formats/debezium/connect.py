"""Converts Kafka Connect's types of an event to Spark's: schemas as JSON, bounded."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

ConnectJson: TypeAlias = Mapping[str, Any]
Convert: TypeAlias = Callable[[Column], Column]

_DEEPEST = 20
_WIDEST = 38
_LONGEST_DECIMAL = 16
_PADDED = 2 * _WIDEST
_MOST_MILLIS = (2**63 - 1) // 1000
_PRIMITIVES: dict[str, DataType] = {
    "int8": IntegerType(),
    "int16": IntegerType(),
    "int32": IntegerType(),
    "int64": LongType(),
    "float": FloatType(),
    "float32": FloatType(),
    "double": DoubleType(),
    "float64": DoubleType(),
    "boolean": BooleanType(),
    "string": StringType(),
    "bytes": BinaryType(),
}
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE_DECIMAL = "struct<scale:int,value:binary>"
"""The type of decimals that carry their own scale."""


def _date(value: Column) -> Column:
    return sf.date_add(sf.lit("1970-01-01").cast("date"), value)


def _of_millis(value: Column) -> Column:
    # Spark ends the run if the microseconds overflow.
    return sf.when(value.between(-_MOST_MILLIS, _MOST_MILLIS), sf.timestamp_millis(value))


def _of_micros(value: Column) -> Column:
    return sf.timestamp_micros(value)


_TIMES: dict[tuple[str, str], tuple[DataType, Convert]] = {
    ("io.debezium.time.Date", "int32"): (DateType(), _date),
    ("org.apache.kafka.connect.data.Date", "int32"): (DateType(), _date),
    ("io.debezium.time.Timestamp", "int64"): (TimestampType(), _of_millis),
    ("org.apache.kafka.connect.data.Timestamp", "int64"): (TimestampType(), _of_millis),
    ("io.debezium.time.MicroTimestamp", "int64"): (TimestampType(), _of_micros),
}


class NotConnect(ValueError):
    """A text is not a Kafka Connect schema."""


@dataclass(frozen=True)
class Kind:
    """A value's JSON type, its final type, and the conversion; `convert` is None if none is needed."""

    raw: DataType
    type: DataType
    convert: Convert | None = None

    def value(self, column: Column) -> Column:
        """Return the value in its final type; unconvertible values are null."""
        return column if self.convert is None else self.convert(column)


def parse(text: str) -> ConnectJson:
    """Parse a schema; raise `NotConnect` if the text is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotConnect from error
    if not isinstance(found, dict):
        raise NotConnect
    return found


def field_named(schema: ConnectJson, name: str) -> ConnectJson | None:
    """Return the schema of a field of a struct."""
    fields = schema.get("fields")
    found = fields if isinstance(fields, list) else []
    return next((one for one in found if isinstance(one, dict) and one.get("field") == name), None)


def columns_of(schema: ConnectJson, kept: Mapping[str, DataType]) -> dict[str, Kind]:
    """Return a row's columns; columns in `kept` that already have the sent type stay as they are."""
    fields = schema.get("fields")
    if schema.get("type") != "struct" or not isinstance(fields, list):
        raise NotConnect
    found: dict[str, Kind] = {}
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("field"), str) or field["field"] in found:
            raise NotConnect
        kind = kind_of(field)
        name = field["field"]
        stays = name in kept and kept[name].simpleString() == kind.raw.simpleString()
        found[name] = Kind(kind.raw, kind.raw) if stays else kind
    return found


def kind_of(schema: ConnectJson, depth: int = 0) -> Kind:
    """Return the kind of a schema's values; raise `NotConnect` for an invalid schema."""
    kind, name = schema.get("type"), str(schema.get("name"))
    if depth > _DEEPEST or not isinstance(kind, str):
        raise NotConnect
    if kind == "array":
        return _array(kind_of(_part(schema, "items"), depth + 1))
    if kind == "map":
        key, value = (kind_of(_part(schema, part), depth + 1) for part in ("keys", "values"))
        if not isinstance(key.raw, StringType):
            raise NotConnect
        return _map(value)
    if kind == "struct":
        return _struct(schema, depth)
    if kind not in _PRIMITIVES:
        raise NotConnect
    if name == _DECIMAL and kind == "bytes":
        return _decimal(schema)
    known = _TIMES.get((name, kind))
    raw = _PRIMITIVES[kind]
    return Kind(raw, raw) if known is None else Kind(raw, *known)


def _part(schema: ConnectJson, name: str) -> ConnectJson:
    part = schema.get(name)
    if not isinstance(part, dict):
        raise NotConnect
    return part


def _array(item: Kind) -> Kind:
    if item.convert is None:
        return Kind(ArrayType(item.raw), ArrayType(item.raw))
    return Kind(ArrayType(item.raw), ArrayType(item.type), lambda column: sf.transform(column, item.value))


def _map(value: Kind) -> Kind:
    raw = MapType(StringType(), value.raw)
    if value.convert is None:
        return Kind(raw, raw)
    kind = MapType(StringType(), value.type)
    return Kind(raw, kind, lambda column: sf.transform_values(column, lambda _, one: value.value(one)))


def _struct(schema: ConnectJson, depth: int) -> Kind:
    fields = schema.get("fields")
    if not isinstance(fields, list):
        raise NotConnect
    parts = {str(f.get("field")): kind_of(f, depth + 1) for f in fields if isinstance(f, dict)}
    raw = StructType([StructField(name, part.raw) for name, part in parts.items()])
    if all(part.convert is None for part in parts.values()):
        return Kind(raw, raw)

    def converted(column: Column) -> Column:
        made = [part.value(column[name]).alias(name) for name, part in parts.items()]
        return sf.when(column.isNotNull(), sf.struct(*made))

    return Kind(raw, StructType([StructField(name, part.type) for name, part in parts.items()]), converted)


def _decimal(schema: ConnectJson) -> Kind:
    parameters = schema.get("parameters")
    given = parameters if isinstance(parameters, dict) else {}
    try:
        scale = int(given.get("scale", ""))
        precision = int(given.get("connect.decimal.precision", _WIDEST))
    except (TypeError, ValueError) as error:
        raise NotConnect from error
    if not 0 <= scale <= _WIDEST:
        raise NotConnect
    kind = DecimalType(min(max(precision, scale, 1), _WIDEST), scale)
    return Kind(BinaryType(), kind, lambda column: decimal_of(column, kind))


def decimal_of(value: Column, kind: DecimalType) -> Column:
    """Return the number in two's-complement bytes; null if it does not fit.

    Spark decodes it only in Avro, whose bytes are these with their length in front.
    """
    schema = {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    size = sf.unhex(sf.lpad(sf.hex(sf.length(value) * 2), 2, "0"))
    short = (sf.length(value) > 0) & (sf.length(value) <= _LONGEST_DECIMAL)
    return sf.when(short, from_avro(sf.concat(size, value), json.dumps(schema), {"mode": "PERMISSIVE"}))


def decimal_text(value: Column) -> Column:
    """Return the text of a decimal that carries its own scale, a struct of both."""
    digits, scale = decimal_of(value["value"], DecimalType(_WIDEST, 0)), value["scale"]
    padded = sf.lpad(sf.abs(digits).cast("string"), _PADDED, "0")
    whole = sf.regexp_replace(padded.substr(sf.lit(1), sf.lit(_PADDED) - scale), "^0+", "")
    before = sf.when(whole == "", "0").otherwise(whole)
    after = padded.substr(sf.lit(_PADDED + 1) - scale, scale)
    text = sf.concat(
        sf.when(digits < 0, "-").otherwise(""), before, sf.when(scale > 0, sf.concat(sf.lit("."), after)).otherwise("")
    )
    return sf.when((scale >= 0) & (scale <= _WIDEST), text)
