"""An older Avro schema is read as the newest only where every value stays what it is."""

import json
from typing import Any

import pytest

from hudi_jobs.ingestion.sources.kafka.formats.avro_schemas import means_the_same

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def enum(*symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": "Kind", "symbols": list(symbols), "default": symbols[0]}


def order(kind: Any, **more: Any) -> str:
    fields = [{"name": "x", "type": kind}, *({"name": name, "type": one} for name, one in more.items())]
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


def inner(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Inner", "fields": [{"name": "y", "type": kind}]}


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ("long", "long"),
        ("int", "long"),
        ("float", "double"),
        ("long", "double"),
        ("long", ["null", "long"]),
        (["null", "string"], ["null", "string", "long"]),
        (MILLIS, ["null", MILLIS]),
        (decimal(10, 2), decimal(12, 2)),
        (enum("A", "B"), enum("B", "A", "C")),
        ({"type": "array", "items": MILLIS}, {"type": "array", "items": MILLIS}),
        (inner(MICROS), ["null", inner(MICROS)]),
    ],
    ids=str,
)
def test_values_are_the_same(writer: Any, reader: Any) -> None:
    assert means_the_same(order(writer), order(reader, more="string"))


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (MILLIS, MICROS),
        (MILLIS, "long"),
        ("long", MILLIS),
        (["null", MILLIS], ["null", MICROS]),
        (["null", MILLIS, "string"], ["null", MICROS, "string"]),
        (decimal(10, 4), decimal(8, 2)),
        (decimal(10, 2), decimal(8, 2)),
        (enum("A", "B"), enum("A")),
        ({"type": "array", "items": MILLIS}, {"type": "array", "items": MICROS}),
        ({"type": "map", "values": ["null", MILLIS]}, {"type": "map", "values": ["null", MICROS]}),
        (inner(MILLIS), inner(MICROS)),
        (inner(enum("A", "B")), inner(enum("A"))),
    ],
    ids=str,
)
def test_values_would_be_others(writer: Any, reader: Any) -> None:
    assert not means_the_same(order(writer), order(reader))


def test_a_name_stands_for_what_it_names() -> None:
    used_twice = order(enum("A", "B"), again=["null", "Kind"])
    assert means_the_same(used_twice, used_twice)
    assert means_the_same(used_twice, order(enum("A", "B", "C"), again="shop.Kind"))
    assert not means_the_same(used_twice, order(enum("A", "B"), again=enum("A") | {"name": "Other"}))


def test_a_column_that_the_reader_lacks_is_not_left_out() -> None:
    assert not means_the_same(order("long", more="string"), order("long"))
