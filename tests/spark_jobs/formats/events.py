"""Change events as Debezium 2.7 sends them, of PostgreSQL and of MySQL."""

import base64
import json
from typing import Any

PLACEHOLDER = "__debezium_unavailable_value"


def postgres(op: str, row: dict[str, Any] | None, *, lsn: int = 0, **fields: Any) -> dict[str, Any]:
    """An event in JSON without its schema; `row` is the image that the operation has."""
    source = {
        "version": "2.7.4.Final",
        "connector": "postgresql",
        "name": "shop",
        "ts_ms": 1732400000000 + lsn,
        "snapshot": "false",
        "db": "shop",
        "sequence": f'["{lsn}","{lsn}"]',
        "schema": "public",
        "table": "orders",
        "txId": 700 + lsn,
        "lsn": lsn,
        "xmin": None,
    }
    images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
    return {**images, "source": source, "op": op, "ts_ms": 1732400000500, "transaction": None, **fields}


MYSQL_UPDATE = json.loads("""{
  "before": {"id": 1004, "first_name": "Anne", "last_name": "Kretchmar", "email": "annek@noanswer.org"},
  "after": {"id": 1004, "first_name": "Anne Marie", "last_name": "Kretchmar", "email": "annek@noanswer.org"},
  "source": {"version": "2.7.3.Final", "name": "mysql-server-1", "connector": "mysql", "ts_ms": 1465581029100,
    "ts_us": 1465581029100000, "ts_ns": 1465581029100000000, "snapshot": false, "db": "inventory",
    "table": "customers", "server_id": 223344, "gtid": null, "file": "mysql-bin.000003", "pos": 484, "row": 0,
    "thread": 7, "query": "UPDATE customers SET first_name='Anne Marie' WHERE id=1004"},
  "op": "u", "ts_ms": 1465581029523, "ts_us": 1465581029523758, "ts_ns": 1465581029523758914
}""")
"""The update in Debezium's documentation of its MySQL connector."""

FIELDS: list[dict[str, Any]] = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "note"},
    {"type": "bytes", "optional": True, "field": "image"},
    {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "version": 1, "field": "day"},
    {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1, "field": "at"},
    {"type": "int64", "optional": True, "name": "io.debezium.time.Timestamp", "version": 1, "field": "at3"},
    {"type": "string", "optional": True, "name": "io.debezium.time.ZonedTimestamp", "version": 1, "field": "zoned"},
    {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTime", "version": 1, "field": "clock"},
    {
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "12"},
        "field": "price",
    },
    {
        "type": "struct",
        "fields": [
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ],
        "optional": True,
        "name": "io.debezium.data.VariableScaleDecimal",
        "version": 1,
        "field": "any_number",
    },
    {"type": "string", "optional": True, "name": "io.debezium.data.Json", "version": 1, "field": "doc"},
    {"type": "string", "optional": True, "name": "io.debezium.data.Uuid", "version": 1, "field": "ref"},
    {
        "type": "array",
        "items": {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "version": 1},
        "optional": True,
        "field": "days",
    },
    {"type": "array", "items": {"type": "string", "optional": True}, "optional": True, "field": "tags"},
    {"type": "float32", "optional": True, "field": "ratio"},
    {"type": "boolean", "optional": True, "field": "paid"},
]


def only(*names: str) -> list[dict[str, Any]]:
    """Some of the fields: Spark compiles code for each column of a schema, and for each schema anew."""
    return [field for field in FIELDS if field["field"] in names]


def schema_of(fields: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema that Kafka Connect's JSON converter puts before an event."""
    row = {"type": "struct", "fields": fields, "optional": True, "name": "shop.public.orders.Value"}
    source = {
        "type": "struct",
        "fields": [{"type": "int64", "optional": True, "field": "lsn"}],
        "optional": False,
        "name": "io.debezium.connector.postgresql.Source",
        "field": "source",
    }
    return {
        "type": "struct",
        "fields": [
            {**row, "field": "before"},
            {**row, "field": "after"},
            source,
            {"type": "string", "optional": False, "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
        ],
        "optional": False,
        "name": "shop.public.orders.Envelope",
        "version": 2,
    }


def with_schema(event: dict[str, Any], fields: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """An event as the JSON converter writes it with `schemas.enable`."""
    return {"schema": schema_of(FIELDS if fields is None else fields), "payload": event}


def encoded(number: int) -> str:
    """The bytes of a number as the JSON converter writes decimals."""
    size = max((number.bit_length() + 8) // 8, 1)
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()
