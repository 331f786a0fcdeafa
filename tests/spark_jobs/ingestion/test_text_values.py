"""Texts of every type: the value that Python's own parsers read, or a fault with its cause."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.ingestion.text.text_values import text_fault, text_value
from hudi_jobs.schemas.columns import parse_ddl

pytestmark = pytest.mark.spark

FAULT = "fault"
GOOD: dict[str, list[tuple[str, Any]]] = {
    "STRING": [(text, text) for text in (" a ", "\\", "\ufffd", "")],
    "TINYINT": [("-128", -128), ("+007", 7), ("-0", 0)],
    "BIGINT": [("-9223372036854775808", -(2**63)), ("0", 0)],
    "BOOLEAN": [("true", True), ("FALSE", False)],
    "DOUBLE": [
        ("1", 1.0),
        ("1.", 1.0),
        ("-.5e1", -5.0),
        ("0e-400", 0.0),
        ("4.9e-324", 5e-324),
        ("-Inf", float("-inf")),
    ],
    "FLOAT": [("3.4028235e38", float("3.4028234663852886e+38")), ("0.5", 0.5)],
    "DECIMAL(10,2)": [(text, Decimal(text)) for text in ("1.230", "1E+3", "0E-10", "1.5e-1", ".5", "5.", "+1", "1e7")],
    "DECIMAL(10,0)": [("100.0", Decimal(100))],
    "DECIMAL(38,38)": [(f".{'1234567890' * 3}12345678", Decimal(f".{'1234567890' * 3}12345678"))],
    "DATE": [("2026-03-01", date(2026, 3, 1)), ("2026-3-1", date(2026, 3, 1)), ("0001-01-01", date(1, 1, 1))],
    "TIMESTAMP": [
        ("2026-03-01", "2026-03-01T00:00"),
        ("2026-03-01 10:20", "2026-03-01T10:20"),
        ("2026-03-01T10:20:30.123456000Z", "2026-03-01T10:20:30.123456"),
        ("2026-03-01 10:20:30 +01:30", "2026-03-01T08:50:30"),
        ("2026-03-01 10:20:30-0130", "2026-03-01T11:50:30"),
        ("2026-07-01 10:20:30 Europe/Berlin", "2026-07-01T08:20:30"),
    ],
    "TIMESTAMP_NTZ": [("2026-03-01 10:20:30.5", "2026-03-01T10:20:30.5")],
}
BAD = {
    "TINYINT": {
        "out of the range": ["128"],
        "not a whole number": ["1.0", " 1", "1e3", "٣", "1_000", "", "1,000", "0x1"],
    },
    "BIGINT": {"out of the range": ["9223372036854775808"], "not a whole number": ["1" * 20]},
    "BOOLEAN": {"neither true nor false": ["t", "1", "yes", "fal\u017fe", " true"]},
    "DOUBLE": {
        "not a number": ["1d", "0x1p3", "nan", ".", " 1", "1,5", "e5"],
        "out of the range": ["1e400", "-1e400", "1e-400"],
    },
    "FLOAT": {"out of the range": ["1e39", "1e-60"], "not a number": ["1f"]},
    "DECIMAL(10,2)": {
        "has a comma": ["12,50", "1,234.50"],
        "more than 2 digits": ["1.239", "1.25e-1", "1e-999"],
        "out of the range": ["123456789", "1e8"],
        "not a number": ["", "1 000", "0x10", "NaN"],
    },
    "DECIMAL(10,0)": {"more than 0 digits": ["100.4", "100.3"]},
    "DATE": {
        "not a date": ["2026", "2026-03", "2026-02-30", "2026-03-01 x", "2026-03-01T00:00:00", "0000-01-01", "20260301"]
    },
    "TIMESTAMP": {
        "not a time": [
            "10:20",
            "2026",
            "2026-03",
            "1732400000",
            "2026-03-01 25:00:00",
            "2026-03-01 10:20:30 CST",
            "now",
        ],
        "six digits": ["2026-03-01 10:20:30.1234567"],
    },
    "TIMESTAMP_NTZ": {"without a zone": ["2026-03-01 10:20:30Z"]},
}
DECIMAL_COMMAS = {
    "point": ",",
    "timezone": "Europe/Berlin",
    "dateformat": "dd.MM.yyyy",
    "timestampformat": "dd.MM.yyyy HH:mm",
}


def read(
    spark: SparkSession, texts: dict[str, list[str]], options: dict[str, str] | None = None
) -> dict[tuple[str, str], tuple[Any, str | None]]:
    """Read all texts in one action: each in a column of its type."""
    kinds = parse_ddl(spark, ", ".join(f"`{kind}` {kind}" for kind in texts))
    rows = [(kind, text) for kind, members in texts.items() for text in members]
    frame = spark.createDataFrame(rows, "kind STRING, text STRING")
    shown = frame.select("*", *_read_as(spark, kinds, options or {}))
    return {(row.kind, row.text): tuple(row[row.kind]) for row in shown.collect()}


def _read_as(spark: SparkSession, kinds: StructType, options: dict[str, str]) -> list[Any]:
    text = sf.col("text")
    found = []
    for name, kind in ((field.name, field.dataType) for field in kinds):
        value = text_value(spark, text, kind, options)
        fault = text_fault(spark, text, kind, options)
        both = sf.struct(value.alias("value"), fault.alias("fault"))
        found.append(sf.when(sf.col("kind") == name, both).alias(name))
    return found


@pytest.mark.parametrize("ansi", ["false", "true"])
def test_texts_are_read_as_they_say_or_have_a_fault(spark: SparkSession, ansi: str) -> None:
    """With `spark.sql.ansi.enabled`, which a class may open, a plain cast would end the run."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    texts = {kind: [text for text, _ in pairs] for kind, pairs in GOOD.items()}
    for kind, faults in BAD.items():
        texts[kind] = texts[kind] + [text for members in faults.values() for text in members]
    found = read(session, texts)
    for kind, pairs in GOOD.items():
        for text, value in pairs:
            wanted = datetime.fromisoformat(value) if kind.startswith("TIMESTAMP") else value
            assert found[kind, text] == (wanted, None), (kind, text)
    for kind, faults in BAD.items():
        for words, members in faults.items():
            for text in members:
                value, fault = found[kind, text]
                assert value is None, (kind, text)
                assert words in (fault or ""), (kind, text, fault)


def test_the_words_of_options_are_read_as_the_options_say(spark: SparkSession) -> None:
    texts = {
        "DECIMAL(10,2)": ["12,50", "1.234,50", "12.50", "1E+1"],
        "DATE": ["01.03.2026", "2026-03-01", "31.02.2026"],
        "TIMESTAMP": ["01.07.2026 10:20", "01.07.2026 10:20Z"],
        "DOUBLE": ["12.5"],
    }
    found = read(spark, texts, DECIMAL_COMMAS)
    values = {key: value for key, (value, fault) in found.items() if fault is None}
    assert values == {
        ("DECIMAL(10,2)", "12,50"): Decimal("12.50"),
        ("DECIMAL(10,2)", "1E+1"): Decimal(10),
        ("DATE", "01.03.2026"): date(2026, 3, 1),
        ("TIMESTAMP", "01.07.2026 10:20"): datetime(2026, 7, 1, 8, 20),  # noqa: DTZ001 - UTC, as the session shows it
        ("DOUBLE", "12.5"): 12.5,
    }
    assert "has a point" in str(found["DECIMAL(10,2)", "12.50"][1])
