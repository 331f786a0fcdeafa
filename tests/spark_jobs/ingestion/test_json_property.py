"""Generated JSON over all declared types, against what Python's own parsers read."""

import datetime as dt
import json
import random
import re
import struct
from base64 import b64encode
from binascii import a2b_base64
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from tests.spark_jobs.ingestion.test_json_values import of_files, values
from tests.spark_jobs.trials import ALL

from hudi_jobs.schemas.columns import parse_ddl

pytestmark = pytest.mark.spark

_ROWS = 40_000 if ALL else 3_000
_TYPES = (
    "s STRING, b BOOLEAN, t TINYINT, h SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10,2), "
    "w DECIMAL(38,18), k DECIMAL(10,0), day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, raw BINARY, a ARRAY<INT>, "
    "am ARRAY<DECIMAL(5,2)>, n STRUCT<x: INT, y: STRING, z: STRUCT<d: DOUBLE, l: ARRAY<STRING>>>, "
    "o ARRAY<STRUCT<q: SMALLINT, r: DATE>>, p MAP<STRING, BIGINT>, pp MAP<STRING, ARRAY<FLOAT>>"
)
_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_LAST_FLOAT = float(2**128 - 2**104)
_FLOATS_END = 2**128 - 2**103
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,6})0*)?(Z|[+-]\d{2}:\d{2})?", re.ASCII)


class Wrong(Exception):
    """A value is none of its type."""


class Number(str):
    """A number as it is written."""

    __slots__ = ()


def parsed(text: str) -> Any:
    """Return what a text holds, with numbers as they are written; refuse what is no JSON, and names that come twice."""

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError(pairs)
        return dict(pairs)

    def constant(name: str) -> Any:
        raise ValueError(name)

    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=constant, object_pairs_hook=fields)


def right(value: Any, kind: DataType) -> Any:  # noqa: PLR0911 - one for each kind of type
    """Return the value of a type that a value of JSON is; raise `Wrong` where it is none."""
    if value is None:
        return None
    if isinstance(kind, StringType):
        return text_of(value)
    if isinstance(kind, StructType):
        return {one.name: right(shaped(value, dict).get(one.name), one.dataType) for one in kind.fields}
    if isinstance(kind, ArrayType):
        return [right(one, kind.elementType) for one in shaped(value, list)]
    if isinstance(kind, MapType):
        return {text_of(key): right(one, kind.valueType) for key, one in shaped(value, dict).items()}
    if isinstance(kind, BooleanType):
        return shaped(value, bool)
    if isinstance(value, Number):
        return number(value, kind)
    return of_text(shaped(value, str), kind)


def shaped(value: Any, shape: type) -> Any:
    if not isinstance(value, shape) or (shape is str and isinstance(value, Number)):
        raise Wrong(value)
    return value


