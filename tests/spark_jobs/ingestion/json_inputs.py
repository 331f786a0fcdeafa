"""Lines of JSON that Spark reads as something else, and what an independent parser reads."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

COLUMNS = (
    "id BIGINT, s STRING, b BOOLEAN, t TINYINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10,2), w DECIMAL(38,18), "
    "k DECIMAL(10,0), day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, raw BINARY, a ARRAY<DECIMAL(10,2)>, "
    "n STRUCT<x: INT, price: DECIMAL(10,2), tag: STRING>, o ARRAY<STRUCT<sku: STRING, q: INT>>, "
    "p MAP<STRING, DECIMAL(10,2)>"
)
"""The columns of every line; a line has a value of a few."""


@dataclass(frozen=True)
class Bad:
    """A bad row: the column and a part of the cause that the row has to name."""

    column: str | None
    cause: str


@dataclass(frozen=True)
class Line:
    """What a line holds behind its id, and the values that are right, or that the row is bad."""

    name: str
    text: str | bytes
    right: dict[str, Any] | Bad

    def encoded(self, number: int) -> bytes:
        """The line; its number is its id."""
        text = self.text.encode() if isinstance(self.text, str) else self.text
        return b'{"id": %d, %b}' % (number, text)


LINES = (
    # Numbers: digits that the column does not have, and the text of a number.
    Line("A2: a decimal comma", '"m": "12,50"', Bad("m", "DECIMAL(10,2)")),
    Line("A2: more digits than the scale", '"m": 1.239', Bad("m", "DECIMAL(10,2)")),
    Line("A2: the same in a string", '"m": "1.239"', Bad("m", "DECIMAL(10,2)")),
    Line("A2: a key with a fraction", '"k": 100.4', Bad("k", "DECIMAL(10,0)")),
    Line("zeros behind the scale", '"m": 1.2300', {"m": Decimal("1.23")}),
    Line("an exponent that fits", '"m": 1.5e3', {"m": Decimal("1500.00")}),
    Line("an exponent beyond", '"m": 1e9', Bad("m", "DECIMAL(10,2)")),
    Line("an exponent without end", '"m": 1e999999999', Bad("m", "DECIMAL(10,2)")),
    Line("zero with an exponent without end", '"m": 0e999999999', {"m": Decimal("0.00")}),
    Line("a decimal in a string", '"m": "-12.50"', {"m": Decimal("-12.50")}),
    Line("spiceai/spiceai#11192: 19 digits", '"w": 1.234567890123456789', {"w": Decimal("1.234567890123456789")}),
    Line("SPARK-48148: a number in a text column", '"s": 1.10', {"s": "1.10"}),
    Line(
        "gazelle_plugin#1207: 19 digits in a text column", '"s": 0.1234567890123456789', {"s": "0.1234567890123456789"}
    ),
    Line("a number beyond doubles in a text column", '"s": 1e400', {"s": "1e400"}),
    Line("an object in a text column", '"s": {"a": 1.10, "b": [1e400, "ü"]}', {"s": '{"a":1.10,"b":[1e400,"ü"]}'}),
    Line("a truth in a text column", '"s": true', {"s": "true"}),
    Line("a double beyond", '"d": 1e400', Bad("d", "DOUBLE")),
    Line("a double that is not zero", '"d": 1e-400', Bad("d", "DOUBLE")),
    Line("a float beyond", '"f": 1e39', Bad("f", "FLOAT")),
    Line("a float that is not zero", '"f": 1e-50', Bad("f", "FLOAT")),
    # Rounded to a double first, it becomes 1.0: the half of the last bit of a float and a little more.
    Line("a float that is rounded once", '"f": 1.00000005960464477540', {"f": 1.0000001192092896}),
    Line("the nearest double", '"d": 0.1234567890123456789', {"d": 0.1234567890123456789}),
    Line("SPARK-18772: NaN", '"d": NaN', Bad(None, "JSON")),
    Line("SPARK-18772: NaN in a string", '"d": "NaN"', Bad("d", "DOUBLE")),
    Line("a whole number with a fraction", '"l": 1.0', Bad("l", "BIGINT")),
    Line("pandas#44684: a whole number in a string", '"l": "202101010000000013"', Bad("l", "BIGINT")),
    Line("a whole number beyond", '"l": 9223372036854775808', Bad("l", "BIGINT")),
    Line("the last whole number", '"l": 9223372036854775807', {"l": 2**63 - 1}),
    Line("a small number beyond", '"t": 128', Bad("t", "TINYINT")),
    Line("SPARK-25040: an empty text for a number", '"i": ""', Bad("i", "INT")),
    Line("SPARK-25040: an empty text for a time", '"at": ""', Bad("at", "TIMESTAMP")),
    Line("a leading zero", '"i": 007', Bad(None, "JSON")),
    # Truths.
    Line("a number for a truth", '"b": 1', Bad("b", "BOOLEAN")),
    Line("a text for a truth", '"b": "true"', Bad("b", "BOOLEAN")),
    # Dates and times.
    Line("SPARK-49858: a year for a time", '"at": "2026"', Bad("at", "TIMESTAMP")),
    Line("a year for a date", '"day": "2026"', Bad("day", "DATE")),
    Line("a time of day, which is today's", '"at": "10:20"', Bad("at", "TIMESTAMP")),
    Line("days since the epoch", '"day": "17000"', Bad("day", "DATE")),
    Line("cudf-spark#11391: a time for a date", '"day": "2023-02-28 14:45:00"', Bad("day", "DATE")),
    Line("something behind a date", '"day": "2026-03-01 nonsense"', Bad("day", "DATE")),
    Line("a day that no month has", '"day": "2026-02-30"', Bad("day", "DATE")),
    Line("a day", '"day": "2024-02-29"', {"day": "2024-02-29"}),
    Line("SPARK-17914: nanoseconds", '"at": "2015-01-02T00:00:00.000000001Z"', Bad("at", "TIMESTAMP")),
    Line("nanoseconds that are zeros", '"at": "2015-01-02T00:00:00.123456000Z"', {"at": "2015-01-02 00:00:00.123456"}),
    Line("SPARK-44696: milliseconds taken for seconds", '"at": 1691241070000', Bad("at", "TIMESTAMP")),
    Line("a number for a date", '"day": 17000', Bad("day", "DATE")),
    Line("a time with its offset", '"at": "2026-03-01T12:00:00+02:00"', {"at": "2026-03-01 10:00:00"}),
    Line("a time of UTC", '"at": "2026-03-01 12:00:00.5"', {"at": "2026-03-01 12:00:00.5"}),
    Line("the hour 24", '"at": "2026-03-01T24:00:00Z"', Bad("at", "TIMESTAMP")),
    Line("a zone in a time without one", '"local": "2026-03-01T12:00:00+02:00"', Bad("local", "TIMESTAMP_NTZ")),
    Line("a time without a zone", '"local": "2026-03-01T12:00:00"', {"local": "2026-03-01 12:00:00"}),
    # Bytes.
    Line("bytes", '"raw": "/w=="', {"raw": b"\xff"}),
    Line("no base64", '"raw": "no base64!"', Bad("raw", "base64")),
    Line("base64 cut off", '"raw": "/w"', Bad("raw", "base64")),
    Line("base64 with spaces in it", '"raw": "/w ="', Bad("raw", "base64")),
    # Shapes.
    Line("a scalar for an array", '"a": 1.5', Bad("a", "ARRAY")),
    Line("an array", '"a": [1.5, null, "2.50"]', {"a": [Decimal("1.50"), None, Decimal("2.50")]}),
    Line("a bad element", '"a": [1.5, 1.239]', Bad("a", "DECIMAL(10,2)")),
    Line("SPARK-19595: an object for an array of objects", '"o": {"sku": "x"}', Bad("o", "ARRAY")),
    Line("an array for an object", '"n": [{"x": 1}]', Bad("n", "STRUCT")),
    Line("a text for an object", '"n": "{}"', Bad("n", "STRUCT")),
    Line("SPARK-40646: a bad field within", '"n": {"x": "one", "tag": "t"}', Bad("n.x", "INT")),
    Line("a rounded field within", '"n": {"price": 2.005}', Bad("n.price", "DECIMAL(10,2)")),
    Line("a bad field of an element", '"o": [{"q": 1}, {"q": 1.5}]', Bad("o.q", "INT")),
    Line("a map", '"p": {"a": 1, "b": null}', {"p": {"a": Decimal("1.00"), "b": None}}),
    Line("a bad value of a map", '"p": {"a": 1.239}', Bad("p", "DECIMAL(10,2)")),
    Line("an array for a map", '"p": []', Bad("p", "MAP")),
    # Names.
    Line("parson#7: a name twice", '"i": 1, "i": 2', Bad(None, "Duplicate field 'i'")),
    Line("jq#1636: a name twice within", '"n": {"x": 1, "x": 2}', Bad(None, "Duplicate field 'x'")),
    Line("SPARK-49451: a key of a map twice", '"p": {"a": 1, "a": 2}', Bad(None, "Duplicate field 'a'")),
    Line("a name twice, once escaped", '"i": 1, "\\u0069": 2', Bad(None, "Duplicate field 'i'")),
    Line("a name in other letters", '"I": 1', Bad("i", "'I'")),
    Line("a name in both", '"i": 1, "I": 2', Bad("i", "'I'")),
    Line("a name in other letters within", '"n": {"X": 1}', Bad("n.x", "'X'")),
    # Text.
    Line("an apostrophe for a quote", "\"s\": 'x'", Bad(None, "JSON")),
    Line("half of a character", '"s": "\\ud83d"', Bad("s", "surrogate")),
    Line("half of a character in a name", '"p": {"\\udc00": 1}', Bad("p", "surrogate")),
    Line("a whole character", '"s": "\\ud83d\\ude00\\u0000"', {"s": "\U0001f600\0"}),
    Line("SPARK-23094: no UTF-8", b'"s": "\xff"', Bad(None, "UTF-8")),
    Line("no UTF-8 in a name", b'"p": {"\xff": 1}', Bad(None, "UTF-8")),
    Line("a surrogate as bytes", b'"s": "\xed\xa0\xbd"', Bad(None, "UTF-8")),
    Line("the replacement character itself", '"s": "\ufffd"', {"s": "\ufffd"}),
    Line("a control character", '"s": "a\tb"', Bad(None, "JSON")),
    # More than one value, or less.
    Line("two objects", '"i": 1} {"id": 0', Bad(None, "JSON")),
    Line("something behind the object", '"i": 1} x {', Bad(None, "JSON")),
    Line("cut off", '"n": {"x": 1', Bad(None, "JSON")),
    Line("a comment", '"i": /* one */ 1', Bad(None, "JSON")),
    Line("a comma at the end", '"i": 1,', Bad(None, "JSON")),
    Line("nothing but null", '"i": null, "n": null, "a": null', {}),
)
"""Every line for itself; the number of a line is its place here."""

WHOLE = {
    "SPARK-3308: an array of objects": b'[{"id": 1001}, {"id": 1002}]',
    "a number": b"17",
    "a text": b'"{}"',
    "null": b"null",
    "UTF-16, which Jackson finds by itself": '{"id": 1003}'.encode("utf-16-be"),
}
"""Lines that are no object."""
