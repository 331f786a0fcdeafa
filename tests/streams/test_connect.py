"""Debezium as tests of streams have it: each change of a table is a message, also across a kill -9 of the worker."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.spark_jobs.trials import IN_FULL

from toolkit.streams import (
    ConnectorFailed,
    DebeziumConnect,
    KafkaBroker,
    Postgres,
    Received,
    SchemaRegistry,
    as_avro,
    as_json,
)

# Otherwise the tests of tables that read from such servers would fail.
pytestmark = [pytest.mark.streams, pytest.mark.slow, IN_FULL]

OPTIONS = {"provide.transaction.metadata": "true", "heartbeat.interval.ms": "500"}


class Followed:
    """A table, and what is written of it by a connector of its own."""

    def __init__(self, kafka: KafkaBroker, postgres: Postgres, debezium: DebeziumConnect) -> None:
        self.kafka, self.postgres, self.debezium = kafka, postgres, debezium
        self.name = f"feed-{uuid.uuid4().hex[:8]}"
        self.table = self.name.replace("-", "_")
        self.topic = f"{self.name}.public.{self.table}"
        self.postgres.execute(f"CREATE TABLE {self.table} (id BIGINT PRIMARY KEY, word TEXT)")
        for topic in (self.topic, f"{self.name}.transaction", f"__debezium-heartbeat.{self.name}"):
            self.kafka.create_topic(topic)

    def follow(self, **converters: Any) -> None:
        self.debezium.capture(self.name, self.postgres, [f"public.{self.table}"], options=OPTIONS, **converters)

    def change(self) -> None:
        """Insert, update and delete, each in a transaction of its own."""
        self.postgres.execute(f"INSERT INTO {self.table} VALUES (1, 'first')")
        self.postgres.execute(f"UPDATE {self.table} SET word = 'second' WHERE id = 1")
        self.postgres.execute(f"DELETE FROM {self.table} WHERE id = 1")

    def messages(self, count: int, topic: str = "") -> list[Received]:
        deadline = time.monotonic() + 60
        while len(found := self.kafka.read(topic or self.topic)) < count:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        return found


@pytest.fixture
def followed(kafka: KafkaBroker, postgres: Postgres, debezium: DebeziumConnect) -> Iterator[Followed]:
    made = Followed(kafka, postgres, debezium)
    yield made
    debezium.start()
    debezium.remove(made.name)


def plain(value: bytes) -> Any:
    return json.loads(value)


def with_schema(value: bytes) -> Any:
    document = json.loads(value)
    assert document["schema"]["type"] == "struct"
    return document["payload"]


@pytest.mark.parametrize(("schemas", "decode"), [(False, plain), (True, with_schema)])
def test_changes_are_messages_in_json(followed: Followed, schemas: bool, decode: Callable[[bytes], Any]) -> None:
    followed.follow(converters=as_json(schemas=schemas))
    followed.change()

    *changes, tombstone = followed.messages(4)

    told = [decode(message.value or b"") for message in changes]
    assert [document["op"] for document in told] == ["c", "u", "d"]
    assert [document["after"] for document in told] == [{"id": 1, "word": "first"}, {"id": 1, "word": "second"}, None]
    assert tombstone.value is None
    assert {str(decode(message.key or b"")) for message in (*changes, tombstone)} == {"{'id': 1}"}


def test_changes_are_messages_in_avro_with_the_ids_of_the_registry(
    followed: Followed, schema_registry: SchemaRegistry
) -> None:
    followed.follow(converters=as_avro(schema_registry))
    followed.change()

    *changes, _ = followed.messages(4)

    for part, text in (("key", "id"), ("value", "before")):
        encoded = [getattr(message, part) for message in changes]
        assert {value[0] for value in encoded} == {0}
        (identifier,) = {int.from_bytes(value[1:5], "big") for value in encoded}
        schema = json.loads(schema_registry.schema(identifier))
        assert schema["fields"][0]["name"] == text
        latest = schema_registry.call("GET", f"/subjects/{followed.topic}-{part}/versions/latest")
        assert latest["id"] == identifier


def test_a_killed_worker_misses_no_change(followed: Followed) -> None:
    followed.follow(converters=as_json(schemas=False))
    followed.change()
    followed.messages(4)

    followed.debezium.kill()
    followed.postgres.execute(f"INSERT INTO {followed.table} VALUES (2, 'missed')")
    followed.debezium.start()

    deadline = time.monotonic() + 60
    while not any(message.key == b'{"id":2}' for message in followed.messages(5)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_heartbeats_and_transactions_have_topics(followed: Followed) -> None:
    followed.follow(converters=as_json(schemas=False))
    followed.change()

    begin, end = (json.loads(one.value or b"") for one in followed.messages(2, f"{followed.name}.transaction")[:2])
    heartbeats = followed.messages(1, f"__debezium-heartbeat.{followed.name}")

    assert (begin["status"], end["status"], end["event_count"]) == ("BEGIN", "END", 1)
    assert "ts_ms" in json.loads(heartbeats[0].value or b"")


def test_a_connector_that_fails_says_why(kafka: KafkaBroker, postgres: Postgres, debezium: DebeziumConnect) -> None:
    assert kafka.running
    with pytest.raises(ConnectorFailed, match="Publication"):
        debezium.capture(
            "refused",
            postgres,
            ["public.nothing"],
            converters=as_json(schemas=False),
            options={"publication.autocreate.mode": "disabled"},
        )
    debezium.remove("refused")
