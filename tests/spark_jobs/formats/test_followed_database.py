"""A real PostgreSQL, followed by a real Debezium, in a real broker: after each run the table is the database's."""

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.spark_jobs.formats.events import PLACEHOLDER
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import Outcome, Service
from toolkit.streams import DebeziumConnect, KafkaBroker, Postgres, as_avro, as_json

pytestmark = [pytest.mark.spark, pytest.mark.streams, pytest.mark.slow]

COLUMNS = "id, note, big, bin, price"
DDL = "id BIGINT, note STRING, big STRING, bin BINARY, price STRING"
LARGE = "".join(f"{number:08x}" for number in range(2_000))


class Followed:
    """A table of the database, what is written of it, and the Hudi table that is made of that."""

    def __init__(self, kafka: KafkaBroker, postgres: Postgres, debezium: DebeziumConnect, lake: Any) -> None:
        self.kafka, self.postgres, self.debezium, self.lake = kafka, postgres, debezium, lake
        self.name = f"db-{uuid.uuid4().hex[:8]}"
        self.table = self.name.replace("-", "_")
        self.topic = f"{self.name}.public.{self.table}"
        self.source: dict[str, Any] = {}
        self.messages = 0
        columns = "id BIGINT PRIMARY KEY, note TEXT, big TEXT, bin BYTEA, price NUMERIC(12, 2)"
        self.postgres.execute(f"CREATE TABLE {self.table} ({columns})")
        for column in ("big", "bin"):
            self.postgres.execute(f"ALTER TABLE {self.table} ALTER {column} SET STORAGE EXTERNAL")
        self.kafka.create_topic(self.topic)

    def follow(self, converters: Any) -> None:
        options = {"decimal.handling.mode": "string"}
        self.debezium.capture(
            self.name, self.postgres, [f"public.{self.table}"], converters=converters, options=options
        )

    def do(self, *statements: str, messages: int) -> None:
        """Change the table, and wait for the messages that say so."""
        for statement in statements:
            self.postgres.execute(statement.replace("TABLE_", self.table))
        self.wait(messages)

    def wait(self, messages: int) -> None:
        self.messages += messages
        deadline = time.monotonic() + 120
        while len(found := self.kafka.read(self.topic)) < self.messages:
            assert time.monotonic() < deadline, len(found)
            time.sleep(0.2)
        assert len(found) == self.messages

    def again(self, first: int, last: int) -> None:
        """Send messages of before once more."""
        found = self.kafka.read(self.topic)[first:last]
        self.kafka.produce(self.topic, [(one.key, one.value) for one in found])
        self.messages += len(found)

    def ingest(self) -> None:
        result = self.lake.ingest(
            source={"kind": "kafka", "bootstrapServers": self.kafka.bootstrap, "topics": [self.topic], **self.source}
        )
        assert result.outcome is Outcome.SUCCEEDED, result

    def require_same(self) -> None:
        """Compare the tables row by row."""
        wanted = self.postgres.rows(f"SELECT id, note, big, bin, price::text FROM {self.table} ORDER BY id")
        found = self.lake.rows(*COLUMNS.split(", "))
        assert [_plain(row) for row in found] == [_plain(row) for row in wanted]
        assert PLACEHOLDER not in str(found)

    def run(self) -> None:
        self.ingest()
        self.require_same()


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(bytes(value) if isinstance(value, (bytearray, memoryview)) else value for value in row)


@pytest.fixture
def followed(kafka: KafkaBroker, postgres: Postgres, debezium: DebeziumConnect, lake: Any) -> Iterator[Followed]:
    lake.table = {"orderingFields": ["_event_lsn"]}
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}}
    made = Followed(kafka, postgres, debezium, lake)
    yield made
    debezium.start()
    debezium.remove(made.name)


def plain_json(_: Any) -> tuple[Any, dict[str, Any]]:
    return as_json(schemas=False), {"value": {"envelope": "Debezium", "schemaDdl": DDL}}


def json_with_schemas(_: Any) -> tuple[Any, dict[str, Any]]:
    return as_json(schemas=True), {"value": {"envelope": "Debezium"}}


def avro(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    registry = request.getfixturevalue("schema_registry")
    value = {"value": {"format": "Avro", "envelope": "Debezium"}, "registry": {"url": registry.url}}
    return as_avro(registry), value


WRITTEN = [(avro, "MergeOnRead"), (plain_json, "MergeOnRead"), (json_with_schemas, "CopyOnWrite")]


@pytest.mark.parametrize(("written", "table_type"), WRITTEN if ALL else WRITTEN[:1])
def test_the_table_is_the_databases_after_every_run(
    followed: Followed, request: pytest.FixtureRequest, written: Callable[..., Any], table_type: str
) -> None:
    followed.lake.table["type"] = table_type
    converters, followed.source = written(request)
    values = ", ".join(f"({n}, 'first', '{LARGE}', decode('{LARGE}', 'hex'), {n}.50)" for n in (1, 2, 3, 4))
    followed.do(f"INSERT INTO TABLE_ VALUES {values}", messages=0)
    followed.follow(converters)
    followed.wait(4)
    followed.run()

    followed.do(
        "UPDATE TABLE_ SET note = 'changed' WHERE id = 1",  # without its large values
        "DELETE FROM TABLE_ WHERE id = 2",
        "UPDATE TABLE_ SET id = 30, big = 'short', bin = '' WHERE id = 3",
        "INSERT INTO TABLE_ VALUES (5, NULL, NULL, NULL, NULL)",
        f"INSERT INTO TABLE_ VALUES (6, 'gone', '{LARGE}', NULL, 0)",
        "UPDATE TABLE_ SET note = 'going' WHERE id = 6",
        "DELETE FROM TABLE_ WHERE id = 6",
        messages=1 + 2 + 3 + 1 + 1 + 1 + 2,
    )
    followed.run()

    followed.again(0, followed.messages)  # everything once more
    if ALL:
        followed.run()
    followed.again(0, 1)  # the snapshot of a row that has changed since
    followed.do("UPDATE TABLE_ SET price = 7 WHERE id = 1", "UPDATE TABLE_ SET big = 'x' WHERE id = 4", messages=2)
    followed.run()

    services = [Service.CLUSTERING] if table_type == "CopyOnWrite" else [Service.COMPACTION, Service.CLUSTERING]
    for service in services:
        result = followed.lake.serve(service)
        assert result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, result
        followed.require_same()
    followed.do("UPDATE TABLE_ SET note = 'after' WHERE id IN (1, 4)", messages=2)
    if ALL:
        followed.run()
    # Under another key the large values can only come with the event.
    followed.do("ALTER TABLE TABLE_ REPLICA IDENTITY FULL", "UPDATE TABLE_ SET id = 10 WHERE id = 1", messages=3)
    followed.run()