def text_of(value: Any) -> str:
    text = str(value) if isinstance(value, str) else written(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Wrong(value) from error
    return text


def written(value: Any) -> str:
    """Return JSON without white space, with numbers as they were written."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{written(key)}:{written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    return str(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)


def number(text: Number, kind: DataType) -> Any:
    bits = _BITS.get(type(kind))
    if bits is not None and re.fullmatch(r"-?\d+", text) and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        return int(text)
    if isinstance(kind, DecimalType):
        return decimal(text, kind)
    if isinstance(kind, DoubleType):
        return in_range(float(text), text)
    if isinstance(kind, FloatType):
        return in_range(nearest_float(text), text)
    raise Wrong(text)


def in_range(found: float, text: str) -> float:
    if abs(found) == float("inf") or (found == 0 and Decimal(text) != 0):
        raise Wrong(text)
    return found


def nearest_float(text: str) -> float:
    """Return the number of 32 bits that is nearest to a text, which is rounded once."""
    if abs(Fraction(Decimal(text))) >= _FLOATS_END:
        raise Wrong(text)
    bits = struct.unpack("<i", struct.pack("<f", min(abs(float(text)), _LAST_FLOAT)))[0]
    near: list[float] = [
        struct.unpack("<f", struct.pack("<i", one))[0] for one in (bits - 1, bits, bits + 1) if one >= 0
    ]
    exact = abs(Fraction(Decimal(text)))
    best = min((abs(Fraction(one) - exact), at % 2, one) for at, one in enumerate(near, bits - 1) if one < float("inf"))
    return -best[2] if text.startswith("-") else best[2]


def decimal(text: str, kind: DecimalType) -> Decimal:
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int), "a number"
    whole = int("".join(map(str, digits)))
    behind = kind.scale + exponent
    if whole and (abs(behind) > 60 or len(str(whole)) + behind > kind.precision):
        raise Wrong(text)
    scaled = whole * Fraction(10) ** behind if whole else Fraction(0)
    if scaled.denominator != 1:
        raise Wrong(text)
    return Decimal((sign if scaled else 0, tuple(map(int, str(int(scaled)))), -kind.scale))


def of_text(text: str, kind: DataType) -> Any:
    try:
        if isinstance(kind, DecimalType) and re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?", text, re.ASCII):
            return decimal(text, kind)
        if isinstance(kind, BinaryType):
            return whole_bytes(text)
        if isinstance(kind, DateType) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
            return dt.date.fromisoformat(text)
        found = _TIME.fullmatch(text)
        if found is not None and isinstance(kind, TimestampType | TimestampNTZType):
            return time(found, has_zone=isinstance(kind, TimestampType))
    except ValueError as error:
        raise Wrong(text) from error
    raise Wrong(text)


def whole_bytes(text: str) -> bytes:
    found = a2b_base64(text, strict_mode=True)
    if b64encode(found).decode() != text:
        raise ValueError(text)
    return found


def time(found: re.Match[str], *, has_zone: bool) -> str:
    day, clock, fraction, zone = found.groups()
    if zone and not has_zone:
        raise ValueError(zone)
    moment = dt.datetime.fromisoformat(f"{day}T{clock}.{(fraction or '').ljust(6, '0')}{zone or '+00:00'}")
    if moment.utcoffset() and abs(moment.utcoffset() or dt.timedelta()) > dt.timedelta(hours=18):
        raise ValueError(zone)
    try:
        text = str(moment.astimezone(dt.UTC).replace(tzinfo=None))
    except OverflowError as error:
        raise ValueError(zone) from error
    return text.rstrip("0") if "." in text else text


class Generator:
    """Makes texts of JSON that are mostly values of a type, and often nearly."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def line(self, number: int, kinds: StructType) -> str:
        """Return a line with a few columns, sometimes spoilt."""
        chosen = self._random.sample(kinds.fields, self._random.choice((1, 1, 2, 3)))
        parts = [f'"{one.name}": {self.value(one.dataType)}' for one in chosen]
        if self._random.random() < 0.03:
            parts.append(
                self._random.choice([parts[0], '"S": 1', '"unknown": {"a": [1e999, "\\ud800"]}', "", "x", "'y': 1"])
            )
        return f'{{"id": {number}, {", ".join(parts)}}}' + self._random.choice([""] * 60 + ["}", " ", " {}", ","])

    def value(self, kind: DataType) -> str:  # noqa: PLR0911 - one for each kind of type
        draw = self._random.random()
        if draw < 0.03:
            return self._random.choice(
                ["null", "true", "[]", "{}", '""', '"x"', "1", "-1.5", "NaN", "[1", "007", "+1", ".5"]
            )
        if isinstance(kind, StructType):
            fields = [one for one in kind.fields if self._random.random() < 0.8]
            return f"{{{', '.join(f'{json.dumps(one.name)}: {self.value(one.dataType)}' for one in fields)}}}"
        if isinstance(kind, ArrayType):
            return f"[{', '.join(self.value(kind.elementType) for _ in range(self._random.randrange(4)))}]"
        if isinstance(kind, MapType):
            keys = (self.text() for _ in range(self._random.randrange(4)))
            return f"{{{', '.join(f'{key}: {self.value(kind.valueType)}' for key in keys)}}}"
        if isinstance(kind, BooleanType):
            return self._random.choice(["true", "false", "True", "1", '"true"'])
        if isinstance(kind, StringType):
            return self._random.choice([self.text, self.text, self.number, self.json])()
        if isinstance(kind, BinaryType):
            coded = b64encode(self._random.randbytes(self._random.randrange(8))).decode()
            return json.dumps(
                coded if draw < 0.8 else self._random.choice([coded[:-1], coded + "\n", f" {coded}", "-_=="])
            )
        if isinstance(kind, DateType | TimestampType | TimestampNTZType):
            return json.dumps(self.time(kind))
        text = self.number() if draw < 0.8 else str(self._random.randrange(-200, 200))
        return json.dumps(text) if isinstance(kind, DecimalType) and draw < 0.3 else text

    def number(self) -> str:
        digits = self._random.choice([1, 2, 3, 5, 9, 10, 18, 19, 20, 38, 45])
        whole = str(self._random.randrange(10**digits))
        choose = self._random.choice
        fraction = choose(
            ["", "", ".0", ".00", f".{self._random.randrange(1000)}", f".{self._random.randrange(10**20)}"]
        )
        exponent = choose(
            ["", "", "", "", "e0", f"E{self._random.randrange(-50, 50)}", "e-400", "e+309", "e38", "e-46"]
        )
        return choose(["", "", "-"]) + whole + fraction + exponent

    def text(self) -> str:
        parts = [
            "a",
            "Z",
            " ",
            "\\n",
            "\\u0041",
            "ü",
            "\\u00fc",
            "😀",
            "\\ud83d\\ude00",
            "\\/",
            "\\\\",
            "\\u0000",
            "\ufffd",
        ]
        rare = ["\\ud83d", "\\udc00", "\\x", "\t"] if self._random.random() < 0.05 else []
        return '"' + "".join(self._random.choice(parts + rare) for _ in range(self._random.randrange(6))) + '"'

    def json(self) -> str:
        return self._random.choice(
            [f'{{"k" : {self.number()}, "t": [ {self.text()} , null]}}', f"[{self.number()},{{}}]", "true"]
        )

    def time(self, kind: DataType) -> str:
        choose, below = self._random.choice, self._random.randrange
        day = f"{choose([1, 999, 1582, 1883, 1970, 2024, 2026, 9999]):04}-{below(1, 13):02}-{below(1, 32):02}"
        if isinstance(kind, DateType):
            return day + choose([""] * 8 + ["T", " ", " x", "Z"])
        clock = f"{below(25):02}:{below(60):02}:{choose([0, 1, 30, 59, 59, 60]):02}"
        fraction = choose(["", ".1", f".{below(10**6):06}", ".123456000", ".1234567", "."])
        zone = choose(["Z", "+02:00", "-11:30", "+18:00", "+18:01", "z", " x"]) if below(3) == 0 else ""
        return day + choose("TTTT   tx") + clock + fraction + zone


def test_generated_json_has_the_values_that_python_reads_or_names_a_column_that_it_does_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    kinds = parse_ddl(spark, _TYPES)
    generator = Generator(seed=20261128)
    lines = [generator.line(number, kinds) for number in range(_ROWS)]
    frame = of_files(spark, tmp_path, "\n".join(lines).encode(), ddl=f"id BIGINT, {_TYPES}").frame
    found, bad = values(frame)
    wrong, good = [], 0
    for number, line in enumerate(lines):
        fault, told = bad.get(line), found.get(number)
        try:
            held = parsed(line)
        except ValueError:
            held = None
        if held is None or not isinstance(held, dict):
            is_right = fault is not None
        else:
            expected, faults = expected_of(held, kinds)
            is_right = (
                (fault is None and told == expected)
                if not faults
                else (fault is not None and named(fault.column) in faults)
            )
            good += not faults
        if not is_right:
            wrong.append((line, fault, told))
    assert not wrong[:5], f"{len(wrong)} of {len(lines)}"
    assert _ROWS // 4 < good < _ROWS * 3 // 4, "both kinds are there"


def named(column: str | None) -> str | None:
    return column and column.partition(".")[0]


def expected_of(held: dict[str, Any], kinds: StructType) -> tuple[dict[str, Any], set[str | None]]:
    """Return the values of a line, and the columns that have none."""
    values: dict[str, Any] = {}
    faults: set[str | None] = set()
    for one in kinds.fields:
        try:
            value = right(held.get(one.name), one.dataType)
        except Wrong:
            faults.add(one.name)
        else:
            value = str(value) if isinstance(value, dt.date) else value
            values |= {} if value is None else {one.name: value}
    spelt = {one.name.lower() for one in kinds.fields}
    faults |= {name.lower() for name in held if name not in kinds.fieldNames() and name.lower() in spelt}
    return values, faults
